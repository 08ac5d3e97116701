//! A person, with the profile that applications may be told about.

mod profile;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{Did, UserId};
use crate::name::LoginName;

pub use profile::{Address, Profile};

/// The lifecycle state of a user or an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LifecycleState {
    /// Is known, and not there yet: a user has nothing to approve with, an account was never signed in to.
    Invited,
    /// May sign in.
    Active,
    /// May not sign in until an administrator lifts it.
    Suspended,
    /// Will not sign in again.
    Terminated,
}

/// A state that does not follow on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", if *.from == LifecycleState::Terminated {
    "who is terminated cannot be brought back; make a new one".to_owned()
} else {
    format!("{} does not follow on {}", .to.as_str(), .from.as_str())
})]
pub struct TransitionError {
    from: LifecycleState,
    to: LifecycleState,
}

impl LifecycleState {
    /// Every state there is.
    pub const ALL: [Self; 4] = [
        Self::Invited,
        Self::Active,
        Self::Suspended,
        Self::Terminated,
    ];

    /// The state's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invited => "invited",
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Terminated => "terminated",
        }
    }

    /// The next state. To stay is always allowed; nobody is invited twice, and a termination is final.
    pub const fn to(self, next: Self) -> Result<Self, TransitionError> {
        match (self, next) {
            (Self::Invited, Self::Invited | Self::Active | Self::Suspended | Self::Terminated)
            | (Self::Active, Self::Active | Self::Suspended | Self::Terminated)
            | (Self::Suspended, Self::Suspended | Self::Active | Self::Terminated)
            | (Self::Terminated, Self::Terminated) => Ok(next),
            (from, to) => Err(TransitionError { from, to }),
        }
    }

    /// Whether it may come to be active by itself: by a device, or by a sign-in.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Invited | Self::Active)
    }
}

/// A role in the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConsoleRole {
    /// Everything.
    Owner,
    /// Everything but owners.
    Admin,
    /// Users and devices only.
    Support,
    /// Reads.
    Auditor,
}

impl ConsoleRole {
    /// The role's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::Support => "support",
            Self::Auditor => "auditor",
        }
    }
}

/// A person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The row's id.
    pub id: UserId,
    /// The person's decentralized identifier: the `user_did` claim.
    pub did: Did,
    /// The `sub` claim: random, and the same in every application.
    pub subject: String,
    /// The user's name at sign-in.
    pub name: LoginName,
    /// The email address, which the user may type at sign-in as well.
    pub email: Option<LoginName>,
    /// What applications may be told.
    pub profile: Profile,
    /// The role in the console, if any.
    pub console_role: Option<ConsoleRole>,
    /// The lifecycle state.
    pub state: LifecycleState,
    /// Whether the user was ever active. When a suspension is lifted, a user who never was is invited again.
    pub was_active: bool,
    /// How often it was changed: a change counts only if it was made to the newest version.
    pub version: i64,
    /// When the user was made.
    pub created_at: Timestamp,
    /// When the user was last changed.
    pub updated_at: Timestamp,
}

impl User {
    /// The state when a suspension is lifted: invited if the user was never active, because there may be nothing to
    /// approve with.
    pub const fn state_after_suspension(&self) -> LifecycleState {
        match self.was_active {
            true => LifecycleState::Active,
            false => LifecycleState::Invited,
        }
    }

    /// Whether nobody can sign in as them yet, and whoever could would have no more by it than a name: to give them
    /// something to approve with takes nothing from anybody.
    pub fn is_only_invited(&self) -> bool {
        self.state == LifecycleState::Invited && self.console_role.is_none()
    }

    /// The name that the user gets when the personal data is erased. Nobody can sign in with it.
    pub fn erased_name(&self) -> String {
        format!("erased-{}", self.id)
    }

    /// Whether the personal data was erased.
    pub fn is_erased(&self) -> bool {
        self.name.as_str() == self.erased_name()
    }

    /// What a page calls the person.
    pub fn display_name(&self) -> &str {
        self.profile.name.as_deref().unwrap_or(self.name.as_str())
    }
}

#[cfg(test)]
mod tests;
