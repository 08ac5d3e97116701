//! The permissions of the admin API, and the console roles that give them.

use serde::Serialize;
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
                object.description(Some("A permission of the admin API. Each operation lists the one that it \
                     needs.")).into()
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
    /// To change a user's email address, to vouch for it or for a telephone number, and to delete or erase users.
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
    /// To send a test email.
    MailSend = "mail:send",
    /// To read the counts of the overview.
    OverviewRead = "overview:read",
    /// To give and take console roles and admin scopes, and to act upon those who have them.
    RolesWrite = "roles:write",
}

/// Everything that is read.
pub(super) const READS: &[Permission] = &[
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

    /// Whether who has this role may act upon somebody with that one, or with none. Else a phone that support enrols
    /// for an owner would make an owner of support.
    pub const fn may_act_upon(self, other: Option<Self>) -> bool {
        match (self, other) {
            (Self::Owner, _) | (Self::Support, None) => true,
            (Self::Admin, other) => !matches!(other, Some(Self::Owner)),
            (Self::Support | Self::Auditor, _) => false,
        }
    }
}
