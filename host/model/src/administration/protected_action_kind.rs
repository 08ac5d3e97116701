//! The kinds of protected actions.

use serde::{Deserialize, Serialize};

/// A kind of protected action: an action in the console that needs a new approval on the administrator's own device.
/// Otherwise an attacker with access to the administrator's browser could cause harm with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProtectedActionKind {
    /// Deletes a user.
    DeleteUser,
    /// Erases the personal data of a user.
    EraseUser,
    /// Creates a user with a console role, or with an address as the name that is not the user's email address; or
    /// changes a user's name, email address or console role, or terminates the user. An attacker with the address or
    /// the name could impersonate the user in an application that identifies users by it.
    UpdateUser,
    /// Creates and updates the users or accounts of a table. A dry run is not protected.
    ImportTable,
    /// Creates links that the administrator receives, each of which enrols a device. The holder of a link can sign in
    /// as the user.
    EnrolDevice,
    /// Lets an identifier at a vendor approve for a user. The holder of the identifier can sign in as the user.
    SetExternalAuthenticator,
    /// Creates an account with another name than the user's.
    CreateAccount,
    /// Changes the name of an account, or terminates it. An application that identifies users by their names could
    /// confuse two users.
    UpdateAccount,
    /// Deletes an account. Another user can then receive its name.
    DeleteAccount,
    /// Changes the name of a group, which applications receive, or many of its members at once.
    UpdateGroup,
    /// Deletes a group. Its members lose the access that it grants.
    DeleteGroup,
    /// Assigns an application to a group or to everyone, with roles, or removes an assignment.
    ChangeAccess,
    /// Revokes the device of a user with a console role.
    RevokeDevice,
    /// Settles the administrator's own report, or revokes the device of a user with a console role with a settlement.
    /// Otherwise the attacker whom an administrator reported could settle the report.
    SettleReport,
    /// Creates recovery codes in the portal, which any user may do. Each code enrols a device.
    CreateRecoveryCodes,
    /// Deletes an application.
    DeleteApplication,
    /// Creates an application with admin scopes.
    GrantAdminScopes,
    /// Changes how an application authenticates, where it receives answers, or which data it receives; and all settings
    /// of a service account.
    UpdateApplication,
    /// Changes a service provider according to its metadata.
    ApplyMetadata,
    /// Creates a client secret, which replaces the others or is valid in addition to another one.
    RotateClientSecret,
    /// Deletes a client secret.
    DeleteClientSecret,
    /// Activates another signing key.
    RotateKey,
    /// Revokes a key.
    RevokeKey,
    /// Replaces the plugins with those of the settings.
    ReloadPlugins,
    /// Restores the plugins before the last replacement.
    RollBackPlugins,
    /// Compiles and runs a component that is not loaded, as a candidate.
    TryComponent,
    /// Applies a manifest, or one application of a manifest: creates, updates and deletes the objects of its owner.
    ApplyManifest,
}

impl ProtectedActionKind {
    /// All kinds.
    pub const ALL: [Self; 27] = [
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
        Self::SettleReport,
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

    /// Whether the effect of the action cannot be undone, so that a client should ask for a confirmation.
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
                | Self::SettleReport
                | Self::RevokeKey
        )
    }

    /// Returns the stable name of the kind, for the OpenAPI document and the audit log.
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
            Self::SettleReport => "settle-report",
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

    /// Returns the kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}
