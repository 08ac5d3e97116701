//! The chain of claim mappers. Each mapper sees the result of the earlier ones.

use std::borrow::Borrow;
use std::sync::Arc;

use serde_json::Value;

use super::attribute::SamlAttribute;
use super::mapper::{ClaimChange, ClaimMapper};
use super::types::{
    ClaimInput, MapFailure, MapFailureKind, MappedClaims, MapperRun, MapperRunEnd, TracedChange,
    json_text,
};
use crate::spec::OnFailure;

/// Runs the chain. Each mapper sees the result of the earlier ones.
pub(crate) async fn run_chain(
    chain: &[impl Borrow<ClaimMapper>],
    mut input: ClaimInput,
) -> Result<MappedClaims, MapFailure> {
    let mut mapped = MappedClaims {
        claims: std::mem::take(&mut input.claims),
        ..MappedClaims::default()
    };
    let application = &input.application_id;
    for mapper in chain
        .iter()
        .map(Borrow::borrow)
        .filter(|mapper: &&ClaimMapper| mapper.scope.includes(application, input.sink))
    {
        let plugin = mapper.name();
        let (changes, usage) = mapper
            .changes(&mapper.runner, &input, &json_text(&mapped.claims))
            .await;
        let step = |mapped: &mut MappedClaims, end| {
            mapped.steps.push(MapperRun {
                plugin: Arc::clone(&mapper.identity),
                usage,
                end,
            });
        };
        match changes {
            Ok(changes) => {
                let changed = mapped.apply(plugin, changes);
                step(&mut mapped, MapperRunEnd::Changed(changed));
            }
            // A busy plugin is independent of this user's data. An attacker who causes load must not choose the omitted
            // claims.
            Err(MapFailureKind::Fault(fault))
                if mapper.on_failure == OnFailure::Omit && !fault.is_of_the_load() =>
            {
                if mapper.runner.may_log() {
                    tracing::warn!(plugin, %application, reason = %fault, "plugin failed, claims omitted");
                }
                step(&mut mapped, MapperRunEnd::LeftOut(fault));
            }
            Err(kind) => {
                if mapper.runner.may_log() {
                    tracing::warn!(plugin, %application, reason = %kind, "plugin failed, sign-in failed");
                }
                step(&mut mapped, MapperRunEnd::Stopped(kind.clone()));
                return Err(MapFailure {
                    plugin: plugin.to_owned(),
                    kind,
                    steps: mapped.steps,
                });
            }
        }
    }
    Ok(mapped)
}

/// Claims that the server verifies, each with the claim that states the verification.
const VOUCHED: [(&str, &str); 2] = [
    ("email", "email_verified"),
    ("phone_number", "phone_number_verified"),
];

impl MappedClaims {
    /// Adds an attribute. If the attribute exists with this name, name format and type, its values are appended.
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

    fn apply(&mut self, plugin: &str, changes: Vec<ClaimChange>) -> Vec<TracedChange> {
        let mut traced = Vec::with_capacity(changes.len());
        for change in changes {
            match change {
                ClaimChange::Set(name, value) => self.claim(plugin, name, Some(value), &mut traced),
                ClaimChange::Remove(name) => self.claim(plugin, name, None, &mut traced),
                ClaimChange::Attribute(attribute) => {
                    self.add(attribute.clone());
                    traced.push(TracedChange::Attribute(attribute));
                }
            }
        }
        traced
    }

    /// Sets or removes a claim. If the value changes, the claim that states its verification is removed too.
    fn claim(
        &mut self,
        plugin: &str,
        name: String,
        after: Option<Value>,
        traced: &mut Vec<TracedChange>,
    ) {
        let before = match &after {
            Some(value) => self.claims.insert(name.clone(), value.clone()),
            None => self.claims.remove(&name),
        };
        self.owners.insert(name.clone(), plugin.to_owned());
        let vouched = VOUCHED
            .iter()
            .find(|(claim, _)| *claim == name)
            .filter(|_| before != after);
        traced.push(TracedChange::Claim {
            name,
            before,
            after,
        });
        if let Some((_, verdict)) = vouched
            && let Some(before) = self.claims.remove(*verdict)
        {
            traced.push(TracedChange::Claim {
                name: (*verdict).to_owned(),
                before: Some(before),
                after: None,
            });
        }
    }
}
