//! Redirect URIs: which ones an application can register, which ones a request may contain, and the address of the
//! response. An input is the type of application, the registered URI, the requested URI and a `state`.

#![no_main]

use assent_fuzz::lines;
use assent_model::application_type::ApplicationType;
use assent_model::redirect::{CheckedRedirect, RedirectUri};
use libfuzzer_sys::fuzz_target;
use url::Url;

/// Pages that a browser may show when it is redirected.
const PAGES: [&str; 2] = [
    "https://id.example/oidc/auth?x=1",
    "http://localhost:8080/login/1",
];

fuzz_target!(|input: &[u8]| {
    let Some([kind, registered, requested, state]) = lines(input) else {
        return;
    };
    let (kind, development) = match kind {
        "native" => (ApplicationType::Native, false),
        "spa in development" => (ApplicationType::Spa, true),
        _ => (ApplicationType::Web, false),
    };
    let Ok(uri) = RedirectUri::register(registered, kind, development) else {
        return;
    };
    assert_eq!(uri.as_str(), registered);
    let uris = [uri];
    let own = CheckedRedirect::find(&uris, registered);
    answer(&own.expect("a registered URI is found"), state);

    if let Some(found) = CheckedRedirect::find(&uris, requested) {
        assert_eq!(found.as_str(), requested);
        let same = match (loopback(registered), loopback(requested)) {
            (Some(registered), Some(requested)) => registered == requested,
            _ => registered == requested,
        };
        assert!(same, "{requested} was accepted for {registered}");
        answer(&found, state);
    }
});

/// Returns the host and the path of an `http` URI of a loopback address, without its port.
fn loopback(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("http://")?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = ["127.0.0.1", "[::1]"]
        .into_iter()
        .find(|host| authority.starts_with(host))?;
    let port = &authority[host.len()..];
    let is_port = |text: &str| {
        text.strip_prefix(':')
            .is_some_and(|digits| digits.parse::<u16>().is_ok())
    };
    (port.is_empty() || is_port(port)).then_some((host, path))
}

/// The response goes to the address of the URI, independent of the current page, and its headers can contain the URI.
fn answer(redirect: &CheckedRedirect, state: &str) {
    let sent = [
        ("code", "ac_x"),
        ("state", state),
        ("iss", "https://id.example/oidc"),
    ];
    let answer = redirect.with_query(&sent);
    assert!(
        answer.bytes().all(|byte| byte.is_ascii_graphic()),
        "{answer:?} is not a valid header value"
    );

    let before = Url::parse(redirect.as_str()).expect("an accepted URI is a URL");
    let after = Url::parse(&answer).expect("an answer is a URL");
    let place = |url: &Url| {
        let (host, path) = (url.host_str().map(str::to_owned), url.path().to_owned());
        (
            url.scheme().to_owned(),
            url.username().to_owned(),
            host,
            url.port(),
            path,
        )
    };
    assert_eq!(place(&before), place(&after));
    for page in PAGES {
        let from_there = Url::parse(page).and_then(|page| page.join(&answer));
        assert_eq!(
            from_there.as_ref(),
            Ok(&after),
            "a browser on {page} resolves another URL"
        );
    }
    let received: Vec<(String, String)> = after.query_pairs().into_owned().collect();
    let tail = received
        .get(received.len() - sent.len()..)
        .unwrap_or_default();
    assert!(
        tail.iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .eq(sent),
        "{received:?}"
    );

    let is_web = matches!(after.scheme(), "http" | "https");
    assert_eq!(redirect.takes_forms(), is_web);
    let source = redirect.form_action_source().expect("a URL has a scheme");
    let is_scheme = |word: &str| {
        word.strip_suffix(':')
            .is_some_and(|name| Url::parse(&format!("{name}://x")).is_ok())
    };
    assert!(
        source.split(' ').all(is_scheme),
        "{source:?} is more than schemes in a Content-Security-Policy"
    );
    assert!(
        source
            .split(' ')
            .any(|word| word.strip_suffix(':') == Some(after.scheme()))
    );
}
