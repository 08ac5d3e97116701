//! Invalid settings and their error messages.

use assent_plugin_sdk::claims::PROTECTED;

use super::*;

/// Returns the errors for settings with these rules.
fn errors(rules: &str) -> Vec<String> {
    let settings: Map<String, Value> = toml::from_str(rules).expect("TOML");
    match Config::deserialize(Value::Object(settings)) {
        Ok(config) => ClaimMap::validate(&config).expect_err("errors"),
        Err(error) => vec![error.to_string()],
    }
}

/// Returns the only error for a rule with these keys, without the rule's name.
fn error(rule: &str) -> String {
    let mut errors = errors(&format!("[[rules]]\n{rule}"));
    assert_eq!(errors.len(), 1, "{rule}: {errors:?}");
    let error = errors.pop().expect("one");
    let (name, rest) = error.split_once(": ").expect("the rule's name");
    assert!(name.starts_with("rule 1"), "{error}");
    rest.to_owned()
}

#[test]
fn an_error_names_the_rule_by_its_number_and_result() {
    let rules = "[[rules]]\nclaim = \"a\"\nvalue = 1\n[[rules]]\nclaim = \"b\"\n[[rules]]\nattribute = \"c\"\n\
                 [[rules]]\nremove = \"d\"\nvalue = 1\n[[rules]]\ndeny = \"Nobody.\"\n[[rules]]";
    assert_eq!(
        errors(rules),
        [
            "rule 2 (claim `b`): it has no value; set `from` or `value`",
            "rule 3 (attribute `c`): it has no value; set `from` or `value`",
            "rule 4 (remove `d`): `value` has no effect if a claim is removed",
            "rule 5 (deny): it would deny every user; restrict it with `when` or `unless`",
            "rule 6: it has no output; set `claim`, `attribute`, `remove` or `deny`",
        ]
    );
}

#[test]
fn a_malformed_rule_is_named_in_the_error() {
    for (rules, expected) in [
        ("[[rule]]", "unknown field `rule`, expected `rules`"),
        (
            "[[rules]]\nclaim = \"a\"\nvalue = 1\n[[rules]]\nclam = \"b\"",
            "rule 2: unknown field `clam`",
        ),
        (
            "[[rules]]\nwhen = { rol = \"x\" }",
            "rule 1: unknown field `rol`",
        ),
        (
            "[[rules]]\nwhen = { sink = \"id_token\" }",
            "rule 1: unknown variant `id_token`, expected one of `id-token`",
        ),
        (
            "[[rules]]\nonly = 7",
            "rule 1: invalid type: integer `7`, expected a text or a list of texts",
        ),
        (
            "[[rules]]\ntype = \"float\"",
            "rule 1: unknown variant `float`",
        ),
        ("rules = 7", "expected a list of rules"),
        ("rules = [7]", "expected a table as rule 1"),
        ("", "there are no rules"),
    ] {
        let [error] = &errors(rules)[..] else {
            panic!("one error of {rules}")
        };
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table of cases")]
fn a_rule_that_contradicts_itself_is_an_error() {
    for (rule, expected) in [
        (
            "claim = \"a\"\ndeny = \"No.\"\nvalue = 1",
            "it has both `claim` and `deny`; write two rules",
        ),
        (
            "claim = \"a\"\nvalue = 1\nfrom = \"b\"",
            "it has both `from` and `value`; set only one of them",
        ),
        (
            "claim = \"\"\nvalue = 1",
            "`claim` is empty; name the claim",
        ),
        (
            "attribute = \"\"\nvalue = 1",
            "`attribute` is empty; name the attribute",
        ),
        ("remove = \"\"", "`remove` is empty; name the claim"),
        (
            "deny = \" \"\nwhen = { role = \"a\" }",
            "`deny` is empty; write the sentence that the user reads",
        ),
        (
            "claim = \"a\"\nvalue = 1\ntype = \"integer\"",
            "`type` is for an `attribute`, not for a claim",
        ),
        (
            "remove = \"a\"\njoin = \",\"",
            "`join` has no effect if a claim is removed",
        ),
        (
            "remove = \"a\"\nscopes = \"email\"",
            "`scopes` is for a `claim` that is set; use `when.scope` or `unless.scope` here",
        ),
        (
            "attribute = \"a\"\nvalue = 1\nscopes = \"email\"",
            "`scopes` is for a `claim`; an assertion has no scopes",
        ),
        (
            "attribute = \"a\"\nvalue = 1\nname_format = \"URI\"",
            "expected basic, uri, unspecified or a URI as `name_format`",
        ),
        (
            "attribute = \"a\"\nvalue = [\"true\", \"yes\"]\ntype = \"boolean\"",
            "a value is not a valid boolean",
        ),
        (
            "claim = \"attribute:a\"\nvalue = 1",
            "`attribute:` is for `writes`; here `attribute = \"...\"` adds an attribute",
        ),
        (
            "claim = \"a\"\nfrom = \"b\"\nkeep_unknown = true",
            "`keep_unknown` needs `lookup`, which the rule does not have",
        ),
        (
            "claim = \"a\"\nfrom = \"b\"\nlookup = {}",
            "`lookup` is an empty table; leave it out",
        ),
        (
            "claim = \"a\"\nfrom = \"b\"\nlookup = { \"*\" = 1 }\nkeep_unknown = true",
            "`lookup` has `*` for all other values, and `keep_unknown` keeps them; choose one",
        ),
        (
            "claim = \"a\"\nfrom = \"b\"\nonly = \"x\"\nexcept = [\"x\"]",
            "`only` keeps `x` and `except` drops it",
        ),
        (
            "claim = \"a\"\nfrom = \"b\"\nonly = \"*x*\"",
            "`*x*` in `only` has more than one `*`",
        ),
        (
            "claim = \"a\"\nfrom = \"b\"\nexcept = \"\"",
            "`` in `except` is empty",
        ),
        (
            "claim = \"a\"\nfrom = []",
            "`from` is an empty list; add a value, or leave it out",
        ),
        (
            "claim = \"a\"\nfrom = \"b\"\nsplit = \"\"",
            "`split` is empty; leave it out",
        ),
        (
            "claim = \"a\"\nfrom = \"user..name\"",
            "`user..name` in `from` has an empty part",
        ),
        (
            "claim = \"a\"\nfrom = \"{email}\"",
            "`{email}` in `from` is not a name; use `value` for a text with names in braces",
        ),
        (
            "claim = \"a\"\nvalue = { b = [\"{email\"] }",
            "the value `{email` has a `{` without its `}`; a brace itself is written twice",
        ),
        (
            "claim = \"a\"\nfrom = \"b\"\ndefault = \"{user.}\"",
            "`{user.}` in the value `{user.}` has an empty part",
        ),
    ] {
        assert_eq!(error(rule), expected, "{rule}");
    }
    for claim in PROTECTED {
        let expected = format!("the claim `{claim}` is protected, so no plugin may write it");
        assert_eq!(error(&format!("claim = \"{claim}\"\nvalue = 1")), expected);
        assert_eq!(error(&format!("remove = \"{claim}\"")), expected);
    }
}

#[test]
fn a_rule_that_never_applies_is_an_error() {
    let claim = "claim = \"a\"\nvalue = 1\n";
    let attribute = "attribute = \"a\"\nvalue = 1\n";
    let no_scope = "the scopes are openid, profile, email, phone, address, groups, offline_access";
    for (rule, expected) in [
        (format!("{claim}scopes = \"roles\""), format!("`roles` in `scopes` is not a scope; {no_scope}")),
        (format!("{claim}when = {{ scope = \"x\" }}"), format!("`x` in `when.scope` is not a scope; {no_scope}")),
        (
            format!("{claim}when = {{}}"),
            "`when` has no condition; use `role`, `scope`, `sink`, `requested` or `is`".to_owned(),
        ),
        (
            format!("{claim}unless = {{ role = [] }}"),
            "`unless.role` is empty, so it never holds; add a value, or leave it out".to_owned(),
        ),
        (
            format!("{claim}when = {{ role = \"x\" }}\nunless = {{ role = \"x\" }}"),
            "`when` and `unless` are the same, so the rule never applies".to_owned(),
        ),
        (
            format!("{claim}when = {{ sink = \"saml-assertion\", scope = \"email\" }}"),
            "`when` never holds: an assertion has no scopes and no requested claims".to_owned(),
        ),
        (
            format!("{attribute}when = {{ sink = [\"id-token\"] }}"),
            "it never applies: attributes are only for `saml-assertion`, and `when.sink` does not contain it"
                .to_owned(),
        ),
        (
            format!("{attribute}when = {{ scope = \"email\" }}"),
            "it never applies: attributes are only for `saml-assertion`, and an assertion has no scopes and no \
             requested claims"
                .to_owned(),
        ),
        (
            format!("{claim}when = {{ is = {{ a = {{ b = 1 }} }} }}"),
            "`when.is` expects a text, a number, true or false for `a`, or a list of these".to_owned(),
        ),
        (
            format!("{claim}when = {{ is = {{ a = [] }} }}"),
            "`when.is` expects a text, a number, true or false for `a`, or a list of these".to_owned(),
        ),
        (
            format!("{claim}when = {{ is = {{ \"a b\" = 1 }} }}"),
            "`a b` in `when.is` is not a name; use `value` for a text with names in braces".to_owned(),
        ),
    ] {
        assert_eq!(error(&rule), expected, "{rule}");
    }
}

#[test]
fn a_rule_whose_unused_result_is_replaced_is_an_error() {
    let set = |more: &str| format!("[[rules]]\nclaim = \"a\"\nvalue = 1\n{more}\n");
    assert_eq!(
        errors(&(set("when = { role = \"admin\" }") + &set(""))),
        ["rule 1 (claim `a`) has no effect, because rule 2 (claim `a`) replaces its result"]
    );
    assert_eq!(
        errors(
            &(set("") + "[[rules]]\nclaim = \"b\"\nfrom = \"user.a\"\n[[rules]]\nremove = \"a\"")
        ),
        ["rule 1 (claim `a`) has no effect, because rule 3 (remove `a`) replaces its result"]
    );
    for seen in [
        "[[rules]]\nclaim = \"b\"\nfrom = \"a.b\"\n",
        "[[rules]]\nclaim = \"b\"\nvalue = { x = [\"<{a}>\"] }\n",
        "[[rules]]\ndeny = \"No.\"\nwhen = { is = { a = 1 } }\n",
    ] {
        config(&(set("") + seen + &set("")));
    }
    config(&(set("") + &set("scopes = \"email\"") + &set("unless = { role = \"x\" }")));
    config(&(set("") + "[[rules]]\nclaim = \"a\"\nvalue = [\"{a}\", 2]\n"));
}

#[test]
fn the_schema_names_every_key() {
    let schema = ClaimMap::describe().config_schema.expect("a schema");
    let rule = &schema["properties"]["rules"]["items"]["properties"];
    let named = |value: &Value| -> Vec<String> {
        let mut keys: Vec<String> = value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect();
        // The order of the keys depends on the build of serde_json.
        keys.sort_unstable();
        keys
    };
    // The keys that serde accepts, from its error about an unknown key.
    let known = |settings: &str| -> Vec<String> {
        let [error] = &errors(settings)[..] else {
            panic!("one error")
        };
        let (_, keys) = error.split_once("expected one of ").expect("a list");
        let mut keys: Vec<String> = keys
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        keys.sort_unstable();
        keys
    };
    assert_eq!(known("[[rules]]\nx = 1"), named(rule));
    for key in ["when", "unless"] {
        assert_eq!(
            known(&format!("[[rules]]\n{key} = {{ x = 1 }}")),
            named(&rule[key]["properties"])
        );
    }
}

#[test]
fn the_example_in_the_documentation_is_valid() {
    let lines = include_str!("../lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//!"));
    let toml = lines
        .skip_while(|line| line.trim() != "```toml")
        .skip(1)
        .take_while(|line| line.trim() != "```");
    let example: String = toml.flat_map(|line| [line, "\n"]).collect();
    let settings: Map<String, Value> = toml::from_str(&example).expect("TOML");
    let config =
        Config::deserialize(&settings["plugins"]["claim_mappers"][0]["config"]).expect("settings");
    assert_eq!(ClaimMap::validate(&config), Ok(()));
    let edits = ClaimMap::map(&config, &assertion()).expect("edits");
    assert_eq!(edits[0], Edit::set("groups", json!(["editor", "reader"])));
    assert!(matches!(&edits[1], Edit::Attribute(groups) if groups.values == ["editor", "reader"]));
    assert!(matches!(
        ClaimMap::map(&config, &Input::default()),
        Err(Failure::Deny(_))
    ));
}

#[test]
fn a_denial_does_not_depend_on_a_requested_scope() {
    let message = error("deny = \"No guests.\"\nwhen = { is = { email = \"*@guest.example\" } }");
    assert!(
        message.contains("exists only if its scope was granted")
            && message.contains("`user.email`"),
        "{message}"
    );
    let message = error("deny = \"Not there.\"\nwhen = { is = { \"address.country\" = \"XX\" } }");
    assert!(
        message.contains("exists only if its scope was granted")
            && message.contains("`user.profile.address`"),
        "{message}"
    );
    let rule = "[[rules]]\ndeny = \"No guests.\"\nwhen = { is = { \"user.email\" = \"*@guest.example\" } }";
    let config: Config = toml::from_str(rule).expect("settings");
    assert_eq!(
        ClaimMap::validate(&config),
        Ok(()),
        "a fact that is always known may be a condition of a denial"
    );
}
