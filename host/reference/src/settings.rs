//! The settings, from their schema.

use anyhow::Context;
use serde_json::Value;

use crate::markdown::{code, heading, prose, table};

const INTRODUCTION: &str = "\
The settings are in a TOML file: `/etc/assent/assent.toml`, or the file of `--config`. Each key can also be an
environment variable: `ASSENT__HTTP__LISTEN` is `listen` in the table `[http]`. The environment has precedence over
the file. [Change settings](../operators/settings.md) explains both.

A duration is a text such as `\"90s\"`, `\"10m\"`, `\"1h\"` or `\"7d\"`. A size is a text such as `\"64MiB\"`. The
path of a file is relative to the folder in which the command is started.

";

pub(crate) fn page() -> anyhow::Result<String> {
    let schema: Value = serde_json::from_str(&assent::cli::config_schema())?;
    let mut page = heading("Settings", "the schema of the settings") + INTRODUCTION;
    let mut tables = Vec::new();
    let writer = Writer { schema: &schema };
    page.push_str(&writer.keys("", &schema, &mut tables)?);
    // Each table may add those inside it.
    let mut number = 0;
    while let Some(found) = tables.get(number).cloned() {
        page.push_str(&format!("## {}\n\n", code(&found.heading)));
        if let Some(description) = found.schema["description"].as_str() {
            page.push_str(&format!("{}\n\n", prose(description)));
        }
        page.push_str(&writer.keys(&found.path, &found.schema, &mut tables)?);
        number += 1;
    }
    Ok(page.trim_end().to_owned() + "\n")
}

/// A table of the file.
#[derive(Clone)]
struct Table {
    /// `[http]` or `[[plugins.claim_mappers]]`.
    heading: String,
    path: String,
    schema: Value,
}

struct Writer<'a> {
    schema: &'a Value,
}

impl Writer<'_> {
    /// The keys of a table; adds the tables below it.
    fn keys(&self, path: &str, schema: &Value, tables: &mut Vec<Table>) -> anyhow::Result<String> {
        let Some(properties) = schema["properties"].as_object() else {
            return Ok(String::new());
        };
        let required = schema["required"].as_array();
        let mut rows = Vec::new();
        for (name, property) in properties {
            let resolved = self.resolve(property)?;
            let path = match path {
                "" => name.clone(),
                path => format!("{path}.{name}"),
            };
            let (kind, inner) = self.kind(&resolved)?;
            let is_table = matches!(kind, Kind::Table | Kind::Tables);
            if let (true, Some(inner)) = (is_table, inner) {
                let heading = match kind {
                    Kind::Tables => format!("[[{path}]]"),
                    _ => format!("[{path}]"),
                };
                tables.push(Table {
                    heading,
                    path,
                    schema: inner,
                });
                continue;
            }
            let is_required = required.is_some_and(|all| all.iter().any(|one| one == name));
            let default = match &property["default"] {
                _ if is_required => "required".to_owned(),
                Value::Null => String::new(),
                default => code(&toml_of(default)),
            };
            let description = property["description"]
                .as_str()
                .or(resolved["description"].as_str())
                .unwrap_or_default();
            let values = match self.values(property)?.as_str() {
                // The schema has no type for paths.
                "text" if name.ends_with("file") || name.ends_with("folder") => "path".to_owned(),
                values => values.to_owned(),
            };
            let meaning = format!("{description} {}", self.meanings(property, description)?);
            rows.push([code(name), values, default, prose(meaning.trim())]);
        }
        Ok(table(["Key", "Value", "Default", "Meaning"], rows))
    }

    /// The schema that a reference leads to.
    fn resolve(&self, schema: &Value) -> anyhow::Result<Value> {
        match schema["$ref"].as_str() {
            Some(reference) => {
                let pointer = reference.trim_start_matches('#');
                let found = self.schema.pointer(pointer).context("a reference")?;
                self.resolve(found)
            }
            None => Ok(schema.clone()),
        }
    }

    fn kind(&self, schema: &Value) -> anyhow::Result<(Kind, Option<Value>)> {
        if let Some(variants) = schema["anyOf"].as_array() {
            for variant in variants {
                let (kind, inner) = self.kind(&self.resolve(variant)?)?;
                if !matches!(kind, Kind::Null) {
                    return Ok((kind, inner));
                }
            }
        }
        if schema["type"] == "null" {
            return Ok((Kind::Null, None));
        }
        // A limit is written in one line.
        if schema["properties"].is_object() && schema["properties"]["per_minute"].is_null() {
            return Ok((Kind::Table, Some(schema.clone())));
        }
        if schema["type"] == "array" {
            let items = self.resolve(&schema["items"])?;
            if items["properties"].is_object() {
                return Ok((Kind::Tables, Some(items)));
            }
        }
        Ok((Kind::Value, None))
    }

    /// The meaning of each constant that a key can have, as sentences, unless the description has it.
    fn meanings(&self, schema: &Value, described: &str) -> anyhow::Result<String> {
        let schema = self.resolve(schema)?;
        let mut all = Vec::new();
        for choice in ["anyOf", "oneOf"] {
            for variant in schema[choice].as_array().into_iter().flatten() {
                let constant = variant["const"].as_str();
                match (constant, variant["description"].as_str()) {
                    (Some(constant), _) if described.contains(&format!("`{constant}`:")) => {}
                    (Some(constant), Some(meaning)) => {
                        all.push(format!("`\"{constant}\"`: {}", meaning));
                    }
                    // An optional key has its type as one of two.
                    _ if variant["$ref"].is_string() => {
                        all.push(self.meanings(variant, described)?);
                    }
                    _ => {}
                }
            }
        }
        all.retain(|one| !one.is_empty());
        Ok(all.join(" "))
    }

    /// The values of a key, in words.
    fn values(&self, schema: &Value) -> anyhow::Result<String> {
        if let Some(reference) = schema["$ref"].as_str() {
            let named = match reference.rsplit('/').next() {
                Some("Duration") => "duration",
                Some("Size") => "size",
                Some("Colour") => "colour",
                Some("IpNetwork") => "address or network",
                _ => return self.values(&self.resolve(schema)?),
            };
            return Ok(named.to_owned());
        }
        for choice in ["anyOf", "oneOf"] {
            if let Some(variants) = schema[choice].as_array() {
                let mut all = Vec::new();
                for variant in variants.iter().filter(|one| one["type"] != "null") {
                    all.push(self.values(variant)?);
                }
                return Ok(all.join(", "));
            }
        }
        if let Some(constant) = schema["const"].as_str() {
            return Ok(code(&format!("\"{constant}\"")));
        }
        if schema["properties"]["per_minute"].is_object() {
            return Ok(code("{ per_minute = N, burst = N }"));
        }
        if schema["properties"].is_object() {
            let kind = schema["properties"]["kind"]["const"].as_str();
            let keys = schema["properties"].as_object().into_iter().flatten();
            let keys: Vec<&str> = keys.map(|(name, _)| name.as_str()).skip(1).collect();
            let kind = kind.unwrap_or_default();
            return Ok(format!(
                "{} with {}",
                code(&format!("{{ kind = \"{kind}\" }}")),
                keys.iter()
                    .map(|key| code(key))
                    .collect::<Vec<_>>()
                    .join(", ")
            ));
        }
        let types = match &schema["type"] {
            Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
            other => other.as_str().into_iter().collect::<Vec<_>>(),
        };
        Ok(match types.iter().find(|one| **one != "null") {
            Some(&"array") => {
                format!("list of {}", self.values(&schema["items"])?)
            }
            Some(&"integer") => "whole number".to_owned(),
            Some(&"number") => "number".to_owned(),
            Some(&"boolean") => "`true` or `false`".to_owned(),
            Some(&"object") => "table".to_owned(),
            Some(&"string") if schema["format"] == "uri" => "URL".to_owned(),
            Some(&"string") => "text".to_owned(),
            _ => "any value".to_owned(),
        })
    }
}

enum Kind {
    Table,
    Tables,
    Value,
    Null,
}

/// A default as the file would have it.
fn toml_of(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| format!("{name} = {}", toml_of(value)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
        other => other.to_string(),
    }
}
