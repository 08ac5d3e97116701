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
    match (find(&BROWSERS), find(&SYSTEMS)) {
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
    match (
        known(&BROWSERS, browser),
        system.and_then(|system| known(&SYSTEMS, system)),
    ) {
        (Some(browser), Some(system)) => Message::new("browser-on")
            .text("browser", browser)
            .text("system", system),
        (Some(browser), None) => Message::new("browser-only").text("browser", browser),
        (None, Some(system)) => Message::new("browser-unknown-on").text("system", system),
        (None, None) => Message::new("browser-unknown"),
    }
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

/// Returns stored words in the language of their reader. Words that [`place`] did not create stay as they are.
pub fn translated(
    services: &Services,
    stored: &BrowserContext,
    language: Language,
) -> BrowserContext {
    let browser = match stored.browser.as_str() {
        "" => String::new(),
        words => stored_browser(words).plain(language),
    };
    BrowserContext {
        place: translated_place(
            &stored.place,
            services.settings.is_local(),
            &services.geoip,
            language,
        ),
        browser,
    }
}

fn translated_place(
    words: &str,
    host_is_local: bool,
    places: &GeoIp,
    language: Language,
) -> String {
    let english = |message: &Message| message.plain(Language::English);
    if let Some(known) = [HERE, UNKNOWN_PLACE]
        .iter()
        .find(|known| english(known) == words)
    {
        return known.plain(language);
    }
    // Every other location ends with the address.
    let address = words.trim_end_matches(')').rsplit([' ', '(']).next();
    match address.and_then(|address| address.parse().ok()) {
        Some(address) => place_in(Some(address), host_is_local, places, language).plain(language),
        None => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
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
            let again = |language| translated_place(english, local, &GeoIp::default(), language);
            assert_eq!(
                (
                    again(Language::English).as_str(),
                    again(Language::German).as_str()
                ),
                (english, german)
            );
        }
        for other in ["", "somewhere", "Berlin (centre)", "("] {
            let words = translated_place(other, true, &GeoIp::default(), Language::German);
            assert_eq!(words, other);
        }
    }
}
