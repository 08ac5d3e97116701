#![allow(clippy::unwrap_used, reason = "a failed test")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::granted::DetailsSelection;
use super::requested::{AuthorizationDetails, DetailsError, RequestedDetails};
use super::schema::DetailsSchema;
use super::template::{Template, TemplateError};
use super::type_definition::{DetailsType, TypeSource};
use crate::language::Language;

fn payment_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "amount": {"type": "string", "maxLength": 12},
            "currency": {"type": "string", "enum": ["EUR", "CHF"]},
            "creditor": {
                "type": "object",
                "properties": {"name": {"type": "string", "maxLength": 35}},
                "required": ["name"],
            },
            "days": {"type": "integer", "minimum": 1, "maximum": 30},
            "purposes": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 3},
        },
        "required": ["amount", "currency", "creditor"],
    })
}

const ENGLISH: &str =
    "Pay {amount} {currency} to {creditor.name} within {days} days for {purposes}";
const GERMAN: &str =
    "{amount} {currency} an {creditor.name} zahlen, in {days} Tagen, für {purposes}";

fn new_type(schema: Value, english: &str, german: &str) -> Result<DetailsType, String> {
    let source = TypeSource {
        name: "payment".parse().unwrap(),
        schema,
        templates: BTreeMap::from([
            (Language::English, english.to_owned()),
            (Language::German, german.to_owned()),
        ]),
        second_approver_group: None,
    };
    DetailsType::new(source).map_err(|error| error.to_string())
}

fn payment() -> DetailsType {
    new_type(payment_schema(), ENGLISH, GERMAN).unwrap()
}

fn checked(requested: &Value) -> Result<AuthorizationDetails, DetailsError> {
    RequestedDetails::parse(&requested.to_string())?.check(&[payment()], |_| true)
}

#[test]
fn an_object_of_optional_members_is_absent_or_has_one() {
    let schema = json!({
        "type": "object",
        "properties": {
            "payer": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}},
        },
    });
    let known = new_type(schema, "From {payer.name}", "Von {payer.name}").unwrap();
    let text = |element: Value| {
        let texts = known.texts(element.as_object().unwrap());
        texts.map(|texts| texts[&Language::English].clone())
    };
    assert_eq!(text(json!({})).unwrap(), "From –");
    assert_eq!(
        text(json!({"payer": {"name": "Ada"}})).unwrap(),
        "From “\u{2068}Ada\u{2069}”"
    );
    assert!(text(json!({"payer": {}})).is_err());
}

/// Returns the reason why the only element is rejected.
fn rejection(members: &Value) -> String {
    let mut element = json!({
        "type": "payment", "amount": "12.50", "currency": "EUR", "creditor": {"name": "Ada"},
    });
    for (name, value) in members.as_object().unwrap() {
        match value {
            Value::Null => element.as_object_mut().unwrap().remove(name),
            value => element
                .as_object_mut()
                .unwrap()
                .insert(name.clone(), value.clone()),
        };
    }
    let error = checked(&json!([element])).map(|_| ()).unwrap_err();
    let text = error.to_string();
    text.strip_prefix("authorization_details[0].")
        .unwrap()
        .to_owned()
}

#[test]
fn a_text_shows_each_value_isolated_quoted_and_whole() {
    let details = checked(&json!([{
        "type": "payment", "amount": "12.50", "currency": "EUR", "creditor": {"name": "עדה"}, "days": 3,
        "purposes": ["rent", "heat"],
    }]))
    .unwrap();
    assert_eq!(
        details.texts().in_language(Language::English),
        [
            "Pay “\u{2068}12.50\u{2069}” \u{2068}EUR\u{2069} to “\u{2068}עדה\u{2069}” within \u{2068}3\u{2069} days \
             for “\u{2068}rent\u{2069}”, “\u{2068}heat\u{2069}”"
        ]
    );
    assert_eq!(
        details.texts().in_language(Language::German),
        [
            "„\u{2068}12.50\u{2069}“ \u{2068}EUR\u{2069} an „\u{2068}עדה\u{2069}“ zahlen, in \u{2068}3\u{2069} \
             Tagen, für „\u{2068}rent\u{2069}“, „\u{2068}heat\u{2069}“"
        ]
    );
}

#[test]
fn a_missing_optional_member_is_shown_as_missing() {
    let details = checked(&json!([{
        "type": "payment", "amount": "1", "currency": "CHF", "creditor": {"name": "Ada"},
    }]))
    .unwrap();
    let texts = details.texts().in_language(Language::English);
    assert!(texts[0].ends_with("within – days for –"), "{texts:?}");
}

#[test]
fn a_value_that_does_not_fit_is_rejected_and_named() {
    for (members, reason) in [
        (json!({"amount": null}), "amount is missing"),
        (
            json!({"creditor": {}}),
            "creditor must have a member, or be absent",
        ),
        (
            json!({"amount": "1".repeat(13)}),
            "amount is longer than 12 characters",
        ),
        (json!({"amount": ""}), "amount is shorter than 1 characters"),
        (json!({"amount": 5}), "amount must be a string"),
        (
            json!({"currency": "eur"}),
            "currency must be one of the strings of the type",
        ),
        (
            json!({"note": "hidden"}),
            "note is not a member of the type; remove it",
        ),
        (
            json!({"creditor": {"name": "Ada", "iban": "1"}}),
            "creditor.iban is not a member of the type; remove it",
        ),
        (
            json!({"a\"b": 1}),
            "? is a member that the type does not have; remove it",
        ),
        (json!({"creditor": "Ada"}), "creditor must be an object"),
        (json!({"days": 31}), "days must be 30 at most"),
        (json!({"days": 0}), "days must be 1 at least"),
        (
            json!({"days": 1.5}),
            "days must be a whole number below 2^53",
        ),
        (
            json!({"days": 9_007_199_254_740_992_u64}),
            "days must be a whole number below 2^53",
        ),
        (
            json!({"purposes": ["a", "b", "c", "d"]}),
            "purposes must have 1 to 3 elements",
        ),
        (
            json!({"purposes": []}),
            "purposes must have 1 to 3 elements",
        ),
        (
            json!({"creditor": {"name": "Ada”. To “Bob"}}),
            "creditor.name must not contain quotes, because it is shown in quotes",
        ),
        (
            json!({"amount": "–"}),
            "amount must not be a dash, which shows an absent member",
        ),
        (
            json!({"amount": " 5"}),
            "amount must not have blanks at its ends or beside each other, or other blanks than the space",
        ),
        (
            json!({"purposes": ["a, b"]}),
            "purposes must not contain a comma, which separates elements",
        ),
    ] {
        assert_eq!(rejection(&members), reason);
    }
    for text in [
        "a\nb",
        "a\u{202e}b",
        "a\u{2069}b",
        "a\u{200b}b",
        "a\u{200d}b",
        "a\u{0}",
    ] {
        let reason = rejection(&json!({"creditor": {"name": text}}));
        assert!(
            reason.starts_with("creditor.name must not contain control"),
            "{reason}"
        );
    }
}

#[test]
fn a_request_has_a_few_elements_of_registered_and_permitted_types() {
    let element = json!({
        "type": "payment", "amount": "1", "currency": "CHF", "creditor": {"name": "Ada"},
    });
    assert!(checked(&json!(vec![&element; 5])).is_ok());
    for requested in [json!([]), json!(vec![&element; 6])] {
        assert_eq!(checked(&requested).unwrap_err(), DetailsError::Number);
    }
    for text in [
        "",
        "{}",
        "[1]",
        "[{}]",
        "[{\"type\": 1}]",
        "[{\"type\": \"a b\"}]",
        "null",
    ] {
        assert_eq!(
            RequestedDetails::parse(text).unwrap_err(),
            DetailsError::Malformed,
            "{text}"
        );
    }
    let long = json!([{"type": "payment", "amount": "1".repeat(5000)}]).to_string();
    assert_eq!(
        RequestedDetails::parse(&long).unwrap_err(),
        DetailsError::TooLong
    );
    assert_eq!(
        checked(&json!([element, {"type": "other"}])).unwrap_err(),
        DetailsError::UnknownType(1)
    );
    let requested = RequestedDetails::parse(&json!([element]).to_string()).unwrap();
    assert!(matches!(
        requested.check(&[payment()], |_| false),
        Err(DetailsError::NotPermitted { index: 0, .. })
    ));
}

#[test]
fn a_template_shows_each_member_once_and_no_other() {
    for (english, reason) in [
        (
            "Pay {amount} {currency} within {days} days for {purposes}",
            "templates.en: does not show {creditor.name}; each member must be shown",
        ),
        (
            "Pay {amount} {currency} to {creditor.name} in {days} for {purposes} at {place}",
            "templates.en: shows a member that the schema does not have",
        ),
        (
            "Pay {amount} {amount} {currency} to {creditor.name} in {days} for {purposes}",
            "templates.en: show each member once",
        ),
        (
            "Pay {amount",
            "templates.en: write each member as its path in braces, such as {creditor.name}; other braces are not \
             permitted",
        ),
        (
            "Pay\n",
            "templates.en: use 1 to 300 visible characters, without blanks at the ends or beside each other",
        ),
        (
            "",
            "templates.en: use 1 to 300 visible characters, without blanks at the ends or beside each other",
        ),
    ] {
        assert_eq!(
            new_type(payment_schema(), english, GERMAN).unwrap_err(),
            reason
        );
    }
    for text in ["a}", "{a}}", "{}", "{a{b}", "{a b}"] {
        assert_eq!(Template::parse(text), Err(TemplateError::Brace), "{text}");
    }
    let mut source: TypeSource = payment().into();
    source.templates.remove(&Language::German);
    assert_eq!(
        DetailsType::new(source).unwrap_err().to_string(),
        "templates.de: is missing"
    );
}

#[test]
fn a_schema_has_limits_for_each_value_and_no_references() {
    let of = |property: Value| json!({"type": "object", "properties": {"a": property}});
    for schema in [
        json!(true),
        json!({"type": "string", "maxLength": 5}),
        json!({"$ref": "https://example.com/schema"}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}}),
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": true}),
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["b"]}),
        of(json!({"type": "object", "properties": {}})),
        json!({"type": "object", "properties": {"type": {"type": "integer"}}}),
        json!({"type": "object", "properties": {"a.b": {"type": "integer"}}}),
        of(json!({"$ref": "#/$defs/a"})),
        of(json!({"type": "string"})),
        of(json!({"type": "string", "maxLength": 501})),
        of(json!({"type": "string", "maxLength": 5, "minLength": 6})),
        of(json!({"type": "string", "maxLength": 5, "pattern": "a"})),
        of(json!({"type": "string", "enum": []})),
        of(json!({"type": "string", "enum": ["a\u{202e}"]})),
        of(json!({"type": "string", "enum": ["–"]})),
        of(json!({"type": "string", "enum": ["a", " a"]})),
        of(json!({"type": "boolean"})),
        of(json!({"type": "number"})),
        of(json!({"type": "integer", "minimum": 0.5})),
        of(json!({"type": "array", "maxItems": 3})),
        of(json!({"type": "array", "items": {"type": "integer"}})),
        of(json!({"type": "array", "items": of(json!({"type": "integer"})), "maxItems": 3})),
        of(json!({"type": "array", "items": {"type": "string", "enum": ["a,b"]}, "maxItems": 3})),
        of(json!({"type": "integer", "minimum": "1"})),
        of(of(of(of(of(json!({"type": "integer"})))))),
        of(json!({"type": "string", "enum": vec!["x".repeat(499); 20]})),
    ] {
        assert!(DetailsSchema::parse(&schema).is_err(), "{schema}");
    }
    let deep = of(of(of(json!({"type": "integer"}))));
    let members = DetailsSchema::parse(&deep).unwrap().members();
    assert_eq!(members, [("a.a.a".to_owned(), 26)]);
    let long =
        of(json!({"type": "array", "items": {"type": "string", "maxLength": 500}, "maxItems": 16}));
    let reason = new_type(long, "{a}", "{a}").unwrap_err();
    assert!(reason.contains("could have 8096 characters"), "{reason}");
}

#[test]
fn a_stored_type_is_read_again_and_checked() {
    let stored = serde_json::to_value(payment()).unwrap();
    assert_eq!(
        serde_json::from_value::<DetailsType>(stored.clone()).unwrap(),
        payment()
    );
    let mut changed = stored;
    changed["templates"]["en"] = json!("Pay");
    assert!(serde_json::from_value::<DetailsType>(changed).is_err());
}

#[test]
fn a_token_request_names_granted_elements_only() {
    let element = |amount: &str| {
        let creditor = json!({"name": "Ada"});
        json!({"type": "payment", "amount": amount, "currency": "CHF", "creditor": creditor})
    };
    let granted = checked(&json!([element("1"), element("2"), element("3")]))
        .unwrap()
        .granted();
    let all = granted.of_types(|_| true);
    let amounts = |selection: DetailsSelection| -> Vec<Value> {
        let elements = granted.selected(selection).into_iter();
        elements.map(|one| one["amount"].clone()).collect()
    };
    assert_eq!(amounts(all), ["1", "2", "3"]);
    assert_eq!(granted.of_types(|_| false), DetailsSelection::NONE);
    let narrowed = |requested: Value| {
        let requested = RequestedDetails::parse(&requested.to_string()).unwrap();
        granted.narrowed(all, &requested)
    };
    let some = narrowed(json!([element("3"), element("1")])).unwrap();
    assert_eq!(amounts(some), ["1", "3"]);
    assert_eq!(narrowed(json!([element("4")])), None);
    assert_eq!(narrowed(json!([{"type": "payment", "amount": "1"}])), None);
    let requested = RequestedDetails::parse(&json!([element("2")]).to_string()).unwrap();
    assert_eq!(granted.narrowed(some, &requested), None);
}

/// Any JSON of a small depth.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        prop_oneof![
            Just("object"),
            Just("string"),
            Just("array"),
            Just("integer")
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let name = prop_oneof![
            Just("type".to_owned()),
            Just("properties".to_owned()),
            Just("items".to_owned()),
            Just("maxLength".to_owned()),
            Just("required".to_owned()),
            "[a-z.]{1,5}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_schema_and_no_value_panics(schema in any_json(), value in any_json()) {
        if let (Ok(schema), Value::Object(element)) = (DetailsSchema::parse(&schema), &value) {
            let _ = schema.values(element);
        }
        if let Value::Object(element) = &value {
            let _ = payment().texts(element);
        }
    }

    #[test]
    fn no_template_and_no_request_panics(text in "[{}a. ]{0,30}|.{0,30}") {
        let _ = Template::parse(&text);
        let _ = RequestedDetails::parse(&text);
    }

    /// A user who grants another element sees another text.
    #[test]
    fn different_elements_have_different_texts(
        first in any_element(),
        second in any_element(),
    ) {
        let text = |element: &Map<String, Value>| payment().texts(element).unwrap();
        prop_assert_eq!(text(&first) == text(&second), first == second);
    }

    #[test]
    fn a_text_contains_each_value_as_it_is(element in any_element()) {
        let texts = payment().texts(&element).unwrap();
        for text in texts.values() {
            prop_assert!(text.contains(element["amount"].as_str().unwrap()));
            prop_assert!(text.contains(element["creditor"]["name"].as_str().unwrap()));
            prop_assert!(text.chars().count() <= 1000);
        }
    }
}

/// An element that matches the schema.
fn any_element() -> impl Strategy<Value = Map<String, Value>> {
    let purposes = prop::collection::vec("[a-b]( [a-b])?", 1..3);
    (
        "[0-9.]{1,12}",
        prop_oneof![Just("EUR"), Just("CHF")],
        "[a-cא-ג]( ?[a-cא-ג–]){0,2}",
        prop::option::of(1..=30_u32),
        prop::option::of(purposes),
    )
        .prop_map(|(amount, currency, name, days, purposes)| {
            let mut element = Map::from_iter([
                ("type".to_owned(), json!("payment")),
                ("amount".to_owned(), json!(amount)),
                ("currency".to_owned(), json!(currency)),
                ("creditor".to_owned(), json!({"name": name})),
            ]);
            element.extend(days.map(|days| ("days".to_owned(), json!(days))));
            element.extend(purposes.map(|list| ("purposes".to_owned(), json!(list))));
            element
        })
}
