use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A plugin's description of itself. `assent-plugin check` shows it, and the server enforces `writes`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The plugin's name, as in its `plugin.toml`.
    pub name: String,
    /// The plugin's version.
    pub version: String,
    /// The plugin's task, in one sentence.
    pub summary: String,
    /// The claims that the plugin writes, with `attribute:NAME` for SAML attributes. `*` and `attribute:*` leave the
    /// choice to the operator. Empty for an approval channel.
    #[serde(default)]
    pub writes: Vec<String>,
    /// The JSON Schema of the settings, if the plugin has settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_schema: Option<Value>,
    /// The destinations of claims for which a mapper runs: `id-token`, `userinfo`, `introspection`, `saml-assertion`.
    /// `None` means all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sinks: Option<Vec<String>>,
    /// Whether a mapper may deny a user access ([`Failure::Deny`](crate::claims::Failure)). Then the operator cannot
    /// omit its faults.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denies: bool,
    /// The hosts to which a channel sends requests: `push.example.org`, `*.push.example.org`, each with `:port` if the
    /// port is not 443. `*` leaves the choice to the operator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Whether a channel's requests should follow redirects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follow_redirects: bool,
}

impl Description {
    /// Creates a description of a plugin that writes nothing and has no settings.
    pub fn new(name: &str, version: &str, summary: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            summary: summary.to_owned(),
            writes: Vec::new(),
            config_schema: None,
            sinks: None,
            denies: false,
            hosts: Vec::new(),
            follow_redirects: false,
        }
    }

    /// Sets the claims that the plugin writes.
    pub fn writes<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.writes = names.into_iter().map(str::to_owned).collect();
        self
    }

    /// Sets the JSON Schema of the settings.
    pub fn config_schema(mut self, schema: Value) -> Self {
        self.config_schema = Some(schema);
        self
    }

    /// Sets the destinations of claims for which the mapper runs. The server does not call it for other destinations.
    pub fn sinks<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.sinks = Some(names.into_iter().map(str::to_owned).collect());
        self
    }

    /// Declares that the mapper may deny a user access.
    pub fn denies(mut self) -> Self {
        self.denies = true;
        self
    }

    /// Sets the hosts to which a channel sends requests.
    pub fn hosts<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.hosts = names.into_iter().map(str::to_owned).collect();
        self
    }

    /// Requests that the host follows redirects. The operator must permit this too.
    pub fn follow_redirects(mut self) -> Self {
        self.follow_redirects = true;
        self
    }

    /// Returns the description as JSON, as in the contract.
    #[doc(hidden)]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
