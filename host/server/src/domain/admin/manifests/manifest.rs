//! Manifests: the desired objects of a manifest owner.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::admin::applications::ClientChange;
use crate::domain::admin::service_providers::ServiceProviderChange;
use assent_model::application::Protocol;
use assent_model::command::{Change, unremovable_member};
use assent_model::id::{Did, GroupId};
use assent_model::management::{ManifestKey, ManifestOwner};

/// The applications, groups and access that an owner manages. Objects refer to each other by their keys.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The owner, such as `platform-team`.
    #[schema(value_type = String, max_length = 64, pattern = "^[a-z0-9][a-z0-9._-]*$")]
    pub owner: ManifestOwner,
    /// The applications.
    #[serde(default)]
    #[schema(required = false)]
    pub applications: Vec<ManifestApplication>,
    /// The groups.
    #[serde(default)]
    #[schema(required = false)]
    pub groups: Vec<ManifestGroup>,
    /// The assignments of the applications to groups and to everyone.
    #[serde(default)]
    #[schema(required = false)]
    pub assignments: Vec<ManifestAssignment>,
    /// The accounts of users in the applications.
    #[serde(default)]
    #[schema(required = false)]
    pub accounts: Vec<ManifestAccount>,
}

/// An application. A missing member has the default of a new application.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum ManifestApplication {
    /// An OpenID Connect client.
    Client(Box<ManifestClient>),
    /// A SAML service provider.
    ServiceProvider(Box<ManifestServiceProvider>),
}

/// The settings of a managed application. A missing member has the default of a new application.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ManagedSettings {
    /// The settings of an OpenID Connect client.
    Client(Box<ClientChange>),
    /// The settings of a SAML service provider.
    ServiceProvider(Box<ServiceProviderChange>),
}

/// An OpenID Connect client of a manifest.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ManifestClient {
    #[serde(flatten)]
    pub(super) common: CommonMembers,
    #[schema(inline, required = false)]
    protocol: ClientProtocol,
    #[serde(flatten)]
    pub(super) change: ClientChange,
}

/// A SAML service provider of a manifest.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ManifestServiceProvider {
    #[serde(flatten)]
    pub(super) common: CommonMembers,
    #[schema(inline)]
    protocol: ServiceProviderProtocol,
    #[serde(flatten)]
    pub(super) change: ServiceProviderChange,
}

/// The members of an application of either protocol.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(super) struct CommonMembers {
    /// The key. It never changes.
    #[schema(value_type = String, max_length = 64, pattern = "^[a-z0-9][a-z0-9._-]*$")]
    pub(super) key: ManifestKey,
    /// The id of an application that no manifest manages yet. The owner adopts it. Without effect afterwards.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub(super) adopt: Option<Did>,
    /// The logo: an image in PNG, JPEG or WebP format, of 64 KiB at most, in base64. An empty text means no logo.
    /// Without this member the manifest does not change the logo. Not together with `logo_uri`.
    #[serde(default, deserialize_with = "without_null")]
    #[schema(nullable = false)]
    pub(super) logo: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ClientProtocol {
    #[default]
    OpenidConnect,
}

#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ServiceProviderProtocol {
    #[default]
    Saml,
}

/// A group of users.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ManifestGroup {
    /// The key. It never changes.
    #[schema(value_type = String, max_length = 64, pattern = "^[a-z0-9][a-z0-9._-]*$")]
    pub(super) key: ManifestKey,
    /// The id of a group that no manifest manages yet. The owner adopts it. Without effect afterwards.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub(super) adopt: Option<GroupId>,
    /// The name, which applications receive in the claim `groups`.
    pub(super) name: String,
    /// The purpose of the group.
    #[serde(default)]
    pub(super) description: Option<String>,
    /// The user names of all its members. Without this member the manifest does not change the members.
    #[serde(default, deserialize_with = "without_null")]
    #[schema(nullable = false)]
    pub(super) members: Option<Vec<String>>,
}

/// An assignment of an application to a group, or to everyone. The owner adopts an existing one.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ManifestAssignment {
    /// The key of the application.
    #[schema(value_type = String)]
    pub(super) application: ManifestKey,
    /// The key of the group. Without it, the assignment is to every active user.
    #[serde(default, deserialize_with = "without_null")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub(super) group: Option<ManifestKey>,
    /// The roles.
    #[serde(default)]
    #[schema(required = false)]
    pub(super) roles: Vec<String>,
}

/// An account: a user's access to an application. The owner adopts an existing one.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ManifestAccount {
    /// The key of the application.
    #[schema(value_type = String)]
    pub(super) application: ManifestKey,
    /// The user name.
    pub(super) user: String,
    /// The roles of the account itself.
    #[serde(default)]
    #[schema(required = false)]
    pub(super) roles: Vec<String>,
}

impl Manifest {
    /// Returns a manifest with a single application.
    pub(super) fn of_application(owner: ManifestOwner, application: ManifestApplication) -> Self {
        Self {
            owner,
            applications: vec![application],
            groups: Vec::new(),
            assignments: Vec::new(),
            accounts: Vec::new(),
        }
    }

    /// Returns whether the manifest names objects other than applications.
    pub(super) const fn names_access(&self) -> bool {
        !(self.groups.is_empty() && self.assignments.is_empty() && self.accounts.is_empty())
    }
}

impl ManifestApplication {
    /// Returns an application with this key.
    pub(super) fn with_key(key: ManifestKey, settings: ManagedSettings) -> Self {
        let common = CommonMembers {
            key,
            adopt: None,
            logo: None,
        };
        match settings {
            ManagedSettings::Client(change) => Self::Client(Box::new(ManifestClient {
                common,
                protocol: ClientProtocol::OpenidConnect,
                change: *change,
            })),
            ManagedSettings::ServiceProvider(change) => {
                Self::ServiceProvider(Box::new(ManifestServiceProvider {
                    common,
                    protocol: ServiceProviderProtocol::Saml,
                    change: *change,
                }))
            }
        }
    }

    /// Whether it names an address from which the server fetches the logo.
    pub(super) fn has_logo_uri(&self) -> bool {
        match self {
            Self::Client(client) => matches!(client.change.logo_uri, Some(Some(_))),
            Self::ServiceProvider(_) => false,
        }
    }

    pub(super) const fn common(&self) -> &CommonMembers {
        match self {
            Self::Client(client) => &client.common,
            Self::ServiceProvider(provider) => &provider.common,
        }
    }

    const fn common_mut(&mut self) -> &mut CommonMembers {
        match self {
            Self::Client(client) => &mut client.common,
            Self::ServiceProvider(provider) => &mut provider.common,
        }
    }

    fn with_common(common: CommonMembers, mut members: Map<String, Value>) -> Result<Self, String> {
        let protocol = match members.remove("protocol") {
            None => Protocol::default(),
            Some(protocol) => serde_json::from_value(protocol)
                .map_err(|_| "protocol: expected openid_connect or saml".to_owned())?,
        };
        let settings = match protocol {
            Protocol::OpenidConnect => ManagedSettings::Client(Box::new(read_change(&members)?)),
            Protocol::Saml => ManagedSettings::ServiceProvider(Box::new(read_change(&members)?)),
        };
        let mut application = Self::with_key(common.key.clone(), settings);
        *application.common_mut() = common;
        Ok(application)
    }
}

// The other members depend on the protocol, and unknown members are errors. Serde cannot combine these rules.
impl<'de> Deserialize<'de> for ManifestApplication {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Map::<String, Value>::deserialize(deserializer)?;
        let common = ["key", "adopt", "logo"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), members.remove(name)?)))
            .collect();
        let common: CommonMembers = read(common).map_err(D::Error::custom)?;
        Self::with_common(common, members).map_err(D::Error::custom)
    }
}

/// Deserializes a member for which null is an error, because a missing member does not mean an empty one.
fn without_null<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// Deserializes settings. Null is an error for a member that must have a value.
fn read_change<T: Change + DeserializeOwned>(members: &Map<String, Value>) -> Result<T, String> {
    let change: T = read(members.clone())?;
    match unremovable_member(&change, members) {
        None => Ok(change),
        Some(name) => Err(format!(
            "{name}: expected a value, or no member, and not null"
        )),
    }
}

/// Deserializes members. The error names the invalid member.
fn read<T: DeserializeOwned>(members: Map<String, Value>) -> Result<T, String> {
    serde_path_to_error::deserialize(Value::Object(members)).map_err(|error| {
        let path = error.path().to_string();
        // The value was converted before, so its line number is not that of the file.
        let why = error.inner().to_string();
        let why = why.split(" at line ").next().unwrap_or(&why);
        match path.as_str() {
            "." => why.to_owned(),
            path => format!("{path}: {why}"),
        }
    })
}
