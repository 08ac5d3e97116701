//! Who may do what in the admin API: permissions, the roles and scopes that give them, and the kinds of protected actions.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
#[cfg(feature = "openapi")]
use utoipa::openapi::schema::{ObjectBuilder, Type};
#[cfg(feature = "openapi")]
use utoipa::openapi::{RefOr, Schema};
#[cfg(feature = "openapi")]
use utoipa::{PartialSchema, ToSchema};

use crate::user::ConsoleRole;

/// Defines the permissions with their stable names.
macro_rules! permissions {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What may be done in the admin API. Each route names the one that it needs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        pub enum Permission {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl Permission {
            /// All permissions.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The permission's stable name.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }

        // The derivation does not see names that come from this macro.
        #[cfg(feature = "openapi")]
        impl PartialSchema for Permission {
            fn schema() -> RefOr<Schema> {
                let names = [$($text,)*];
                let object = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names));
                object.description(Some("What may be done in the admin API. Each operation names the one that it needs.")).into()
            }
        }

        #[cfg(feature = "openapi")]
        impl ToSchema for Permission {}
    };
}

permissions! {
    /// To see who one is. Everybody has it.
    Me = "me",
    /// To read users, with their devices, sessions, consents and what happened in their name.
    UsersRead = "users:read",
    /// To make and change users; their devices, enrolment links, sessions, consents and addresses.
    UsersWrite = "users:write",
    /// To change a user's e-mail address, to vouch for it or for a telephone number, and to delete or erase users.
    UsersManage = "users:manage",
    /// To read accounts.
    AccountsRead = "accounts:read",
    /// To let an account be used, or not.
    AccountsState = "accounts:state",
    /// To make, change and delete accounts, with what their applications call the person and the roles there.
    AccountsWrite = "accounts:write",
    /// To read applications.
    ApplicationsRead = "applications:read",
    /// To make, change and delete applications, their secrets, certificates and pictures.
    ApplicationsWrite = "applications:write",
    /// To see what applications are told about people, and why.
    ClaimsRead = "claims:read",
    /// To read the audit log.
    AuditRead = "audit:read",
    /// To read which keys there are.
    KeysRead = "keys:read",
    /// To rotate and revoke keys.
    KeysWrite = "keys:write",
    /// To read which plugins there are and how they fare.
    PluginsRead = "plugins:read",
    /// To exchange the plugins.
    PluginsWrite = "plugins:write",
    /// To read the settings in force.
    SettingsRead = "settings:read",
    /// To read the counts of the overview.
    OverviewRead = "overview:read",
    /// To give and take console roles and admin scopes, and to act upon those who have them.
    RolesWrite = "roles:write",
}

/// Everything that is read.
const READS: &[Permission] = &[
    Permission::UsersRead,
    Permission::AccountsRead,
    Permission::ApplicationsRead,
    Permission::ClaimsRead,
    Permission::AuditRead,
    Permission::KeysRead,
    Permission::PluginsRead,
    Permission::SettingsRead,
    Permission::OverviewRead,
];

impl ConsoleRole {
    /// Every role there is.
    pub const ALL: [Self; 4] = [Self::Owner, Self::Admin, Self::Support, Self::Auditor];

    /// Whether the role gives this permission.
    pub fn gives(self, permission: Permission) -> bool {
        use Permission::{AccountsRead, AccountsState, Me, RolesWrite, UsersRead, UsersWrite};
        match self {
            Self::Owner => true,
            Self::Admin => permission != RolesWrite,
            Self::Support => matches!(
                permission,
                Me | UsersRead | UsersWrite | AccountsRead | AccountsState
            ),
            Self::Auditor => permission == Me || READS.contains(&permission),
        }
    }

    /// Whether who has this role may act upon somebody with that one, or with none. Else a phone that support enrols for an
    /// owner would make an owner of support.
    pub const fn may_act_upon(self, other: Option<Self>) -> bool {
        match (self, other) {
            (Self::Owner, _) | (Self::Support, None) => true,
            (Self::Admin, other) => !matches!(other, Some(Self::Owner)),
            (Self::Support | Self::Auditor, _) => false,
        }
    }
}

/// What an application may be allowed in the admin API, where it acts as itself (a service account).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub enum AdminScope {
    /// To read everything.
    #[serde(rename = "admin:read")]
    Read,
    /// To manage users and accounts.
    #[serde(rename = "admin:users")]
    Users,
    /// To manage applications.
    #[serde(rename = "admin:applications")]
    Applications,
    /// To read the audit log.
    #[serde(rename = "admin:audit")]
    Audit,
    /// To rotate keys, exchange plugins, and see how the host fares.
    #[serde(rename = "admin:operate")]
    Operate,
}

impl AdminScope {
    /// Every admin scope there is.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Users,
        Self::Applications,
        Self::Audit,
        Self::Operate,
    ];

    /// The scope's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "admin:read",
            Self::Users => "admin:users",
            Self::Applications => "admin:applications",
            Self::Audit => "admin:audit",
            Self::Operate => "admin:operate",
        }
    }

    /// What it is for, in a few words.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Read => "Read everything",
            Self::Users => "Manage users and accounts, but nobody with a console role",
            Self::Applications => "Manage applications, but none with admin scopes",
            Self::Audit => "Read the audit log",
            Self::Operate => "Rotate keys, exchange plugins, see how the host fares",
        }
    }

    /// Whether it gives this permission.
    pub fn gives(self, permission: Permission) -> bool {
        use Permission as P;
        match (self, permission) {
            (_, P::Me) => true,
            (Self::Read, permission) => READS.contains(&permission),
            (Self::Users, permission) => matches!(
                permission,
                P::UsersRead
                    | P::UsersWrite
                    | P::UsersManage
                    | P::AccountsRead
                    | P::AccountsState
                    | P::AccountsWrite
            ),
            (Self::Applications, permission) => {
                matches!(
                    permission,
                    P::ApplicationsRead | P::ApplicationsWrite | P::AccountsRead | P::ClaimsRead
                )
            }
            (Self::Audit, permission) => permission == P::AuditRead,
            (Self::Operate, permission) => matches!(
                permission,
                P::KeysRead
                    | P::KeysWrite
                    | P::PluginsRead
                    | P::PluginsWrite
                    | P::SettingsRead
                    | P::OverviewRead
            ),
        }
    }
}

/// A set of admin scopes. On the wire: names with one space between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(transparent)]
pub struct AdminScopes(BTreeSet<AdminScope>);

impl AdminScopes {
    /// The admin scopes that a text names, without what is none.
    pub fn known(text: &str) -> Self {
        let named: Vec<&str> = text.split(' ').collect();
        AdminScope::ALL
            .into_iter()
            .filter(|scope| named.contains(&scope.as_str()))
            .collect()
    }

    /// The admin scopes that a text names; `None` if one of them is none.
    pub fn parse(text: &str) -> Option<Self> {
        let named = text.split(' ').filter(|name| !name.is_empty());
        named
            .map(|name| {
                AdminScope::ALL
                    .into_iter()
                    .find(|scope| scope.as_str() == name)
            })
            .collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every scope of this set is in the other one.
    pub fn within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// What both sets hold.
    pub fn both(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// Whether one of them gives this permission.
    pub fn give(&self, permission: Permission) -> bool {
        self.0.iter().any(|scope| scope.gives(permission))
    }
}

impl FromIterator<AdminScope> for AdminScopes {
    fn from_iter<I: IntoIterator<Item = AdminScope>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

impl fmt::Display for AdminScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|scope| scope.as_str()).collect();
        f.write_str(&names.join(" "))
    }
}

/// A kind of protected action: what an administrator does in the console only with a fresh approval on their own device, because it
/// would do harm in the hands of somebody else who uses the administrator's browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtectedActionKind {
    /// Deletes a user.
    DeleteUser,
    /// Erases the personal data of a user.
    EraseUser,
    /// Creates a user with a console role; or changes a user's name, e-mail address or console role, or terminates the user. Whoever
    /// has the address or the name can pass for the user in an application that knows users by it.
    UpdateUser,
    /// Creates and updates the users or accounts of a table. A dry run is not protected.
    ImportTable,
    /// Creates a link that enrols another device of a user, who can approve already: its holder can sign in as the user.
    EnrolDevice,
    /// Lets an identifier at a vendor approve as a user, who can approve already: its holder can sign in as the user.
    SetExternalAuthenticator,
    /// Creates an account with another name than the user's.
    CreateAccount,
    /// Changes the name of an account, or terminates it. An application that knows users by their names takes one for another.
    UpdateAccount,
    /// Deletes an account, whose name another user can get then.
    DeleteAccount,
    /// Revokes the device of a user with a console role.
    RevokeDevice,
    /// Deletes an application.
    DeleteApplication,
    /// Creates an application with admin scopes.
    GrantAdminScopes,
    /// Changes how an application authenticates, where it receives answers, or what it receives; and everything of a service
    /// account.
    UpdateApplication,
    /// Changes a service provider to what its metadata says.
    ApplyMetadata,
    /// Replaces a client secret.
    RotateClientSecret,
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
}

impl ProtectedActionKind {
    /// All kinds.
    pub const ALL: [Self; 20] = [
        Self::DeleteUser,
        Self::EraseUser,
        Self::UpdateUser,
        Self::ImportTable,
        Self::EnrolDevice,
        Self::SetExternalAuthenticator,
        Self::CreateAccount,
        Self::UpdateAccount,
        Self::DeleteAccount,
        Self::RevokeDevice,
        Self::DeleteApplication,
        Self::GrantAdminScopes,
        Self::UpdateApplication,
        Self::ApplyMetadata,
        Self::RotateClientSecret,
        Self::RotateKey,
        Self::RevokeKey,
        Self::ReloadPlugins,
        Self::RollBackPlugins,
        Self::TryComponent,
    ];

    /// Whether nothing brings back what the action takes away, so that a client should ask for a confirmation.
    pub const fn is_irreversible(self) -> bool {
        matches!(
            self,
            Self::DeleteUser
                | Self::EraseUser
                | Self::DeleteAccount
                | Self::DeleteApplication
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
            Self::RevokeDevice => "revoke-device",
            Self::DeleteApplication => "delete-application",
            Self::GrantAdminScopes => "grant-admin-scopes",
            Self::UpdateApplication => "update-application",
            Self::ApplyMetadata => "apply-metadata",
            Self::RotateClientSecret => "rotate-client-secret",
            Self::RotateKey => "rotate-key",
            Self::RevokeKey => "revoke-key",
            Self::ReloadPlugins => "reload-plugins",
            Self::RollBackPlugins => "roll-back-plugins",
            Self::TryComponent => "try-component",
        }
    }

    /// The kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

#[cfg(test)]
mod tests;
