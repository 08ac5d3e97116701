//! Header fields as browsers, proxies and other programs of the same site send them: any octets that RFC 9110 section
//! 5.5 permits, repeated fields, and many cookies. They change no outcome.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, StatusCode};

use crate::harness::{Browser, Respond, TestHost, TestUser};

/// A field line of a request.
type Line = (HeaderName, Vec<u8>);

/// The octets of a field value: HTAB, SP, VCHAR and obs-text.
fn octets() -> impl Strategy<Value = Vec<u8>> {
    let octet = prop_oneof![Just(b'\t'), 0x20..=0x7e_u8, 0x80..=0xff_u8];
    vec(octet, 0..40)
}

/// The pair of another program's cookie. A semicolon separates pairs.
fn foreign_pair() -> impl Strategy<Value = Vec<u8>> {
    ("[a-zA-Z_.-]{1,12}", octets()).prop_map(|(name, mut value)| {
        value.retain(|octet| *octet != b';');
        [name.as_bytes(), b"=", &value].concat()
    })
}

/// Lines that the server does not read, or that only give a hint about the browser.
fn foreign_lines() -> impl Strategy<Value = Vec<Line>> {
    let names = [
        "accept",
        "accept-language",
        "dnt",
        "forwarded",
        "from",
        "if-none-match",
        "pragma",
        "priority",
        "referer",
        "sec-ch-ua",
        "tracestate",
        "traceparent",
        "user-agent",
        "via",
        "x-forwarded-for",
        "x-forwarded-proto",
        "x-request-id",
        "x-requested-with",
    ];
    let name = proptest::sample::select(names.to_vec()).prop_map(HeaderName::from_static);
    vec((name, octets()), 0..12)
}

fn with(request: RequestBuilder, lines: &[Line]) -> RequestBuilder {
    lines.iter().fold(request, |request, (name, value)| {
        let value = HeaderValue::from_bytes(value).expect("octets of a field value");
        request.header(name.clone(), value)
    })
}

fn cookie(value: impl Into<Vec<u8>>) -> Line {
    (reqwest::header::COOKIE, value.into())
}

/// The browser's own cookies, between pairs of other programs.
fn among(browser: &Browser, before: &[u8], after: &[u8]) -> Line {
    let own = browser.cookie_header();
    cookie([before, b"; ", own.as_bytes(), b"; ", after].concat())
}

/// The outcome of a request without a page, which needs the session.
async fn silent_outcome(browser: &Browser, ada: &TestUser, lines: &[Line]) -> (StatusCode, String) {
    let address = ada.application.request(&[("prompt", Some("none"))]);
    let response = with(browser.request(Method::GET, &address), lines)
        .response()
        .await;
    let location = response
        .headers()
        .get("location")
        .map(HeaderValue::as_bytes);
    let location = String::from_utf8_lossy(location.unwrap_or_default()).into_owned();
    let parameters = location.split_once('?').map_or("", |(_, query)| query);
    let names = url::form_urlencoded::parse(parameters.as_bytes())
        .map(|(name, value)| match &*name {
            "code" => "code".to_owned(),
            _ => format!("{name}={value}"),
        })
        .collect::<Vec<_>>();
    (response.status(), names.join(" "))
}

async fn signed_in(host: &TestHost) -> (TestUser, Browser) {
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    (ada, browser)
}

#[tokio::test]
async fn no_octet_of_a_foreign_cookie_or_header_changes_the_outcome() {
    let host = TestHost::start().await;
    let (ada, browser) = signed_in(&host).await;
    let expected = silent_outcome(&browser, &ada, &[]).await;
    assert_eq!(expected.0, StatusCode::SEE_OTHER);
    assert!(expected.1.starts_with("code "), "{expected:?}");
    // Each octet by itself, 32 in each request.
    let all: Vec<u8> = (0x20..=0xff)
        .filter(|octet| *octet != 0x7f)
        .chain([b'\t'])
        .collect();
    for some in all.chunks(32) {
        let pairs = some.iter().filter(|octet| **octet != b';');
        let pairs: Vec<Vec<u8>> = pairs
            .map(|octet| [b"city=K".as_slice(), &[*octet], b"ln"].concat())
            .collect();
        let lines = [among(&browser, &pairs.join(b"; ".as_slice()), b"x=\xf6")];
        assert_eq!(
            silent_outcome(&browser, &ada, &lines).await,
            expected,
            "{some:x?}"
        );
    }
    let mut runner = TestRunner::deterministic();
    for _ in 0..96 {
        let (before, after, mut lines) = (foreign_pair(), foreign_pair(), foreign_lines())
            .new_tree(&mut runner)
            .expect("a request")
            .current();
        lines.push(among(&browser, &before, &after));
        let outcome = silent_outcome(&browser, &ada, &lines).await;
        assert_eq!(outcome, expected, "{lines:x?}");
    }
}

#[tokio::test]
async fn sixty_cookies_in_one_line_or_in_sixty_change_nothing() {
    let host = TestHost::start().await;
    let (ada, browser) = signed_in(&host).await;
    let expected = silent_outcome(&browser, &ada, &[]).await;
    let foreign: Vec<Vec<u8>> = (0..60)
        .map(|number| {
            let name = format!("_app_{number}=");
            [name.as_bytes(), b"K\xf6ln ", &[b'v'; 300]].concat()
        })
        .collect();
    let joined = foreign.join(b"; ".as_slice());
    let one_line = [among(&browser, &joined, b"last=1")];
    assert_eq!(silent_outcome(&browser, &ada, &one_line).await, expected);
    // HTTP/2 sends each pair in a line of its own, and a proxy may pass them on like this.
    let mut lines: Vec<Line> = foreign.into_iter().map(cookie).collect();
    for pair in browser.cookie_header().split("; ") {
        lines.push(cookie(pair.as_bytes()));
    }
    assert_eq!(silent_outcome(&browser, &ada, &lines).await, expected);
}

#[tokio::test]
async fn a_new_sign_in_and_a_sign_out_work_beside_a_foreign_cookie() {
    let host = TestHost::start().await;
    let (ada, browser) = signed_in(&host).await;
    let page = browser.get("/session/end").await;
    let form = [("csrf", page.csrf()), ("answer", "yes".to_owned())];
    let lines = [among(&browser, b"city=K\xf6ln", b"theme=\xff")];
    let ended = with(browser.request(Method::POST, "/session/end"), &lines)
        .form(&form)
        .response()
        .await;
    assert_eq!(ended.status(), StatusCode::SEE_OTHER);
    let (_, outcome) = silent_outcome(&browser, &ada, &[]).await;
    assert!(outcome.contains("error=login_required"), "{outcome}");
    // A copy of the cookie, which the browser no longer has, is not accepted either.
    let (_, outcome) = silent_outcome(&browser, &ada, &lines).await;
    assert!(outcome.contains("error=login_required"), "{outcome}");
    let login = ada.application.request(&[]);
    let begun = with(browser.request(Method::GET, &login), &lines)
        .response()
        .await;
    let location = begun.headers()["location"]
        .to_str()
        .expect("text")
        .to_owned();
    let page = with(browser.request(Method::GET, &location), &lines)
        .response()
        .await;
    assert_eq!(page.status(), StatusCode::OK);
}

#[tokio::test]
async fn octets_above_ascii_hide_neither_the_language_nor_the_browser_nor_the_coding() {
    let host = TestHost::start().await;
    let browser = Browser::new(&host.base);
    for languages in [b"x-K\xf6ln, de;q=0.9".as_slice(), b"\xff,de"] {
        let lines = [(reqwest::header::ACCEPT_LANGUAGE, languages.to_vec())];
        let page = with(browser.request(Method::GET, "/"), &lines)
            .response()
            .await;
        assert_eq!(page.headers()["content-language"], "de");
    }
    let ada = host.ada().await;
    let page = ada.application.login_page(&browser, &[]).await;
    let agent = b"Mozilla/5.0 (Windows; K\xf6ln; rv:128.0) Gecko/20100101 Firefox/128.0 \xff";
    let lines = [(reqwest::header::USER_AGENT, agent.to_vec())];
    let form = [("csrf", page.csrf()), ("name", "ada".to_owned())];
    let sent = with(browser.request(Method::POST, &page.path()), &lines)
        .form(&form)
        .response()
        .await;
    assert_eq!(sent.status(), StatusCode::SEE_OTHER);
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(request.browser, "Firefox on Windows");

    let lines = [(reqwest::header::ACCEPT_ENCODING, b"K\xf6ln, gzip".to_vec())];
    let discovery = "/oidc/.well-known/openid-configuration";
    let discovery = with(browser.request(Method::GET, discovery), &lines)
        .response()
        .await;
    assert_eq!(discovery.headers()["content-encoding"], "gzip");
    let repeated = [
        (reqwest::header::ACCEPT_LANGUAGE, b"fr;q=0.9".to_vec()),
        (reqwest::header::ACCEPT_LANGUAGE, b"de;q=0.8".to_vec()),
    ];
    let page = with(browser.request(Method::GET, "/"), &repeated)
        .response()
        .await;
    assert_eq!(page.headers()["content-language"], "de");
}
