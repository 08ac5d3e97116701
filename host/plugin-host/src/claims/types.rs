//! What a claim mapper receives, and what it and the chain answer.

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
    /// Whether the application says it can't do without.
    pub essential: bool,
    /// In the order of preference; empty when any value will do.
    pub values: Vec<Value>,
}

/// Everything that a claim mapper gets to know.
#[derive(Clone, Debug)]
pub struct ClaimInput {
    /// The protocol that the application speaks.
    pub protocol: Protocol,
    /// Where the claims are going.
    pub sink: Sink,
    /// The present moment; plugins see whole seconds.
    pub now: Timestamp,
    /// The application, by which the plugins are chosen.
    pub application_id: Did,
    /// The application as plugins see it, a JSON object.
    pub application: Value,
    /// The person in this application, a JSON object.
    pub account: Value,
    /// The person, a JSON object.
    pub user: Value,
    /// The person's roles in this application.
    pub roles: Vec<String>,
    /// The scopes that were granted.
    pub scopes: Vec<String>,
    /// What the request asked for by name.
    pub requested: Vec<RequestedClaim>,
    /// Authentication context class of the login.
    pub acr: Option<String>,
    /// Authentication methods of the login (RFC 8176).
    pub amr: Vec<String>,
    /// The claims that the host made.
    pub claims: Map<String, Value>,
}

/// What the chain made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MappedClaims {
    /// All claims: the host's, as the plugins edited them. The protected ones are as they came.
    pub claims: Map<String, Value>,
    /// Which plugin set or removed a claim, by the claim's name.
    pub owners: BTreeMap<String, String>,
    /// Attributes for the assertion, in the order in which they were made.
    pub attributes: Vec<SamlAttribute>,
    /// The plugin calls, in their order.
    pub steps: Vec<MapperRun>,
}

/// What one plugin of the chain did.
#[derive(Clone, Debug, PartialEq)]
pub struct MapperRun {
    /// The plugin.
    pub plugin: Arc<PluginIdentity>,
    /// What its call used.
    pub usage: Usage,
    /// The outcome.
    pub end: MapperRunEnd,
}

/// How a plugin's part in the chain ended.
#[derive(Clone, Debug, PartialEq)]
pub enum MapperRunEnd {
    /// It changed this, in this order.
    Changed(Vec<TracedChange>),
    /// It failed, and its claims were left out.
    LeftOut(Fault),
    /// It denied, or failed, and the chain ended.
    Stopped(MapFailureKind),
}

/// One change of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub enum TracedChange {
    /// It set or removed a claim.
    Claim {
        /// The claim's name.
        name: String,
        /// The value before it, if there was one.
        before: Option<Value>,
        /// The value after it, if there is one.
        after: Option<Value>,
    },
    /// It added an attribute, or values to it.
    Attribute(SamlAttribute),
}

/// Why there are no claims. Nothing was made: the login fails closed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("plugin `{plugin}` {kind}")]
pub struct MapFailure {
    /// The plugin that failed or denied.
    pub plugin: String,
    /// What it did.
    pub kind: MapFailureKind,
    /// What each plugin did until then, the one that stopped the chain as the last.
    pub steps: Vec<MapperRun>,
}

/// An edit as a plugin suggests it, before it is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Sets a claim to a value, which is JSON text.
    Set(String, String),
    /// Removes a claim.
    Remove(String),
    /// Adds an attribute.
    Attribute(SamlAttribute),
}

/// What a plugin answers in place of edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MapError {
    /// The person does not get in.
    Deny(String),
    /// It could not do its work.
    Fault(String),
}

/// What a plugin did instead of making claims.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapFailureKind {
    /// It decided that the person does not get into the application, and tells them why in one sentence.
    #[error("denies: {0}")]
    Deny(String),
    /// It failed, or broke its contract.
    #[error("{0}")]
    Fault(Fault),
}

/// JSON always has a text; made this way it takes a fraction of the time that its `Display` does.
pub(super) fn json_text(json: &impl Serialize) -> String {
    serde_json::to_string(json).unwrap_or_default()
}
