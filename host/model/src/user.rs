//! Users, with the profile that applications may receive.

pub mod profile;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{Did, UserId};
use crate::name::LoginName;

use profile::Profile;

/// The lifecycle state of a user or an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum LifecycleState {
    /// Not active yet: the user has no device, or never signed in to the account.
    Invited,
    /// May sign in.
    Active,
    /// May not sign in until an administrator ends the suspension.
    Suspended,
    /// May never sign in again.
    Terminated,
}
crate::enum_texts!(LifecycleState);

/// A transition between states that is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", if *.from == LifecycleState::Terminated {
    "a terminated user or account stays terminated; create a new one".to_owned()
} else {
    format!("cannot change from {} to {}", .from.as_str(), .to.as_str())
})]
pub struct TransitionError {
    from: LifecycleState,
    to: LifecycleState,
}

impl LifecycleState {
    /// Returns the next state. A state may always be kept. No state returns to invited, and a termination is final.
    ///
    /// # Errors
    /// [`TransitionError`] if the transition is not allowed.
    pub const fn transition_to(self, next: Self) -> Result<Self, TransitionError> {
        match (self, next) {
            (Self::Invited, Self::Invited | Self::Active | Self::Suspended | Self::Terminated)
            | (Self::Active, Self::Active | Self::Suspended | Self::Terminated)
            | (Self::Suspended, Self::Suspended | Self::Active | Self::Terminated)
            | (Self::Terminated, Self::Terminated) => Ok(next),
            (from, to) => Err(TransitionError { from, to }),
        }
    }

    /// Whether the state can become active by itself, through an enrolment or a sign-in.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Invited | Self::Active)
    }
}

/// A role in the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ConsoleRole {
    /// All permissions.
    Owner,
    /// All permissions, except on roles and owners.
    Admin,
    /// Only permissions on users and their devices.
    Support,
    /// Only permissions to read.
    Auditor,
}
crate::enum_texts!(ConsoleRole);

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The row's id.
    pub id: UserId,
    /// The user's decentralized identifier: the `user_did` claim.
    pub did: Did,
    /// The `sub` claim: random, and the same in every application.
    pub subject: String,
    /// The user's name at sign-in.
    pub name: LoginName,
    /// The email address, which the user may type at sign-in as well.
    pub email: Option<LoginName>,
    /// Whether an administrator with the permission `users:manage` set or confirmed the address, or the user enrolled
    /// with a link that the server sent to it. This one mark covers a user name that is an address, too: it is set only
    /// if both are confirmed. An unconfirmed address may be that of another user.
    pub email_confirmed: bool,
    /// The profile that applications may receive.
    pub profile: Profile,
    /// The role in the console, if any.
    pub console_role: Option<ConsoleRole>,
    /// The lifecycle state.
    pub state: LifecycleState,
    /// Whether the user was ever active. If not, the end of a suspension makes the user invited again.
    pub was_active: bool,
    /// The number of changes, for optimistic concurrency: an update succeeds only on the newest version.
    pub version: i64,
    /// The creation time.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
}

impl User {
    /// Returns the state after a suspension: invited if the user was never active, because the user may have no device.
    pub const fn state_after_suspension(&self) -> LifecycleState {
        match self.was_active {
            true => LifecycleState::Active,
            false => LifecycleState::Invited,
        }
    }

    /// Whether the user is invited and has no console role. The user may already have accounts, groups and an address
    /// that applications trust. So the first authenticator decides who this user is.
    pub fn is_only_invited(&self) -> bool {
        self.state == LifecycleState::Invited && self.console_role.is_none()
    }

    /// Whether the user name is an address, but not the user's own email address.
    pub fn is_named_by_other_address(&self) -> bool {
        is_other_address(&self.name, self.email.as_ref())
    }

    /// Records that the email address is the user's own. That proves nothing about a name that is another address. If
    /// such a name is not confirmed, the user stays unconfirmed, because one mark covers both.
    pub fn confirm_email(&mut self) {
        self.email_confirmed |= !self.is_named_by_other_address();
    }

    /// Returns the texts that name a mailbox, although it is not confirmed: the email address, and a user name that
    /// looks like an address.
    pub fn unconfirmed_addresses(&self) -> impl Iterator<Item = &str> {
        let name = Some(&self.name).filter(|name| name.as_str().contains('@'));
        self.email
            .iter()
            .chain(name)
            .map(LoginName::as_str)
            .filter(|_| !self.email_confirmed)
    }

    /// Returns the name of the user after erasure. It is not valid for sign-in.
    pub fn erased_name(&self) -> String {
        format!("erased-{}", self.id)
    }

    /// Whether the personal data was erased.
    pub fn is_erased(&self) -> bool {
        self.name.as_str() == self.erased_name()
    }

    /// Returns the user's name for pages.
    pub fn display_name(&self) -> &str {
        self.profile.name.as_deref().unwrap_or(self.name.as_str())
    }
}

/// Returns whether the name of a user is an address, but not the email address of this user. Applications receive the
/// name too, so they may take the user for the owner of that address.
pub fn is_other_address(name: &LoginName, email: Option<&LoginName>) -> bool {
    name.as_str().contains('@') && email != Some(name)
}

#[cfg(test)]
mod tests;
