//! The kinds of protected actions.

use serde::{Deserialize, Serialize};

/// A kind of protected action: an action in the console that needs a new approval on the administrator's own device.
/// Otherwise an attacker with access to the administrator's browser could cause harm with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
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
    /// Creates an initial access token, with which applications register themselves.
    CreateRegistrationToken,
    /// Registers or replaces a type of authorization details, whose text users approve.
    RegisterDetailsType,
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
crate::enum_texts!(ProtectedActionKind);

impl ProtectedActionKind {
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
}
