//! What is to be done, in types.

use serde::Serialize;

use assent_model::administration::Danger;
use assent_model::id::{AccountId, DeviceId, Did, UserId};
use assent_model::name::LoginName;
use assent_model::secret::Digest;
use assent_model::user::ConsoleRole;

/// An action that needs an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtectedAction {
    /// Creates a user with a console role.
    CreateUser {
        /// The name of the new user.
        name: LoginName,
        /// The role.
        console_role: Option<ConsoleRole>,
    },
    /// Updates a user.
    UpdateUser {
        /// The user.
        user: UserId,
        /// The changes that need the approval.
        changes: Vec<ProtectedUserChange>,
    },
    /// Deletes a user.
    DeleteUser(UserId),
    /// Erases the personal data of a user.
    EraseUser(UserId),
    /// Creates a link that enrols another device of a user.
    EnrolDevice(UserId),
    /// Revokes the device of a user with a console role.
    RevokeDevice(DeviceId),
    /// Lets an external authenticator approve as a user.
    SetExternalAuthenticator {
        /// The user.
        user: UserId,
        /// The approval channel of the vendor.
        channel: String,
        /// The user's identifier at the vendor.
        address: String,
        /// The identifier that it replaces.
        replaced: Option<String>,
    },
    /// Creates an account with another name than the user's.
    CreateAccount {
        /// The user.
        user: UserId,
        /// The application.
        application: Did,
        /// The name of the new account.
        name: String,
    },
    /// Updates an account.
    UpdateAccount {
        /// The account.
        account: AccountId,
        /// The changes that need the approval.
        changes: Vec<ProtectedAccountChange>,
    },
    /// Deletes an account.
    DeleteAccount(AccountId),
}

/// A change of a user that needs an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtectedUserChange {
    /// Terminates the user.
    Terminate,
    /// Changes the user name, which applications receive as `preferred_username`.
    Name(LoginName),
    /// Changes the e-mail address, or removes it. Applications may know a user by it, so a change hands the user over.
    Email(Option<LoginName>),
    /// Grants a console role.
    GrantRole {
        /// The role.
        role: ConsoleRole,
        /// With what the user approves: who enrolled one of these would have the role too.
        authenticators: Authenticators,
    },
    /// Removes the console role.
    RemoveRole,
}

/// How many authenticators a user approves with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Authenticators {
    /// The user's devices.
    pub devices: u64,
    /// The user's identifiers at vendors.
    pub external: u64,
}

/// A change of an account that needs an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtectedAccountChange {
    /// Changes the name by which the application knows the user.
    Name(String),
    /// Terminates the account.
    Terminate,
}

impl ProtectedAction {
    /// The kind of the action.
    pub const fn kind(&self) -> Danger {
        match self {
            Self::CreateUser { .. } | Self::UpdateUser { .. } => Danger::ChangeUser,
            Self::DeleteUser(_) => Danger::DeleteUser,
            Self::EraseUser(_) => Danger::EraseUser,
            Self::EnrolDevice(_) => Danger::AddDevice,
            Self::RevokeDevice(_) => Danger::RemoveDevice,
            Self::SetExternalAuthenticator { .. } => Danger::SetApprovalAddress,
            Self::CreateAccount { .. } => Danger::GiveAccount,
            Self::UpdateAccount { .. } => Danger::ChangeAccount,
            Self::DeleteAccount(_) => Danger::DeleteAccount,
        }
    }

    /// The digest of the action with all its values: two actions with the same digest do the same.
    ///
    /// # Errors
    /// If the action cannot be serialized.
    pub fn digest(&self) -> Result<String, serde_json::Error> {
        Ok(Digest::of(&serde_json::to_vec(self)?).to_text())
    }
}
