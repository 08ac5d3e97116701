//! The attributes of SAML assertions: the plugin `saml-attributes`, and the faults of hostile plugins.

use assent_model::id::Did;
use assent_plugin_host::{
    ClaimInput, Fault, MappedClaims, OnFailure, PluginSpec, Protocol, Role, SamlAttribute, Sink,
    ValueType,
};
use serde_json::{Value, json};
use std::time::Duration;

use super::components::{
    Log, account_roles, application, hostile_mapper, input, load, load_error, saml_attributes,
};
use super::mappers::fault;

/// Returns the data of the instance for an assertion to this application.
fn assertion(application: &Did, custom_attributes: &Value) -> ClaimInput {
    let mut input = input(application);
    (input.protocol, input.sink) = (Protocol::Saml, Sink::SamlAssertion);
    input.application["custom_attributes"] = custom_attributes.clone();
    input.roles = vec!["admin".to_owned(), "auditor".to_owned()];
    input
}

/// Returns the attributes that these plugins create for the first application, which has no custom attributes.
async fn created(specs: Vec<PluginSpec>) -> Vec<SamlAttribute> {
    let mapped = load(specs)
        .await
        .map_claims(assertion(&application(1), &json!([])))
        .await;
    mapped.expect("attributes").attributes
}

/// Returns the attribute `department` from the hostile mapper with these settings.
async fn department(mut config: Value) -> SamlAttribute {
    config["claim"] = json!("department");
    let mut created = created(vec![hostile_mapper("hostile", &application(1), config)]).await;
    assert_eq!(created.len(), 2, "{created:?}");
    created.remove(1)
}

/// Returns the fault of the hostile mapper with these settings. A plugin of another application must not be affected.
async fn run_hostile(config: &Value) -> Fault {
    let (ours, victim) = (application(1), application(2));
    let harmless = json!({ "behaviour": "attribute", "claim": "department", "value": "unharmed" });
    let hostile = hostile_mapper("hostile", &ours, config.clone());
    let plugins = load(vec![hostile, hostile_mapper("harmless", &victim, harmless)]).await;
    let log = Log::capture();
    let failure = plugins
        .map_claims(assertion(&ours, &json!([])))
        .await
        .expect_err("the call fails closed");
    assert_eq!(failure.plugin, "hostile", "the error names the plugin");
    let lines = log.lines();
    assert!(
        log.has(&["WARN", "plugin=\"hostile\"", "sign-in failed"]),
        "{lines:?}"
    );
    assert!(
        lines.iter().all(|line| line.len() < 1_000),
        "the log stays small"
    );
    let mapped = plugins
        .map_claims(assertion(&victim, &json!([])))
        .await
        .expect("other calls succeed");
    assert_eq!(
        texts(&mapped),
        [("team", vec!["red"]), ("department", vec!["unharmed"])]
    );
    fault(failure)
}

/// Returns the names and values of the attributes.
fn texts<'a>(mapped: &'a MappedClaims) -> Vec<(&'a str, Vec<&'a str>)> {
    let text = |attribute: &'a SamlAttribute| {
        (
            attribute.name.as_str(),
            attribute.values.iter().map(String::as_str).collect(),
        )
    };
    mapped.attributes.iter().map(text).collect()
}

#[tokio::test]
async fn attribute_values_may_contain_markup_but_not_nul_u_fffe_or_ten_megabytes() {
    let markup = "</AttributeValue><b a='\"'> & ]]> &lt; <!-- <![CDATA[ é \u{1f600}\t\r\n";
    let passed = department(json!({ "behaviour": "attribute", "value": markup })).await;
    assert_eq!(
        passed.values,
        [markup],
        "the plugin host does not escape markup"
    );
    let expected = Fault::Attribute {
        name: "department".to_owned(),
        why: "with a character that XML does not allow",
    };
    for (place, bad) in [
        ("value", "nul \0"),
        ("value", "\u{fffe}"),
        ("value", "\u{1b}[31m"),
        ("name_format", "\u{fffe}"),
        ("friendly_name", "\0"),
    ] {
        let mut config = json!({ "behaviour": "attribute", "claim": "department" });
        config[place] = json!(bad);
        assert_eq!(run_hostile(&config).await, expected, "{bad:?} as {place}");
    }
    let named = run_hostile(&json!({ "behaviour": "attribute", "claim": "nul \0" })).await;
    assert!(matches!(named, Fault::Attribute { .. }), "{named}");
    // Ten megabytes in one value, and in a hundred thousand values.
    for (behaviour, value) in [
        ("huge-attribute", "x".to_owned()),
        ("many-values", "x".repeat(100)),
    ] {
        let fault =
            run_hostile(&json!({ "behaviour": behaviour, "claim": "department", "value": value }))
                .await;
        assert_eq!(fault, Fault::TooLarge(256 << 10), "{behaviour}");
    }
}

#[tokio::test]
async fn an_attribute_value_of_a_wrong_type_is_a_fault() {
    for (value_type, right, wrong) in [
        ("boolean", "true", "yes"),
        ("integer", "-42", "4.2"),
        ("date_time", "2027-01-15T08:00:00Z", "2027-01-15"),
        ("any_uri", "https://example.org/ada", "not a uri"),
        ("base64_binary", "YQ==", "<b>"),
    ] {
        let typed =
            department(json!({ "behaviour": "attribute", "type": value_type, "value": right }))
                .await;
        assert_eq!(typed.values, [right]);
        let expected = Fault::Attribute {
            name: "department".to_owned(),
            why: "with a value that is not of its type",
        };
        let config = json!({ "behaviour": "attribute", "claim": "department", "type": value_type, "value": wrong });
        assert_eq!(run_hostile(&config).await, expected, "{value_type}");
    }
}

#[tokio::test]
async fn an_ungranted_attribute_is_a_fault() {
    // The second name is granted only as a claim.
    for name in ["role", "note", "Department", ""] {
        let config = json!({ "behaviour": "attribute", "claim": name, "value": "admin" });
        assert_eq!(
            run_hostile(&config).await,
            Fault::NotGranted(format!("attribute:{name}"))
        );
    }
}

/// Service providers may use the friendly name. SAML core section 2.7.3.1 forbids it, but brokers offer it.
#[tokio::test]
async fn a_friendly_name_needs_a_grant_and_a_name_format() {
    for friendly in ["role", "note", "Department"] {
        let config = json!({ "behaviour": "attribute", "claim": "department", "friendly_name": friendly,
            "value": "x" });
        assert_eq!(
            run_hostile(&config).await,
            Fault::NotGranted(format!("attribute:{friendly}"))
        );
    }
    for granted in ["department", "team"] {
        let config = json!({ "behaviour": "attribute", "friendly_name": granted, "name_format": "urn:x",
            "value": "x" });
        assert_eq!(
            department(config).await.friendly_name.as_deref(),
            Some(granted)
        );
    }
    let all = vec!["attribute:*".to_owned()];
    let role = Role::ClaimMapper {
        applications: None,
        writes: all,
        on_failure: OnFailure::Fail,
        result_max_age: Duration::ZERO,
    };
    let config = json!({ "behaviour": "attribute", "claim": "department", "friendly_name": "role", "value": "x" });
    let created = created(vec![PluginSpec {
        role,
        ..hostile_mapper("hostile", &application(1), config)
    }])
    .await;
    assert_eq!(created[1].friendly_name.as_deref(), Some("role"));
}

/// Even if the operator grants every attribute, a name must be printable.
#[tokio::test]
async fn an_attribute_name_must_be_printable() {
    let ours = application(1);
    let long = "n".repeat(257);
    let created = async |config: Value| {
        let role = Role::ClaimMapper {
            applications: None,
            writes: vec!["attribute:*".to_owned()],
            on_failure: OnFailure::Fail,
            result_max_age: Duration::ZERO,
        };
        let spec = PluginSpec {
            role,
            ..hostile_mapper("hostile", &ours, config)
        };
        load(vec![spec])
            .await
            .map_claims(assertion(&ours, &json!([])))
            .await
    };
    for name in [
        "",
        "a\nb",
        "a\tb",
        " a",
        "a\u{202e}b",
        "a\u{200b}",
        long.as_str(),
    ] {
        let failure =
            created(json!({ "behaviour": "attribute", "claim": name, "value": "x" })).await;
        let message = failure.expect_err("not a name").to_string();
        assert!(
            message.contains("printable characters") && !message.contains(['\n', '\u{202e}']),
            "{name:?}: {message}"
        );
    }
    for member in ["friendly_name", "name_format"] {
        let mut config = json!({ "behaviour": "attribute", "claim": "department", "value": "x" });
        config[member] = json!("a\u{202e}b\n");
        let message = created(config).await.expect_err("not a name").to_string();
        assert!(
            message.contains("printable characters"),
            "{member}: {message}"
        );
    }
    let good = created(json!({ "behaviour": "attribute", "claim": "First name", "value": "x" }))
        .await
        .expect("a name");
    assert_eq!(texts(&good)[1].0, "First name");
}

#[tokio::test]
async fn attributes_appear_in_assertions_only() {
    let ours = application(1);
    let config = json!({ "behaviour": "attribute", "claim": "department", "value": "x" });
    let plugins = load(vec![hostile_mapper("hostile", &ours, config)]).await;
    for sink in [Sink::IdToken, Sink::Userinfo, Sink::Introspection] {
        let input = ClaimInput {
            sink,
            ..assertion(&ours, &json!([]))
        };
        let failure = plugins.map_claims(input).await.expect_err("no assertion");
        assert!(
            matches!(fault(failure), Fault::Attribute { .. }),
            "{sink:?}"
        );
    }
}

#[tokio::test]
async fn attributes_with_one_name_are_merged() {
    let ours = application(1);
    let hostile = |plugin: &str, value: &str, format: &str, value_type: &str| {
        // A claim has only one owner, but an attribute may have several.
        let writes = vec!["attribute:*".to_owned()];
        let role = Role::ClaimMapper {
            applications: None,
            writes,
            on_failure: OnFailure::Fail,
            result_max_age: Duration::ZERO,
        };
        let config = json!({ "behaviour": "attribute", "claim": "department", "value": value,
                             "name_format": format, "type": value_type });
        PluginSpec {
            role,
            ..hostile_mapper(plugin, &ours, config)
        }
    };
    let basic = "urn:oasis:names:tc:SAML:2.0:attrname-format:basic";
    let created = created(vec![
        hostile("one", "1", "", ""),
        hostile("two", "2", basic, ""),
        hostile("three", "3", "urn:example:format", ""),
        hostile("four", "4", "", "integer"),
        hostile("five", "5", "", ""),
    ])
    .await;
    let seen: Vec<_> = created
        .iter()
        .map(|one| {
            (
                one.name.as_str(),
                one.name_format.as_deref(),
                one.value_type,
                one.values.concat(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("team", None, ValueType::String, "red".repeat(5)),
            ("department", None, ValueType::String, "125".to_owned()),
            (
                "department",
                Some("urn:example:format"),
                ValueType::String,
                "3".to_owned()
            ),
            ("department", None, ValueType::Integer, "4".to_owned()),
        ]
    );
}

#[tokio::test]
async fn saml_attributes_emits_attributes_of_the_application_and_the_settings() {
    let ours = application(1);
    let config = json!({ "attributes": [
        { "name": "groups", "values": ["all"] },
        { "name": "urn:oid:2.16.840.1.113730.3.1.241", "friendly_name": "displayName", "name_format": "uri",
          "values": ["{name}"] },
        { "name": "uid", "type": "integer", "values": ["{note}"] },
        { "name": "nobody", "values": ["{no_such_claim}"] },
    ] });
    let earlier = hostile_mapper(
        "hostile",
        &ours,
        json!({ "behaviour": "set", "claim": "note", "value": "42" }),
    );
    let plugins = load(vec![
        account_roles(&ours),
        earlier,
        saml_attributes(&ours, config),
    ])
    .await;
    let custom = json!([
        { "name": "groups", "values": ["role-{roles}"] },
        { "name": "markup", "values": ["<{name}> {{x}}"] },
    ]);
    let mapped = plugins
        .map_claims(assertion(&ours, &custom))
        .await
        .expect("attributes");
    assert_eq!(
        texts(&mapped),
        [
            ("groups", vec!["role-admin", "role-auditor", "all"]),
            ("markup", vec!["<Ada> {x}"]),
            ("urn:oid:2.16.840.1.113730.3.1.241", vec!["Ada"]),
            ("uid", vec!["42"]),
        ]
    );
    let display = &mapped.attributes[2];
    assert_eq!(display.friendly_name.as_deref(), Some("displayName"));
    assert_eq!(
        display.name_format.as_deref(),
        Some("urn:oasis:names:tc:SAML:2.0:attrname-format:uri")
    );
    assert_eq!(mapped.attributes[3].value_type, ValueType::Integer);
}

#[tokio::test]
async fn saml_attributes_adds_nothing_to_tokens() {
    let ours = application(1);
    let config = json!({ "attributes": [{ "name": "groups", "values": ["all"] }] });
    let mapped = load(vec![saml_attributes(&ours, config)])
        .await
        .map_claims(input(&ours))
        .await
        .expect("claims");
    assert_eq!(
        (mapped.claims, mapped.attributes),
        (input(&ours).claims, Vec::new())
    );
}

#[tokio::test]
async fn a_custom_attribute_with_an_unmatched_brace_is_a_named_fault() {
    let ours = application(1);
    let plugins = load(vec![saml_attributes(&ours, json!({}))]).await;
    let custom = json!([{ "name": "mail", "values": ["{email"] }]);
    let failure = plugins
        .map_claims(assertion(&ours, &custom))
        .await
        .expect_err("a fault");
    assert!(
        failure
            .to_string()
            .contains("the attribute `mail`: the value `{email` has a `{`"),
        "{failure}"
    );
}

#[tokio::test]
async fn a_thousand_values_stay_within_the_limits() {
    let ours = application(1);
    let plugins = load(vec![saml_attributes(&ours, json!({}))]).await;
    let values: Vec<String> = (0..10).map(|number| format!("{{name}} {number}")).collect();
    let custom: Vec<Value> = (0..100)
        .map(|number| json!({ "name": format!("a{number}"), "values": values }))
        .collect();
    let mapped = plugins
        .map_claims(assertion(&ours, &json!(custom)))
        .await
        .expect("attributes");
    assert_eq!(
        mapped
            .attributes
            .iter()
            .map(|attribute| attribute.values.len())
            .sum::<usize>(),
        1_000
    );
}

#[tokio::test]
async fn an_error_in_plugin_settings_is_reported_at_startup() {
    let config = json!({ "attributes": [{ "name": "mail", "values": ["{email"] }] });
    let message = load_error(vec![saml_attributes(&application(1), config)]).await;
    assert!(
        message.starts_with("plugin `saml-attributes`: ")
            && message.contains("the attribute `mail`"),
        "{message}"
    );
    let config = json!({ "attributes": [{ "name": "mail", "vales": [] }] });
    let message = load_error(vec![saml_attributes(&application(1), config)]).await;
    assert!(message.contains("unknown field `vales`"), "{message}");
}
