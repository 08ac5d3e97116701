//! The catalogue's messages for scripts, as JSON. A script fills in the values with a few lines of its own.
//!
//! A message is a list of parts: a text, `{"value": name}`, or `{"plural": name, category: parts, ...}` with a list for
//! each plural category of the language (`Intl.PluralRules`). The category `other` is always present.

use std::sync::LazyLock;

use fluent_bundle::FluentResource;
use fluent_syntax::ast::{
    Entry, Expression, InlineExpression, Pattern, PatternElement, VariantKey,
};
use serde_json::{Map, Value, json};

use crate::messages::source;
use assent_model::language::Language;

static ENGLISH_WAITING: LazyLock<String> =
    LazyLock::new(|| json!(messages(Language::English, WAITING)).to_string());
static GERMAN_WAITING: LazyLock<String> =
    LazyLock::new(|| json!(messages(Language::German, WAITING)).to_string());

/// The prefix of the ids of the messages of the waiting page's script.
const WAITING: &str = "waiting-left";

/// The messages of the waiting page's script, as JSON.
pub(super) fn waiting_texts(language: Language) -> &'static str {
    match language {
        Language::English => &ENGLISH_WAITING,
        Language::German => &GERMAN_WAITING,
    }
}

/// Returns the messages of a language with an id prefix, by their ids.
pub(super) fn messages(language: Language, prefix: &str) -> Map<String, Value> {
    // A test reads the files and finds no error.
    let resource = FluentResource::try_new(source(language).to_owned())
        .unwrap_or_else(|(resource, _)| resource);
    let found = resource.entries().filter_map(|entry| match entry {
        Entry::Message(message) if message.id.name.starts_with(prefix) => {
            let parts = message.value.as_ref().and_then(parts);
            if parts.is_none() {
                tracing::error!(
                    message = message.id.name,
                    "message contains a placeholder that scripts do not support"
                );
            }
            parts.map(|parts| (message.id.name.to_owned(), Value::Array(parts)))
        }
        _ => None,
    });
    found.collect()
}

/// Returns `None` if the message contains anything but texts, values and plurals.
fn parts(pattern: &Pattern<&str>) -> Option<Vec<Value>> {
    pattern.elements.iter().map(part).collect()
}

fn part(element: &PatternElement<&str>) -> Option<Value> {
    match element {
        PatternElement::TextElement { value } => Some(json!(value)),
        PatternElement::Placeable {
            expression: Expression::Inline(InlineExpression::VariableReference { id }),
        } => Some(json!({"value": id.name})),
        PatternElement::Placeable {
            expression:
                Expression::Select {
                    selector: InlineExpression::VariableReference { id },
                    variants,
                },
        } => {
            let mut plural = Map::from_iter([("plural".to_owned(), json!(id.name))]);
            for variant in variants {
                let VariantKey::Identifier { name } = variant.key else {
                    return None;
                };
                if variant.default && name != "other" {
                    return None;
                }
                plural.insert(name.to_owned(), Value::Array(parts(&variant.value)?));
            }
            Some(Value::Object(plural))
        }
        PatternElement::Placeable { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_receives_every_message_with_its_prefix() {
        for language in Language::ALL {
            for prefix in ["app-", WAITING] {
                let meant = source(language)
                    .lines()
                    .filter(|line| line.starts_with(prefix))
                    .count();
                assert_eq!(
                    messages(language, prefix).len(),
                    meant,
                    "{prefix} in {}",
                    language.tag()
                );
            }
        }
    }

    #[test]
    fn values_and_plurals_are_separated_from_text() {
        let german = messages(Language::German, "app-");
        assert_eq!(
            german["app-account-device"],
            json!(["Dieses Gerät: ", {"value": "device"}])
        );
        let tries = json!([{
            "plural": "count",
            "one": ["Noch ein Versuch."],
            "other": ["Noch ", {"value": "count"}, " Versuche."],
        }]);
        assert_eq!(german["app-request-tries"], tries);
    }
}
