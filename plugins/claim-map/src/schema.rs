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
                "role": texts("The person has one of these roles; `*` stands for any text"),
                "scope": one_of(&SCOPES, "One of these scopes was granted"),
                "sink": one_of(
                    &["id-token", "userinfo", "introspection", "saml-assertion"],
                    "The claims go to one of these places",
                ),
                "requested": texts("One of these claims was asked for by name"),
                "is": {
                    "type": "object",
                    "minProperties": 1,
                    "description": "What each name stands for is this text, number or boolean, or one of these",
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
            "claim": text("Makes this claim"),
            "attribute": text("Makes a SAML attribute of this name"),
            "remove": text("Removes this claim"),
            "deny": text("Ends the sign-in with this sentence, which the person reads"),
            "from": texts("Takes what this name stands for; of several, the first of which something is known"),
            "value": any("This value; in its texts `{name}` stands for what has that name"),
            "split": text("Makes a list of a text, at this separator"),
            "only": texts("Keeps these members of a list; `*` stands for any text"),
            "except": texts("Drops these members of a list; `*` stands for any text"),
            "strip_prefix": text("Takes this away at the beginning"),
            "lookup": {
                "type": "object",
                "minProperties": 1,
                "description": "Replaces what is a key by its value; `*` is for the others, which are dropped without \
                                it",
            },
            "keep_unknown": {
                "type": "boolean",
                "default": false,
                "description": "Keeps what the lookup table does not have",
            },
            "add_prefix": text("Puts this in front"),
            "join": { "type": "string", "description": "Makes one text of a list, with this separator" },
            "default": any("The value if nothing is known or left"),
            "friendly_name": text("The attribute's friendly name"),
            "name_format": {
                "type": "string",
                "default": "basic",
                "description": "The attribute's name format: basic, uri, unspecified or another URI",
            },
            "type": {
                "enum": ["string", "boolean", "integer", "date_time", "any_uri", "base64_binary"],
                "default": "string",
                "description": "What the attribute's values are",
            },
            "scopes": one_of(&SCOPES, "Tells the claim with one of these scopes, or if it is asked for by name"),
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
