//! An account: a person in one application.

use crate::clock::Timestamp;
use crate::id::{AccountId, Did, UserId};
use crate::user::LifecycleState;

/// A person in one application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The row's id.
    pub id: AccountId,
    /// The user.
    pub user_id: UserId,
    /// The application.
    pub application_id: Did,
    /// What the application calls the person: the `upn` claim, and a SAML NameID source.
    pub name: String,
    /// The user's roles in the application.
    pub roles: Vec<String>,
    /// The `user_short_code` claim: a short random code of this relation.
    pub short_code: String,
    /// The lifecycle state.
    pub state: LifecycleState,
    /// How often it was changed: a change counts only if it was made to the newest version.
    pub version: i64,
    /// When the account was made.
    pub created_at: Timestamp,
}
