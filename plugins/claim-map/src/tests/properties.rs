//! Properties that hold for any settings and any input.

use assent_plugin_sdk::claims::RequestedClaim;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;

/// Generates texts, some of them with a meaning in the settings.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => proptest::sample::select(vec![
            "", "*", "a", "b", "a*", "roles", "scopes", "user.a", "account.a.b", "{a}", "{roles}-{b}", "{{", "}",
                "{user.a.b}",
            "profile", "email", "openid", "sub", "1", "true", "a,b", ",", "uri",
        ])
        .prop_map(str::to_owned),
        1 => ".{0,8}",
    ]
}

/// Generates any JSON, a few levels deep.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

fn several() -> impl Strategy<Value = Value> {
    prop_oneof![
        text().prop_map(Value::from),
        vec(text(), 0..3).prop_map(Value::from)
    ]
}

/// Generates conditions with valid types.
fn conditions() -> impl Strategy<Value = Value> {
    let sink = proptest::sample::select(vec![
        "id-token",
        "userinfo",
        "introspection",
        "saml-assertion",
    ]);
    let is = vec((text(), anything()), 0..3)
        .prop_map(|pairs| Value::from(pairs.into_iter().collect::<Map<_, _>>()));
    table(vec![
        ("role", several().boxed()),
        ("scope", several().boxed()),
        ("sink", sink.prop_map(Value::from).boxed()),
        ("requested", several().boxed()),
        ("is", is.boxed()),
    ])
}

/// Generates a table with some of these keys.
fn table(keys: Vec<(&'static str, BoxedStrategy<Value>)>) -> impl Strategy<Value = Value> {
    let members: Vec<_> = keys
        .into_iter()
        .map(|(key, value)| {
            option::weighted(0.3, value).prop_map(move |value| Some((key.to_owned(), value?)))
        })
        .collect();
    members.prop_map(|members| members.into_iter().flatten().collect::<Map<_, _>>().into())
}

/// Generates a rule with valid types and one output.
fn rule() -> impl Strategy<Value = Value> {
    let output = (
        proptest::sample::select(vec!["claim", "attribute", "remove", "deny"]),
        text(),
    );
    let lookup = vec((text(), anything()), 0..3)
        .prop_map(|pairs| Value::from(pairs.into_iter().collect::<Map<_, _>>()));
    let value_type = proptest::sample::select(vec![
        "string",
        "boolean",
        "integer",
        "date_time",
        "any_uri",
        "base64_binary",
    ]);
    let mut keys = vec![
        ("from", several().boxed()),
        ("value", anything().boxed()),
        ("only", several().boxed()),
        ("except", several().boxed()),
        ("lookup", lookup.boxed()),
        ("keep_unknown", any::<bool>().prop_map(Value::from).boxed()),
        ("default", anything().boxed()),
        ("type", value_type.prop_map(Value::from).boxed()),
        ("scopes", several().boxed()),
        ("when", conditions().boxed()),
        ("unless", conditions().boxed()),
    ];
    for key in [
        "split",
        "strip_prefix",
        "add_prefix",
        "join",
        "friendly_name",
        "name_format",
    ] {
        keys.push((key, text().prop_map(Value::from).boxed()));
    }
    (output, table(keys)).prop_map(|((key, text), mut rule)| {
        rule[key] = Value::from(text);
        rule
    })
}

fn any_input() -> impl Strategy<Value = Input> {
    let sink = proptest::sample::select(vec![
        Sink::IdToken,
        Sink::Userinfo,
        Sink::Introspection,
        Sink::SamlAssertion,
    ]);
    let current = vec((text(), anything()), 0..5)
        .prop_map(|members| members.into_iter().collect::<Map<_, _>>());
    let texts = || vec(text(), 0..4);
    (
        sink,
        anything(),
        anything(),
        texts(),
        texts(),
        texts(),
        current,
    )
        .prop_map(|(sink, account, user, roles, scopes, requested, current)| {
            let requested = requested.into_iter().map(|name| RequestedClaim {
                name,
                essential: true,
                values: Vec::new(),
            });
            Input {
                sink,
                account,
                user,
                roles,
                scopes,
                requested: requested.collect(),
                current,
                ..Input::default()
            }
        })
}

/// Returns the claim of an edit.
fn claim(edit: &Edit) -> Option<&str> {
    match edit {
        Edit::Set(name, _) | Edit::Remove(name) => Some(name),
        Edit::Attribute(_) => None,
    }
}

proptest! {
    #[test]
    fn no_rules_panic_and_every_edit_is_of_a_rule(rules in vec(rule(), 0..5), input in any_input()) {
        let Ok(config) = Config::deserialize(json!({ "rules": rules })) else { return Ok(()) };
        let good = ClaimMap::validate(&config).is_ok();
        match ClaimMap::map(&config, &input) {
            Ok(edits) => {
                let mut claims: Vec<&str> = edits.iter().filter_map(claim).collect();
                prop_assert_eq!(claims.len() + edits.iter().filter(|edit| claim(edit).is_none()).count(), edits.len());
                for name in &claims {
                    let named = |key: &str| rules.iter().any(|rule| rule[key] == **name);
                    prop_assert!(named("claim") || named("remove"));
                    prop_assert!(!good || !assent_plugin_sdk::claims::PROTECTED.contains(name));
                }
                let count = claims.len();
                claims.dedup();
                prop_assert_eq!(claims.len(), count, "each claim is edited once");
                prop_assert!(input.sink == Sink::SamlAssertion || count == edits.len(), "only assertions have \
                     attributes");
            }
            Err(Failure::Deny(reason)) => prop_assert!(rules.iter().any(|rule| rule["deny"] == *reason)),
            Err(Failure::Fault(reason)) => prop_assert!(reason.starts_with("rule "), "{}", reason),
        }
    }

    #[test]
    fn no_settings_panic(settings in anything()) {
        if let Ok(config) = Config::deserialize(settings) {
            let _ = ClaimMap::validate(&config);
        }
    }

    /// A value passes a filter only if it was in the input and matches the pattern.
    #[test]
    fn a_filter_only_removes_values(roles in vec("[ab]{0,3}", 0..6), pattern in "[ab]{0,2}\\*?[ab]{0,2}") {
        let rules = json!({ "rules": [{ "claim": "out", "from": "roles", "only": pattern }] });
        let config = Config::deserialize(rules).expect("settings");
        let input = Input { roles: roles.clone(), ..Input::default() };
        let edits = ClaimMap::map(&config, &input).expect("edits");
        let [Edit::Set(_, Value::Array(kept))] = edits.as_slice() else { panic!("a list: {edits:?}") };
        prop_assert!(kept.iter().all(|role| roles.iter().any(|had| role == had)));
        for role in &roles {
            prop_assert_eq!(kept.iter().any(|left| left == role), crate::pattern::matches(&pattern, role));
        }
    }

    /// Values of users are data: braces and stars in them have no meaning.
    #[test]
    fn facts_are_not_parsed_as_settings(name in ".*", role in ".*") {
        let rules = json!({ "rules": [
            { "claim": "out", "value": "<{user.name}>" },
            { "claim": "matched", "value": true, "when": { "role": "admin" } },
        ] });
        let config = Config::deserialize(rules).expect("settings");
        let input = Input { user: json!({ "name": name }), roles: vec![role.clone()], ..Input::default() };
        let edits = ClaimMap::map(&config, &input).expect("edits");
        let expected = Edit::set("out", json!(format!("<{name}>")));
        prop_assert!(edits.contains(&expected));
        prop_assert_eq!(edits.len() == 2, role == "admin");
    }
}
