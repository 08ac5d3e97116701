//! The browser of a request and its presumed location in plain words, so that users recognise them.
//!
//! The store has these words in English: in sign-ins, approval requests, sessions and the audit log. Each reader gets
//! them in the own language. The `User-Agent` header is only a hint.

use std::net::IpAddr;

use crate::domain::Services;
use crate::geoip::GeoIp;
use crate::messages::Message;
use assent_model::language::Language;
use assent_model::login::BrowserContext;

/// Markers in order of precedence, because several browsers name other browsers, too.
const BROWSERS: [(&str, &str); 9] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
];

const SYSTEMS: [(&str, &str); 8] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "Mac"),
    ("Linux", "Linux"),
    ("FreeBSD", "FreeBSD"),
];

const UNKNOWN_PLACE: Message = Message::new("place-unknown");
const HERE: Message = Message::new("place-here");

/// Describes a browser: `Firefox on Linux`, `Unknown browser`.
pub fn browser(user_agent: &str) -> Message {
    let find = |known: &[(&str, &'static str)]| {
        known
            .iter()
            .find(|(mark, _)| user_agent.contains(mark))
            .map(|(_, name)| *name)
    };
    message(find(&BROWSERS), find(&SYSTEMS))
}

fn message(browser: Option<&'static str>, system: Option<&'static str>) -> Message {
    match (browser, system) {
        (Some(browser), Some(system)) => Message::new("browser-on")
            .text("browser", browser)
            .text("system", system),
        (Some(browser), None) => Message::new("browser-only").text("browser", browser),
        (None, Some(system)) => Message::new("browser-unknown-on").text("system", system),
        (None, None) => Message::new("browser-unknown"),
    }
}

/// Returns the message for the stored words of a browser.
pub fn stored_browser(words: &str) -> Message {
    let known = |names: &[(&str, &'static str)], text: &str| {
        names
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(_, name)| *name)
    };
    let (browser, system) = words
        .split_once(" on ")
        .map_or((words, None), |(browser, system)| (browser, Some(system)));
    message(
        known(&BROWSERS, browser),
        system.and_then(|system| known(&SYSTEMS, system)),
    )
}

/// Describes the presumed location of a browser. A loopback address is called "this computer" only if the server itself
/// is for a single machine: elsewhere it is the address of a proxy.
pub fn place(services: &Services, address: Option<IpAddr>, language: Language) -> Message {
    place_in(
        address,
        services.settings.is_local(),
        &services.geoip,
        language,
    )
}

fn place_in(
    address: Option<IpAddr>,
    host_is_local: bool,
    places: &GeoIp,
    language: Language,
) -> Message {
    let Some(address) = address else {
        return UNKNOWN_PLACE;
    };
    let private = match address {
        IpAddr::V4(v4) => v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_unicast_link_local(),
    };
    match (address.is_loopback(), private) {
        (true, _) if host_is_local => HERE,
        (true, _) => UNKNOWN_PLACE,
        (false, true) => Message::new("place-local").text("address", address.to_string()),
        (false, false) => match places.place_of(address, language.tag()) {
            Some(place) => Message::new("place-known")
                .text("place", place)
                .text("address", address.to_string()),
            None => Message::new("place-internet").text("address", address.to_string()),
        },
    }
}

/// Describes a browser in the form that is stored.
pub fn describe_browser(
    services: &Services,
    address: Option<IpAddr>,
    user_agent: &str,
) -> BrowserContext {
    let words = |language| place(services, address, language).plain(language);
    let has_name = address.is_some_and(|address| {
        let known = services.geoip.place_of(address, Language::English.tag());
        known.is_some()
    });
    let others = Language::ALL
        .into_iter()
        .filter(|language| has_name && *language != Language::English);
    BrowserContext {
        place: words(Language::English),
        place_names: others.map(|other| (other, words(other))).collect(),
        browser: browser(user_agent).plain(Language::English),
    }
}

/// Returns stored words as a device with this language shows and signs them. They depend on nothing else.
pub fn signed_words(stored: &BrowserContext, language: Language) -> BrowserContext {
    let place = match stored.place_names.get(&language) {
        Some(name) => name.clone(),
        None => shown_place(&stored.place, language),
    };
    BrowserContext {
        place,
        browser: translated_browser(&stored.browser, language),
        ..BrowserContext::default()
    }
}

fn shown_place(words: &str, language: Language) -> String {
    let address = address_in(words).map(|address| address.to_string());
    let with_address = |id| {
        address
            .clone()
            .map(|text| Message::new(id).text("address", text))
    };
    [
        Some(HERE),
        Some(UNKNOWN_PLACE),
        with_address("place-local"),
        with_address("place-internet"),
    ]
    .into_iter()
    .flatten()
    .find(|known| known.plain(Language::English) == words)
    .map_or_else(|| words.to_owned(), |known| known.plain(language))
}

fn translated_browser(words: &str, language: Language) -> String {
    match words {
        "" => String::new(),
        words => stored_browser(words).plain(language),
    }
}

/// Returns stored words in the language of their reader. Unlike the words that a device signs, the name of a location
/// is that of the current file of locations.
pub fn translated_words(
    services: &Services,
    stored: &BrowserContext,
    language: Language,
) -> BrowserContext {
    let place = match address_in(&stored.place) {
        Some(address) => place(services, Some(address), language).plain(language),
        None => shown_place(&stored.place, language),
    };
    BrowserContext {
        place,
        browser: translated_browser(&stored.browser, language),
        ..BrowserContext::default()
    }
}

/// Returns the address with which the words of a location end.
fn address_in(words: &str) -> Option<IpAddr> {
    let last = words.trim_end_matches(')').rsplit([' ', '(']).next();
    last.and_then(|address| address.parse().ok())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn browsers_are_recognised() {
        for (agent, words) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
                "Firefox on Linux",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 \
                 Safari/537.36 Edg/126.0",
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 \
                 Safari/605.1.15",
                "Safari on Mac",
            ),
            (
                "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Mobile \
                 Safari/537.36",
                "Chrome on Android",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                 CriOS/126.0 Mobile/15E148 Safari/604.1",
                "Chrome on iPhone",
            ),
            ("", "Unknown browser"),
            ("<script>", "Unknown browser"),
            ("curl/8.5.0", "curl"),
            ("Lynx (Linux)", "Unknown browser on Linux"),
        ] {
            assert_eq!(browser(agent).plain(Language::English), words);
            assert_eq!(stored_browser(words), browser(agent), "{words}");
        }
    }

    #[test]
    fn places_are_described_in_words_and_a_proxy_is_not_this_computer() {
        for (address, local, english, german) in [
            ("127.0.0.1", true, "This computer", "Dieser Computer"),
            ("127.0.0.1", false, "Unknown place", "Unbekannter Ort"),
            (
                "192.168.1.5",
                true,
                "Local network (192.168.1.5)",
                "Lokales Netz (192.168.1.5)",
            ),
            (
                "203.0.113.9",
                false,
                "Internet address 203.0.113.9",
                "Internetadresse 203.0.113.9",
            ),
            (
                "2001:db8::1",
                false,
                "Internet address 2001:db8::1",
                "Internetadresse 2001:db8::1",
            ),
        ] {
            let address = Some(address.parse().unwrap());
            let words =
                |language| place_in(address, local, &GeoIp::default(), language).plain(language);
            assert_eq!(words(Language::English), english);
            let again = |language| shown_place(english, language);
            assert_eq!(
                (
                    again(Language::English).as_str(),
                    again(Language::German).as_str()
                ),
                (english, german)
            );
        }
        for other in ["", "somewhere", "Berlin (203.0.113.9)", "("] {
            assert_eq!(shown_place(other, Language::German), other);
        }
    }

    /// The words that a device signs do not depend on the file of locations.
    #[test]
    fn a_named_place_is_shown_as_it_was_stored() {
        let stored = BrowserContext {
            place: "Munich, Germany (203.0.113.9)".to_owned(),
            place_names: BTreeMap::from([(
                Language::German,
                "München, Deutschland (203.0.113.9)".to_owned(),
            )]),
            browser: "Firefox on Linux".to_owned(),
        };
        let german = signed_words(&stored, Language::German);
        assert_eq!(
            (german.place.as_str(), german.browser.as_str()),
            ("München, Deutschland (203.0.113.9)", "Firefox auf Linux")
        );
        assert_eq!(signed_words(&stored, Language::English).place, stored.place);
    }
}
