//! The text of a value.

use serde_json::Value;

/// The text of a member without a value.
const MISSING: &str = "–";
/// The beginning and the end of a text whose direction has no effect on the text around it (UAX #9, FSI and PDI).
const ISOLATE: [char; 2] = ['\u{2068}', '\u{2069}'];

/// Returns the whole text of a checked value. Its direction has no effect on the text around it: the digits of an
/// amount stay in their order and place beside a name in Hebrew.
pub(super) fn text_of(value: Option<&Value>) -> String {
    match value {
        None => MISSING.to_owned(),
        Some(Value::Array(elements)) if elements.is_empty() => MISSING.to_owned(),
        Some(Value::Array(elements)) => {
            let texts: Vec<String> = elements.iter().map(isolated).collect();
            texts.join(", ")
        }
        Some(value) => isolated(value),
    }
}

fn isolated(value: &Value) -> String {
    let [begin, end] = ISOLATE;
    match value {
        Value::String(text) => format!("{begin}{text}{end}"),
        other => format!("{begin}{other}{end}"),
    }
}
