//! The text of a value.

use serde_json::Value;

use super::content::Scalar;
use crate::language::Language;

/// The text of a member without a value.
pub(super) const MISSING: &str = "–";
/// The beginning and the end of a text whose direction has no effect on the text around it (UAX #9, FSI and PDI).
const ISOLATE: [char; 2] = ['\u{2068}', '\u{2069}'];
/// Between two elements of a list.
const SEPARATOR: &str = ", ";

/// A checked value, with the schema of it or of its elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckedValue<'v> {
    pub(super) scalar: &'v Scalar,
    pub(super) value: &'v Value,
}

/// Returns the whole text of a checked value. Its direction has no effect on the text around it: the digits of an
/// amount stay in their order and place beside a name in Hebrew. A text that the application wrote is in quotes, so
/// that it cannot imitate the text of the template.
pub(super) fn text_of(value: Option<CheckedValue<'_>>, language: Language) -> String {
    let Some(CheckedValue { scalar, value }) = value else {
        return MISSING.to_owned();
    };
    match value {
        Value::Array(elements) => {
            let texts = elements.iter().map(|one| marked(scalar, one, language));
            texts.collect::<Vec<_>>().join(SEPARATOR)
        }
        value => marked(scalar, value, language),
    }
}

fn marked(scalar: &Scalar, value: &Value, language: Language) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let [begin, end] = ISOLATE;
    let isolated = format!("{begin}{text}{end}");
    match (scalar, language) {
        (Scalar::Text { .. }, Language::English) => format!("“{isolated}”"),
        (Scalar::Text { .. }, Language::German) => format!("„{isolated}“"),
        (Scalar::Choice(_) | Scalar::Integer(_), _) => isolated,
    }
}

/// The largest length of the text of a value, in characters, with isolates and quotes.
pub(super) fn longest(scalar: &Scalar) -> usize {
    let quotes = if matches!(scalar, Scalar::Text { .. }) {
        2
    } else {
        0
    };
    scalar.longest().saturating_add(ISOLATE.len() + quotes)
}

/// The largest length of the text of a list with this number of elements, in characters.
pub(super) fn longest_list(elements: &Scalar, most: u64) -> usize {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    most.saturating_mul(longest(elements).saturating_add(SEPARATOR.len()))
}
