//! Messages: what the server says to people, in the catalogue in `messages/`, one file a language.
//!
//! The catalogue is [Fluent](https://projectfluent.org)'s. A message is named in the source by [`Message::new`], in a
//! template by `layout.say`; `tests/it/pages/catalogue.rs` holds that each exists in each language with the same
//! values. Values that come from people are isolated in their direction, so that a name can't turn round what stands
//! beside it. What they hold of such marks themselves is dropped.

use std::fmt::Write as _;
use std::sync::LazyLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};
use unic_langid::LanguageIdentifier;

use assent_model::clock::Timestamp;
use assent_model::language::Language;

/// The messages of a language, as Fluent writes them.
pub const fn source(language: Language) -> &'static str {
    match language {
        Language::English => include_str!("../messages/en.ftl"),
        Language::German => include_str!("../messages/de.ftl"),
    }
}

/// A message with its values, in no language yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    id: &'static str,
    values: Vec<(&'static str, MessageValue)>,
}

#[derive(Clone, Debug, PartialEq)]
enum MessageValue {
    /// What a person wrote: isolated.
    Text(String),
    Number(i64),
    /// What we say ourselves.
    Message(Message),
}

impl Message {
    /// The message with this id in the catalogue.
    pub const fn new(id: &'static str) -> Self {
        Self {
            id,
            values: Vec::new(),
        }
    }

    /// With a text that comes from people, or from applications.
    pub fn text(self, name: &'static str, text: impl Into<String>) -> Self {
        self.with(name, MessageValue::Text(text.into()))
    }

    /// With a number, which may decide between singular and plural.
    pub fn number(self, name: &'static str, number: impl Into<i64>) -> Self {
        self.with(name, MessageValue::Number(number.into()))
    }

    /// With another message.
    pub fn message(self, name: &'static str, message: Self) -> Self {
        self.with(name, MessageValue::Message(message))
    }

    /// A day, as it is in Greenwich.
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

    /// As plain text.
    pub fn plain(&self, language: Language) -> String {
        self.formatted(language).replace([OPEN, CLOSE], "")
    }

    /// As HTML: escaped, its values isolated.
    pub(crate) fn markup(&self, language: Language) -> String {
        let mut html = String::new();
        for character in self.formatted(language).chars() {
            match character {
                OPEN => html.push_str("<bdi>"),
                CLOSE => html.push_str("</bdi>"),
                '<' | '>' | '&' | '"' | '\'' => _ = write!(html, "&#{};", u32::from(character)),
                other => html.push(other),
            }
        }
        html
    }

    /// With the values between the marks of their direction.
    pub(crate) fn formatted(&self, language: Language) -> String {
        let mut values = FluentArgs::with_capacity(self.values.len());
        for (name, value) in &self.values {
            values.set(
                *name,
                match value {
                    MessageValue::Text(text) => FluentValue::from(isolated(text)),
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
            tracing::error!(
                message = self.id,
                language = language.tag(),
                ?errors,
                "message not formatted"
            );
        }
        text.unwrap_or_else(|| self.id.to_owned())
    }
}

/// First strong isolate, and pop directional isolate (Unicode Standard Annex 9).
pub(crate) const OPEN: char = '\u{2068}';
pub(crate) const CLOSE: char = '\u{2069}';

/// A text between marks that isolate it, without any of its own.
fn isolated(text: &str) -> String {
    let is_mark = |c: char| {
        matches!(
            c,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
    };
    format!("{OPEN}{}{CLOSE}", text.replace(is_mark, ""))
}

type Bundle = FluentBundle<FluentResource>;

static ENGLISH: LazyLock<Bundle> = LazyLock::new(|| made(Language::English));
static GERMAN: LazyLock<Bundle> = LazyLock::new(|| made(Language::German));

fn bundle(language: Language) -> &'static Bundle {
    match language {
        Language::English => &ENGLISH,
        Language::German => &GERMAN,
    }
}

fn made(language: Language) -> Bundle {
    let id: LanguageIdentifier = language.tag().parse().unwrap_or_default();
    let mut bundle = Bundle::new_concurrent(vec![id]);
    // We isolate ourselves: only what comes from people, and no numbers.
    bundle.set_use_isolating(false);
    // A test reads the files with no error; what of a file can be read is used.
    let resource = FluentResource::try_new(source(language).to_owned())
        .unwrap_or_else(|(resource, _)| resource);
    bundle.add_resource_overriding(resource);
    bundle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogues_can_be_read_and_hold_no_message_twice() {
        for language in Language::ALL {
            let resource = FluentResource::try_new(source(language).to_owned()).expect("no junk");
            Bundle::new_concurrent(Vec::new())
                .add_resource(resource)
                .expect("no message twice");
        }
    }

    #[test]
    fn a_message_that_there_is_not_is_its_id() {
        let message = Message::new("no-such-message");
        assert_eq!(message.plain(Language::English), "no-such-message");
    }
}
