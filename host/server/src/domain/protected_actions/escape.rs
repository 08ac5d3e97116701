//! Texts by users in a summary. They are escaped so that they cannot imitate the server's own text. No text is cut,
//! because the hidden part could be the important one. A summary that is too long is rejected.

use super::joined::in_a_row;
use crate::messages::Message;

/// Characters that look like quotes.
const QUOTES: &str = "\"“”„‟″‶〃〝〞〟＂";

/// Returns a text in a form that cannot end the quotes around it.
pub(super) fn unquoted(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() && !QUOTES.contains(*c))
        .collect()
}

pub(super) fn quoted(text: &str) -> Message {
    Message::new("action-quoted").text("value", unquoted(text))
}

pub(super) fn quoted_list<'a>(texts: impl IntoIterator<Item = &'a str>) -> Message {
    in_a_row(texts.into_iter().map(quoted))
}

/// Returns all addresses of a list. They were validated, so they contain neither blanks nor quotes, and need no quotes.
pub(super) fn addresses<'a>(all: impl IntoIterator<Item = &'a str>) -> Message {
    in_a_row(
        all.into_iter()
            .map(|address| Message::new("action-item").text("value", unquoted(address))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use assent_model::language::Language;

    #[test]
    fn quotation_marks_are_removed_from_texts() {
        assert_eq!(
            unquoted("Wiki”. It has the key \"abc＂\n"),
            "Wiki. It has the key abc"
        );
    }

    #[test]
    fn no_text_of_a_list_is_cut_or_omitted() {
        let long: Vec<String> = (0..60)
            .map(|number| format!("https://a.example/{number}/{}", "x".repeat(200)))
            .collect();
        let list = |items: Vec<String>| items.join(", ");
        let texts = || long.iter().map(String::as_str);
        assert_eq!(
            addresses(texts()).plain(Language::English),
            list(long.clone())
        );
        let in_quotes = long.iter().map(|text| format!("“{text}”")).collect();
        assert_eq!(
            quoted_list(texts()).plain(Language::English),
            list(in_quotes)
        );
    }

    /// The depth of a message must not grow with the number of its parts, because its formatting is recursive.
    #[test]
    fn a_list_may_have_thousands_of_texts() {
        let names: Vec<String> = (0..5_000).map(|number| format!("user{number}")).collect();
        let text = quoted_list(names.iter().map(String::as_str)).plain(Language::German);
        assert!(
            text.starts_with("„user0“, „user1“, ") && text.ends_with(", „user4998“, „user4999“"),
            "{text}"
        );
    }
}
