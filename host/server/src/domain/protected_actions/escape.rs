//! Texts by users in a summary. They are escaped so that they cannot imitate the server's own text, and shortened so
//! that their significant part remains.

use std::collections::BTreeSet;

use crate::messages::Message;

/// The largest length of a shown text, in characters.
const LONGEST: usize = 120;
/// The largest length of a shown list, in characters.
const LONGEST_LIST: usize = 4 * LONGEST;
/// Characters that look like quotes.
const QUOTES: &str = "\"“”„‟″‶〃〝〞〟＂";
/// The largest length of the origin of an address: a scheme, a name of 253 characters (RFC 1035 section 2.3.4), a port.
const LONGEST_ORIGIN: usize = 300;

/// Returns a name in a form that cannot end the quotes around it. The name is shown completely if its length was
/// limited before.
pub(super) fn unquoted(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() && !QUOTES.contains(*c))
        .collect()
}

/// Returns a text, shortened to a readable length.
pub(super) fn shortened(text: &str) -> String {
    shortened_to(text, LONGEST)
}

fn shortened_to(text: &str, longest: usize) -> String {
    let mut characters = text.chars().filter(|c| !c.is_control());
    let shown: String = characters.by_ref().take(longest).collect();
    if characters.next().is_some() {
        shown + "…"
    } else {
        shown
    }
}

/// Returns the origin of an address: scheme, name and port, which identify its owner.
fn origin(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or((address, ""));
    let host = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    shortened_to(&format!("{scheme}://{host}"), LONGEST_ORIGIN)
}

/// Returns an address, shortened but with its complete origin.
pub(super) fn address(address: &str) -> String {
    shortened_to(address, LONGEST.max(origin(address).chars().count() + 1))
}

/// Returns a list of the server's own names: as many as fit, and the number of the others.
pub(super) fn name_list<'a>(texts: impl IntoIterator<Item = &'a str>) -> Message {
    let (list, more) = fitting(texts.into_iter().map(shortened));
    and_more(list.join(", "), more.len(), BTreeSet::new())
}

/// Returns a list of addresses: as many as fit, and the origins of the others that are not among these.
pub(super) fn addresses(all: &[&str]) -> Message {
    let (list, _) = fitting(all.iter().map(|one| address(one)));
    let (shown, others) = all.split_at(list.len());
    let known: BTreeSet<String> = shown.iter().map(|one| origin(one)).collect();
    let others_at: BTreeSet<String> = others
        .iter()
        .map(|one| origin(one))
        .filter(|one| !known.contains(one))
        .collect();
    and_more(list.join(", "), others.len(), others_at)
}

/// Returns the texts that fit, and the others.
fn fitting(texts: impl Iterator<Item = String>) -> (Vec<String>, Vec<String>) {
    let mut texts = texts.peekable();
    let (mut list, mut length) = (Vec::new(), 0);
    while let Some(text) = texts.next_if(|text| length + text.chars().count() <= LONGEST_LIST) {
        length += text.chars().count();
        list.push(text);
    }
    (list, texts.collect())
}

/// Returns a list, the number of further texts, and their origins.
fn and_more(list: String, more: usize, at: BTreeSet<String>) -> Message {
    let count = i64::try_from(more).unwrap_or(i64::MAX);
    if more == 0 {
        Message::new("action-list").text("list", list)
    } else if at.is_empty() {
        Message::new("action-list-more")
            .text("list", list)
            .number("count", count)
    } else {
        Message::new("action-list-more-at")
            .text("list", list)
            .number("count", count)
            .text("origins", Vec::from_iter(at).join(", "))
    }
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
    fn each_origin_is_shown_after_any_number_of_long_urls() {
        let long: Vec<String> = (0..6)
            .map(|n| format!("https://a.example/{n}/{}", "x".repeat(200)))
            .collect();
        let mut all: Vec<&str> = long.iter().map(String::as_str).collect();
        let far = format!("https://{}.evil.example/cb", "y".repeat(150));
        all.push(&far);
        let text = addresses(&all).plain(Language::English);
        assert!(
            text.ends_with(&format!(
                ", and 4 more at https://{}.evil.example",
                "y".repeat(150)
            )),
            "{text}"
        );
        assert_eq!(address(&far), far.trim_end_matches("cb").to_owned() + "…");
        assert_eq!(address("myapp:/cb"), "myapp:/cb");
        let schemes = ["x:1"; 200];
        let text = addresses(&schemes).plain(Language::English);
        assert!(text.ends_with(", and 40 more"), "{text}");
    }
}
