use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A plugin's description of itself. `assent-plugin check` shows it, and the host enforces `writes`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The plugin's name, as in its `plugin.toml`.
    pub name: String,
    /// The plugin's version.
    pub version: String,
    /// What it does, in one sentence.
    pub summary: String,
    /// The claims it writes, `attribute:NAME` for SAML attributes. `*` and `attribute:*` stand for whatever the
    /// operator grants. Empty for an approval channel.
    #[serde(default)]
    pub writes: Vec<String>,
    /// JSON Schema of its settings, if it takes any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_schema: Option<Value>,
    /// Where the claims go that a mapper is asked for: `id-token`, `userinfo`, `introspection`, `saml-assertion`. All,
    /// if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sinks: Option<Vec<String>>,
    /// Whether a mapper may turn a person away ([`Failure::Deny`](crate::claims::Failure)). The operator then can't
    /// have its faults left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denies: bool,
    /// The hosts that a channel sends requests to: `push.example.org`, `*.push.example.org`, each with `:port` where it
    /// is not 443. `*` stands for whatever the operator grants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Whether a channel's requests are to follow redirects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follow_redirects: bool,
}

impl Description {
    /// A plugin that writes nothing and takes no settings.
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

    /// The claims it writes.
    pub fn writes<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.writes = names.into_iter().map(str::to_owned).collect();
        self
    }

    /// JSON Schema of its settings.
    pub fn config_schema(mut self, schema: Value) -> Self {
        self.config_schema = Some(schema);
        self
    }

    /// The only places that the mapper makes claims for. For others it is not called.
    pub fn sinks<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.sinks = Some(names.into_iter().map(str::to_owned).collect());
        self
    }

    /// It may turn a person away.
    pub fn denies(mut self) -> Self {
        self.denies = true;
        self
    }

    /// The hosts that a channel sends requests to.
    pub fn hosts<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.hosts = names.into_iter().map(str::to_owned).collect();
        self
    }

    /// Has redirects followed, where the operator allows it too.
    pub fn follow_redirects(mut self) -> Self {
        self.follow_redirects = true;
        self
    }

    /// The description as the contract carries it.
    #[doc(hidden)]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
