//! The placeholders in the values of custom attributes: `{email}` stands for a claim, `{{` and `}}` for the braces
//! themselves.
//!
//! The plugin that replaces them parses values with the plugin SDK (`values::Template`). This parser reports the
//! position of a mistake. `plugin-sdk/src/values/grammar.json` ensures that both accept the same grammar.

/// A placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placeholder<'t> {
    /// The name between the braces.
    pub name: &'t str,
    /// The position of its opening brace, in characters, from 1.
    pub at: usize,
}

/// An error in a value, with its position in characters, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderError {
    /// `{email`
    #[error("the {{ at character {0} has no }}; write a brace itself twice")]
    Unclosed(usize),
    /// `email}`
    #[error("the }} at character {0} has no {{; write a brace itself twice")]
    Unopened(usize),
    /// `{}`, or a text that is not the name of a claim, such as JSON.
    #[error("the {{ at character {0} begins no name of a claim; write a brace itself twice")]
    NoName(usize),
}

/// Returns the placeholders of a value, in their order.
///
/// # Errors
/// [`PlaceholderError`] with the position of the first mistake.
pub fn placeholders(text: &str) -> Result<Vec<Placeholder<'_>>, PlaceholderError> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(['{', '}']) {
        let braces = rest.get(start..).unwrap_or_default();
        let at = text
            .get(..text.len() - braces.len())
            .unwrap_or_default()
            .chars()
            .count()
            + 1;
        rest = if let Some(after) = braces
            .strip_prefix("{{")
            .or_else(|| braces.strip_prefix("}}"))
        {
            after
        } else {
            let inside = braces
                .strip_prefix('{')
                .ok_or(PlaceholderError::Unopened(at))?;
            let (name, after) = inside
                .split_once('}')
                .ok_or(PlaceholderError::Unclosed(at))?;
            if name.is_empty() || name.contains(|c: char| c == '{' || c == '"' || c.is_whitespace())
            {
                return Err(PlaceholderError::NoName(at));
            }
            found.push(Placeholder { name, at });
            after
        };
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test")]

    use serde_json::{Value, json};

    use super::*;

    /// The plugin SDK has a test with the same table.
    #[test]
    fn the_grammar_matches_the_plugin_sdk() {
        let table: Vec<Value> =
            serde_json::from_str(include_str!("../../../plugin-sdk/src/values/grammar.json"))
                .unwrap();
        for case in table {
            let text = case["text"].as_str().unwrap();
            let read = match placeholders(text) {
                Ok(found) => {
                    json!({"text": text, "names": found.iter().map(|one| one.name).collect::<Vec<_>>()})
                }
                Err(PlaceholderError::Unclosed(at)) => {
                    json!({"text": text, "error": "unclosed", "at": at})
                }
                Err(PlaceholderError::Unopened(at)) => {
                    json!({"text": text, "error": "unopened", "at": at})
                }
                Err(PlaceholderError::NoName(at)) => {
                    json!({"text": text, "error": "no_name", "at": at})
                }
            };
            assert_eq!(read, case);
        }
        assert_eq!(
            placeholders("é{{{a}").unwrap(),
            [Placeholder { name: "a", at: 4 }]
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[{}a\"é ]{0,20}") {
            let _ = placeholders(&text);
        }
    }
}
