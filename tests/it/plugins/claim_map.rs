//! The plugin `claim-map`: claims and attributes from settings only.

use assent_model::id::Did;
use assent_plugin_host::{
    ClaimInput, Fault, MapFailureKind, MappedClaims, OnFailure, PluginSpec, Plugins, Protocol,
    Role, Sink, ValueType, is_protected,
};
use serde_json::{Value, json};
use std::time::Duration;

use super::components::{
    account_roles, application, hostile_mapper, input, load, load_error, saml_attributes,
};
use super::mappers::fault;
use crate::harness::{Json, component};

/// Returns `claim-map` for one application, with the rules of this TOML and grants for these claims and attributes.
fn claim_map(name: &str, served: &Did, writes: &[&str], rules: &str) -> PluginSpec {
    PluginSpec {
        name: name.to_owned(),
        file: component("claim-map"),
        config: toml::from_str(rules).expect("TOML"),
        role: Role::ClaimMapper {
            applications: Some(vec![served.clone()]),
            writes: writes.iter().map(|name| (*name).to_owned()).collect(),
            on_failure: OnFailure::Fail,
            result_max_age: Duration::ZERO,
        },
        ..saml_attributes(served, json!({}))
    }
}

/// Returns the result of these rules at this sink.
async fn mapped(writes: &[&str], rules: &str, sink: Sink) -> Result<MappedClaims, MapFailureKind> {
    let plugins = load(vec![claim_map("claim-map", &application(1), writes, rules)]).await;
    map(&plugins, sink).await
}

async fn map(plugins: &Plugins, sink: Sink) -> Result<MappedClaims, MapFailureKind> {
    let saml = sink == Sink::SamlAssertion;
    let mut input = ClaimInput {
        sink,
        ..input(&application(1))
    };
    input.roles = ["wiki-editor", "wiki-reader", "staff"]
        .map(str::to_owned)
        .to_vec();
    if saml {
        (input.protocol, input.scopes) = (Protocol::Saml, Vec::new());
    }
    plugins
        .map_claims(input)
        .await
        .map_err(|failure| failure.kind)
}

const GROUPS: &str = r#"
    [[rules]]
    claim = "groups"
    from = "roles"
    only = "wiki-*"
    strip_prefix = "wiki-"

    [[rules]]
    claim = "nested"
    value = { login = "{account.name}", access = { groups = ["{groups}", "all"] } }

    [[rules]]
    claim = "level"
    from = "groups"
    lookup = { editor = 2, reader = 1 }
    scopes = "email"

    [[rules]]
    attribute = "urn:oid:1.3.6.1.4.1.5923.1.1.1.7"
    friendly_name = "eduPersonEntitlement"
    name_format = "uri"
    type = "any_uri"
    value = "urn:example:{groups}"

    [[rules]]
    attribute = "levels"
    type = "integer"
    from = "level"
    default = 0
"#;
const WRITES: [&str; 4] = ["groups", "nested", "level", "attribute:*"];

#[tokio::test]
async fn rules_create_claims_in_each_location() {
    for sink in [Sink::IdToken, Sink::Userinfo, Sink::Introspection] {
        let mapped = mapped(&WRITES, GROUPS, sink).await.expect("claims");
        assert_eq!(
            mapped.claims["groups"],
            json!(["editor", "reader"]),
            "{sink:?}"
        );
        let nested = json!({ "login": "ada", "access": { "groups": ["editor", "reader", "all"] } });
        assert_eq!(mapped.claims["nested"], nested);
        assert!(
            !mapped.claims.contains_key("level"),
            "the scope was not granted"
        );
        assert_eq!(
            (mapped.claims["sub"].as_str(), mapped.attributes),
            (Some("s1"), Vec::new())
        );
        assert_eq!(mapped.owners["groups"], "claim-map");
    }
}

#[tokio::test]
async fn rules_create_attributes_of_assertions() {
    let mapped = mapped(&WRITES, GROUPS, Sink::SamlAssertion)
        .await
        .expect("attributes");
    let [entitlement, levels] = mapped.attributes.as_slice() else {
        panic!("two: {:?}", mapped.attributes)
    };
    assert_eq!(entitlement.name, "urn:oid:1.3.6.1.4.1.5923.1.1.1.7");
    assert_eq!(
        entitlement.friendly_name.as_deref(),
        Some("eduPersonEntitlement")
    );
    assert_eq!(
        entitlement.name_format.as_deref(),
        Some("urn:oasis:names:tc:SAML:2.0:attrname-format:uri")
    );
    assert_eq!(entitlement.value_type, ValueType::AnyUri);
    assert_eq!(
        entitlement.values,
        ["urn:example:editor", "urn:example:reader"]
    );
    assert_eq!(
        (levels.value_type, levels.values.as_slice()),
        (ValueType::Integer, &["2".into(), "1".into()][..])
    );
}

#[tokio::test]
async fn rules_see_claims_of_earlier_plugins_and_later_plugins_see_claims_of_rules() {
    let ours = application(1);
    let earlier = hostile_mapper(
        "hostile",
        &ours,
        json!({ "behaviour": "set", "claim": "note", "value": "42" }),
    );
    let rules = "[[rules]]\nclaim = \"number\"\nvalue = \"no. {note}\"\n\
                 [[rules]]\nclaim = \"name\"\nfrom = \"name\"\nonly = \"Grace\"";
    let later = json!({ "attributes": [{ "name": "number", "values": ["{number}"] }, { "name": "x",
        "values": ["{name}"] }] });
    let plugins = load(vec![
        account_roles(&ours),
        earlier,
        claim_map("claim-map", &ours, &["number", "name"], rules),
        saml_attributes(&ours, later),
    ])
    .await;
    let mapped = map(&plugins, Sink::IdToken).await.expect("claims");
    assert_eq!(mapped.claims["number"], "no. 42");
    assert!(
        !mapped.claims.contains_key("name"),
        "a value that does not match the filter is removed"
    );
    let mapped = map(&plugins, Sink::SamlAssertion)
        .await
        .expect("attributes");
    let created: Vec<_> = mapped
        .attributes
        .iter()
        .map(|one| (one.name.as_str(), one.values.concat()))
        .collect();
    assert_eq!(created, [("number", "no. 42".to_owned())]);
}

#[tokio::test]
async fn claim_map_may_be_loaded_several_times_with_different_rules() {
    let ours = application(1);
    let rule = |claim: &str| format!("[[rules]]\nclaim = \"{claim}\"\nvalue = \"{claim}\"");
    let plugins = load(vec![
        claim_map("claim-map", &ours, &["one"], &rule("one")),
        claim_map("wiki-claims", &ours, &["two"], &rule("two")),
        claim_map("other-claims", &application(2), &["three"], &rule("three")),
    ])
    .await;
    let mapped = map(&plugins, Sink::IdToken).await.expect("claims");
    assert_eq!(
        (mapped.owners["one"].as_str(), mapped.owners["two"].as_str()),
        ("claim-map", "wiki-claims")
    );
    assert!(!mapped.claims.contains_key("three"));
}

#[tokio::test]
async fn a_rule_denies_with_its_message() {
    let rules = |role: &str| {
        format!("[[rules]]\ndeny = \"Ask for the role {role}.\"\nunless = {{ role = \"{role}\" }}")
    };
    for sink in [Sink::IdToken, Sink::Userinfo, Sink::SamlAssertion] {
        let denied = mapped(&[], &rules("admin"), sink)
            .await
            .expect_err("denied");
        assert_eq!(
            denied,
            MapFailureKind::Deny("Ask for the role admin.".to_owned())
        );
        mapped(&[], &rules("staff"), sink)
            .await
            .expect("a user with the role");
    }
}

#[tokio::test]
async fn rules_create_only_granted_claims() {
    let rules = "[[rules]]\nclaim = \"groups\"\nfrom = \"roles\"\n[[rules]]\nattribute = \"groups\"\nfrom = \"roles\"";
    for (writes, sink, missing) in [
        (["note", "attribute:groups"], Sink::IdToken, "groups"),
        (
            ["groups", "attribute:team"],
            Sink::SamlAssertion,
            "attribute:groups",
        ),
    ] {
        let plugins = load(vec![claim_map(
            "claim-map",
            &application(1),
            &writes,
            rules,
        )])
        .await;
        let failure = plugins
            .map_claims(ClaimInput {
                sink,
                ..input(&application(1))
            })
            .await
            .expect_err("a fault");
        assert_eq!(fault(failure), Fault::NotGranted(missing.to_owned()));
    }
}

#[tokio::test]
async fn an_invalid_rule_is_reported_at_startup() {
    for (rules, expected) in [
        (
            "[[rules]]\nclaim = \"a\"\nvalue = 1\n[[rules]]\nclaim = \"b\"\nform = \"roles\"",
            "rule 2: unknown field `form`",
        ),
        (
            "[[rules]]\nwhen = { scop = 1 }",
            "expected: rule 1: unknown field `scop`, expected one of `role`",
        ),
        (
            "[[rules]]\nclaim = \"b\"",
            "rule 1 (claim `b`): it has no value; set `from` or `value`",
        ),
        ("", "there are no rules"),
    ] {
        let message = load_error(vec![claim_map(
            "claim-map",
            &application(1),
            &["a", "b"],
            rules,
        )])
        .await;
        assert!(
            message.starts_with("plugin `claim-map`: ") && message.contains(expected),
            "{message}"
        );
        assert!(!message.contains(" column "), "{message}");
    }
}

/// Operators begin with this example from the production settings. The test removes its `#`.
#[tokio::test]
async fn the_example_for_production_works() {
    let example = include_str!("../../../config/production.example.toml");
    let block = example
        .split("\n\n")
        .find(|block| block.contains("# name = \"claim-map\""))
        .expect("the example");
    let lines = block
        .lines()
        .skip_while(|line| *line != "# [[plugins.claim_mappers]]");
    let toml: String = lines
        .flat_map(|line| [line.strip_prefix("# ").expect("a comment"), "\n"])
        .collect();
    let settings: Value = toml::from_str(&toml).expect("TOML");
    let plugin = &settings["plugins"]["claim_mappers"][0];
    let writes: Vec<&str> = plugin["writes"]
        .items()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let mut spec = claim_map("claim-map", &application(1), &writes, "");
    spec.config = plugin["config"].clone();
    let plugins = load(vec![spec]).await;
    let created = map(&plugins, Sink::IdToken).await.expect("claims");
    assert_eq!(created.claims["groups"], json!(["editor", "reader"]));
    let created = map(&plugins, Sink::SamlAssertion)
        .await
        .expect("attributes");
    assert_eq!(
        created.attributes[0].values,
        ["editor", "reader", "everybody"]
    );
    let attacker = ClaimInput {
        roles: vec!["other".to_owned()],
        ..input(&application(1))
    };
    let denied = plugins.map_claims(attacker).await.expect_err("denied");
    assert_eq!(
        denied.kind,
        MapFailureKind::Deny("Ask the help desk for access.".to_owned())
    );
}

/// The plugin rejects the same names as the instance, so the error occurs at startup and not at the first sign-in.
#[tokio::test]
async fn a_protected_claim_is_rejected_at_startup() {
    assert_eq!(
        assent_plugin_sdk::claims::PROTECTED,
        assent_plugin_host::PROTECTED
    );
    for claim in ["sub", "amr", "email_verified", "cnf", "email", "groups"] {
        let rules = format!("[[rules]]\nclaim = \"{claim}\"\nvalue = 1");
        let spec = claim_map("claim-map", &application(1), &[], &rules);
        if is_protected(claim) {
            let message = load_error(vec![spec]).await;
            assert!(
                message.contains(&format!(
                    "rule 1 (claim `{claim}`): the claim `{claim}` is protected"
                )),
                "{message}"
            );
        } else {
            load(vec![spec]).await;
        }
    }
}

/// Thirty rules on 42 roles each use a fifth of the fuel that the default settings permit for a call.
#[tokio::test]
async fn a_long_list_of_rules_is_cheap() {
    let ours = application(1);
    let rule = |number: usize| {
        format!(
            "[[rules]]\nclaim = \"groups{number}\"\nfrom = \"roles\"\nonly = \"department-*\"\nstrip_prefix = \
            \"department-\"\n\
             add_prefix = \"d-\"\nwhen = {{ role = \"department-4*\" }}\n"
        )
    };
    let rules: String = (0..30).map(rule).collect();
    let claims: Vec<String> = (0..30).map(|number| format!("groups{number}")).collect();
    let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
    let mut spec = claim_map("claim-map", &ours, &claims, &rules);
    spec.limits.fuel = 10_000_000;
    let plugins = load(vec![spec]).await;
    let mut input = input(&ours);
    input.roles = (0..42)
        .map(|number| format!("department-{number}-editor"))
        .collect();
    let mapped = plugins.map_claims(input).await.expect("claims");
    assert_eq!(mapped.claims["groups29"].as_array().map(Vec::len), Some(42));
    assert_eq!(mapped.claims["groups29"][41], Value::from("d-41-editor"));
}
