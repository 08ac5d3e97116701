//! The text and the layout of pages.

mod branding;
mod catalogue;
mod errors;
mod german;
mod languages;
mod next_steps;
mod size;
mod stylesheet;

use assent::messages;
use assent_model::language::Language;

use crate::harness::Page;

/// Returns the text of a message in the catalogue of a language: its first line, up to the first value.
fn text(language: Language, id: &str) -> String {
    let line = messages::source(language)
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{id} = ")));
    let text = line
        .unwrap_or_else(|| panic!("{id} is not in the catalogue"))
        .split('{')
        .next()
        .unwrap_or_default();
    text.trim().replace('&', "&#38;").replace('\'', "&#39;")
}

/// Checks that the head of a page and these messages are in a language.
fn assert_language(page: &Page, language: Language, ids: &[&str]) {
    let tag = language.tag();
    assert_eq!(
        page.headers["content-language"], tag,
        "{}: {}",
        page.url, page.body
    );
    assert_eq!(page.headers["vary"], "accept-language", "{}", page.url);
    assert!(
        page.body
            .contains(&format!("<html lang=\"{tag}\" dir=\"ltr\">")),
        "{}: {}",
        page.url,
        page.body
    );
    for id in ids {
        let text = text(language, id);
        assert!(
            !text.is_empty() && page.body.contains(&text),
            "{}: {id}: {text:?} in {}",
            page.url,
            page.body
        );
        for other in Language::ALL.into_iter().filter(|other| *other != language) {
            let foreign = self::text(other, id);
            assert!(
                foreign == text || !page.body.contains(&foreign),
                "{}: {foreign:?} in {}",
                page.url,
                page.body
            );
        }
    }
}
