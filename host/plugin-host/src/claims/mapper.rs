//! A claim mapper: the changes that it suggests, and its permissions.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::attribute::{BASIC, SamlAttribute, is_xml_char};
use super::types::{ClaimInput, Edit, MapError, MapFailureKind, json_text};
use crate::call::Runner;
use crate::contract::MapperComponent;
use crate::description::PluginIdentity;
use crate::fault::Fault;
use crate::log_line::one_line;
use crate::names::is_name;
use crate::protected::{Grants, is_protected};
use crate::share::Share;
use crate::sink::Sink;
use crate::spec::OnFailure;
use crate::usage::Usage;
use assent_model::id::Did;

/// The calls for which a claim mapper runs. A missing list means all.
pub(crate) struct MapperScope {
    /// The applications, from the operator's settings.
    pub(crate) applications: Option<Vec<Did>>,
    /// The destinations of claims, from the plugin's own description.
    pub(crate) sinks: Option<Vec<Sink>>,
}

impl MapperScope {
    pub(super) fn includes(&self, application: &Did, sink: Sink) -> bool {
        self.applications
            .as_ref()
            .is_none_or(|served| served.contains(application))
            && self
                .sinks
                .as_ref()
                .is_none_or(|served| served.contains(&sink))
    }
}

/// One claim mapper of the chain.
pub(crate) struct ClaimMapper {
    pub(crate) identity: Arc<PluginIdentity>,
    /// The part of the plugin's places for UserInfo and introspection.
    pub(crate) lookups: Share,
    pub(crate) runner: Runner,
    pub(crate) component: Box<dyn MapperComponent>,
    pub(crate) scope: MapperScope,
    pub(crate) grants: Grants,
    /// Whether the plugin's description declares that it may deny users.
    pub(crate) denies: bool,
    pub(crate) on_failure: OnFailure,
    /// The time for which a result may be reused although the clock has advanced.
    pub(crate) result_max_age: Duration,
    pub(crate) config: String,
}

impl ClaimMapper {
    /// Returns a claim that this plugin and the other one may both write for one application. Then neither would be its
    /// owner.
    pub(crate) fn contended_claim(&self, other: &Self) -> Option<&str> {
        let overlap = match (&self.scope.applications, &other.scope.applications) {
            (Some(own), Some(theirs)) => own.iter().any(|application| theirs.contains(application)),
            _ => true,
        };
        if overlap {
            self.grants.shared_claim(&other.grants)
        } else {
            None
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.runner.name()
    }

    /// Calls the mapper once, as the chain does, but does not count its use and does not log its result.
    pub(crate) async fn try_out(&self, input: &ClaimInput) -> Result<(), MapFailureKind> {
        let runner = self
            .runner
            .without_metrics()
            .map_err(|error| MapFailureKind::Fault(Fault::Answer(error)))?;
        self.changes(&runner, input, &json_text(&input.claims))
            .await
            .0
            .map(drop)
    }

    /// Returns whether the mapper runs for claims of this application with this destination.
    pub(crate) fn is_asked_for(&self, application: &Did, sink: Sink) -> bool {
        self.scope.includes(application, sink)
    }

    /// Returns whether the mapper may add attributes to assertions.
    pub(crate) fn writes_attributes(&self) -> bool {
        self.grants.any_attribute()
    }

    /// Returns whether the mapper may write this claim.
    pub(crate) fn writes_claim(&self, name: &str) -> bool {
        !is_protected(name) && self.grants.claim(name)
    }

    /// Returns an application for the smoke test with this destination. `None` if the mapper does not run for the
    /// destination.
    pub(crate) fn application_for_smoke_test(&self, sink: Sink) -> Option<Did> {
        let none = Did::from_ed25519(&[0; 32]);
        let application = self
            .scope
            .applications
            .as_ref()
            .map_or(Some(none), |served| served.first().cloned())?;
        self.scope
            .includes(&application, sink)
            .then_some(application)
    }

    pub(crate) fn identity(&self) -> &Arc<PluginIdentity> {
        &self.identity
    }

    pub(crate) fn runner(&self) -> &Runner {
        &self.runner
    }

    /// Returns the changes of this plugin, and the use of the call.
    pub(super) async fn changes(
        &self,
        runner: &Runner,
        input: &ClaimInput,
        current: &str,
    ) -> (Result<Vec<ClaimChange>, MapFailureKind>, Usage) {
        let _place = match input.sink {
            Sink::Userinfo | Sink::Introspection => {
                match self.lookups.enter(&input.application_id).await {
                    Ok(place) => Some(place),
                    Err(fault) => {
                        runner.meter().count_rejection();
                        return (Err(MapFailureKind::Fault(fault)), Usage::default());
                    }
                }
            }
            _ => None,
        };
        let ran = self
            .component
            .map(runner, input, current, &self.config)
            .await;
        let changes = match ran.result {
            Ok(Ok(edits)) => edits
                .into_iter()
                .map(|edit| self.change(input.sink, edit))
                .collect(),
            Ok(Err(MapError::Deny(reason))) if !self.denies => {
                Err(Fault::UndeclaredDenial(one_line(&reason)))
            }
            Ok(Err(MapError::Deny(reason))) => {
                runner.meter().count_denial();
                return (Err(MapFailureKind::Deny(one_line(&reason))), ran.usage);
            }
            Ok(Err(MapError::Fault(reason))) => Err(Fault::Reported(one_line(&reason))),
            Err(fault) => return (Err(MapFailureKind::Fault(fault)), ran.usage),
        };
        let changes = changes.inspect_err(|_| runner.meter().broke_contract());
        (changes.map_err(MapFailureKind::Fault), ran.usage)
    }

    /// Checks an edit and returns it as a change. One edit without permission makes the whole result a fault.
    fn change(&self, sink: Sink, edit: Edit) -> Result<ClaimChange, Fault> {
        match edit {
            Edit::Set(name, json) => {
                let name = self.writable(name)?;
                match serde_json::from_str(&json) {
                    Ok(value) => Ok(ClaimChange::Set(name, value)),
                    Err(error) => Err(Fault::NotJson {
                        name,
                        why: error.to_string(),
                    }),
                }
            }
            Edit::Remove(name) => Ok(ClaimChange::Remove(self.writable(name)?)),
            Edit::Attribute(SamlAttribute {
                name,
                name_format,
                friendly_name,
                value_type,
                values,
            }) => {
                if sink != Sink::SamlAssertion {
                    return Err(Fault::Attribute {
                        name: one_line(&name),
                        why: "for another sink than saml-assertion",
                    });
                }
                let texts = [&name]
                    .into_iter()
                    .chain(&name_format)
                    .chain(&friendly_name)
                    .chain(&values);
                if texts.into_iter().any(|text| !text.chars().all(is_xml_char)) {
                    return Err(Fault::Attribute {
                        name: one_line(&name),
                        why: "with a character that XML does not allow",
                    });
                }
                if !values.iter().all(|value| value_type.admits(value)) {
                    return Err(Fault::Attribute {
                        name: one_line(&name),
                        why: "with a value that is not of its type",
                    });
                }
                if !self.grants.attribute(&name) {
                    return Err(self.not_granted(&format!("attribute:{name}")));
                }
                // A service provider may use the friendly name as the name, so it needs a grant of its own. The name
                // format needs none, because the granted name is the same in each format.
                if let Some(friendly) = friendly_name
                    .as_ref()
                    .filter(|friendly| !self.grants.attribute(friendly))
                {
                    return Err(self.not_granted(&format!("attribute:{friendly}")));
                }
                if !is_name(&name)
                    || !friendly_name
                        .iter()
                        .chain(&name_format)
                        .all(|text| is_name(text))
                {
                    return Err(Fault::Attribute {
                        name: one_line(&name),
                        why: "with a name that does not have 1 to 256 printable characters",
                    });
                }
                let name_format = name_format.filter(|format| format != BASIC);
                Ok(ClaimChange::Attribute(SamlAttribute {
                    name,
                    name_format,
                    friendly_name,
                    value_type,
                    values,
                }))
            }
        }
    }

    /// Returns the fault of an edit without a grant. It names the side that lacks the claim or attribute.
    fn not_granted(&self, name: &str) -> Fault {
        if self.grants.describes(name) {
            Fault::NotGranted(one_line(name))
        } else {
            Fault::NotDescribed(one_line(name))
        }
    }

    /// Returns the claim's name if this plugin may write the claim.
    fn writable(&self, name: String) -> Result<String, Fault> {
        if is_protected(&name) {
            Err(Fault::Protected(name))
        } else if !self.grants.claim(&name) {
            Err(self.not_granted(&name))
        } else if !is_name(&name) {
            Err(Fault::Name(one_line(&name)))
        } else {
            Ok(name)
        }
    }
}

/// A permitted change.
pub(super) enum ClaimChange {
    Set(String, Value),
    Remove(String),
    Attribute(SamlAttribute),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapper_runs_only_for_its_applications_and_sinks() {
        let [one, other] = [[1; 32], [2; 32]].map(|key| Did::from_ed25519(&key));
        let whole = MapperScope {
            applications: None,
            sinks: None,
        };
        assert!(whole.includes(&one, Sink::IdToken));
        let part = MapperScope {
            applications: Some(vec![one.clone()]),
            sinks: Some(vec![Sink::SamlAssertion]),
        };
        assert!(part.includes(&one, Sink::SamlAssertion));
        assert!(!part.includes(&one, Sink::IdToken) && !part.includes(&other, Sink::SamlAssertion));
    }
}
