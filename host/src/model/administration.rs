//! Who may do what in the admin API: permissions, the roles and scopes that give them, and the steps that are dangerous.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::model::user::ConsoleRole;

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
        impl PartialSchema for Permission {
            fn schema() -> RefOr<Schema> {
                let names = [$($text,)*];
                let object = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names));
                object.description(Some("What may be done in the admin API. Each operation names the one that it needs.")).into()
            }
        }

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
            Self::Support => matches!(permission, Me | UsersRead | UsersWrite | AccountsRead | AccountsState),
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
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
    pub const ALL: [Self; 5] = [Self::Read, Self::Users, Self::Applications, Self::Audit, Self::Operate];

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
                P::UsersRead | P::UsersWrite | P::UsersManage | P::AccountsRead | P::AccountsState | P::AccountsWrite
            ),
            (Self::Applications, permission) => {
                matches!(permission, P::ApplicationsRead | P::ApplicationsWrite | P::AccountsRead | P::ClaimsRead)
            }
            (Self::Audit, permission) => permission == P::AuditRead,
            (Self::Operate, permission) => matches!(
                permission,
                P::KeysRead | P::KeysWrite | P::PluginsRead | P::PluginsWrite | P::SettingsRead | P::OverviewRead
            ),
        }
    }
}

/// A set of admin scopes. On the wire: names with one space between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct AdminScopes(BTreeSet<AdminScope>);

impl AdminScopes {
    /// The admin scopes that a text names, without what is none.
    pub fn known(text: &str) -> Self {
        let named: Vec<&str> = text.split(' ').collect();
        AdminScope::ALL.into_iter().filter(|scope| named.contains(&scope.as_str())).collect()
    }

    /// The admin scopes that a text names; `None` if one of them is none.
    pub fn parse(text: &str) -> Option<Self> {
        let named = text.split(' ').filter(|name| !name.is_empty());
        named.map(|name| AdminScope::ALL.into_iter().find(|scope| scope.as_str() == name)).collect()
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

/// A step that does harm if somebody else takes it with an administrator's browser: what it is, for the routes that take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Danger {
    /// Deletes a user.
    DeleteUser,
    /// Erases who a user was.
    EraseUser,
    /// Gives or takes a console role, where the body has `console_role`; changes the e-mail address of a user who is there; or
    /// closes a user for good.
    ChangeUser,
    /// Makes and changes users or accounts, as many as a table has; unless it is only checked.
    ImportTable,
    /// Gives somebody another way to approve, where they have one: whoever gets it can sign in as them.
    AddDevice,
    /// Lets somebody approve at a vendor, where they can approve with something: whoever has that address there can sign in as them.
    SetApprovalAddress,
    /// Gives somebody an account under another name than their own, where the body has such a `name`.
    GiveAccount,
    /// Changes what an application calls somebody, where the body has another `name`: an application that knows people by it takes
    /// one for the other. Or closes an account for good.
    ChangeAccount,
    /// Takes an account away, and leaves its name to others.
    DeleteAccount,
    /// Takes a device away from somebody with a console role.
    RemoveDevice,
    /// Deletes an application.
    DeleteApplication,
    /// Gives admin scopes to a new application, where the body has `admin_scopes`.
    GiveAdminScopes,
    /// Changes how an application proves who it is, where it is answered or what it is told; and anything of a service account.
    ChangeApplication,
    /// Changes a SAML application to what its metadata says, where the body has `apply`.
    ApplyMetadata,
    /// Makes a client secret in place of the one before.
    NewSecret,
    /// Lets another key sign.
    RotateKey,
    /// Takes a key out of use.
    RevokeKey,
    /// Exchanges the plugins.
    ReloadPlugins,
    /// Puts the plugins back that were there before the last exchange.
    RollBackPlugins,
    /// Compiles and runs a component that is not loaded, as a candidate.
    TryComponent,
}

impl Danger {
    /// The step's stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DeleteUser => "delete-user",
            Self::EraseUser => "erase-user",
            Self::ChangeUser => "change-user",
            Self::ImportTable => "import-table",
            Self::AddDevice => "add-device",
            Self::SetApprovalAddress => "set-approval-address",
            Self::GiveAccount => "give-account",
            Self::ChangeAccount => "change-account",
            Self::DeleteAccount => "delete-account",
            Self::RemoveDevice => "remove-device",
            Self::DeleteApplication => "delete-application",
            Self::GiveAdminScopes => "give-admin-scopes",
            Self::ChangeApplication => "change-application",
            Self::ApplyMetadata => "apply-metadata",
            Self::NewSecret => "new-secret",
            Self::RotateKey => "rotate-key",
            Self::RevokeKey => "revoke-key",
            Self::ReloadPlugins => "reload-plugins",
            Self::RollBackPlugins => "roll-back-plugins",
            Self::TryComponent => "try-component",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_but_an_owner_gives_roles_and_no_scope_does() {
        for role in [ConsoleRole::Admin, ConsoleRole::Support, ConsoleRole::Auditor] {
            assert!(!role.gives(Permission::RolesWrite) && !role.may_act_upon(Some(ConsoleRole::Owner)), "{role:?}");
        }
        assert!(!AdminScope::ALL.into_iter().any(|scope| scope.gives(Permission::RolesWrite)));
    }

    #[test]
    fn who_only_reads_changes_nothing() {
        for permission in
            Permission::ALL.iter().filter(|one| !one.as_str().ends_with(":read") && **one != Permission::Me)
        {
            assert!(!ConsoleRole::Auditor.gives(*permission) && !AdminScope::Read.gives(*permission), "{permission:?}");
        }
    }
}
