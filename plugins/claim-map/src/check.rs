//! The checks of the settings beyond their types.

use assent_plugin_sdk::claims::{Input, PROTECTED, Sink};
use assent_plugin_sdk::values::{self, Template};
use assent_plugin_sdk::{Map, Value};

use crate::apply;
use crate::facts::{self, Facts};
use crate::pattern;
use crate::rule::{Conditions, Config, Named, Output, Rule, Several};

/// The scopes of the server.
pub(crate) const SCOPES: [&str; 7] = [
    "openid",
    "profile",
    "email",
    "phone",
    "address",
    "groups",
    "offline_access",
];

/// Returns the errors in the settings, as sentences.
pub(crate) fn errors(config: &Config) -> Vec<String> {
    if config.rules.is_empty() {
        return vec![
            "there are no rules, so the plugin would do nothing; add \
             [[plugins.claim_mappers.config.rules]]"
                .to_owned(),
        ];
    }
    let mut errors = Vec::new();
    for (index, rule) in config.rules.iter().enumerate() {
        let named = Named(index + 1, rule);
        errors.extend(
            rule_errors(rule)
                .into_iter()
                .map(|error| format!("{named}: {error}")),
        );
        if let Some(later) = undone(config, index) {
            errors.push(format!(
                "{named} has no effect, because {later} replaces its result"
            ));
        }
    }
    errors
}

/// Returns the errors in a rule. Each is the end of a sentence about the rule.
fn rule_errors(rule: &Rule) -> Vec<String> {
    let mut errors = Vec::new();
    let outputs: Vec<Output<'_>> = rule.outputs().collect();
    match outputs.as_slice() {
        [] => {
            errors
                .push("it has no output; set `claim`, `attribute`, `remove` or `deny`".to_owned());
        }
        [output] => output_errors(rule, *output, &mut errors),
        [one, other, ..] => {
            errors.push(format!(
                "it has both `{}` and `{}`; write two rules",
                one.key(),
                other.key()
            ));
        }
    }
    for (key, list) in [
        ("from", &rule.from),
        ("only", &rule.only),
        ("except", &rule.except),
        ("scopes", &rule.scopes),
    ] {
        if list.as_ref().is_some_and(|list| list.0.is_empty()) {
            errors.push(format!(
                "`{key}` is an empty list; add a value, or leave it out"
            ));
        }
    }
    source_errors(rule, &mut errors);
    step_errors(rule, &mut errors);
    scope_errors("scopes", rule.scopes.as_ref(), &mut errors);
    for (key, conditions) in [("when", &rule.when), ("unless", &rule.unless)] {
        if let Some(conditions) = conditions {
            condition_errors(key, conditions, &mut errors);
        }
    }
    if rule.deny.is_some() {
        errors.extend(rule.when.iter().filter_map(avoidable_denial));
    }
    if rule.when.is_some() && rule.when == rule.unless {
        errors.push("`when` and `unless` are the same, so the rule never applies".to_owned());
    }
    errors
}

/// Adds the errors about keys that do not fit the rule's output.
fn output_errors(rule: &Rule, output: Output<'_>, errors: &mut Vec<String>) {
    let set = keys(rule);
    let mut useless = |keys: &[&str], why: &str| {
        for key in keys.iter().filter(|key| set.contains(key)) {
            errors.push(format!("`{key}` {why}"));
        }
    };
    const SOURCE: [&str; 11] = [
        "from",
        "value",
        "split",
        "only",
        "except",
        "strip_prefix",
        "lookup",
        "keep_unknown",
        "add_prefix",
        "join",
        "default",
    ];
    const ATTRIBUTE: [&str; 3] = ["friendly_name", "name_format", "type"];
    match output {
        Output::Claim(_) => useless(&ATTRIBUTE, "is for an `attribute`, not for a claim"),
        Output::Attribute(_) => {
            useless(&["scopes"], "is for a `claim`; an assertion has no scopes");
        }
        Output::Removal(_) => {
            useless(&SOURCE, "has no effect if a claim is removed");
            useless(&ATTRIBUTE, "is for an `attribute`, not for a claim");
            useless(
                &["scopes"],
                "is for a `claim` that is set; use `when.scope` or `unless.scope` here",
            );
        }
        Output::Denial(_) => {
            useless(&SOURCE, "has no effect if the sign-in is denied");
            useless(&ATTRIBUTE, "is for an `attribute`");
            useless(
                &["scopes"],
                "is for a `claim`; use `when.scope` or `unless.scope` here",
            );
        }
    }
    match output {
        Output::Claim(name) | Output::Removal(name) => {
            if name.is_empty() {
                errors.push(format!("`{}` is empty; name the claim", output.key()));
            } else if PROTECTED.contains(&name) {
                errors.push(format!(
                    "the claim `{name}` is protected, so no plugin may write it"
                ));
            } else if name.starts_with("attribute:") {
                errors.push(
                    "`attribute:` is for `writes`; here `attribute = \"...\"` adds an attribute"
                        .to_owned(),
                );
            }
        }
        Output::Attribute(name) => {
            if name.is_empty() {
                errors.push("`attribute` is empty; name the attribute".to_owned());
            }
            attribute_errors(name, rule, errors);
        }
        Output::Denial(reason) => {
            if reason.trim().is_empty() {
                errors.push("`deny` is empty; write the sentence that the user reads".to_owned());
            }
            if rule.when.is_none() && rule.unless.is_none() {
                errors.push(
                    "it would deny every user; restrict it with `when` or `unless`".to_owned(),
                );
            }
        }
    }
    let makes = matches!(output, Output::Claim(_) | Output::Attribute(_));
    match (&rule.from, &rule.value) {
        (None, None) if makes => {
            errors.push("it has no value; set `from` or `value`".to_owned());
        }
        (Some(_), Some(_)) if makes => {
            errors.push("it has both `from` and `value`; set only one of them".to_owned());
        }
        _ => {}
    }
}

fn attribute_errors(name: &str, rule: &Rule, errors: &mut Vec<String>) {
    // Without names, the values are the same for every user, so they can be checked here.
    let literal = rule.from.is_none() && templates(rule).all(is_literal);
    let input = Input {
        sink: Sink::SamlAssertion,
        ..Input::default()
    };
    if let Some(Err(error)) = rule.name_format.as_deref().map(values::name_format) {
        errors.push(error.to_string());
    } else if literal && let Err(error) = apply::attribute(name, rule, &Facts::new(&input)) {
        errors.push(error);
    }
    let Some(conditions) = &rule.when else { return };
    let never = "it never applies: attributes are only for `saml-assertion`";
    if conditions
        .sink
        .as_ref()
        .is_some_and(|sinks| !sinks.0.contains(&Sink::SamlAssertion))
    {
        errors.push(format!("{never}, and `when.sink` does not contain it"));
    } else if conditions.scope.is_some() || conditions.requested.is_some() {
        errors.push(format!(
            "{never}, and an assertion has no scopes and no requested claims"
        ));
    }
}

fn source_errors(rule: &Rule, errors: &mut Vec<String>) {
    for name in rule.from.iter().flat_map(|names| &names.0) {
        errors.extend(facts::name_error(name).map(|why| format!("`{name}` in `from` {why}")));
    }
    for text in templates(rule) {
        match Template::parse(text) {
            Err(error) => errors.push(format!("the value `{text}` {error}")),
            Ok(template) => {
                let wrong = template
                    .names()
                    .find_map(|name| Some((name, facts::name_error(name)?)));
                errors.extend(
                    wrong.map(|(name, why)| format!("`{{{name}}}` in the value `{text}` {why}")),
                );
            }
        }
    }
}

fn step_errors(rule: &Rule, errors: &mut Vec<String>) {
    for (key, text) in [
        ("split", &rule.split),
        ("strip_prefix", &rule.strip_prefix),
        ("add_prefix", &rule.add_prefix),
    ] {
        if text.as_ref().is_some_and(String::is_empty) {
            errors.push(format!("`{key}` is empty; leave it out"));
        }
    }
    for (key, list) in [("only", &rule.only), ("except", &rule.except)] {
        pattern_errors(key, list.as_ref(), errors);
    }
    if let (Some(only), Some(except)) = (&rule.only, &rule.except)
        && let Some(pattern) = only.0.iter().find(|pattern| except.0.contains(pattern))
    {
        errors.push(format!("`only` keeps `{pattern}` and `except` drops it"));
    }
    match &rule.lookup {
        None if rule.keep_unknown => {
            errors.push("`keep_unknown` needs `lookup`, which the rule does not have".to_owned());
        }
        None => {}
        Some(table) if table.is_empty() => {
            errors.push("`lookup` is an empty table; leave it out".to_owned());
        }
        Some(table) if rule.keep_unknown && table.contains_key("*") => {
            errors.push(
                "`lookup` has `*` for all other values, and `keep_unknown` keeps them; choose one"
                    .to_owned(),
            );
        }
        Some(_) => {}
    }
}

/// The server's claims that need a scope, each with a name that is always available.
const CLAIMS_WITH_SCOPES: [(&str, &str); 22] = [
    ("name", "user.profile.name"),
    ("given_name", "user.profile.given_name"),
    ("family_name", "user.profile.family_name"),
    ("middle_name", "user.profile.middle_name"),
    ("nickname", "user.profile.nickname"),
    ("picture", "user.profile.picture"),
    ("profile", "user.profile.profile"),
    ("website", "user.profile.website"),
    ("gender", "user.profile.gender"),
    ("birthdate", "user.profile.birthdate"),
    ("zoneinfo", "user.profile.zoneinfo"),
    ("locale", "user.profile.locale"),
    ("preferred_username", "user.name"),
    ("upn", "account.name"),
    ("user_did", "user.did"),
    ("user_short_code", "account.short_code"),
    ("email", "user.email"),
    ("email_verified", "user.profile.email_verified"),
    ("phone_number", "user.profile.phone_number"),
    (
        "phone_number_verified",
        "user.profile.phone_number_verified",
    ),
    ("address", "user.profile.address"),
    ("groups", "user.groups"),
];

/// Returns an error for a denial by a claim that needs a scope. A user could avoid the denial with a request without
/// the scope.
fn avoidable_denial(when: &Conditions) -> Option<String> {
    let names = when.is.as_ref()?.keys();
    // An application that receives a claim receives its members too.
    let is_part_of = |name: &str, claim: &str| name.split('.').next() == Some(claim);
    let found = names
        .filter_map(|name| {
            CLAIMS_WITH_SCOPES
                .iter()
                .find(|(claim, _)| is_part_of(name, claim))
        })
        .next()?;
    let (claim, known) = found;
    Some(format!(
        "`when.is` names the claim `{claim}`, which exists only if its scope was granted, so a request without the \
         scope would avoid the denial; use `{known}`"
    ))
}

fn condition_errors(key: &str, conditions: &Conditions, errors: &mut Vec<String>) {
    let Conditions {
        role,
        scope,
        sink,
        requested,
        is,
    } = conditions;
    if *conditions == Conditions::default() {
        errors.push(format!(
            "`{key}` has no condition; use `role`, `scope`, `sink`, `requested` or `is`"
        ));
    }
    let empty = |list: Option<usize>| list == Some(0);
    for (name, length) in [
        ("role", role.as_ref().map(|list| list.0.len())),
        ("scope", scope.as_ref().map(|list| list.0.len())),
        ("sink", sink.as_ref().map(|list| list.0.len())),
        ("requested", requested.as_ref().map(|list| list.0.len())),
        ("is", is.as_ref().map(Map::len)),
    ] {
        if empty(length) {
            errors.push(format!(
                "`{key}.{name}` is empty, so it never holds; add a value, or leave it out"
            ));
        }
    }
    pattern_errors(&format!("{key}.role"), role.as_ref(), errors);
    scope_errors(&format!("{key}.scope"), scope.as_ref(), errors);
    let only_assertions = sink
        .as_ref()
        .is_some_and(|sinks| sinks.0.iter().all(|sink| *sink == Sink::SamlAssertion));
    if only_assertions && (scope.is_some() || requested.is_some()) {
        errors.push(format!(
            "`{key}` never holds: an assertion has no scopes and no requested claims"
        ));
    }
    for (name, expected) in is.iter().flatten() {
        errors.extend(facts::name_error(name).map(|why| format!("`{name}` in `{key}.is` {why}")));
        let plain =
            |value: &Value| matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_));
        let expected = match expected {
            Value::Array(members) if !members.is_empty() && members.iter().all(plain) => {
                values::texts(expected)
            }
            value if plain(value) => values::texts(expected),
            _ => {
                errors.push(format!(
                    "`{key}.is` expects a text, a number, true or false for `{name}`, or a list of these"
                ));
                continue;
            }
        };
        // An empty text is permitted here: it compares with an empty value.
        for text in expected.iter().filter(|text| !text.is_empty()) {
            let wrong = pattern::check(text).err();
            errors.extend(wrong.map(|why| format!("`{text}` in `{key}.is` {}", why.as_str())));
        }
    }
}

fn pattern_errors(key: &str, patterns: Option<&Several<String>>, errors: &mut Vec<String>) {
    for text in patterns.iter().flat_map(|patterns| &patterns.0) {
        errors.extend(
            pattern::check(text)
                .err()
                .map(|why| format!("`{text}` in `{key}` {}", why.as_str())),
        );
    }
}

fn scope_errors(key: &str, scopes: Option<&Several<String>>, errors: &mut Vec<String>) {
    for scope in scopes
        .iter()
        .flat_map(|scopes| &scopes.0)
        .filter(|scope| !SCOPES.contains(&scope.as_str()))
    {
        errors.push(format!(
            "`{scope}` in `{key}` is not a scope; the scopes are {}",
            SCOPES.join(", ")
        ));
    }
}

/// Returns the keys of a rule, without those of its output and its conditions.
fn keys(rule: &Rule) -> Vec<&'static str> {
    let keys = [
        ("from", rule.from.is_some()),
        ("value", rule.value.is_some()),
        ("split", rule.split.is_some()),
        ("only", rule.only.is_some()),
        ("except", rule.except.is_some()),
        ("strip_prefix", rule.strip_prefix.is_some()),
        ("lookup", rule.lookup.is_some()),
        ("keep_unknown", rule.keep_unknown),
        ("add_prefix", rule.add_prefix.is_some()),
        ("join", rule.join.is_some()),
        ("default", rule.default.is_some()),
        ("friendly_name", rule.friendly_name.is_some()),
        ("name_format", rule.name_format.is_some()),
        ("type", rule.value_type.is_some()),
        ("scopes", rule.scopes.is_some()),
    ];
    keys.into_iter()
        .filter_map(|(key, set)| set.then_some(key))
        .collect()
}

fn templates(rule: &Rule) -> impl Iterator<Item = &str> {
    let mut found = Vec::new();
    let mut left: Vec<&Value> = rule.default.iter().chain(&rule.value).collect();
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) => found.push(text.as_str()),
            Value::Array(members) => left.extend(members.iter().rev()),
            Value::Object(members) => left.extend(members.values().rev()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found.into_iter()
}

fn is_literal(text: &str) -> bool {
    Template::parse(text).is_ok_and(|template| template.is_literal())
}

/// Returns a later rule that makes this one ineffective, because it replaces the result before another rule reads it.
fn undone(config: &Config, index: usize) -> Option<Named<'_>> {
    let (rule, later) = (
        config.rules.get(index)?,
        config.rules.iter().enumerate().skip(index + 1),
    );
    let claim = claim_of(rule)?;
    for (at, other) in later {
        if reads(other, claim) {
            return None;
        }
        let always = other.when.is_none() && other.unless.is_none() && other.scopes.is_none();
        if always && claim_of(other) == Some(claim) {
            return Some(Named(at + 1, other));
        }
    }
    None
}

fn claim_of(rule: &Rule) -> Option<&str> {
    match rule.outputs().next()? {
        Output::Claim(name) | Output::Removal(name) => Some(name),
        Output::Attribute(_) | Output::Denial(_) => None,
    }
}

fn reads(rule: &Rule, claim: &str) -> bool {
    let from = rule.from.iter().flat_map(|names| &names.0);
    let conditions = [&rule.when, &rule.unless]
        .into_iter()
        .flatten()
        .filter_map(|conditions| conditions.is.as_ref());
    let named = |text: &str| {
        let template = Template::parse(text);
        template.is_ok_and(|template| template.names().any(|name| facts::names_claim(name, claim)))
    };
    from.chain(conditions.flat_map(Map::keys))
        .any(|name| facts::names_claim(name, claim))
        || templates(rule).any(named)
}
