//! The browser and operating system in plain words, so that users recognise them. The `User-Agent` header is only a
//! hint.

use super::texts::Message;

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

/// Describes a browser: `Firefox on Linux`, `Unknown browser`.
pub(super) fn in_words(user_agent: &str) -> Message {
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

/// Returns the message for stored English words. The audit log and sessions store these words, and pages show them in
/// any language.
pub(super) fn again(words: &str) -> Message {
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

#[cfg(test)]
mod tests {
    use super::{again, in_words};
    use assent_model::language::Language;

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
            assert_eq!(in_words(agent).plain(Language::English), words);
            assert_eq!(again(words), in_words(agent), "{words}");
        }
    }
}
