//! A claim mapper that breaks the contract in the way that its settings select.
//!
//! It uses the generated types instead of those of the SDK, because the SDK's types prevent some of the breaches.
#![cfg(target_family = "wasm")]
#![allow(
    unsafe_code,
    clippy::panic,
    reason = "the exports of a component are symbols with fixed names, and panicking is one of the things it is for"
)]

use std::hint::black_box;

use assent_plugin_sdk::Value;
use assent_plugin_sdk::bindings::claims;
use assent_plugin_sdk::bindings::claims::exports::assent::claims::mapper::{
    Edit, Failure, Guest, Input, SamlAttribute, ValueType,
};
use assent_plugin_sdk::log::{Level, report_panics, write};

struct Hostile;

/// The description. It is one text, because a test replaces a part of it in the component.
const DESCRIPTION: &str = concat!(
    r#"{"name":"hostile-mapper","version":"1.0.0","writes":["*","attribute:*"],"#,
    r#""denies":true}"#
);

claims::export!(Hostile with_types_in claims);

impl Guest for Hostile {
    fn describe() -> String {
        DESCRIPTION.to_owned()
    }

    fn validate(config: String) -> Result<(), Vec<String>> {
        match text(&config, "behaviour").as_str() {
            "invalid" => Err(vec![
                "`behaviour` is invalid".to_owned(),
                "and\nso is this".to_owned(),
            ]),
            _ => Ok(()),
        }
    }

    fn map_claims(input: Input) -> Result<Vec<Edit>, Failure> {
        report_panics();
        let only = text(&input.config, "only");
        if !input.application.contains(&only) {
            return Ok(Vec::new());
        }
        let (claim, value) = (text(&input.config, "claim"), text(&input.config, "value"));
        match text(&input.config, "behaviour").as_str() {
            "loop" => loop {
                black_box(());
            },
            // This is slow, but within the limits.
            "busy" => {
                for step in 0..value.parse().unwrap_or(0_u64) {
                    black_box(step);
                }
                Ok(Vec::new())
            }
            "recurse" => Ok(vec![Edit::Set((claim, recurse(1).to_string()))]),
            "memory" => {
                let mut hoard = Vec::new();
                loop {
                    hoard.push(vec![1_u8; 1 << 20]);
                    black_box(&hoard);
                }
            }
            "output" => Ok(vec![Edit::Set((
                claim,
                format!("\"{}\"", "x".repeat(2 << 20)),
            ))]),
            "panic" => panic!("the hostile plugin panics"),
            "log" => {
                for number in 0..10_000 {
                    write(Level::Info, &format!("line {number}\nforged line {number}"));
                }
                Ok(Vec::new())
            }
            "clock" => {
                let now = std::time::SystemTime::now();
                Ok(vec![Edit::Set((claim, format!("\"{now:?}\"")))])
            }
            "deny" => Err(Failure::Deny(value)),
            "fault" => Err(Failure::Fault(value)),
            "remove" => Ok(vec![Edit::Remove(claim)]),
            "current" => Ok(vec![Edit::Set((claim, input.current))]),
            "attribute" => Ok(attribute(&input.config, vec![value])),
            "huge-attribute" => Ok(attribute(&input.config, vec![value.repeat(10 << 20)])),
            "many-values" => Ok(attribute(&input.config, vec![value; 100_000])),
            // The first edit is valid, to test that an invalid one discards all edits.
            _ => Ok(vec![
                Edit::Set(("team".to_owned(), "\"red\"".to_owned())),
                Edit::Set((claim, value)),
            ]),
        }
    }
}

/// Returns a valid attribute, and then one with the name `claim` and the properties in the settings.
fn attribute(config: &str, values: Vec<String>) -> Vec<Edit> {
    let optional = |key| Some(text(config, key)).filter(|text| !text.is_empty());
    let value_type = match text(config, "type").as_str() {
        "boolean" => ValueType::Boolean,
        "integer" => ValueType::Integer,
        "date_time" => ValueType::DateTime,
        "any_uri" => ValueType::AnyUri,
        "base64_binary" => ValueType::Base64Binary,
        _ => ValueType::String,
    };
    let made = SamlAttribute {
        name: text(config, "claim"),
        name_format: optional("name_format"),
        friendly_name: optional("friendly_name"),
        value_type,
        values,
    };
    let good = SamlAttribute {
        name: "team".to_owned(),
        name_format: None,
        friendly_name: None,
        value_type: ValueType::String,
        values: vec!["red".to_owned()],
    };
    vec![Edit::Attribute(good), Edit::Attribute(made)]
}

fn recurse(depth: u64) -> u64 {
    let frame = [depth; 16];
    if black_box(depth) == 0 {
        0
    } else {
        black_box(frame).iter().sum::<u64>() + recurse(depth + 1)
    }
}

/// Returns a setting, or an empty text. With `only` the plugin breaks the contract only for that application.
fn text(config: &str, key: &str) -> String {
    let config: Value = config.parse().unwrap_or_default();
    config
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
