//! The JSON Schema of the settings.

use assent_plugin_sdk::{Value, json};

use crate::check::SCOPES;

/// Returns the schema of the plugin's settings.
pub(crate) fn of_settings() -> Value {
    let text =
        |description: &str| json!({ "type": "string", "minLength": 1, "description": description });
    let texts = |description: &str| {
        json!({
            "anyOf": [
                { "type": "string", "minLength": 1 },
                { "type": "array", "minItems": 1, "items": { "type": "string", "minLength": 1 } },
            ],
            "description": description,
        })
    };
    let one_of = |names: &[&str], description: &str| {
        json!({
            "anyOf": [{ "enum": names }, { "type": "array", "minItems": 1, "items": { "enum": names } }],
            "description": description,
        })
    };
    let any = |description: &str| json!({ "description": description });
    let conditions = |description: &str| {
        json!({
            "type": "object",
            "additionalProperties": false,
            "minProperties": 1,
            "description": description,
            "properties": {
                "role": texts("The user has one of these roles; `*` stands for any text"),
                "scope": one_of(&SCOPES, "One of these scopes was granted"),
                "sink": one_of(
                    &["id-token", "userinfo", "introspection", "saml-assertion"],
                    "The claims are for one of these sinks",
                ),
                "requested": texts("The request names one of these claims"),
                "is": {
                    "type": "object",
                    "minProperties": 1,
                    "description": "The value of each name is this text, number or boolean, or one of these",
                },
            },
        })
    };
    let rule = json!({
        "type": "object",
        "additionalProperties": false,
        "oneOf": [
            { "required": ["claim"] },
            { "required": ["attribute"] },
            { "required": ["remove"] },
            { "required": ["deny"] },
        ],
        "properties": {
            "claim": text("Sets this claim"),
            "attribute": text("Adds a SAML attribute with this name"),
            "remove": text("Removes this claim"),
            "deny": text("Denies the sign-in; the user reads this sentence"),
            "from": texts("The value of this name; of several names, the first one with a value"),
            "value": any("This value; in its texts, `{name}` stands for the value with that name"),
            "split": text("Splits a text into a list at this separator"),
            "only": texts("Keeps these members of a list; `*` stands for any text"),
            "except": texts("Drops these members of a list; `*` stands for any text"),
            "strip_prefix": text("Removes this text at the beginning"),
            "lookup": {
                "type": "object",
                "minProperties": 1,
                "description": "Replaces a value by its entry in this table; `*` is the entry of all other values, \
                                which are dropped without it",
            },
            "keep_unknown": {
                "type": "boolean",
                "default": false,
                "description": "Keeps values that the lookup table does not have",
            },
            "add_prefix": text("Adds this text at the beginning"),
            "join": { "type": "string", "description": "Joins a list to one text with this separator" },
            "default": any("The value if there is none, or no value is left"),
            "friendly_name": text("The attribute's friendly name"),
            "name_format": {
                "type": "string",
                "default": "basic",
                "description": "The attribute's name format: basic, uri, unspecified or another URI",
            },
            "type": {
                "enum": ["string", "boolean", "integer", "date_time", "any_uri", "base64_binary"],
                "default": "string",
                "description": "The type of the attribute's values",
            },
            "scopes": one_of(&SCOPES, "Applies if one of these scopes was granted, or the request names the claim"),
            "when": conditions("Applies if all of these hold"),
            "unless": conditions("Does not apply if all of these hold"),
        },
    });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["rules"],
        "properties": { "rules": { "type": "array", "minItems": 1, "items": rule } },
    })
}
