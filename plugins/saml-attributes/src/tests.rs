use assent_plugin_sdk::Map;

use super::*;

fn input(custom_attributes: &Value) -> Input {
    let Value::Object(current) = json!({
        "name": "Ada Lovelace",
        "email": "ada@example.org",
        "email_verified": true,
        "updated_at": 1_800_000_000,
        "nickname": null,
        "account": r#"{"roles":["admin"]}"#,
        "teams": ["red", null, 7],
        "address": { "country": "GB" },
    }) else {
        panic!("an object");
    };
    Input {
        sink: Sink::SamlAssertion,
        application: json!({ "name": "Shop", "custom_attributes": custom_attributes }),
        roles: vec!["admin".to_owned(), "auditor".to_owned()],
        current,
        ..Input::default()
    }
}

fn config(attributes: &Value) -> Config {
    Config::deserialize(json!({ "attributes": attributes })).expect("settings")
}

fn attributes(config: &Config, input: &Input) -> Vec<SamlAttribute> {
    let edits = SamlAttributes::map(config, input).expect("edits");
    let attribute = |edit| match edit {
        Edit::Attribute(attribute) => attribute,
        other => panic!("expected an attribute, got {other:?}"),
    };
    edits.into_iter().map(attribute).collect()
}

/// Returns the values of the only attribute, from these settings.
fn values(values: &Value) -> Vec<String> {
    let mut made = attributes(
        &config(&json!([{ "name": "a", "values": values }])),
        &input(&json!([])),
    );
    made.pop()
        .map(|attribute| attribute.values)
        .unwrap_or_default()
}

fn fault(config: &Config, input: &Input) -> String {
    match SamlAttributes::map(config, input) {
        Err(Failure::Fault(reason)) => reason,
        other => panic!("expected a fault, got {other:?}"),
    }
}

#[test]
fn custom_attributes_of_the_application_are_set() {
    let input = input(
        &json!([{ "name": "mail", "values": ["{email}"] }, { "name": "source", "values": ["assent", "x"] }]),
    );
    let made = attributes(&Config::default(), &input);
    let plain = |name: &str, values: &[&str]| SamlAttribute {
        name: name.to_owned(),
        name_format: None,
        friendly_name: None,
        value_type: ValueType::String,
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    assert_eq!(
        made,
        [
            plain("mail", &["ada@example.org"]),
            plain("source", &["assent", "x"])
        ]
    );
}

#[test]
fn a_dot_selects_a_member_of_the_address() {
    assert_eq!(values(&json!(["{address.country}"])), ["GB"]);
    assert_eq!(values(&json!(["{address.locality}"])), Vec::<String>::new());
    assert_eq!(values(&json!(["{name.country}"])), Vec::<String>::new());
}

#[test]
fn attributes_of_the_settings_follow_with_all_their_members() {
    let config = config(&json!([
        { "name": "urn:oid:1.2", "friendly_name": "mail", "name_format": "uri", "values": ["{email}"] },
        { "name": "at", "type": "date_time", "values": ["{updated_at}"] },
    ]));
    let made = attributes(
        &config,
        &input(&json!([{ "name": "own", "values": ["1"] }])),
    );
    assert_eq!(
        made.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
        ["own", "urn:oid:1.2", "at"]
    );
    assert_eq!(
        made[1].name_format.as_deref(),
        Some("urn:oasis:names:tc:SAML:2.0:attrname-format:uri")
    );
    assert_eq!(
        (made[1].friendly_name.as_deref(), made[1].value_type),
        (Some("mail"), ValueType::String)
    );
    assert_eq!(
        (made[2].value_type, made[2].values.as_slice()),
        (ValueType::DateTime, &["2027-01-15T08:00:00Z".into()][..])
    );
}

#[test]
fn values_contain_claims_and_roles() {
    assert_eq!(
        values(&json!(["{name} <{email}>"])),
        ["Ada Lovelace <ada@example.org>"]
    );
    assert_eq!(values(&json!(["{roles}"])), ["admin", "auditor"]);
    assert_eq!(
        values(&json!(["role:{roles}", "all"])),
        ["role:admin", "role:auditor", "all"]
    );
    assert_eq!(values(&json!(["{account}"])), [r#"{"roles":["admin"]}"#]);
    assert_eq!(
        values(&json!(["{email_verified}", "{updated_at}"])),
        ["true", "1800000000"]
    );
    assert_eq!(
        values(&json!(["{teams}"])),
        ["red", "7"],
        "a null member adds no value"
    );
    assert_eq!(values(&json!(["{address}"])), [r#"{"country":"GB"}"#]);
}

#[test]
fn roles_come_from_the_account_and_not_from_a_claim() {
    let mut input = input(&json!([{ "name": "a", "values": ["{roles}"] }]));
    input.current.insert("roles".to_owned(), json!("root"));
    assert_eq!(
        attributes(&Config::default(), &input)[0].values,
        ["admin", "auditor"]
    );
    input.roles.clear();
    assert!(attributes(&Config::default(), &input).is_empty());
}

#[test]
fn missing_claims_add_neither_values_nor_attributes() {
    assert_eq!(
        values(&json!([
            "{nickname}",
            "{no_such_claim}",
            "x-{nickname}",
            "kept"
        ])),
        ["kept"]
    );
    let config =
        config(&json!([{ "name": "a", "values": ["{nickname}"] }, { "name": "b", "values": [] }]));
    assert!(attributes(&config, &input(&json!([]))).is_empty());
}

#[test]
fn other_sinks_receive_no_attributes() {
    let config = config(&json!([{ "name": "a", "values": ["x"] }]));
    for sink in [Sink::IdToken, Sink::Userinfo, Sink::Introspection] {
        let input = Input {
            sink,
            ..input(&json!([{ "name": "b", "values": ["{oops"] }]))
        };
        assert_eq!(SamlAttributes::map(&config, &input), Ok(Vec::new()));
    }
}

#[test]
fn an_application_may_have_no_custom_attributes() {
    let mut input = input(&json!([]));
    input.application = json!({ "name": "Shop" });
    assert_eq!(
        SamlAttributes::map(&Config::default(), &input),
        Ok(Vec::new())
    );
}

#[test]
fn a_malformed_custom_attribute_is_a_fault_that_names_it() {
    let reason = fault(
        &Config::default(),
        &input(&json!([{ "name": "mail", "values": ["{email"] }])),
    );
    assert_eq!(
        reason,
        "the attribute `mail`: the value `{email` has a `{` without its `}`; a brace itself is written twice"
    );
    let reason = fault(&Config::default(), &input(&json!([{ "name": "mail" }])));
    assert!(
        reason.starts_with("the application's custom attributes are not as expected: "),
        "{reason}"
    );
}

#[test]
fn a_claim_of_another_type_is_a_fault_that_does_not_reveal_it() {
    let config = config(&json!([{ "name": "number", "type": "integer", "values": ["{email}"] }]));
    assert_eq!(
        fault(&config, &input(&json!([]))),
        "the attribute `number`: the value `{email}` is not a valid integer"
    );
}

#[test]
fn too_many_values_of_one_template_are_a_fault() {
    let mut input = input(&json!([{ "name": "a", "values": ["{roles}"] }]));
    input.roles = vec!["r".to_owned(); values::MOST + 1];
    assert_eq!(
        fault(&Config::default(), &input),
        "the attribute `a`: the value `{roles}` results in more than 1000 values"
    );
}

#[test]
fn all_errors_in_the_settings_are_reported_together() {
    let bad = config(&json!([
        { "name": "", "values": ["x"] },
        { "name": "format", "name_format": "URI", "values": ["x"] },
        { "name": "braces", "values": ["{email", "{email}", "email}"] },
        { "name": "typed", "type": "boolean", "values": ["{email_verified}", "yes", "true"] },
    ]));
    assert_eq!(
        SamlAttributes::validate(&bad).expect_err("errors"),
        [
            "an attribute has an empty `name`",
            "the attribute `format`: expected basic, uri, unspecified or a URI as `name_format`",
            "the attribute `braces`: the value `{email` has a `{` without its `}`; a brace itself is written twice",
            "the attribute `braces`: the value `email}` has a `}` without its `{`; a brace itself is written twice",
            "the attribute `typed`: the value `yes` is not a valid boolean",
        ]
    );
}

#[test]
fn all_documented_settings_are_accepted_and_others_are_not() {
    assert!(SamlAttributes::validate(&Config::default()).is_ok());
    for format in ["basic", "uri", "unspecified", "urn:example:format"] {
        let good = config(&json!([{ "name": "a", "name_format": format, "values": ["{x}"] }]));
        assert!(SamlAttributes::validate(&good).is_ok(), "{format}");
    }
    let schema = SamlAttributes::describe().config_schema.expect("a schema");
    let types = schema["properties"]["attributes"]["items"]["properties"]["type"]["enum"]
        .as_array()
        .cloned();
    for value_type in types.expect("types") {
        let good = config(&json!([{ "name": "a", "type": value_type, "values": [] }]));
        assert_eq!(
            json!(values::type_name(good.attributes[0].value_type)),
            value_type
        );
    }
    for typing_error in [
        json!({ "attribute": [] }),
        json!({ "attributes": [{ "name": "a", "value": "x" }] }),
        json!({ "attributes": [{ "name": "a" }] }),
        json!({ "attributes": [{ "name": "a", "values": [], "type": "float" }] }),
    ] {
        assert!(
            Config::deserialize(&typing_error).is_err(),
            "{typing_error}"
        );
    }
}

#[test]
fn the_example_in_the_documentation_is_valid() {
    let example: String = include_str!("lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .skip_while(|line| line.trim() != "```toml")
        .skip(1)
        .take_while(|line| line.trim() != "```")
        .flat_map(|line| [line, "\n"])
        .collect();
    let settings: Map<String, Value> = toml::from_str(&example).expect("TOML");
    let config =
        Config::deserialize(&settings["plugins"]["claim_mappers"][0]["config"]).expect("settings");
    assert_eq!(SamlAttributes::validate(&config), Ok(()));
    let made = attributes(&config, &input(&json!([])));
    assert_eq!(made[0].values, ["ada@example.org"]);
    assert_eq!(
        made[1].values,
        ["assent-admin", "assent-auditor", "everybody"]
    );
}
