//! The members of changes for which the document permits null: those that null removes (RFC 7396), and no others.

use serde_json::{Map, Value, json};

use crate::domain::admin::{
    AccountChange, ClientChange, GroupUpdate, ServiceProviderChange, UserChange,
};
use assent_model::command::null_removes;

type IsRemovable = fn(&str) -> bool;

/// The schemas of the changes.
const CHANGES: [(&str, IsRemovable); 5] = [
    ("UserChange", null_removes::<UserChange>),
    ("AccountChange", null_removes::<AccountChange>),
    ("GroupUpdate", null_removes::<GroupUpdate>),
    ("ClientChange", null_removes::<ClientChange>),
    (
        "ServiceProviderChange",
        null_removes::<ServiceProviderChange>,
    ),
];

/// The records whose members a change replaces one by one, and the names of the schemas for such a change.
const RECORDS: [(&str, &str); 2] = [("Profile", "ProfileChange"), ("Address", "AddressChange")];

/// Permits null for the members of changes that it removes, and for no others.
pub(super) fn describe_null(schemas: &mut Map<String, Value>) {
    for (name, is_removable) in CHANGES {
        for (member, schema) in properties(schemas, name) {
            if !is_removable(member) {
                forbid_null(schema);
            }
        }
    }
    for (name, change) in RECORDS {
        let Some(mut record) = schemas.get(name).cloned() else {
            continue;
        };
        if let Some(record) = record.as_object_mut() {
            record.remove("required");
        }
        schemas.insert(change.to_owned(), record);
        for (_, schema) in properties(schemas, change) {
            rename_references(schema);
            permit_null(schema);
        }
    }
    if let Some((_, profile)) =
        properties(schemas, "UserChange").find(|(member, _)| *member == "profile")
    {
        rename_references(profile);
    }
}

fn properties<'a>(
    schemas: &'a mut Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = (&'a String, &'a mut Value)> {
    let properties = schemas
        .get_mut(name)
        .and_then(|schema| schema.get_mut("properties")?.as_object_mut());
    properties.into_iter().flat_map(Map::iter_mut)
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "null")
}

fn forbid_null(schema: &mut Value) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            if let Some(schema) = schema.as_object_mut() {
                schema.insert("type".to_owned(), only);
            }
        }
    }
    if let Some(Value::Array(either)) = schema.get_mut("oneOf") {
        either.retain(|part| !is_null(part));
        if let [only] = either.as_slice() {
            *schema = only.clone();
        }
    }
}

fn permit_null(schema: &mut Value) {
    let has_alternatives = schema.get("oneOf").is_some();
    match schema.get_mut("type") {
        Some(Value::Array(_)) => {}
        Some(only) => *only = json!([only.take(), "null"]),
        None if has_alternatives => {}
        None => *schema = json!({"oneOf": [schema.take(), {"type": "null"}]}),
    }
}

/// Makes references to a record refer to its change.
fn rename_references(schema: &mut Value) {
    match schema {
        Value::Object(members) => members.values_mut().for_each(rename_references),
        Value::Array(items) => items.iter_mut().for_each(rename_references),
        Value::String(text) => {
            let renamed = RECORDS
                .iter()
                .find(|(name, _)| *text == format!("#/components/schemas/{name}"));
            if let Some((_, change)) = renamed {
                *text = format!("#/components/schemas/{change}");
            }
        }
        _ => {}
    }
}
