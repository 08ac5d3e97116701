//! Claim mappers: the chain of plugins that decides what an application is told about a person.

use std::collections::BTreeMap;

use base64::Engine;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wasmtime::component::{Component, HasSelf, Linker};

use super::bindings::claims::ClaimMapperPre;
use super::bindings::claims::exports::assent::claims::mapper as wit;
use super::engine::{Call, Runner, one_line};
use super::fault::Fault;
use super::protected::{Grants, is_protected};
use super::spec::OnFailure;
use crate::clock::Timestamp;
use crate::id::Did;

/// The protocol that the application speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// OpenID Connect.
    Oidc,
    /// SAML 2.0.
    Saml,
}

/// Where the claims are going. A preview uses the sink that it previews, so a plugin can't tell the two apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sink {
    /// OpenID Connect Core 1.0, section 2.
    IdToken,
    /// OpenID Connect Core 1.0, section 5.3.
    Userinfo,
    /// RFC 7662.
    Introspection,
    /// SAML 2.0 Core, section 2.7.3.
    SamlAssertion,
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

/// An attribute for the assertion's AttributeStatement (SAML 2.0 Core, section 2.7.3.1). Every text in it is one that
/// XML 1.0 can carry; escaping is up to whoever writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamlAttribute {
    /// `Name`.
    pub name: String,
    /// `NameFormat`; never the basic one, which is that of an attribute without.
    pub name_format: Option<String>,
    /// `FriendlyName`.
    pub friendly_name: Option<String>,
    /// What the values are.
    pub value_type: ValueType,
    /// One `AttributeValue` each.
    pub values: Vec<String>,
}

/// The `NameFormat` of an attribute that names none (SAML 2.0 Core, section 8.2.3).
const BASIC: &str = "urn:oasis:names:tc:SAML:2.0:attrname-format:basic";

/// What the values of an attribute are (XML Schema Part 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// `xs:string`
    String,
    /// `xs:boolean`
    Boolean,
    /// `xs:integer`
    Integer,
    /// `xs:dateTime`
    DateTime,
    /// `xs:anyURI`
    AnyUri,
    /// `xs:base64Binary`
    Base64Binary,
}

impl ValueType {
    /// What `xsi:type` says.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::String => "xs:string",
            Self::Boolean => "xs:boolean",
            Self::Integer => "xs:integer",
            Self::DateTime => "xs:dateTime",
            Self::AnyUri => "xs:anyURI",
            Self::Base64Binary => "xs:base64Binary",
        }
    }

    /// Whether a value is of this type.
    fn admits(self, value: &str) -> bool {
        match self {
            Self::String => true,
            Self::Boolean => matches!(value, "true" | "false" | "1" | "0"),
            Self::Integer => {
                let digits = value.strip_prefix(['+', '-']).unwrap_or(value);
                !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
            }
            Self::DateTime => value.contains('T') && value.parse::<jiff::Timestamp>().is_ok(),
            Self::AnyUri => !value.contains(char::is_whitespace),
            Self::Base64Binary => base64::engine::general_purpose::STANDARD.decode(value).is_ok(),
        }
    }
}

impl From<wit::ValueType> for ValueType {
    fn from(value_type: wit::ValueType) -> Self {
        match value_type {
            wit::ValueType::String => Self::String,
            wit::ValueType::Boolean => Self::Boolean,
            wit::ValueType::Integer => Self::Integer,
            wit::ValueType::DateTime => Self::DateTime,
            wit::ValueType::AnyUri => Self::AnyUri,
            wit::ValueType::Base64Binary => Self::Base64Binary,
        }
    }
}

/// What the chain made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapped {
    /// All claims: the host's, as the plugins edited them. The protected ones are as they came.
    pub claims: Map<String, Value>,
    /// Which plugin set or removed a claim, by the claim's name.
    pub owners: BTreeMap<String, String>,
    /// Attributes for the assertion, in the order in which they were made.
    pub attributes: Vec<SamlAttribute>,
}

/// Why there are no claims. Nothing was made: the login fails closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("plugin `{plugin}` {kind}")]
pub struct MapFailure {
    /// The plugin that failed or denied.
    pub plugin: String,
    /// What it did.
    pub kind: MapFailureKind,
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

/// What a claim mapper is asked for; everything, where a list is not there.
pub(super) struct Scope {
    /// The applications, by the operator's settings.
    pub(super) applications: Option<Vec<Did>>,
    /// Where the claims go, by the plugin's own description.
    pub(super) sinks: Option<Vec<Sink>>,
}

impl Scope {
    fn includes(&self, application: &Did, sink: Sink) -> bool {
        self.applications.as_ref().is_none_or(|served| served.contains(application))
            && self.sinks.as_ref().is_none_or(|served| served.contains(&sink))
    }
}

/// One claim mapper of the chain.
pub(super) struct ClaimMapper {
    runner: Runner,
    component: ClaimMapperPre<Call>,
    scope: Scope,
    grants: Grants,
    on_failure: OnFailure,
    config: String,
}

/// Links a component with what a claim mapper may reach: the log.
pub(super) fn link(component: &Component) -> wasmtime::Result<ClaimMapperPre<Call>> {
    let mut linker = Linker::<Call>::new(component.engine());
    super::bindings::approval::assent::host::log::add_to_linker::<_, HasSelf<Call>>(&mut linker, |call| call)?;
    ClaimMapperPre::new(linker.instantiate_pre(component)?)
}

/// Asks a component what it is.
pub(super) async fn describe(runner: &Runner, component: &ClaimMapperPre<Call>) -> Result<String, Fault> {
    let call = async |mut store: wasmtime::Store<Call>| {
        let instance = component.instantiate_async(&mut store).await?;
        instance.assent_claims_mapper().call_describe(&mut store).await
    };
    runner.run(call).await
}

impl ClaimMapper {
    pub(super) fn new(
        runner: Runner,
        component: ClaimMapperPre<Call>,
        scope: Scope,
        grants: Grants,
        on_failure: OnFailure,
        config: String,
    ) -> Self {
        Self { runner, component, scope, grants, on_failure, config }
    }

    pub(super) fn name(&self) -> &str {
        self.runner.name()
    }

    /// Asks the plugin about its settings; each error is a sentence.
    pub(super) async fn validate(&self) -> Result<Result<(), Vec<String>>, Fault> {
        let call = async |mut store: wasmtime::Store<Call>| {
            let instance = self.component.instantiate_async(&mut store).await?;
            instance.assent_claims_mapper().call_validate(&mut store, &self.config).await
        };
        self.runner.run(call).await
    }

    /// A claim that this plugin and the other may both write for one application: then neither would be its owner.
    pub(super) fn contended_claim(&self, other: &Self) -> Option<&str> {
        let overlap = match (&self.scope.applications, &other.scope.applications) {
            (Some(ours), Some(theirs)) => ours.iter().any(|application| theirs.contains(application)),
            _ => true,
        };
        if overlap { self.grants.shared_claim(&other.grants) } else { None }
    }

    async fn edits(&self, input: &wit::Input) -> Result<Vec<wit::Edit>, MapFailureKind> {
        let call = async |mut store: wasmtime::Store<Call>| {
            let instance = self.component.instantiate_async(&mut store).await?;
            instance.assent_claims_mapper().call_map_claims(&mut store, input).await
        };
        match self.runner.run(call).await {
            Ok(Ok(edits)) => Ok(edits),
            Ok(Err(wit::Failure::Deny(reason))) => Err(MapFailureKind::Deny(one_line(&reason))),
            Ok(Err(wit::Failure::Fault(reason))) => Err(MapFailureKind::Fault(Fault::Reported(one_line(&reason)))),
            Err(fault) => Err(MapFailureKind::Fault(fault)),
        }
    }

    /// The edits as changes that this plugin may make. One that it may not make spoils all.
    fn changes(&self, sink: Sink, edits: Vec<wit::Edit>) -> Result<Vec<Change>, Fault> {
        edits.into_iter().map(|edit| self.change(sink, edit)).collect()
    }

    fn change(&self, sink: Sink, edit: wit::Edit) -> Result<Change, Fault> {
        match edit {
            wit::Edit::Set((name, json)) => {
                let name = self.writable(name)?;
                match serde_json::from_str(&json) {
                    Ok(value) => Ok(Change::Set(name, value)),
                    Err(_) => Err(Fault::NotJson(name)),
                }
            }
            wit::Edit::Remove(name) => Ok(Change::Remove(self.writable(name)?)),
            wit::Edit::Attribute(wit::SamlAttribute { name, name_format, friendly_name, value_type, values }) => {
                let value_type = ValueType::from(value_type);
                if sink != Sink::SamlAssertion {
                    return Err(Fault::Attribute {
                        name: one_line(&name),
                        why: "but these claims are for no assertion",
                    });
                }
                let texts = [&name].into_iter().chain(&name_format).chain(&friendly_name).chain(&values);
                if texts.into_iter().any(|text| !text.chars().all(is_xml_char)) {
                    return Err(Fault::Attribute {
                        name: one_line(&name),
                        why: "with a character that XML can't carry",
                    });
                }
                if !values.iter().all(|value| value_type.admits(value)) {
                    return Err(Fault::Attribute {
                        name: one_line(&name),
                        why: "with a value that is not of its type",
                    });
                }
                if !self.grants.attribute(&name) {
                    return Err(Fault::NotGranted(one_line(&format!("attribute:{name}"))));
                }
                let name_format = name_format.filter(|format| format != BASIC);
                Ok(Change::Attribute(SamlAttribute { name, name_format, friendly_name, value_type, values }))
            }
        }
    }

    /// The claim's name, if this plugin may write it.
    fn writable(&self, name: String) -> Result<String, Fault> {
        if is_protected(&name) {
            Err(Fault::Protected(name))
        } else if !self.grants.claim(&name) {
            Err(Fault::NotGranted(one_line(&name)))
        } else {
            Ok(name)
        }
    }
}

/// A change that may be made.
enum Change {
    Set(String, Value),
    Remove(String),
    Attribute(SamlAttribute),
}

/// Runs the chain, each plugin seeing what the earlier ones made.
pub(super) async fn run_chain(chain: &[ClaimMapper], input: ClaimInput) -> Result<Mapped, MapFailure> {
    let (application, sink) = (input.application_id.clone(), input.sink);
    let (mut wit_input, claims) = to_wit(input);
    let mut mapped = Mapped { claims, ..Mapped::default() };
    for mapper in chain.iter().filter(|mapper| mapper.scope.includes(&application, sink)) {
        let plugin = mapper.name();
        wit_input.config.clone_from(&mapper.config);
        wit_input.current = json_text(&mapped.claims);
        let edits = mapper.edits(&wit_input).await;
        let changes = edits.and_then(|edits| mapper.changes(sink, edits).map_err(MapFailureKind::Fault));
        match changes {
            Ok(changes) => mapped.apply(plugin, changes),
            Err(MapFailureKind::Fault(fault)) if mapper.on_failure == OnFailure::Omit => {
                tracing::warn!(plugin, %application, "the plugin {fault}; its claims are left out");
            }
            Err(kind) => {
                tracing::warn!(plugin, %application, "the plugin {kind}; the login fails");
                return Err(MapFailure { plugin: plugin.to_owned(), kind });
            }
        }
    }
    Ok(mapped)
}

impl Mapped {
    /// Adds an attribute, or its values to those of the same.
    fn add(&mut self, attribute: SamlAttribute) {
        let same = self.attributes.iter_mut().find(|other| {
            other.name == attribute.name
                && other.name_format == attribute.name_format
                && other.value_type == attribute.value_type
        });
        match same {
            Some(other) => other.values.extend(attribute.values),
            None => self.attributes.push(attribute),
        }
    }

    fn apply(&mut self, plugin: &str, changes: Vec<Change>) {
        for change in changes {
            match change {
                Change::Set(name, value) => {
                    self.owners.insert(name.clone(), plugin.to_owned());
                    self.claims.insert(name, value);
                }
                Change::Remove(name) => {
                    self.claims.remove(&name);
                    self.owners.insert(name, plugin.to_owned());
                }
                Change::Attribute(attribute) => self.add(attribute),
            }
        }
    }
}

/// The input as the contract has it, without `current` and `config`, and the host's claims.
fn to_wit(input: ClaimInput) -> (wit::Input, Map<String, Value>) {
    let requested = input.requested.into_iter().map(|claim| wit::RequestedClaim {
        name: claim.name,
        essential: claim.essential,
        values: claim.values.iter().map(ToString::to_string).collect(),
    });
    let wit_input = wit::Input {
        protocol: match input.protocol {
            Protocol::Oidc => wit::Protocol::Oidc,
            Protocol::Saml => wit::Protocol::Saml,
        },
        sink: match input.sink {
            Sink::IdToken => wit::Sink::IdToken,
            Sink::Userinfo => wit::Sink::Userinfo,
            Sink::Introspection => wit::Sink::Introspection,
            Sink::SamlAssertion => wit::Sink::SamlAssertion,
        },
        now: u64::try_from(input.now.seconds()).unwrap_or(0),
        application: input.application.to_string(),
        account: input.account.to_string(),
        user: input.user.to_string(),
        roles: input.roles,
        scopes: input.scopes,
        requested: requested.collect(),
        acr: input.acr,
        amr: input.amr,
        current: String::new(),
        config: String::new(),
    };
    (wit_input, input.claims)
}

/// A map of JSON values always has a text.
fn json_text(claims: &Map<String, Value>) -> String {
    serde_json::to_string(claims).unwrap_or_default()
}

/// `Char` of XML 1.0, section 2.2.
fn is_xml_char(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapper_is_asked_for_what_it_and_the_operator_name() {
        let [one, other] = [[1; 32], [2; 32]].map(|key| Did::from_ed25519(&key));
        let whole = Scope { applications: None, sinks: None };
        assert!(whole.includes(&one, Sink::IdToken));
        let part = Scope { applications: Some(vec![one.clone()]), sinks: Some(vec![Sink::SamlAssertion]) };
        assert!(part.includes(&one, Sink::SamlAssertion));
        assert!(!part.includes(&one, Sink::IdToken) && !part.includes(&other, Sink::SamlAssertion));
    }

    #[test]
    fn value_types_admit_their_values() {
        for (value_type, good, bad) in [
            (ValueType::Boolean, "true", "yes"),
            (ValueType::Integer, "-42", "4.2"),
            (ValueType::Integer, "+7", "+"),
            (ValueType::DateTime, "2026-11-21T08:00:00Z", "yesterday"),
            (ValueType::AnyUri, "urn:x", "a b"),
            (ValueType::Base64Binary, "AAEC", "A*"),
        ] {
            assert!(value_type.admits(good) && !value_type.admits(bad), "{good} {bad}");
        }
    }

    #[test]
    fn text_that_xml_can_not_carry_is_told_apart() {
        assert!("a <b> & \u{1f600}\n".chars().all(is_xml_char));
        for bad in ['\0', '\u{b}', '\u{fffe}', '\u{ffff}'] {
            assert!(!is_xml_char(bad));
        }
    }
}
