//! The APIs, from their OpenAPI documents.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use serde_json::{Map, Value};

use crate::markdown::{code, heading, prose, table};

/// An API.
pub(crate) struct Api {
    title: &'static str,
    file: &'static str,
    introduction: &'static str,
}

pub(crate) const ADMIN: Api = Api {
    title: "Admin API",
    file: "config/admin-api.openapi.json",
    introduction: "\
The console and the command line use this API, below `/admin/api/v1`. [Use the admin API](../developers/admin-api.md)
explains tokens, lists, versions, repeated requests and errors. The server returns the OpenAPI document at
`/admin/api/v1/openapi.json`. *Protected* operations of a console session need an approval on a device; see [Protected
actions](../administrators/protected-actions.md).

",
};

pub(crate) const AUTHENTICATOR: Api = Api {
    title: "Authenticator API",
    file: "config/authenticator-api.openapi.json",
    introduction: "\
Authenticators use this API, below `/authenticator`. [How an approval works](../explanation/approvals.md) explains
what a device signs.

",
};

pub(crate) fn page(root: &Path, api: &Api) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(root.join(api.file)).context(api.file)?;
    let document: Value = serde_json::from_str(&text).context(api.file)?;
    let mut page = heading(api.title, api.file) + api.introduction;
    let abouts: BTreeMap<&str, &str> = document["tags"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tag| Some((tag["name"].as_str()?, tag["description"].as_str()?)))
        .collect();
    for (tag, operations) in by_tag(&document) {
        page.push_str(&format!("## {tag}\n\n"));
        if let Some(about) = abouts.get(tag.as_str()) {
            page.push_str(&format!("{}\n\n", prose(about)));
        }
        for operation in operations {
            page.push_str(&operation_section(&operation));
        }
    }
    page.push_str("## Schemas\n\n");
    let schemas = document["components"]["schemas"].as_object();
    for (name, schema) in schemas.into_iter().flatten() {
        page.push_str(&format!("### {name}\n\n"));
        if let Some(about) = schema["description"].as_str() {
            page.push_str(&format!("{}\n\n", prose(about)));
        }
        page.push_str(&members(schema));
    }
    Ok(page.trim_end().to_owned() + "\n")
}

/// An operation with its method and path.
struct Operation<'a> {
    method: &'a str,
    path: &'a str,
    value: &'a Value,
}

/// The operations of each tag, in the order of the document.
fn by_tag(document: &Value) -> Vec<(String, Vec<Operation<'_>>)> {
    let mut found: Vec<(String, Vec<Operation<'_>>)> = Vec::new();
    let order = document["tags"].as_array().into_iter().flatten();
    for tag in order.filter_map(|tag| tag["name"].as_str()) {
        found.push((tag.to_owned(), Vec::new()));
    }
    let paths = document["paths"].as_object().into_iter().flatten();
    for (path, methods) in paths {
        for (method, value) in methods.as_object().into_iter().flatten() {
            let tag = value["tags"][0].as_str().unwrap_or("Operations");
            let operation = Operation {
                method,
                path,
                value,
            };
            match found.iter_mut().find(|(name, _)| name == tag) {
                Some((_, operations)) => operations.push(operation),
                None => found.push((tag.to_owned(), vec![operation])),
            }
        }
    }
    found.retain(|(_, operations)| !operations.is_empty());
    found
}

fn operation_section(operation: &Operation<'_>) -> String {
    let Operation {
        method,
        path,
        value,
    } = operation;
    let mut text = format!("### `{} {path}`\n\n", method.to_uppercase());
    for part in ["summary", "description"] {
        if let Some(part) = value[part].as_str() {
            text.push_str(&format!("{}\n\n", prose(part)));
        }
    }
    let mut facts = Vec::new();
    if let Some(id) = value["operationId"].as_str() {
        facts.push(format!("- Operation: {}", code(id)));
    }
    if let Some(permission) = value["x-permission"].as_str() {
        facts.push(format!("- Permission: {}", code(permission)));
    }
    if value["x-protected-action"].is_string() {
        facts.push("- Protected".to_owned());
    }
    if let Some(content) = value["requestBody"]["content"].as_object() {
        facts.push(format!("- Body: {}", bodies(content)));
    }
    if let Some(responses) = value["responses"].as_object() {
        let (good, problems): (Vec<_>, Vec<_>) = responses
            .iter()
            .partition(|(_, response)| response["$ref"].is_null());
        for (status, response) in good {
            let about = response["description"].as_str().unwrap_or_default();
            let body = response["content"].as_object().map(bodies);
            let body = body.map(|body| format!(" ({body})")).unwrap_or_default();
            facts.push(format!("- {status}: {}{body}", prose(about)));
        }
        let mut problems: Vec<&str> = problems.iter().map(|(status, _)| status.as_str()).collect();
        problems.sort_unstable();
        if !problems.is_empty() {
            facts.push(format!("- [Problems](errors.md): {}", problems.join(", ")));
        }
    }
    text.push_str(&format!("{}\n\n", facts.join("\n")));
    let parameters = value["parameters"].as_array().into_iter().flatten();
    let rows = parameters.map(|parameter| {
        let of = |name: &str| parameter[name].as_str().unwrap_or_default().to_owned();
        let about = of("description");
        let about = match parameter["required"] == true {
            true => about,
            false => format!("Optional. {about}"),
        };
        [
            code(&of("name")),
            of("in"),
            kind(&parameter["schema"]),
            prose(&about),
        ]
    });
    text.push_str(&table(["Parameter", "In", "Type", "Meaning"], rows));
    text
}

/// The bodies by media type; those of one schema together.
fn bodies(content: &Map<String, Value>) -> String {
    let mut found: Vec<String> = Vec::new();
    for (media_type, body) in content {
        let name = match kind(&body["schema"]).as_str() {
            "" => code(media_type),
            kind if media_type == "application/json" => kind.to_owned(),
            kind if found.iter().any(|known| known == kind) => continue,
            kind => format!("{kind} as {}", code(media_type)),
        };
        found.push(name);
    }
    found.join(" or ")
}

/// The members of an object, or the values of another schema.
fn members(schema: &Value) -> String {
    let parts = ["allOf", "oneOf", "anyOf"]
        .into_iter()
        .find_map(|name| schema[name].as_array().map(|parts| (name, parts)));
    if let Some((name, parts)) = parts {
        let word = if name == "allOf" {
            "All of:"
        } else {
            "One of:"
        };
        let parts = parts.iter().map(|part| {
            let inner = members(part);
            match (part["$ref"].is_string(), part["description"].as_str()) {
                (true, _) => format!("{}\n\n", kind(part)),
                (false, Some(about)) => format!("{}\n\n{inner}", prose(about)),
                (false, None) => inner,
            }
        });
        return format!("{word}\n\n{}", parts.collect::<String>());
    }
    let Some(properties) = schema["properties"].as_object() else {
        return match kind(schema).as_str() {
            "" => String::new(),
            kind => format!("{kind}\n\n"),
        };
    };
    let required = schema["required"].as_array();
    let rows = properties.iter().map(|(name, property)| {
        let is_required = required.is_some_and(|all| all.iter().any(|one| one == name));
        let about = property["description"].as_str().unwrap_or_default();
        let needed = if is_required { "yes" } else { "no" };
        [code(name), kind(property), needed.to_owned(), prose(about)]
    });
    table(["Member", "Type", "Required", "Meaning"], rows)
}

/// A type in words.
fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().filter_map(Value::as_str).map(code);
        return values.collect::<Vec<_>>().join(", ");
    }
    for name in ["oneOf", "anyOf", "allOf"] {
        if let Some(parts) = schema[name].as_array() {
            let parts = parts.iter().map(kind).filter(|part| !part.is_empty());
            return parts.collect::<Vec<_>>().join(" or ");
        }
    }
    if let Some(constant) = schema["const"].as_str() {
        return code(constant);
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect(),
    };
    let format = schema["format"].as_str();
    let named = types.iter().map(|one| match (*one, format) {
        ("array", _) => format!("list of {}", kind(&schema["items"])),
        ("string", Some("date-time")) => "time".to_owned(),
        (one, _) => one.to_owned(),
    });
    named.collect::<Vec<_>>().join(" or ")
}
