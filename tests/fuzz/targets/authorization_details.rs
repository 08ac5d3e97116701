//! Authorization details: schema, template and request. A text shows each value as it is, and different elements have
//! different texts.
//!
//! The input has four lines: a schema, a template, and two requests.

#![no_main]

use std::collections::BTreeMap;

use assent_model::authorization_details::requested::{
    AuthorizationDetails, MOST, RequestedDetails,
};
use assent_model::authorization_details::type_definition::{DetailsType, TypeSource};
use assent_model::language::Language;
use assent_model::printable::is_printable;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// The texts that a value shows.
fn shown(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.values().for_each(|value| shown(value, texts)),
        Value::Array(elements) => elements.iter().for_each(|value| shown(value, texts)),
        Value::String(text) => texts.push(text.clone()),
        other => texts.push(other.to_string()),
    }
}

fn checked(known: &DetailsType, text: &str) -> Option<AuthorizationDetails> {
    let requested = RequestedDetails::parse(text).ok()?;
    requested.check(std::slice::from_ref(known), |_| true).ok()
}

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let mut lines = text.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    let (schema, template, first, second) = (line(), line(), line(), line());
    let _ = RequestedDetails::parse(text);
    let Ok(schema) = serde_json::from_str(schema) else {
        return;
    };
    let templates = Language::ALL.map(|language| (language, template.to_owned()));
    let source = TypeSource {
        name: "a".parse().expect("a name"),
        schema,
        templates: BTreeMap::from(templates),
        second_approver_group: None,
    };
    let Ok(known) = DetailsType::new(source.clone()) else {
        return;
    };
    assert_eq!(TypeSource::from(known.clone()), source);
    let Some(details) = checked(&known, first) else {
        return;
    };
    let texts = details.texts().in_language(Language::English);
    let granted = details.granted();
    let elements = granted.selected(granted.of_types(|_| true));
    assert!(!details.is_empty() && elements.len() <= MOST);
    assert_eq!(texts.len(), elements.len());
    for (text, element) in texts.iter().zip(&elements) {
        assert!(text.chars().count() <= 1000, "{text}");
        let is_shown = |c| is_printable(c) || matches!(c, '\u{2068}' | '\u{2069}');
        assert!(text.chars().all(is_shown), "{text}");
        let mut values = Vec::new();
        let members = element.iter().filter(|(name, _)| *name != "type");
        members.for_each(|(_, value)| shown(value, &mut values));
        for value in values {
            assert!(
                text.contains(&format!("\u{2068}{value}\u{2069}")),
                "{text}: {value}"
            );
        }
    }
    // The stored form is the same.
    let stored = serde_json::to_string(&details).expect("details can be written");
    let read: AuthorizationDetails = serde_json::from_str(&stored).expect("details can be read");
    assert_eq!(read, details);
    if let Some(other) = checked(&known, second) {
        let granted = other.granted();
        let others = granted.selected(granted.of_types(|_| true));
        for (text, element) in texts.iter().zip(&elements) {
            let same = other.texts().in_language(Language::English);
            for (other_text, other_element) in same.iter().zip(&others) {
                assert_eq!(text == other_text, element == other_element, "{text}");
            }
        }
    }
});
