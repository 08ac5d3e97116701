//! What a component is: which one, and what it says about itself.

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

/// What a component says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it does, in one sentence.
    #[serde(default)]
    pub summary: String,
    /// The claims it writes, `attribute:NAME` for SAML attributes; `*` and `attribute:*` leave the choice to the
    /// operator.
    #[serde(default)]
    pub writes: Vec<String>,
    /// JSON Schema of its settings, if it takes any.
    #[serde(default)]
    pub config_schema: Option<serde_json::Value>,
    /// Where the claims go that it is asked for; everywhere, if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sinks: Option<Vec<Sink>>,
    /// Whether it may turn a person away. What such a plugin fails to say can't be left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denies: bool,
    /// The hosts it sends requests to, as [`HttpGrant::hosts`](crate::HttpGrant::hosts) names them; `*` leaves the
    /// choice to the operator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Whether its requests are to follow redirects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follow_redirects: bool,
}

/// What [`inspect`](crate::inspect) finds out about a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspection {
    /// The contract that the component is made for.
    pub world: World,
    /// The version of that contract.
    pub contract_version: String,
    /// The interfaces it asks for.
    pub imports: Vec<String>,
    /// The file's size in bytes.
    pub size: usize,
    /// The SHA-256 digest of the file, in hexadecimal.
    pub sha256: String,
    /// What it says about itself.
    pub description: Description,
}
