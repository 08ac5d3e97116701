//! The evaluation of rules.

use assent_plugin_sdk::claims::{Edit, Failure, Input, SamlAttribute, Sink};
use assent_plugin_sdk::{Value, values};

use crate::facts::Facts;
use crate::pattern;
use crate::rule::{Conditions, Config, Named, Output, Rule, Several};
use crate::steps;

/// Evaluates the rules in their order and returns the edits. Several rules for one claim result in one edit.
pub(crate) fn edits(config: &Config, input: &Input) -> Result<Vec<Edit>, Failure> {
    let mut facts = Facts::new(input);
    let mut attributes = Vec::new();
    for (index, rule) in config.rules.iter().enumerate() {
        let fault = |why: String| Failure::Fault(format!("{}: {why}", Named(index + 1, rule)));
        let output = rule
            .outputs()
            .next()
            .ok_or_else(|| fault("it has no output".to_owned()))?;
        if !applies(rule, output, &facts) {
            continue;
        }
        match output {
            Output::Claim(claim) => {
                let value = value(rule, &facts).map_err(fault)?;
                facts.set(claim, value);
            }
            Output::Removal(claim) => facts.set(claim, None),
            Output::Attribute(name) => {
                let attribute = attribute(name, rule, &facts).map_err(fault)?;
                attributes.extend(
                    Some(attribute)
                        .filter(|attribute| !attribute.values.is_empty())
                        .map(Edit::Attribute),
                );
            }
            Output::Denial(reason) => return Err(Failure::Deny(reason.to_owned())),
        }
    }
    let edit = |(claim, value): (&str, Option<Value>)| match value {
        Some(value) => Some(Edit::set(claim, value)),
        None => input
            .current
            .contains_key(claim)
            .then(|| Edit::remove(claim)),
    };
    Ok(facts
        .into_made()
        .filter_map(edit)
        .chain(attributes)
        .collect())
}

/// Returns whether the rule applies to this user and destination.
fn applies(rule: &Rule, output: Output<'_>, facts: &Facts<'_>) -> bool {
    let assertion = facts.input.sink == Sink::SamlAssertion;
    let is_released = |scopes: &Several<String>| {
        let asked = |claim: &str| {
            facts
                .input
                .requested
                .iter()
                .any(|requested| requested.name == claim)
        };
        assertion
            || has_a_scope(scopes, facts)
            || matches!(output, Output::Claim(claim) if asked(claim))
    };
    (assertion || !matches!(output, Output::Attribute(_)))
        && rule.scopes.as_ref().is_none_or(is_released)
        && rule
            .when
            .as_ref()
            .is_none_or(|conditions| all_hold(conditions, facts))
        && !rule
            .unless
            .as_ref()
            .is_some_and(|conditions| all_hold(conditions, facts))
}

fn all_hold(conditions: &Conditions, facts: &Facts<'_>) -> bool {
    let Conditions {
        role,
        scope,
        sink,
        requested,
        is,
    } = conditions;
    let any = |patterns: &[String], texts: &[String]| {
        texts.iter().any(|text| {
            patterns
                .iter()
                .any(|pattern| pattern::matches(pattern, text))
        })
    };
    let asked = |names: &Several<String>| {
        facts
            .input
            .requested
            .iter()
            .any(|claim| names.0.contains(&claim.name))
    };
    let equal = |(name, expected): (&String, &Value)| {
        facts
            .get(name)
            .is_some_and(|value| any(&values::texts(expected), &values::texts(&value)))
    };
    role.as_ref()
        .is_none_or(|patterns| any(&patterns.0, &facts.input.roles))
        && scope
            .as_ref()
            .is_none_or(|scopes| has_a_scope(scopes, facts))
        && sink
            .as_ref()
            .is_none_or(|sinks| sinks.0.contains(&facts.input.sink))
        && requested.as_ref().is_none_or(asked)
        && is
            .as_ref()
            .is_none_or(|expected| expected.iter().all(equal))
}

/// Returns whether one of the scopes was granted.
fn has_a_scope(scopes: &Several<String>, facts: &Facts<'_>) -> bool {
    scopes.0.iter().any(|scope| facts.input.has_scope(scope))
}

/// Returns the value of a rule for these facts. An error is the end of a sentence about the rule.
fn value(rule: &Rule, facts: &Facts<'_>) -> Result<Option<Value>, String> {
    let source = match (&rule.from, &rule.value) {
        (Some(names), _) => names.0.iter().find_map(|name| facts.get(name)),
        (None, Some(value)) => facts.fill(value)?,
        (None, None) => None,
    };
    let made = source.and_then(|value| steps::run(rule, value));
    let nothing = made
        .as_ref()
        .is_none_or(|value| value.as_array().is_some_and(Vec::is_empty));
    match &rule.default {
        Some(default) if nothing => facts.fill(default),
        _ => Ok(made),
    }
}

/// Returns an attribute of an assertion, with a value for each member of a list. An error is the end of a sentence
/// about the rule. The error is logged, so it must not contain data of the user.
pub(crate) fn attribute(
    name: &str,
    rule: &Rule,
    facts: &Facts<'_>,
) -> Result<SamlAttribute, String> {
    let value_type = rule.value_type.unwrap_or_default();
    let name_format = rule
        .name_format
        .as_deref()
        .map_or(Ok(None), values::name_format);
    let texts = value(rule, facts)?
        .as_ref()
        .map(values::texts)
        .unwrap_or_default();
    let typed = texts
        .into_iter()
        .map(|text| values::write(value_type, text))
        .collect::<Option<_>>();
    Ok(SamlAttribute {
        name: name.to_owned(),
        name_format: name_format
            .map_err(|error| error.to_string())?
            .map(str::to_owned),
        friendly_name: rule.friendly_name.clone(),
        value_type,
        values: typed
            .ok_or_else(|| format!("a value is not a valid {}", values::type_name(value_type)))?,
    })
}
