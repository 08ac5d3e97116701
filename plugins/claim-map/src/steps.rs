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
    if rule.only.is_some() || rule.except.is_some() {
        let kept = |value: &Value| {
            rule.only.as_ref().is_none_or(|only| listed(only, value))
                && !rule
                    .except
                    .as_ref()
                    .is_some_and(|except| listed(except, value))
        };
        value = each(value, |value| Some(value).filter(&kept))?;
    }
    if let Some(prefix) = &rule.strip_prefix {
        value = each(value, |value| Some(stripped(value, prefix)))?;
    }
    if let Some(table) = &rule.lookup {
        value = look_up(table, rule.keep_unknown, value)?;
    }
    if let Some(prefix) = &rule.add_prefix {
        value = each(value, |value| prefixed(value, prefix))?;
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
fn each(value: Value, step: impl Fn(Value) -> Option<Value>) -> Option<Value> {
    match value {
        Value::Array(members) => Some(Value::Array(members.into_iter().filter_map(step).collect())),
        other => step(other),
    }
}

/// A text in parts, without blanks around them and without empty ones.
fn split(value: Value, separator: &str) -> Value {
    let parts = |text: &str| -> Vec<Value> {
        text.split(separator)
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(Value::from)
            .collect()
    };
    match value {
        Value::String(text) => Value::Array(parts(&text)),
        Value::Array(members) => Value::Array(
            members
                .into_iter()
                .flat_map(|member| member.as_str().map(parts).unwrap_or_else(|| vec![member]))
                .collect(),
        ),
        other => other,
    }
}

fn listed(patterns: &Several<String>, value: &Value) -> bool {
    values::text(value).is_some_and(|text| {
        patterns
            .0
            .iter()
            .any(|pattern| pattern::matches(pattern, &text))
    })
}

fn stripped(mut value: Value, prefix: &str) -> Value {
    if let Value::String(text) = &mut value
        && text.starts_with(prefix)
    {
        text.drain(..prefix.len());
    }
    value
}

fn prefixed(mut value: Value, prefix: &str) -> Option<Value> {
    match &mut value {
        Value::String(text) => text.insert_str(0, prefix),
        other => value = Value::String(format!("{prefix}{}", values::text(other)?)),
    }
    Some(value)
}

/// What the table has for each member; `*` has what it has for the others. A list in the table becomes several members.
fn look_up(table: &Map<String, Value>, keep_unknown: bool, value: Value) -> Option<Value> {
    let find = |value: Value| {
        let found = values::text(&value)
            .and_then(|text| table.get(text.as_ref()))
            .or_else(|| table.get("*"));
        found.cloned().or_else(|| keep_unknown.then_some(value))
    };
    match value {
        Value::Array(members) => {
            let found = members
                .into_iter()
                .filter_map(find)
                .flat_map(|found| match found {
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
    let mut seen = HashSet::with_capacity(members.len());
    let first: Vec<bool> = members.iter().map(|member| seen.insert(member)).collect();
    if first.contains(&false) {
        let mut first = first.into_iter();
        members.retain(|_| first.next().unwrap_or(true));
    }
}
