//! Messages: the texts for users, from the catalogue in `messages/`, with one file per language.
//!
//! The catalogue has the format of [Fluent](https://projectfluent.org). The source names a message with
//! [`Message::new`], and a template with `layout.message`. `tests/it/pages/catalogue.rs` checks that each message
//! exists in each language with the same values. Values by users are isolated in their text direction, so that a name
//! cannot change the direction of the text beside it. Direction marks in such values are removed.

use std::fmt::Write as _;
use std::sync::LazyLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};
use unic_langid::LanguageIdentifier;

use assent_model::clock::Timestamp;
use assent_model::language::Language;

/// Returns the messages of a language, in the format of Fluent.
pub const fn source(language: Language) -> &'static str {
    match language {
        Language::English => include_str!("../messages/en.ftl"),
        Language::German => include_str!("../messages/de.ftl"),
    }
}

/// A message with its values, independent of a language.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    id: &'static str,
    values: Vec<(&'static str, MessageValue)>,
}

#[derive(Clone, Debug, PartialEq)]
enum MessageValue {
    /// A text by a user, which is isolated.
    Text(String),
    Number(i64),
    /// A text of the server itself.
    Message(Message),
}

impl Message {
    /// Returns the message with this identifier in the catalogue.
    pub const fn new(id: &'static str) -> Self {
        Self {
            id,
            values: Vec::new(),
        }
    }

    /// Adds a text by users or applications.
    pub fn text(self, name: &'static str, text: impl Into<String>) -> Self {
        self.with(name, MessageValue::Text(text.into()))
    }

    /// Adds a number, which may determine singular or plural.
    pub fn number(self, name: &'static str, number: impl Into<i64>) -> Self {
        self.with(name, MessageValue::Number(number.into()))
    }

    /// Adds another message.
    pub fn message(self, name: &'static str, message: Self) -> Self {
        self.with(name, MessageValue::Message(message))
    }

    /// Returns a date, in UTC.
    pub fn day(at: Timestamp) -> Self {
        let date = jiff::Timestamp::from_second(at.seconds())
            .unwrap_or_default()
            .to_zoned(jiff::tz::TimeZone::UTC)
            .date();
        Message::new("date")
            .number("day", date.day())
            .number("month", date.month())
            .number("year", date.year())
    }

    fn with(mut self, name: &'static str, value: MessageValue) -> Self {
        self.values.push((name, value));
        self
    }

    /// Returns the message as plain text.
    pub fn plain(&self, language: Language) -> String {
        self.formatted(language).replace([OPEN, CLOSE], "")
    }

    /// Returns the message as HTML, escaped and with isolated values.
    pub(crate) fn markup(&self, language: Language) -> String {
        let mut html = String::new();
        for character in self.formatted(language).chars() {
            match character {
                OPEN => html.push_str("<bdi translate=\"no\">"),
                CLOSE => html.push_str("</bdi>"),
                '<' | '>' | '&' | '"' | '\'' => _ = write!(html, "&#{};", u32::from(character)),
                other => html.push(other),
            }
        }
        html
    }

    /// Returns the message with isolation marks around its values.
    pub(crate) fn formatted(&self, language: Language) -> String {
        let mut values = FluentArgs::with_capacity(self.values.len());
        for (name, value) in &self.values {
            values.set(
                *name,
                match value {
                    MessageValue::Text(text) => FluentValue::from(isolate_text(text)),
                    MessageValue::Number(number) => FluentValue::from(*number),
                    MessageValue::Message(message) => {
                        FluentValue::from(message.formatted(language))
                    }
                },
            );
        }
        let mut errors = Vec::new();
        let bundle = bundle(language);
        let pattern = bundle
            .get_message(self.id)
            .and_then(|message| message.value());
        let text = pattern.map(|pattern| {
            bundle
                .format_pattern(pattern, Some(&values), &mut errors)
                .into_owned()
        });
        if text.is_none() || !errors.is_empty() {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            tracing::error!(
                message = self.id,
                language = language.tag(),
                errors = errors.join("; "),
                "message not formatted"
            );
        }
        text.unwrap_or_else(|| self.id.to_owned())
    }
}

/// First strong isolate, and pop directional isolate (Unicode Standard Annex 9).
pub(crate) const OPEN: char = '\u{2068}';
pub(crate) const CLOSE: char = '\u{2069}';

/// Isolates a text, and removes isolation marks from it.
fn isolate_text(text: &str) -> String {
    let is_mark = |c: char| {
        matches!(
            c,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
    };
    format!("{OPEN}{}{CLOSE}", text.replace(is_mark, ""))
}

type Bundle = FluentBundle<FluentResource>;

static ENGLISH: LazyLock<Bundle> = LazyLock::new(|| new_bundle(Language::English));
static GERMAN: LazyLock<Bundle> = LazyLock::new(|| new_bundle(Language::German));

fn bundle(language: Language) -> &'static Bundle {
    match language {
        Language::English => &ENGLISH,
        Language::German => &GERMAN,
    }
}

fn new_bundle(language: Language) -> Bundle {
    let id: LanguageIdentifier = language.tag().parse().unwrap_or_default();
    let mut bundle = Bundle::new_concurrent(vec![id]);
    // Only texts by users are isolated, and not numbers. Fluent cannot distinguish them.
    bundle.set_use_isolating(false);
    // A test checks that the files have no errors. With an error, the valid part of a file is used.
    let resource = FluentResource::try_new(source(language).to_owned())
        .unwrap_or_else(|(resource, _)| resource);
    bundle.add_resource_overriding(resource);
    bundle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogues_parse_and_have_no_duplicate_messages() {
        for language in Language::ALL {
            let resource =
                FluentResource::try_new(source(language).to_owned()).expect("a valid catalogue");
            Bundle::new_concurrent(Vec::new())
                .add_resource(resource)
                .expect("no duplicate message");
        }
    }

    #[test]
    fn an_unknown_message_renders_as_its_id() {
        let message = Message::new("no-such-message");
        assert_eq!(message.plain(Language::English), "no-such-message");
    }
}
