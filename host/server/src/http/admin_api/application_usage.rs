//! The usage of an application, as lists show it.

use serde::Serialize;
use utoipa::ToSchema;

use crate::http::admin_api::values::moment;
use crate::http::operations::logos::address;
use assent_model::id::Did;
use assent_store::{ApplicationUsage, MOST_COUNTED};

/// How an application is used.
#[derive(Serialize, ToSchema)]
#[schema(as = ApplicationUsage)]
pub(super) struct UsageView {
    /// The URL of its logo.
    logo_url: Option<String>,
    /// The number of users who can open it, by an own account, by a group or because it is assigned to everyone; up to
    /// 1,000.
    users: u32,
    /// Whether more than 1,000 users can open it.
    more_users: bool,
    /// When a user last signed in to it, with an accuracy of ten minutes.
    #[schema(format = DateTime)]
    last_sign_in_at: Option<String>,
}

/// Returns the view of an application's usage.
pub(super) fn view(application: &Did, usage: ApplicationUsage) -> UsageView {
    let ApplicationUsage {
        users,
        last_sign_in_at,
        logo,
    } = usage;
    UsageView {
        logo_url: logo.map(|digest| address(application, &digest)),
        users: users.min(MOST_COUNTED),
        more_users: users > MOST_COUNTED,
        last_sign_in_at: last_sign_in_at.map(moment),
    }
}
