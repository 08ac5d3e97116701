//! The texts of pages: the language of a response, and messages as HTML, in which `<bdi>` isolates the values that
//! users wrote.

use std::convert::Infallible;
use std::sync::Arc;

use askama::filters::Safe;
use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT_LANGUAGE;
use axum::http::request::Parts;

use super::header_text;
use crate::domain::Services;
use crate::messages::Message;
use assent_model::language::Language;

/// Returns the language that a browser prefers, or the operator's language.
pub(super) fn preferred_language(services: &Services, headers: &HeaderMap) -> Language {
    requested_language(headers).unwrap_or(services.settings.branding.language)
}

/// Returns the language that a request prefers, if it is a supported one.
pub(super) fn requested_language(headers: &HeaderMap) -> Option<Language> {
    let ranges: Vec<_> = header_text::elements(headers, &ACCEPT_LANGUAGE).collect();
    Language::of_header(&ranges.join(","))
}

/// The language of a response, as a handler's argument.
pub(crate) struct PageLanguage(pub(crate) Language);

impl FromRequestParts<Arc<Services>> for PageLanguage {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        services: &Arc<Services>,
    ) -> Result<Self, Infallible> {
        Ok(Self(preferred_language(services, &parts.headers)))
    }
}

impl Message {
    /// The message as HTML: escaped, with isolated values.
    pub fn html(&self, language: Language) -> Safe<String> {
        Safe(self.markup(language))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assent_model::clock::Timestamp;

    fn english(message: &Message) -> String {
        message.plain(Language::English)
    }

    #[test]
    fn values_are_escaped_and_isolated_and_cannot_reverse_the_text() {
        let name = "<b>\u{202e}olleH\u{2069}\u{2068}'\"&";
        let message = Message::new("login-title").text("application", name);
        assert_eq!(
            message.html(Language::English).0,
            "Sign in to <bdi translate=\"no\">&#60;b&#62;olleH&#39;&#34;&#38;</bdi>"
        );
        assert_eq!(message.plain(Language::German), "Bei <b>olleH'\"& anmelden");
    }

    #[test]
    fn numbers_select_the_plural_and_are_not_formatted() {
        let left = |seconds: u32| Message::new("waiting-left").number("seconds", seconds);
        assert_eq!(english(&left(1)), "1 second left");
        assert_eq!(left(1999).html(Language::English).0, "1999 seconds left");
        assert_eq!(left(1).plain(Language::German), "noch 1 Sekunde");
    }

    #[test]
    fn a_date_has_the_format_of_the_language() {
        let (first, leap) = (
            Timestamp::from_seconds(0),
            Timestamp::from_seconds(1_709_164_800),
        );
        assert_eq!(english(&Message::day(first)), "1 January 1970");
        assert_eq!(english(&Message::day(leap)), "29 February 2024");
        assert_eq!(
            Message::day(leap).plain(Language::German),
            "29. Februar 2024"
        );
        let since = Message::new("consents-since").message("since", Message::day(first));
        assert_eq!(
            since.html(Language::English).0,
            "Allowed on 1 January 1970."
        );
    }
}
