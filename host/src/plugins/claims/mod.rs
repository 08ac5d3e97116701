//! Claim mappers: the chain of plugins that decides what an application is told about a person.

pub(super) mod v1;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Identity;
use super::call::{Runner, Usage, one_line};
use super::contract::Mapper;
use super::fault::Fault;
use super::names::is_name;
use super::protected::{Grants, is_protected};
use super::share::Share;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
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

impl Sink {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::IdToken, Self::Userinfo, Self::Introspection, Self::SamlAssertion];

    /// Its name in the contract.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IdToken => "id-token",
            Self::Userinfo => "userinfo",
            Self::Introspection => "introspection",
            Self::SamlAssertion => "saml-assertion",
        }
    }
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

/// What the chain made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapped {
    /// All claims: the host's, as the plugins edited them. The protected ones are as they came.
    pub claims: Map<String, Value>,
    /// Which plugin set or removed a claim, by the claim's name.
    pub owners: BTreeMap<String, String>,
    /// Attributes for the assertion, in the order in which they were made.
    pub attributes: Vec<SamlAttribute>,
    /// What each plugin did, in their order.
    pub steps: Vec<Step>,
}

/// What one plugin of the chain did.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The plugin.
    pub plugin: Arc<Identity>,
    /// What its call used.
    pub usage: Usage,
    /// How it ended.
    pub end: StepEnd,
}

/// How a plugin's part in the chain ended.
#[derive(Clone, Debug, PartialEq)]
pub enum StepEnd {
    /// It changed this, in this order.
    Changed(Vec<Traced>),
    /// It failed, and its claims were left out.
    LeftOut(Fault),
    /// It denied, or failed, and the chain ended.
    Stopped(MapFailureKind),
}

/// One change of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub enum Traced {
    /// It set or removed a claim.
    Claim {
        /// The claim's name.
        name: String,
        /// Its value before, if there was one.
        before: Option<Value>,
        /// Its value since, if there is one.
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
    pub steps: Vec<Step>,
}

/// An edit as a plugin suggests it, before it is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// Sets a claim to a value, which is JSON text.
    Set(String, String),
    /// Removes a claim.
    Remove(String),
    /// Adds an attribute.
    Attribute(SamlAttribute),
}

/// What a plugin answers in place of edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
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
    identity: Arc<Identity>,
    /// The places that UserInfo and introspection may use.
    lookups: Share,
    runner: Runner,
    component: Box<dyn Mapper>,
    scope: Scope,
    grants: Grants,
    on_failure: OnFailure,
    config: String,
}

/// What a claim mapper is made of.
pub(super) struct Parts {
    pub(super) identity: Arc<Identity>,
    pub(super) runner: Runner,
    pub(super) component: Box<dyn Mapper>,
    pub(super) scope: Scope,
    pub(super) grants: Grants,
    pub(super) on_failure: OnFailure,
    pub(super) config: String,
}

impl ClaimMapper {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts { identity, runner, component, scope, grants, on_failure, config } = parts;
        Self { lookups: Share::of(runner.limits()), identity, runner, component, scope, grants, on_failure, config }
    }

    /// A claim that this plugin and the other may both write for one application: then neither would be its owner.
    pub(super) fn contended_claim(&self, other: &Self) -> Option<&str> {
        let overlap = match (&self.scope.applications, &other.scope.applications) {
            (Some(ours), Some(theirs)) => ours.iter().any(|application| theirs.contains(application)),
            _ => true,
        };
        if overlap { self.grants.shared_claim(&other.grants) } else { None }
    }

    pub(super) fn name(&self) -> &str {
        self.runner.name()
    }

    /// Asks it once, as the chain would; what that used is not counted, and how it ends is not logged.
    pub(super) async fn try_out(&self, input: &ClaimInput) -> Result<(), MapFailureKind> {
        let runner = self.runner.uncounted().map_err(|error| MapFailureKind::Fault(Fault::Answer(error)))?;
        self.changes(&runner, input, &json_text(&input.claims)).await.0.map(drop)
    }

    /// Whether it is asked for claims of this application that go there.
    pub(super) fn is_asked_for(&self, application: &Did, sink: Sink) -> bool {
        self.scope.includes(application, sink)
    }

    /// Whether it may add attributes to assertions.
    pub(super) fn writes_attributes(&self) -> bool {
        self.grants.any_attribute()
    }

    /// Whether it may write this claim.
    pub(super) fn writes_claim(&self, name: &str) -> bool {
        !is_protected(name) && self.grants.claim(name)
    }

    /// An application to try it out with for this place, if it makes claims for it.
    pub(super) fn application_for_trial(&self, sink: Sink) -> Option<Did> {
        let none = Did::from_ed25519(&[0; 32]);
        let application = self.scope.applications.as_ref().map_or(Some(none), |served| served.first().cloned())?;
        self.scope.includes(&application, sink).then_some(application)
    }

    pub(super) fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    pub(super) fn runner(&self) -> &Runner {
        &self.runner
    }

    /// What this plugin would change, and what asking it used.
    async fn changes(
        &self,
        runner: &Runner,
        input: &ClaimInput,
        current: &str,
    ) -> (Result<Vec<Change>, MapFailureKind>, Usage) {
        let _place = match input.sink {
            Sink::Userinfo | Sink::Introspection => match self.lookups.enter(&input.application_id).await {
                Ok(place) => Some(place),
                Err(fault) => {
                    runner.meter().turned_away();
                    return (Err(MapFailureKind::Fault(fault)), Usage::default());
                }
            },
            _ => None,
        };
        let ran = self.component.map(runner, input, current, &self.config).await;
        let changes = match ran.result {
            Ok(Ok(edits)) => edits.into_iter().map(|edit| self.change(input.sink, edit)).collect(),
            Ok(Err(Refusal::Deny(reason))) => {
                runner.meter().denied();
                return (Err(MapFailureKind::Deny(one_line(&reason))), ran.usage);
            }
            Ok(Err(Refusal::Fault(reason))) => Err(Fault::Reported(one_line(&reason))),
            Err(fault) => return (Err(MapFailureKind::Fault(fault)), ran.usage),
        };
        let changes = changes.inspect_err(|_| runner.meter().broke_contract());
        (changes.map_err(MapFailureKind::Fault), ran.usage)
    }

    /// The edit as a change that this plugin may make. One that it may not make spoils all.
    fn change(&self, sink: Sink, edit: Edit) -> Result<Change, Fault> {
        match edit {
            Edit::Set(name, json) => {
                let name = self.writable(name)?;
                match serde_json::from_str(&json) {
                    Ok(value) => Ok(Change::Set(name, value)),
                    Err(error) => Err(Fault::NotJson { name, why: error.to_string() }),
                }
            }
            Edit::Remove(name) => Ok(Change::Remove(self.writable(name)?)),
            Edit::Attribute(SamlAttribute { name, name_format, friendly_name, value_type, values }) => {
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
                // Service providers may go by the friendly name, so it is granted like a name. The name format needs no grant of
                // its own: the granted name stays the same in each.
                if let Some(friendly) = friendly_name.as_ref().filter(|friendly| !self.grants.attribute(friendly)) {
                    return Err(Fault::NotGranted(one_line(&format!("attribute:{friendly}"))));
                }
                if !is_name(&name) || !friendly_name.iter().chain(&name_format).all(|text| is_name(text)) {
                    return Err(Fault::Attribute {
                        name: one_line(&name),
                        why: "with names that are not of 1 to 256 characters that can be shown",
                    });
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
        } else if !is_name(&name) {
            Err(Fault::Name(one_line(&name)))
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
pub(super) async fn run_chain(chain: &[impl Borrow<ClaimMapper>], mut input: ClaimInput) -> Result<Mapped, MapFailure> {
    let mut mapped = Mapped { claims: std::mem::take(&mut input.claims), ..Mapped::default() };
    let application = &input.application_id;
    for mapper in
        chain.iter().map(Borrow::borrow).filter(|mapper: &&ClaimMapper| mapper.scope.includes(application, input.sink))
    {
        let plugin = mapper.name();
        let (changes, usage) = mapper.changes(&mapper.runner, &input, &json_text(&mapped.claims)).await;
        let step = |mapped: &mut Mapped, end| {
            mapped.steps.push(Step { plugin: Arc::clone(&mapper.identity), usage, end });
        };
        match changes {
            Ok(changes) => {
                let changed = mapped.apply(plugin, changes);
                step(&mut mapped, StepEnd::Changed(changed));
            }
            // That it is busy says nothing of this person: who makes it busy must not choose what is left out.
            Err(MapFailureKind::Fault(fault)) if mapper.on_failure == OnFailure::Omit && !fault.is_of_the_load() => {
                if mapper.runner.may_log() {
                    tracing::warn!(plugin, %application, "the plugin {fault}; its claims are left out");
                }
                step(&mut mapped, StepEnd::LeftOut(fault));
            }
            Err(kind) => {
                if mapper.runner.may_log() {
                    tracing::warn!(plugin, %application, "the plugin {kind}; the login fails");
                }
                step(&mut mapped, StepEnd::Stopped(kind.clone()));
                return Err(MapFailure { plugin: plugin.to_owned(), kind, steps: mapped.steps });
            }
        }
    }
    Ok(mapped)
}

/// Claims that the host has a verdict on, and the claim that tells it.
const VOUCHED: [(&str, &str); 2] = [("email", "email_verified"), ("phone_number", "phone_number_verified")];

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

    fn apply(&mut self, plugin: &str, changes: Vec<Change>) -> Vec<Traced> {
        let mut traced = Vec::with_capacity(changes.len());
        for change in changes {
            match change {
                Change::Set(name, value) => self.claim(plugin, name, Some(value), &mut traced),
                Change::Remove(name) => self.claim(plugin, name, None, &mut traced),
                Change::Attribute(attribute) => {
                    self.add(attribute.clone());
                    traced.push(Traced::Attribute(attribute));
                }
            }
        }
        traced
    }

    /// Sets or removes a claim. What the host vouched for of the old value goes with it.
    fn claim(&mut self, plugin: &str, name: String, after: Option<Value>, traced: &mut Vec<Traced>) {
        let before = match &after {
            Some(value) => self.claims.insert(name.clone(), value.clone()),
            None => self.claims.remove(&name),
        };
        self.owners.insert(name.clone(), plugin.to_owned());
        let vouched = VOUCHED.iter().find(|(claim, _)| *claim == name).filter(|_| before != after);
        traced.push(Traced::Claim { name, before, after });
        if let Some((_, verdict)) = vouched
            && let Some(before) = self.claims.remove(*verdict)
        {
            traced.push(Traced::Claim { name: (*verdict).to_owned(), before: Some(before), after: None });
        }
    }
}

/// JSON always has a text; made this way it takes a fraction of the time that its `Display` does.
fn json_text(json: &impl Serialize) -> String {
    serde_json::to_string(json).unwrap_or_default()
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
