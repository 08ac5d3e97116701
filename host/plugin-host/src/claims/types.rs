//! The input of claim mappers, and the results of a mapper and of the chain.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::attribute::SamlAttribute;
use crate::description::PluginIdentity;
use crate::fault::Fault;
use crate::sink::Sink;
use crate::usage::Usage;
use assent_model::clock::Timestamp;
use assent_model::id::Did;

/// The protocol that the application speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// OpenID Connect.
    Oidc,
    /// SAML 2.0.
    Saml,
}

/// One entry of the request's `claims` parameter (OpenID Connect Core 1.0, section 5.5).
#[derive(Clone, Debug, PartialEq)]
pub struct RequestedClaim {
    /// The claim's name.
    pub name: String,
    /// Whether the claim is essential for the application.
    pub essential: bool,
    /// The requested values, in the order of preference. Empty if the application accepts any value.
    pub values: Vec<Value>,
}

/// The input of a claim mapper.
#[derive(Clone, Debug)]
pub struct ClaimInput {
    /// The protocol that the application speaks.
    pub protocol: Protocol,
    /// The destination of the claims.
    pub sink: Sink,
    /// The current time. Plugins receive whole seconds.
    pub now: Timestamp,
    /// The application, which selects the plugins.
    pub application_id: Did,
    /// The application in the format for plugins, a JSON object.
    pub application: Value,
    /// The user's account in this application, a JSON object.
    pub account: Value,
    /// The user, a JSON object.
    pub user: Value,
    /// The user's roles in this application.
    pub roles: Vec<String>,
    /// The granted scopes.
    pub scopes: Vec<String>,
    /// The claims that the request names.
    pub requested: Vec<RequestedClaim>,
    /// The authentication context class of the sign-in.
    pub acr: Option<String>,
    /// The authentication methods of the sign-in (RFC 8176).
    pub amr: Vec<String>,
    /// The claims from the server.
    pub claims: Map<String, Value>,
}

/// The result of the chain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MappedClaims {
    /// All claims: those of the server with the edits of the plugins. Protected claims are unchanged.
    pub claims: Map<String, Value>,
    /// The plugin that set or removed each claim, by the claim's name.
    pub owners: BTreeMap<String, String>,
    /// The attributes of the assertion, in the order in which the plugins added them.
    pub attributes: Vec<SamlAttribute>,
    /// The plugin calls, in their order.
    pub steps: Vec<MapperRun>,
}

/// The run of one plugin in the chain.
#[derive(Clone, Debug, PartialEq)]
pub struct MapperRun {
    /// The plugin.
    pub plugin: Arc<PluginIdentity>,
    /// The use of its call.
    pub usage: Usage,
    /// The outcome.
    pub end: MapperRunEnd,
}

/// The outcome of a plugin's run.
#[derive(Clone, Debug, PartialEq)]
pub enum MapperRunEnd {
    /// The plugin made these changes, in this order.
    Changed(Vec<TracedChange>),
    /// The plugin failed, and its edits were omitted.
    LeftOut(Fault),
    /// The plugin denied or failed, and the chain stopped.
    Stopped(MapFailureKind),
}

/// One change of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub enum TracedChange {
    /// The plugin set or removed a claim.
    Claim {
        /// The claim's name.
        name: String,
        /// The earlier value, if the claim existed.
        before: Option<Value>,
        /// The later value, if the claim exists.
        after: Option<Value>,
    },
    /// The plugin added an attribute, or values to an attribute.
    Attribute(SamlAttribute),
}

/// The reason why the chain has no result. The sign-in fails closed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("plugin `{plugin}` {kind}")]
pub struct MapFailure {
    /// The plugin that failed or denied.
    pub plugin: String,
    /// Its denial or fault.
    pub kind: MapFailureKind,
    /// The runs of the plugins so far. The last one stopped the chain.
    pub steps: Vec<MapperRun>,
}

/// An edit that a plugin suggests, before the check of its permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Sets a claim to a value, which is JSON text.
    Set(String, String),
    /// Removes a claim.
    Remove(String),
    /// Adds an attribute.
    Attribute(SamlAttribute),
}

/// The result of a plugin that returned no edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MapError {
    /// The plugin denied the user access. The text is the reason.
    Deny(String),
    /// The plugin reported a failure of its own.
    Fault(String),
}

/// The reason why a plugin returned no claims.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapFailureKind {
    /// The plugin denied the user access to the application. The text is the reason for the user, in one sentence.
    #[error("denies: {0}")]
    Deny(String),
    /// The plugin failed or broke its contract.
    #[error("{0}")]
    Fault(Fault),
}

/// Serializes JSON to text. This is several times faster than its `Display` implementation, and JSON always has a text.
pub(super) fn json_text(json: &impl Serialize) -> String {
    serde_json::to_string(json).unwrap_or_default()
}
