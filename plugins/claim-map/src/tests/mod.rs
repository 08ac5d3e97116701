//! Native tests of the plugin's logic.

mod properties;
mod recipes;
mod rules;
mod settings;

use assent_plugin_sdk::claims::{ClaimMapper, Edit, Failure, Input, Sink};
use assent_plugin_sdk::{Map, Value, json};
use serde::Deserialize;

use super::{ClaimMap, Config};

/// Returns the input for an ID token of Ada.
fn input() -> Input {
    let Value::Object(current) = json!({
        "sub": "s1",
        "name": "Ada Lovelace",
        "email": "ada@example.org",
        "email_verified": true,
        "nickname": null,
        "address": { "country": "GB" },
        "https://example.org/team": { "name": "red" },
    }) else {
        panic!("an object");
    };
    Input {
        application: json!({ "id": "did:key:z6", "name": "Wiki" }),
        account: json!({ "name": "ada", "short_code": "7KQ2M9T4VX", "state": "active" }),
        user: json!({
            "name": "ada",
            "email": "ada@example.org",
            "groups": ["Staff", "Wiki editors"],
            "profile": {
                "locale": "en-GB",
                "levels": [1, 2],
                "teams": [{ "name": "red", "sites": ["north"] }, { "name": "blue", "sites": ["south", "west"] }, {}],
            },
        }),
        roles: ["wiki-editor", "wiki-reader", "staff"]
            .map(str::to_owned)
            .to_vec(),
        scopes: vec!["openid".to_owned(), "profile".to_owned()],
        acr: Some("urn:assent:acr:device".to_owned()),
        amr: vec!["swk".to_owned()],
        current,
        ..Input::default()
    }
}

/// Returns valid settings with these rules.
fn config(rules: &str) -> Config {
    let settings: Map<String, Value> = toml::from_str(rules).expect("TOML");
    let config = Config::deserialize(Value::Object(settings)).expect("settings");
    assert_eq!(ClaimMap::validate(&config), Ok(()), "{rules}");
    config
}

/// Returns the edits of these rules.
fn edits(rules: &str, input: &Input) -> Vec<Edit> {
    ClaimMap::map(&config(rules), input).expect("edits")
}

/// Returns the claim `out` from a rule with these keys, for Ada.
fn out(rule: &str) -> Option<Value> {
    match edits(&format!("[[rules]]\nclaim = \"out\"\n{rule}"), &input()).as_slice() {
        [] => None,
        [Edit::Set(name, value)] if name == "out" => Some(value.clone()),
        other => panic!("expected the claim, got {other:?}"),
    }
}

/// Returns the claims and the attributes' values by name. A removed claim is `null`.
fn output(rules: &str, input: &Input) -> Value {
    let output = edits(rules, input).into_iter().map(|edit| match edit {
        Edit::Set(name, value) => (name, value),
        Edit::Remove(name) => (name, Value::Null),
        Edit::Attribute(attribute) => (attribute.name, json!(attribute.values)),
    });
    output.collect::<Map<_, _>>().into()
}

fn denial(rules: &str, input: &Input) -> Option<String> {
    match ClaimMap::map(&config(rules), input) {
        Ok(_) => None,
        Err(Failure::Deny(reason)) => Some(reason),
        Err(Failure::Fault(reason)) => panic!("a fault: {reason}"),
    }
}

/// Returns the input for an assertion, which has no scopes.
fn assertion() -> Input {
    Input {
        sink: Sink::SamlAssertion,
        scopes: Vec::new(),
        ..input()
    }
}
