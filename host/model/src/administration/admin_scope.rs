//! The scopes of a service account in the admin API.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use crate::administration::permission::{Permission, READS};

/// A permission of an application in the admin API, where it acts as a service account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", prefix = "admin:")]
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
    /// To read receipts.
    #[serde(rename = "admin:receipts")]
    Receipts,
    /// To rotate keys, reload plugins, and read the status of the server.
    #[serde(rename = "admin:operate")]
    Operate,
}
crate::enum_texts!(AdminScope);

impl AdminScope {
    /// Returns a short description.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Read => "Read everything",
            Self::Users => "Manage users and accounts, except users with a role in the console",
            Self::Applications => "Manage applications, but none with admin scopes",
            Self::Audit => "Read the audit log",
            Self::Receipts => "Read receipts, the evidence of approvals",
            Self::Operate => "Rotate keys, reload plugins, read the status of the server",
        }
    }

    /// Whether the scope grants this permission.
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
                    | P::UsersVerify
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
            (Self::Receipts, permission) => permission == P::ReceiptsRead,
            (Self::Operate, permission) => matches!(
                permission,
                P::KeysRead
                    | P::KeysWrite
                    | P::PluginsRead
                    | P::PluginsWrite
                    | P::SettingsRead
                    | P::MailSend
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
    /// Parses the known admin scopes in a text. Unknown names are ignored.
    pub fn parse_known(text: &str) -> Self {
        text.split(' ').filter_map(AdminScope::parse).collect()
    }

    /// Parses the admin scopes in a text. Returns `None` if a name is unknown.
    pub fn parse(text: &str) -> Option<Self> {
        let named = text.split(' ').filter(|name| !name.is_empty());
        named.map(AdminScope::parse).collect()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the other set contains every scope of this set.
    pub fn within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// Returns the intersection of both sets.
    pub fn both(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// Whether a scope of the set grants this permission.
    pub fn grants(&self, permission: Permission) -> bool {
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
