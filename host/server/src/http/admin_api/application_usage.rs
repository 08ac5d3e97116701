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
    /// The number of its accounts, up to 1,000.
    accounts: u32,
    /// Whether it has more than 1,000 accounts.
    more_accounts: bool,
    /// When a user last signed in to it, with an accuracy of ten minutes.
    #[schema(format = DateTime)]
    last_sign_in_at: Option<String>,
}

/// Returns the view of an application's usage.
pub(super) fn view(application: &Did, usage: ApplicationUsage) -> UsageView {
    let ApplicationUsage {
        accounts,
        last_sign_in_at,
        logo,
    } = usage;
    UsageView {
        logo_url: logo.map(|digest| address(application, &digest)),
        accounts: accounts.min(MOST_COUNTED),
        more_accounts: accounts > MOST_COUNTED,
        last_sign_in_at: last_sign_in_at.map(moment),
    }
}
