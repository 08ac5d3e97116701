//! The steps of a rule, which change its value.

use std::collections::HashSet;

use assent_plugin_sdk::{Map, Value, values};

use crate::pattern;
use crate::rule::{Rule, Several};

/// Applies the rule's steps to a value, in the order of the crate's documentation. Returns `None` if no value is left.
/// An empty list is a value, because it states that there are no members.
pub(crate) fn run(rule: &Rule, mut value: Value) -> Option<Value> {
    if let Some(separator) = &rule.split {
        value = split(value, separator);
    }
    if rule.only.is_some() || rule.except.is_some() {
        let kept = |value: &Value| {
            rule.only
                .as_ref()
                .is_none_or(|only| matches_any(only, value))
                && !rule
                    .except
                    .as_ref()
                    .is_some_and(|except| matches_any(except, value))
        };
        value = each(value, |value| Some(value).filter(&kept))?;
    }
    if let Some(prefix) = &rule.strip_prefix {
        value = each(value, |value| Some(without_prefix(value, prefix)))?;
    }
    if let Some(table) = &rule.lookup {
        value = look_up(table, rule.keep_unknown, value)?;
    }
    if let Some(prefix) = &rule.add_prefix {
        value = each(value, |value| with_prefix(value, prefix))?;
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

/// Applies a step to each member of a list, or to a single value. Returns `None` if the step drops a single value.
fn each(value: Value, step: impl Fn(Value) -> Option<Value>) -> Option<Value> {
    match value {
        Value::Array(members) => Some(Value::Array(members.into_iter().filter_map(step).collect())),
        other => step(other),
    }
}

/// Splits a text into parts. Surrounding white space and empty parts are dropped.
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

fn matches_any(patterns: &Several<String>, value: &Value) -> bool {
    values::text(value).is_some_and(|text| {
        patterns
            .0
            .iter()
            .any(|pattern| pattern::matches(pattern, &text))
    })
}

fn without_prefix(mut value: Value, prefix: &str) -> Value {
    if let Value::String(text) = &mut value
        && text.starts_with(prefix)
    {
        text.drain(..prefix.len());
    }
    value
}

fn with_prefix(mut value: Value, prefix: &str) -> Option<Value> {
    match &mut value {
        Value::String(text) => text.insert_str(0, prefix),
        other => value = Value::String(format!("{prefix}{}", values::text(other)?)),
    }
    Some(value)
}

/// Replaces each member by its entry in the table. `*` is the entry for all other members. An entry that is a list
/// becomes several members.
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

/// Removes duplicates from a list. The first of equal members stays.
fn once(members: &mut Vec<Value>) {
    let mut seen = HashSet::with_capacity(members.len());
    let first: Vec<bool> = members.iter().map(|member| seen.insert(member)).collect();
    if first.contains(&false) {
        let mut first = first.into_iter();
        members.retain(|_| first.next().unwrap_or(true));
    }
}
