//! The identity of a component, and its description of itself.

use serde::{Deserialize, Serialize};

use crate::sink::Sink;
use crate::world::World;

/// The identity of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PluginIdentity))]
pub struct PluginIdentity {
    /// The plugin's name in the settings.
    pub plugin: String,
    /// The component's own name.
    pub component: String,
    /// The component's own version.
    pub version: String,
    /// The SHA-256 digest of the file, in hexadecimal.
    pub sha256: String,
}

/// A component's description of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its task, in one sentence.
    #[serde(default)]
    pub summary: String,
    /// The claims that it writes, with `attribute:NAME` for SAML attributes. `*` and `attribute:*` leave the choice to
    /// the operator.
    #[serde(default)]
    pub writes: Vec<String>,
    /// The JSON Schema of its settings, if it has settings.
    #[serde(default)]
    pub config_schema: Option<serde_json::Value>,
    /// The destinations of claims for which it runs. All destinations, if it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sinks: Option<Vec<Sink>>,
    /// Whether it may deny a user access. The failures of such a plugin must not be omitted. The denial of another
    /// plugin is a fault.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denies: bool,
    /// The hosts to which it sends requests, in the format of [`HttpGrant::hosts`](crate::HttpGrant::hosts). `*` leaves
    /// the choice to the operator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Whether its requests should follow redirects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follow_redirects: bool,
}

/// The result of [`inspect`](crate::inspect) for a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspection {
    /// The contract that the component implements.
    pub world: World,
    /// The version of that contract.
    pub contract_version: String,
    /// The interfaces that it imports.
    pub imports: Vec<String>,
    /// The file's size in bytes.
    pub size: usize,
    /// The SHA-256 digest of the file, in hexadecimal.
    pub sha256: String,
    /// Its description of itself.
    pub description: Description,
}
