//! The kinds of protected actions.

use serde::{Deserialize, Serialize};

/// A kind of protected action: an action in the console that needs a new approval on the administrator's own device,
/// because another person with access to the administrator's browser could cause harm with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProtectedActionKind {
    /// Deletes a user.
    DeleteUser,
    /// Erases the personal data of a user.
    EraseUser,
    /// Creates a user with a console role; or changes a user's name, email address or console role, or terminates the
    /// user. Whoever has the address or the name can pass for the user in an application that knows users by it.
    UpdateUser,
    /// Creates and updates the users or accounts of a table. A dry run is not protected.
    ImportTable,
    /// Creates a link that enrols another device of a user, who can approve already: its holder can sign in as the
    /// user.
    EnrolDevice,
    /// Lets an identifier at a vendor approve as a user, who can approve already: its holder can sign in as the user.
    SetExternalAuthenticator,
    /// Creates an account with another name than the user's.
    CreateAccount,
    /// Changes the name of an account, or terminates it. An application that knows users by their names takes one for
    /// another.
    UpdateAccount,
    /// Deletes an account, whose name another user can get then.
    DeleteAccount,
    /// Gives a group another name, which applications receive, or changes many of its members at once.
    UpdateGroup,
    /// Deletes a group. Its members lose the access that it gives.
    DeleteGroup,
    /// Assigns an application to a group or to everyone, with roles, or removes an assignment.
    ChangeAccess,
    /// Revokes the device of a user with a console role.
    RevokeDevice,
    /// Creates recovery codes in the portal, which any user may do: each of them enrols a device.
    CreateRecoveryCodes,
    /// Deletes an application.
    DeleteApplication,
    /// Creates an application with admin scopes.
    GrantAdminScopes,
    /// Changes how an application authenticates, where it receives answers, or what it receives; and everything of a
    /// service account.
    UpdateApplication,
    /// Changes a service provider to what its metadata says.
    ApplyMetadata,
    /// Creates a client secret, which replaces the others or is valid beside another one.
    RotateClientSecret,
    /// Deletes a client secret.
    DeleteClientSecret,
    /// Lets another key sign.
    RotateKey,
    /// Revokes a key.
    RevokeKey,
    /// Replaces the plugins by those that the settings name.
    ReloadPlugins,
    /// Restores the plugins before the last replacement.
    RollBackPlugins,
    /// Compiles and runs a component that is not loaded, as a candidate.
    TryComponent,
    /// Applies a manifest, or an application of one: creates, updates and deletes the objects of its owner.
    ApplyManifest,
}

impl ProtectedActionKind {
    /// All kinds.
    pub const ALL: [Self; 26] = [
        Self::DeleteUser,
        Self::EraseUser,
        Self::UpdateUser,
        Self::ImportTable,
        Self::EnrolDevice,
        Self::SetExternalAuthenticator,
        Self::CreateAccount,
        Self::UpdateAccount,
        Self::DeleteAccount,
        Self::UpdateGroup,
        Self::DeleteGroup,
        Self::ChangeAccess,
        Self::RevokeDevice,
        Self::CreateRecoveryCodes,
        Self::DeleteApplication,
        Self::GrantAdminScopes,
        Self::UpdateApplication,
        Self::ApplyMetadata,
        Self::RotateClientSecret,
        Self::DeleteClientSecret,
        Self::RotateKey,
        Self::RevokeKey,
        Self::ReloadPlugins,
        Self::RollBackPlugins,
        Self::TryComponent,
        Self::ApplyManifest,
    ];

    /// Whether nothing brings back what the action takes away, so that a client should ask for a confirmation.
    pub const fn is_irreversible(self) -> bool {
        matches!(
            self,
            Self::DeleteUser
                | Self::EraseUser
                | Self::DeleteAccount
                | Self::DeleteGroup
                | Self::DeleteApplication
                | Self::DeleteClientSecret
                | Self::RevokeDevice
                | Self::RevokeKey
        )
    }

    /// The stable name of the kind, in the OpenAPI document and in the audit log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DeleteUser => "delete-user",
            Self::EraseUser => "erase-user",
            Self::UpdateUser => "update-user",
            Self::ImportTable => "import-table",
            Self::EnrolDevice => "enrol-device",
            Self::SetExternalAuthenticator => "set-external-authenticator",
            Self::CreateAccount => "create-account",
            Self::UpdateAccount => "update-account",
            Self::DeleteAccount => "delete-account",
            Self::UpdateGroup => "update-group",
            Self::DeleteGroup => "delete-group",
            Self::ChangeAccess => "change-access",
            Self::RevokeDevice => "revoke-device",
            Self::CreateRecoveryCodes => "create-recovery-codes",
            Self::DeleteApplication => "delete-application",
            Self::GrantAdminScopes => "grant-admin-scopes",
            Self::UpdateApplication => "update-application",
            Self::ApplyMetadata => "apply-metadata",
            Self::RotateClientSecret => "rotate-client-secret",
            Self::DeleteClientSecret => "delete-client-secret",
            Self::RotateKey => "rotate-key",
            Self::RevokeKey => "revoke-key",
            Self::ReloadPlugins => "reload-plugins",
            Self::RollBackPlugins => "roll-back-plugins",
            Self::TryComponent => "try-component",
            Self::ApplyManifest => "apply-manifest",
        }
    }

    /// The kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}
