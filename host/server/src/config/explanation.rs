//! The explanation of settings that cannot be read.

use figment::error::{Actual, Kind};
use serde_json::Value;

use crate::config::Settings;
use crate::config::in_force::SECRETS;
use crate::config::source::SettingsFile;

pub(super) fn explain(error: &figment::Error, file: SettingsFile<'_>) -> String {
    let key = error.path.join(".");
    let what = match &error.kind {
        Kind::UnknownField(name, known) => {
            let whole = key == *name || key.ends_with(&format!(".{name}"));
            let full = match (key.is_empty(), whole) {
                (true, _) => name.clone(),
                (false, true) => key,
                (false, false) => format!("{key}.{name}"),
            };
            let known = known.join(", ");
            let elsewhere = belongs(name)
                .map(|tables| format!("; {name} belongs {tables}"))
                .unwrap_or_default();
            return format!(
                "{}: {full}: unknown key; expected one of {known}{elsewhere}",
                file.source_of(&full)
            );
        }
        Kind::MissingField(name) => {
            let full = if key.is_empty() {
                name.to_string()
            } else {
                format!("{key}.{name}")
            };
            return format!("{}: {full}: missing", file.place_of(&full));
        }
        // Secrets must not appear in the log or on a terminal.
        Kind::InvalidType(_, expected) | Kind::InvalidValue(_, expected)
            if contains_secret(&key) =>
        {
            let is_table = expected.starts_with("struct ");
            format!("expected {}", if is_table { "a table" } else { expected })
        }
        Kind::InvalidType(found, expected) => {
            let expected = match expected.as_ref() {
                "u16" | "u32" | "u64" => "a whole number",
                "socket address" => "an address and port such as 127.0.0.1:8080",
                "a boolean" => "true or false",
                "a sequence" => "a list such as [\"a\", \"b\"]",
                "a map" => "a table",
                expected => expected,
            };
            format!("found {}, expected {expected}", settings_notation(found))
        }
        Kind::InvalidValue(found, expected) if **expected == *"u32" => {
            format!(
                "found {}, expected a whole number from 0 to {}",
                settings_notation(found),
                u32::MAX
            )
        }
        Kind::InvalidValue(found, expected) => {
            format!("found {}, expected {expected}", settings_notation(found))
        }
        Kind::UnknownVariant(found, known) => {
            format!("found {found:?}, expected one of {}", known.join(", "))
        }
        other if other.to_string().starts_with("relative URL") => {
            "expected a URL that starts with https://".to_owned()
        }
        // A URL may contain a password.
        other if key.ends_with("_endpoint") || other.to_string().contains("@") => {
            "expected a URL such as https://host.example.org".to_owned()
        }
        other => other.to_string(),
    };
    format!("{}: {key}: {what}", file.source_of(&key))
}

/// Returns a value in the notation of a settings file.
fn settings_notation(found: &Actual) -> String {
    match found {
        Actual::Bool(value) => value.to_string(),
        Actual::Unsigned(value) => value.to_string(),
        Actual::Signed(value) => value.to_string(),
        Actual::Float(value) => value.to_string(),
        Actual::Str(value) => format!("{value:?}"),
        Actual::Seq => "a list".to_owned(),
        Actual::Map => "a table".to_owned(),
        other => other.to_string(),
    }
}

/// Returns the right tables for an unknown key, as "into [table]". Returns `None` if no table has a key of this name,
/// or too many have one.
fn belongs(name: &str) -> Option<String> {
    let schema = serde_json::to_value(schemars::schema_for!(Settings)).ok()?;
    let mut tables = Vec::new();
    find_tables(&schema, &schema, "", name, &mut tables);
    tables.sort_unstable();
    let tables: Vec<_> = tables
        .into_iter()
        .map(|table| {
            if table.is_empty() {
                "above the first table".to_owned()
            } else {
                format!("into {table}")
            }
        })
        .collect();
    (1..=3).contains(&tables.len()).then(|| tables.join(" or "))
}

/// Collects the tables of a part of the schema that have a key of this name.
fn find_tables(schema: &Value, part: &Value, path: &str, name: &str, found: &mut Vec<String>) {
    if let Some(reference) = part.get("$ref").and_then(Value::as_str) {
        let referred = reference
            .strip_prefix('#')
            .and_then(|pointer| schema.pointer(pointer));
        return referred
            .into_iter()
            .for_each(|part| find_tables(schema, part, path, name, found));
    }
    for part in part
        .get("anyOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        find_tables(schema, part, path, name, found);
    }
    if let Some(items) = part.get("items") {
        find_tables(schema, items, &format!("[{path}]"), name, found);
    }
    let properties = part.get("properties").and_then(Value::as_object);
    for (key, part) in properties.into_iter().flatten() {
        if key == name {
            found.push(path.to_owned());
        }
        let inside = path.trim_matches(['[', ']']);
        let below = if inside.is_empty() {
            format!("[{key}]")
        } else {
            format!("[{inside}.{key}]")
        };
        find_tables(schema, part, &below, name, found);
    }
}

/// Whether a key is a secret, or a table with one.
fn contains_secret(key: &str) -> bool {
    SECRETS.iter().any(|secret| {
        let below = secret.strip_prefix(key);
        below.is_some_and(|below| below.is_empty() || below.starts_with('.'))
    })
}
