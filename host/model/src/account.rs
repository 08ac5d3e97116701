//! Accounts: the membership of a user in one application.

use crate::clock::Timestamp;
use crate::group::AssignedAccess;
use crate::id::{AccountId, Did, UserId};
use crate::user::LifecycleState;

/// The membership of a user in one application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The row's id.
    pub id: AccountId,
    /// The user.
    pub user_id: UserId,
    /// The application.
    pub application_id: Did,
    /// The user's name in the application: the `upn` claim, and a source of SAML NameIDs.
    pub name: String,
    /// The roles of the account itself. The application receives [`Account::effective_roles`].
    pub roles: Vec<String>,
    /// The `user_short_code` claim: a short random code of this account.
    pub short_code: String,
    /// The lifecycle state.
    pub state: LifecycleState,
    /// Whether the account itself grants access. An account that only an assignment to a group or to everyone implies
    /// does not.
    pub individual: bool,
    /// The user's access through assignments of the application to groups and to everyone.
    pub assigned: AssignedAccess,
    /// The number of changes, for optimistic concurrency: an update succeeds only on the newest version. 0 if the
    /// account is not stored.
    pub version: i64,
    /// The creation time.
    pub created_at: Timestamp,
}

impl Account {
    /// Whether the user has access through the account itself or through an assignment. A suspended account permits no
    /// sign-in, independent of this; see [`state`](Self::state).
    pub fn gives_access(&self) -> bool {
        self.individual || self.assigned.gives_access()
    }

    /// Returns the roles of the account, followed by the roles of all assignments, without duplicates.
    pub fn effective_roles(&self) -> Vec<String> {
        let mut roles: Vec<String> = Vec::new();
        for role in self.roles.iter().chain(self.assigned.roles()) {
            if !roles.contains(role) {
                roles.push(role.clone());
            }
        }
        roles
    }

    /// Whether the database has a row for the account. If an assignment implies it, the first sign-in creates the row.
    pub const fn is_stored(&self) -> bool {
        self.version > 0
    }
}

#[cfg(test)]
mod tests;
