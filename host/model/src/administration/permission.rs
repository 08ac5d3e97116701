//! The permissions of the admin API, and the console roles that grant them.

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
        /// A permission of the admin API. Each route declares the permission that it requires.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[derive(strum::IntoStaticStr, strum::VariantArray)]
        pub enum Permission {
            $($(#[$doc])* #[serde(rename = $text)] #[strum(serialize = $text)] $name,)*
        }
        crate::enum_texts!(Permission);

        // The derive macro does not support names from this macro.
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
    /// To read the caller's own identity. Every caller has this permission.
    Me = "me",
    /// To read users, with their devices, sessions, consents and activity.
    UsersRead = "users:read",
    /// To create and change users; their devices, enrolment links, sessions, consents and external authenticators.
    UsersWrite = "users:write",
    /// To change a user's email address, to mark it or a telephone number as verified, and to delete or erase users.
    UsersManage = "users:manage",
    /// To ask the device of a user whether the user is on the phone.
    UsersVerify = "users:verify",
    /// To read accounts.
    AccountsRead = "accounts:read",
    /// To suspend and reactivate accounts.
    AccountsState = "accounts:state",
    /// To create, change and delete accounts, with their names and roles.
    AccountsWrite = "accounts:write",
    /// To read applications.
    ApplicationsRead = "applications:read",
    /// To create, change and delete applications, their secrets, certificates and logos.
    ApplicationsWrite = "applications:write",
    /// To read which claims applications receive about users, and why.
    ClaimsRead = "claims:read",
    /// To read the audit log.
    AuditRead = "audit:read",
    /// To read receipts: the address, the browser and the name of each user who answered an approval request.
    ReceiptsRead = "receipts:read",
    /// To list the keys.
    KeysRead = "keys:read",
    /// To rotate and revoke keys.
    KeysWrite = "keys:write",
    /// To list the plugins and their status.
    PluginsRead = "plugins:read",
    /// To replace the plugins.
    PluginsWrite = "plugins:write",
    /// To read the current settings.
    SettingsRead = "settings:read",
    /// To send a test email.
    MailSend = "mail:send",
    /// To read the counts of the overview.
    OverviewRead = "overview:read",
    /// To grant and revoke console roles and admin scopes, and to change users and applications that have them.
    RolesWrite = "roles:write",
}

/// All permissions to read.
pub(super) const READS: &[Permission] = &[
    Permission::UsersRead,
    Permission::AccountsRead,
    Permission::ApplicationsRead,
    Permission::ClaimsRead,
    Permission::AuditRead,
    Permission::ReceiptsRead,
    Permission::KeysRead,
    Permission::PluginsRead,
    Permission::SettingsRead,
    Permission::OverviewRead,
];

impl ConsoleRole {
    /// Whether the role grants this permission.
    pub fn gives(self, permission: Permission) -> bool {
        use Permission::{
            AccountsRead, AccountsState, Me, RolesWrite, UsersRead, UsersVerify, UsersWrite,
        };
        match self {
            Self::Owner => true,
            Self::Admin => permission != RolesWrite,
            Self::Support => matches!(
                permission,
                Me | UsersRead | UsersWrite | UsersVerify | AccountsRead | AccountsState
            ),
            Self::Auditor => permission == Me || READS.contains(&permission),
        }
    }

    /// Whether a user with this role may manage a user with the other role, or with no role. Otherwise a support user
    /// could become an owner by enrolling a device for an owner.
    pub const fn may_act_upon(self, other: Option<Self>) -> bool {
        match (self, other) {
            (Self::Owner, _) | (Self::Support, None) => true,
            (Self::Admin, other) => !matches!(other, Some(Self::Owner)),
            (Self::Support | Self::Auditor, _) => false,
        }
    }
}
