//! The access of a user to an application, as stored.

use assent_model::account::Account;
use assent_model::clock::Timestamp;
use assent_model::group::AssignedAccess;
use assent_model::id::Did;
use assent_model::user::User;

/// The access of a user to an application, with everything that decides about it at a sign-in.
#[derive(Clone, Debug)]
pub struct EffectiveAccess {
    /// The user.
    pub user: User,
    /// The application.
    pub application: Did,
    /// The name of the application.
    pub application_name: String,
    /// Whether the application is enabled.
    pub application_enabled: bool,
    /// The stored account.
    pub account: Option<Account>,
    /// The access by groups and by an assignment to everyone.
    pub assigned: AssignedAccess,
    /// When the application was assigned to everyone.
    pub everyone_since: Option<Timestamp>,
    /// When the user last signed in to the application. The time may be up to ten minutes too early.
    pub used_at: Option<Timestamp>,
}
