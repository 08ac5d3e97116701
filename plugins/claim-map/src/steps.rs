//! What a rule does to a value, step by step.

use std::collections::HashSet;

use assent_plugin_sdk::{Map, Value, values};

use crate::pattern;
use crate::rule::{Rule, Several};

/// Takes a value through the rule's steps, in the order of the settings' documentation; `None` if nothing is left. An
/// empty list is left, since it says that there is nothing.
pub(crate) fn run(rule: &Rule, mut value: Value) -> Option<Value> {
    if let Some(separator) = &rule.split {
        value = split(value, separator);
    }
    let kept = |value: &Value| {
        rule.only.as_ref().is_none_or(|only| listed(only, value))
            && !rule.except.as_ref().is_some_and(|except| listed(except, value))
    };
    value = each(value, |value| if kept(&value) { vec![value] } else { Vec::new() })?;
    if let Some(prefix) = &rule.strip_prefix {
        value = each(value, |value| vec![stripped(value, prefix)])?;
    }
    if let Some(table) = &rule.lookup {
        value = look_up(table, rule.keep_unknown, value)?;
    }
    if let Some(prefix) = &rule.add_prefix {
        let prefixed = |text: String| Value::String(format!("{prefix}{text}"));
        value = each(value, |value| values::text(&value).map(prefixed).into_iter().collect())?;
    }
    if let Value::Array(members) = &mut value {
        once(members);
    }
    match (&rule.join, value) {
        (Some(separator), value @ Value::Array(_)) => {
            let texts = values::texts(&value);
            (!texts.is_empty()).then(|| Value::String(texts.join(separator)))
        }
        (_, value) => Some(value),
    }
}

/// Does something to each member of a list, or to a value that is none. `None` if nothing is left of the latter.
fn each(value: Value, step: impl Fn(Value) -> Vec<Value>) -> Option<Value> {
    match value {
        Value::Array(members) => Some(Value::Array(members.into_iter().flat_map(step).collect())),
        other => step(other).pop(),
    }
}

/// A text in parts, without blanks around them and without empty ones.
fn split(value: Value, separator: &str) -> Value {
    let parts = |text: &str| -> Vec<Value> {
        text.split(separator).map(str::trim).filter(|part| !part.is_empty()).map(Value::from).collect()
    };
    match value {
        Value::String(text) => Value::Array(parts(&text)),
        Value::Array(members) => Value::Array(
            members.into_iter().flat_map(|member| member.as_str().map(parts).unwrap_or_else(|| vec![member])).collect(),
        ),
        other => other,
    }
}

fn listed(patterns: &Several<String>, value: &Value) -> bool {
    values::text(value).is_some_and(|text| patterns.0.iter().any(|pattern| pattern::matches(pattern, &text)))
}

fn stripped(value: Value, prefix: &str) -> Value {
    match value.as_str().and_then(|text| text.strip_prefix(prefix)) {
        Some(rest) => Value::from(rest),
        None => value,
    }
}

/// What the table has for each member; `*` has what it has for the others. A list in the table becomes several members.
fn look_up(table: &Map<String, Value>, keep_unknown: bool, value: Value) -> Option<Value> {
    let find = |value: Value| {
        let found = values::text(&value).and_then(|text| table.get(&text)).or_else(|| table.get("*"));
        found.cloned().or_else(|| keep_unknown.then_some(value))
    };
    match value {
        Value::Array(members) => {
            let found = members.into_iter().filter_map(find).flat_map(|found| match found {
                Value::Array(several) => several,
                one => vec![one],
            });
            Some(Value::Array(found.collect()))
        }
        other => find(other),
    }
}

/// Leaves each member of a list there once, where it is first.
fn once(members: &mut Vec<Value>) {
    if members.len() > 1 {
        let mut seen = HashSet::with_capacity(members.len());
        members.retain(|member| seen.insert(member.clone()));
    }
}
