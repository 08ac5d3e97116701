//! An account: a person in one application.

use crate::clock::Timestamp;
use crate::group::AssignedAccess;
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
    /// The roles of the account itself. The application receives [`Account::effective_roles`].
    pub roles: Vec<String>,
    /// The `user_short_code` claim: a short random code of this relation.
    pub short_code: String,
    /// The lifecycle state.
    pub state: LifecycleState,
    /// Whether the account itself gives access. One that a group or everyone's assignment created gives none by itself.
    pub individual: bool,
    /// What the user has by assignments of the application to groups and to everyone.
    pub assigned: AssignedAccess,
    /// How often it was changed: a change counts only if it was made to the newest version. 0 of one that is not
    /// stored.
    pub version: i64,
    /// When the account was made.
    pub created_at: Timestamp,
}

impl Account {
    /// Whether the user has access by the account itself or by an assignment. A suspended account gives none, whatever
    /// the assignments are; see [`state`](Self::state).
    pub fn gives_access(&self) -> bool {
        self.individual || self.assigned.gives_access()
    }

    /// The union of the account's own roles and of those of all assignments, without duplicates: its own first.
    pub fn effective_roles(&self) -> Vec<String> {
        let mut roles: Vec<String> = Vec::new();
        for role in self.roles.iter().chain(self.assigned.roles()) {
            if !roles.contains(role) {
                roles.push(role.clone());
            }
        }
        roles
    }

    /// Whether the database has it. One that an assignment implies is created at the first sign-in.
    pub const fn is_stored(&self) -> bool {
        self.version > 0
    }
}

#[cfg(test)]
mod tests;
