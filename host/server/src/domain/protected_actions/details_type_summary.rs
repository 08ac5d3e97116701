//! The summary of a type of authorization details.

use super::action::RegisteredType;
use super::escape::unquoted;
use super::joined::sentences;
use crate::messages::Message;
use assent_model::language::Language;

/// Returns the summary of a type, with its text in each language. The text shows each member of the schema.
pub(super) fn message(registered: &RegisteredType) -> Message {
    let name = unquoted(registered.definition.name.as_str());
    let first = match registered.replaces {
        true => Message::new("action-replace-details-type").text("name", name),
        false => Message::new("action-register-details-type").text("name", name),
    };
    let template = |language: &Language| {
        let templates = &registered.definition.templates;
        unquoted(templates.get(language).map_or("", String::as_str))
    };
    let texts = [
        Message::new("action-details-type-english").text("text", template(&Language::English)),
        Message::new("action-details-type-german").text("text", template(&Language::German)),
    ];
    sentences([first].into_iter().chain(texts))
}
