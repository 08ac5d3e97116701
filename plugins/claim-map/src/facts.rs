//! The data about the user, under the names that rules use.

use std::collections::BTreeMap;

use assent_plugin_sdk::claims::Input;
use assent_plugin_sdk::values::{self, Template};
use assent_plugin_sdk::{Map, Value};

/// The lists in the input that are not claims.
const LISTS: [&str; 3] = ["roles", "scopes", "amr"];
/// The records in the input that are not claims. A dot separates the record from the path of a member.
const RECORDS: [&str; 3] = ["account", "user", "application"];

/// The input, and the results of the rules so far.
pub(crate) struct Facts<'a> {
    pub(crate) input: &'a Input,
    made: BTreeMap<&'a str, Option<Value>>,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(input: &'a Input) -> Self {
        Self {
            input,
            made: BTreeMap::new(),
        }
    }

    /// Sets or removes a claim.
    pub(crate) fn set(&mut self, claim: &'a str, value: Option<Value>) {
        self.made.insert(claim, value);
    }

    /// Returns the claims that rules set or removed.
    pub(crate) fn into_made(self) -> impl Iterator<Item = (&'a str, Option<Value>)> {
        self.made.into_iter()
    }

    /// Returns the value of a name, if there is one: a list of the input, a member of a record, or else a current
    /// claim.
    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        let list = |texts: &[String]| {
            Some(Value::Array(
                texts.iter().cloned().map(Value::String).collect(),
            ))
        };
        match name {
            "roles" => list(&self.input.roles),
            "scopes" => list(&self.input.scopes),
            "amr" => list(&self.input.amr),
            "acr" => self.input.acr.clone().map(Value::String),
            _ => match name.split_once('.') {
                Some(("account", path)) => member(&self.input.account, path),
                Some(("user", path)) => member(&self.input.user, path),
                Some(("application", path)) => member(&self.input.application, path),
                _ => self.claim(name),
            },
        }
    }

    /// Returns a claim or a member of it. The names of some claims contain dots.
    fn claim(&self, name: &str) -> Option<Value> {
        let claim = |name: &str| match self.made.get(name) {
            Some(made) => made.as_ref(),
            None => self.input.current.get(name),
        };
        match claim(name) {
            Some(value) => Some(value.clone()).filter(|value| !value.is_null()),
            None => name
                .split_once('.')
                .and_then(|(first, path)| member(claim(first)?, path)),
        }
    }

    /// Inserts values for the names in a value of the settings. Returns `None` if there is no value. An error is the
    /// end of a sentence about the rule.
    pub(crate) fn fill(&self, value: &Value) -> Result<Option<Value>, String> {
        match value {
            Value::String(text) => self.fill_text(text),
            Value::Array(members) => {
                let mut filled = Vec::new();
                for member in members {
                    match self.fill(member)? {
                        // In a list, a text that names a list is repeated for each member.
                        Some(Value::Array(texts)) if member.is_string() => filled.extend(texts),
                        other => filled.extend(other),
                    }
                }
                Ok(Some(Value::Array(filled)))
            }
            Value::Object(members) => {
                let mut filled = Map::new();
                for (name, member) in members {
                    if let Some(member) = self.fill(member)? {
                        filled.insert(name.clone(), member);
                    }
                }
                Ok((!filled.is_empty() || members.is_empty()).then_some(Value::Object(filled)))
            }
            Value::Null => Ok(None),
            Value::Bool(_) | Value::Number(_) => Ok(Some(value.clone())),
        }
    }

    fn fill_text(&self, text: &str) -> Result<Option<Value>, String> {
        let template =
            Template::parse(text).map_err(|error| format!("the value `{text}` {error}"))?;
        if let Some(name) = template.sole_name() {
            return Ok(self.get(name));
        }
        let texts = template.fill(|name| {
            self.get(name)
                .as_ref()
                .map(values::texts)
                .unwrap_or_default()
        });
        let mut texts = texts.map_err(|error| format!("the value `{text}` {error}"))?;
        // The result stays a list for a user with only one role.
        if template
            .names()
            .any(|name| self.get(name).is_some_and(|value| value.is_array()))
        {
            Ok(Some(Value::Array(
                texts.into_iter().map(Value::String).collect(),
            )))
        } else {
            Ok(texts.pop().map(Value::String))
        }
    }
}

/// Returns the member of a value at a path of names with dots. A list on the path is searched in each of its members.
fn member(value: &Value, path: &str) -> Option<Value> {
    match value {
        Value::Object(members) => match (members.get(path), path.split_once('.')) {
            (Some(found), _) => Some(found.clone()).filter(|found| !found.is_null()),
            (None, Some((first, rest))) => member(members.get(first)?, rest),
            (None, None) => None,
        },
        Value::Array(members) => {
            let mut found = Vec::new();
            for value in members.iter().filter_map(|value| member(value, path)) {
                match value {
                    Value::Array(inner) => found.extend(inner),
                    other => found.push(other),
                }
            }
            Some(Value::Array(found))
        }
        _ => None,
    }
}

/// Returns the error in a name, as the end of a sentence that begins with it.
pub(crate) fn name_error(name: &str) -> Option<&'static str> {
    if name.is_empty() || name.split('.').any(str::is_empty) {
        Some("has an empty part")
    } else if name.contains(['{', '}', '"']) || name.contains(char::is_whitespace) {
        Some("is not a name; use `value` for a text with names in braces")
    } else {
        None
    }
}

/// Returns whether a name stands for a claim or for a member of it.
pub(crate) fn names_claim(name: &str, claim: &str) -> bool {
    let of_host = LISTS.contains(&name) || name == "acr";
    let of_record = name
        .split_once('.')
        .is_some_and(|(record, _)| RECORDS.contains(&record));
    !of_host
        && !of_record
        && name
            .strip_prefix(claim)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
