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
use crate::fault::Fault;
use crate::spec::OnFailure;
use assent_model::id::Did;

/// The purpose of a run of the chain. It selects the log messages about faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainPurpose {
    /// An application receives the claims.
    Response,
    /// An administrator, the user or the author of a plugin sees the claims. No sign-in depends on them.
    Preview,
}

/// Runs the chain. Each mapper sees the result of the earlier ones. The caller logs a denial, because a sign-in may run
/// the chain again before a page shows the reason.
pub(crate) async fn run_chain(
    chain: &[impl Borrow<ClaimMapper>],
    mut input: ClaimInput,
    purpose: ChainPurpose,
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
            Err(MapFailureKind::Fault(fault))
                if mapper.on_failure == OnFailure::Omit && fault.may_be_omitted() =>
            {
                log_fault(mapper, application, &fault, purpose, true);
                step(&mut mapped, MapperRunEnd::LeftOut(fault));
            }
            Err(kind) => {
                if let MapFailureKind::Fault(fault) = &kind {
                    log_fault(mapper, application, fault, purpose, false);
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

/// Logs a fault, unless the plugin has too many log lines.
fn log_fault(
    mapper: &ClaimMapper,
    application: &Did,
    fault: &Fault,
    purpose: ChainPurpose,
    omitted: bool,
) {
    if !mapper.runner.may_log() {
        return;
    }
    let plugin = mapper.name();
    match (purpose, omitted) {
        (ChainPurpose::Preview, _) => {
            tracing::info!(plugin, %application, reason = %fault, "plugin failed in a preview");
        }
        (ChainPurpose::Response, true) => {
            tracing::warn!(plugin, %application, reason = %fault, "plugin failed, claims omitted");
        }
        (ChainPurpose::Response, false) => {
            tracing::warn!(plugin, %application, reason = %fault, "plugin failed, sign-in failed");
        }
    }
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

#[cfg(test)]
mod tests;
