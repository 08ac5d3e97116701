//! Tests of each key of a rule.

use assent_plugin_sdk::claims::{RequestedClaim, SamlAttribute, ValueType};

use super::*;

#[test]
fn a_value_is_read_from_the_named_fact() {
    for (rule, expected) in [
        (r#"from = "email""#, json!("ada@example.org")),
        (
            r#"from = "roles""#,
            json!(["wiki-editor", "wiki-reader", "staff"]),
        ),
        (r#"from = "scopes""#, json!(["openid", "profile"])),
        (r#"from = "amr""#, json!(["swk"])),
        (r#"from = "acr""#, json!("urn:assent:acr:device")),
        (r#"from = "account.short_code""#, json!("7KQ2M9T4VX")),
        (r#"from = "user.profile.locale""#, json!("en-GB")),
        (r#"from = "user.groups""#, json!(["Staff", "Wiki editors"])),
        (
            r#"from = "user.profile.teams.name""#,
            json!(["red", "blue"]),
        ),
        (
            r#"from = "user.profile.teams.sites""#,
            json!(["north", "south", "west"]),
        ),
        (r#"from = "application.name""#, json!("Wiki")),
        (r#"from = "address""#, json!({ "country": "GB" })),
        (r#"from = "address.country""#, json!("GB")),
        (
            r#"from = "https://example.org/team""#,
            json!({ "name": "red" }),
        ),
        (r#"from = "email_verified""#, json!(true)),
        (
            r#"from = ["nickname", "account.nickname", "name"]"#,
            json!("Ada Lovelace"),
        ),
    ] {
        assert_eq!(out(rule), Some(expected), "{rule}");
    }
    for unknown in [
        "nickname",
        "account",
        "account.names",
        "user.profile.locale.x",
        "address.city",
        "none",
    ] {
        assert_eq!(out(&format!("from = \"{unknown}\"")), None, "{unknown}");
    }
}

#[test]
fn names_in_a_template_are_replaced_by_facts() {
    for (rule, expected) in [
        (
            r#"value = "{name} <{email}>""#,
            json!("Ada Lovelace <ada@example.org>"),
        ),
        (r#"value = "{email_verified}""#, json!(true)),
        (r#"value = "is {email_verified}""#, json!("is true")),
        (
            r#"value = "x-{user.profile.levels}""#,
            json!(["x-1", "x-2"]),
        ),
        (
            r#"value = ["{roles}", "everybody", "{none}", "w-{user.profile.teams.name}"]"#,
            json!([
                "wiki-editor",
                "wiki-reader",
                "staff",
                "everybody",
                "w-red",
                "w-blue",
            ]),
        ),
        (
            r#"value = { login = "{account.name}", in = { de = "{none}" }, groups = "{roles}", level = 3 }"#,
            json!({
                "login": "ada", "groups": ["wiki-editor", "wiki-reader", "staff"], "level": 3,
            }),
        ),
        (r#"value = "{{}}""#, json!("{}")),
        ("value = 7", json!(7)),
        ("value = []", json!([])),
        ("value = {}", json!({})),
    ] {
        assert_eq!(out(rule), Some(expected), "{rule}");
    }
    assert_eq!(out(r#"value = "x-{none}""#), None);
    assert_eq!(out(r#"value = { a = "{none}" }"#), None);
}

#[test]
fn a_list_of_one_or_no_value_stays_a_list() {
    let mut input = input();
    let rules = "[[rules]]\nclaim = \"out\"\nvalue = \"role-{roles}\"";
    input.roles.truncate(1);
    assert_eq!(
        output(rules, &input),
        json!({ "out": ["role-wiki-editor"] })
    );
    input.roles.clear();
    assert_eq!(output(rules, &input), json!({ "out": [] }));
}

#[test]
fn lists_are_filtered() {
    for (steps, expected) in [
        (r#"only = "staff""#, json!(["staff"])),
        (
            r#"only = ["staff", "admin", "wiki-r*"]"#,
            json!(["wiki-reader", "staff"]),
        ),
        (r#"except = "wiki-*""#, json!(["staff"])),
        (r#"only = "wiki-*""#, json!(["wiki-editor", "wiki-reader"])),
        (
            "only = \"wiki-*\"\nstrip_prefix = \"wiki-\"",
            json!(["editor", "reader"]),
        ),
        (
            "only = \"wiki-*\"\nexcept = \"*-reader\"",
            json!(["wiki-editor"]),
        ),
        (r#"only = "admin""#, json!([])),
        (
            r#"add_prefix = "ROLE_""#,
            json!(["ROLE_wiki-editor", "ROLE_wiki-reader", "ROLE_staff"]),
        ),
        (
            "only = \"wiki-*\"\nstrip_prefix = \"wiki-\"\nadd_prefix = \"W_\"\njoin = \" \"",
            json!("W_editor W_reader"),
        ),
    ] {
        assert_eq!(
            out(&format!("from = \"roles\"\n{steps}")),
            Some(expected),
            "{steps}"
        );
    }
}

#[test]
fn single_values_are_processed_like_lists() {
    assert_eq!(
        out("from = \"email\"\nonly = \"*@example.org\""),
        Some(json!("ada@example.org"))
    );
    assert_eq!(out("from = \"email\"\nonly = \"*@example.com\""), None);
    assert_eq!(
        out("from = \"acr\"\nstrip_prefix = \"urn:assent:\""),
        Some(json!("acr:device"))
    );
    assert_eq!(
        out("from = \"email\"\nlookup = { \"ada@example.org\" = 7 }"),
        Some(json!(7))
    );
    assert_eq!(out("from = \"email\"\nlookup = { ada = 7 }"), None);
    assert_eq!(out("value = 7\nadd_prefix = \"x\""), Some(json!("x7")));
}

#[test]
fn texts_are_split_and_lists_are_joined() {
    assert_eq!(
        out("value = \"a, b,, c\"\nsplit = \",\""),
        Some(json!(["a", "b", "c"]))
    );
    assert_eq!(
        out("value = [\"a b\", 7]\nsplit = \" \""),
        Some(json!(["a", "b", 7]))
    );
    assert_eq!(
        out("value = [\"a\", 7, true]\njoin = \"|\""),
        Some(json!("a|7|true"))
    );
    assert_eq!(
        out("from = \"email\"\njoin = \"|\""),
        Some(json!("ada@example.org")),
        "an empty list is not joined"
    );
    assert_eq!(
        out("from = \"roles\"\nonly = \"none\"\njoin = \"|\""),
        None,
        "no value is left"
    );
}

#[test]
fn a_lookup_table_replaces_values() {
    let table = |more: &str| format!("from = \"roles\"\n{more}");
    let known = "lookup = { wiki-editor = [\"edit\", \"read\"], wiki-reader = \"read\" }";
    assert_eq!(
        out(&table(known)),
        Some(json!(["edit", "read"])),
        "unknown values are dropped, and no value is repeated"
    );
    let kept = format!("{known}\nkeep_unknown = true");
    assert_eq!(out(&table(&kept)), Some(json!(["edit", "read", "staff"])));
    let others = "lookup = { staff = 1, \"*\" = 0 }";
    assert_eq!(out(&table(others)), Some(json!([0, 1])));
}

#[test]
fn the_default_replaces_missing_and_filtered_values() {
    assert_eq!(
        out("from = \"nickname\"\ndefault = \"{name}\""),
        Some(json!("Ada Lovelace"))
    );
    assert_eq!(
        out("from = \"roles\"\nonly = \"x-*\"\ndefault = [\"guest\"]"),
        Some(json!(["guest"]))
    );
    assert_eq!(
        out("from = \"email\"\ndefault = \"none\""),
        Some(json!("ada@example.org"))
    );
    assert_eq!(out("from = \"nickname\"\ndefault = \"{none}\""), None);
}

#[test]
fn later_rules_see_earlier_results_and_the_last_rule_counts() {
    let rules = r#"
        [[rules]]
        claim = "level"
        value = "reader"
        [[rules]]
        claim = "level"
        value = "editor"
        when = { role = "wiki-editor" }
        [[rules]]
        claim = "note"
        value = "{level}, not {team}"
        [[rules]]
        claim = "level"
        value = "admin"
        when = { role = "wiki-admin" }
    "#;
    assert_eq!(
        output(rules, &input()),
        json!({ "level": "editor" }),
        "the team is unknown"
    );
    let mut admin = input();
    admin.roles.push("wiki-admin".to_owned());
    admin.current.insert("team".to_owned(), json!("red"));
    assert_eq!(
        output(rules, &admin),
        json!({ "level": "admin", "note": "editor, not red" })
    );
}

#[test]
fn a_claim_without_remaining_values_is_removed() {
    let rules = "[[rules]]\nclaim = \"email\"\nfrom = \"email\"\nonly = \"*@example.com\"";
    assert_eq!(
        output(rules, &input()),
        json!({ "email": null }),
        "a value that does not match the filter is removed"
    );
    let renamed = "[[rules]]\nclaim = \"mail\"\nfrom = \"email\"\n[[rules]]\nremove = \"email\"\n\
                   [[rules]]\nremove = \"none\"\n[[rules]]\nclaim = \"after\"\nfrom = \"email\"";
    assert_eq!(
        output(renamed, &input()),
        json!({ "mail": "ada@example.org", "email": null })
    );
}

#[test]
fn scopes_limit_the_release_of_a_claim() {
    let rules = "[[rules]]\nclaim = \"out\"\nvalue = 1\nscopes = [\"email\", \"phone\"]";
    assert_eq!(output(rules, &input()), json!({}));
    let granted = Input {
        scopes: vec!["phone".to_owned()],
        ..input()
    };
    assert_eq!(output(rules, &granted), json!({ "out": 1 }));
    let requested = |name: &str| Input {
        requested: vec![RequestedClaim {
            name: name.to_owned(),
            essential: false,
            values: Vec::new(),
        }],
        ..input()
    };
    assert_eq!(
        output(rules, &requested("out")),
        json!({ "out": 1 }),
        "as the claims of the server"
    );
    assert_eq!(output(rules, &requested("other")), json!({}));
    assert_eq!(
        output(rules, &assertion()),
        json!({ "out": 1 }),
        "assertions have no scopes"
    );
    let asked = "[[rules]]\nclaim = \"out\"\nvalue = 1\nwhen = { requested = [\"out\", \"x\"] }";
    assert_eq!(output(asked, &requested("out")), json!({ "out": 1 }));
    assert_eq!(output(asked, &input()), json!({}));
}

#[test]
fn conditions_select_rules() {
    let applies = |conditions: &str, input: &Input| {
        let rules = |key: &str| {
            format!("[[rules]]\nclaim = \"out\"\nvalue = 1\n{key} = {{ {conditions} }}")
        };
        let [when, unless] =
            ["when", "unless"].map(|key| output(&rules(key), input) == json!({ "out": 1 }));
        assert_ne!(when, unless, "{conditions}");
        when
    };
    let userinfo = Input {
        sink: Sink::Userinfo,
        ..input()
    };
    for (conditions, input, expected) in [
        (r#"role = "staff""#, input(), true),
        (r#"role = ["admin", "wiki-*"]"#, input(), true),
        (r#"role = "admin""#, input(), false),
        (
            r#"role = "*""#,
            Input {
                roles: Vec::new(),
                ..input()
            },
            false,
        ),
        (r#"scope = ["email", "profile"]"#, input(), true),
        (r#"scope = "email""#, input(), false),
        (r#"scope = "openid""#, assertion(), false),
        (r#"sink = "userinfo""#, userinfo, true),
        (r#"sink = ["userinfo", "introspection"]"#, input(), false),
        (r#"is = { email = "*@example.org" }"#, input(), true),
        (
            r#"is = { "user.profile.levels" = 2, email_verified = true }"#,
            input(),
            true,
        ),
        (
            r#"is = { email_verified = "true", "account.state" = ["active", "new"] }"#,
            input(),
            true,
        ),
        (
            r#"is = { email_verified = true, "account.state" = "suspended" }"#,
            input(),
            false,
        ),
        (r#"is = { nickname = "*" }"#, input(), false),
        (
            r#"role = "staff", scope = "profile", is = { "user.name" = "ada" }"#,
            input(),
            true,
        ),
        (r#"role = "staff", scope = "email""#, input(), false),
    ] {
        assert_eq!(applies(conditions, &input), expected, "{conditions}");
    }
}

#[test]
fn a_denial_rejects_the_users_that_its_conditions_name() {
    let rules = "[[rules]]\nclaim = \"out\"\nvalue = 1\n\
                 [[rules]]\ndeny = \"Only administrators get in.\"\nunless = { role = \"admin\" }";
    for input in [
        input(),
        assertion(),
        Input {
            sink: Sink::Userinfo,
            ..input()
        },
    ] {
        assert_eq!(
            denial(rules, &input).as_deref(),
            Some("Only administrators get in.")
        );
        assert_eq!(
            denial(
                rules,
                &Input {
                    roles: vec!["admin".to_owned()],
                    ..input
                }
            ),
            None
        );
    }
}

#[test]
fn attributes_are_set_in_assertions_only() {
    let rules = r#"
        [[rules]]
        claim = "groups"
        from = "roles"
        only = "wiki-*"
        [[rules]]
        attribute = "urn:oid:1.2"
        friendly_name = "groups"
        name_format = "uri"
        from = "groups"
        [[rules]]
        attribute = "level"
        type = "integer"
        from = "user.profile.levels"
        [[rules]]
        attribute = "none"
        from = "nickname"
    "#;
    assert_eq!(
        output(rules, &input()),
        json!({ "groups": ["wiki-editor", "wiki-reader"] })
    );
    let attribute = |name: &str, values: [&str; 2]| SamlAttribute {
        name: name.to_owned(),
        name_format: None,
        friendly_name: None,
        value_type: ValueType::String,
        values: values.map(str::to_owned).to_vec(),
    };
    let groups = SamlAttribute {
        name_format: Some("urn:oasis:names:tc:SAML:2.0:attrname-format:uri".to_owned()),
        friendly_name: Some("groups".to_owned()),
        ..attribute("urn:oid:1.2", ["wiki-editor", "wiki-reader"])
    };
    let level = SamlAttribute {
        value_type: ValueType::Integer,
        ..attribute("level", ["1", "2"])
    };
    assert_eq!(
        edits(rules, &assertion())[1..],
        [Edit::Attribute(groups), Edit::Attribute(level)]
    );
}

#[test]
fn a_value_of_another_type_is_a_fault_that_does_not_reveal_it() {
    let config = config("[[rules]]\nattribute = \"level\"\ntype = \"integer\"\nfrom = \"email\"");
    let fault =
        Failure::Fault("rule 1 (attribute `level`): a value is not a valid integer".to_owned());
    assert_eq!(ClaimMap::map(&config, &assertion()), Err(fault));
}

#[test]
fn too_many_values_of_one_template_are_a_fault() {
    let config = config("[[rules]]\nclaim = \"out\"\nvalue = \"{roles}-{scopes}\"");
    let many = |count: usize| (0..count).map(|number| number.to_string()).collect();
    let input = Input {
        roles: many(100),
        scopes: many(11),
        ..input()
    };
    let fault =
        "rule 1 (claim `out`): the value `{roles}-{scopes}` results in more than 1000 values";
    assert_eq!(
        ClaimMap::map(&config, &input),
        Err(Failure::Fault(fault.to_owned()))
    );
}
