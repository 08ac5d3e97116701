//! The short way gives the same responses as the router, which answers calls with a query, and requests for pages with
//! a body in parts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{
    Application, Body, Browser, Database, TestHost, TestUser, Text, http_client, in_time, utf8,
};
use crate::saml::service_provider::TestServiceProvider;

/// A call: the method, the path, the headers and the body.
type Call = (&'static str, &'static str, String, String);

/// Returns the header lines, sorted, and the body of a response, without the date and the request id.
async fn response(host: &TestHost, call: &Call, query: &str) -> (Vec<String>, String) {
    let (method, path, headers, body) = call;
    let address = host.base.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address.replace("localhost", "127.0.0.1"))
        .await
        .expect("a connection");
    let request = format!(
        "{method} {path}{query} HTTP/1.1\r\nhost: {address}\r\n{headers}connection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.expect("written");
    let mut bytes = Vec::new();
    in_time(stream.read_to_end(&mut bytes)).await.expect("read");
    let text = utf8(bytes);
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let lines = head
        .split("\r\n")
        .filter(|line| !line.starts_with("date: ") && !line.starts_with("x-request-id: "));
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    lines.sort();
    // An error of the server has a reference number of its own.
    let body = match body.split_once("(reference ") {
        Some((before, _)) => before,
        None => body,
    };
    (lines, body.to_owned())
}

fn form(more: &str, body: &str) -> (String, String) {
    let length = body.len();
    let headers = format!(
        "content-type: application/x-www-form-urlencoded\r\ncontent-length: {length}\r\n{more}"
    );
    (headers, body.to_owned())
}

fn basic(application: &Application, secret: &str) -> String {
    let credentials = STANDARD.encode(format!("{}:{secret}", application.id.replace(':', "%3A")));
    format!("authorization: Basic {credentials}\r\n")
}

/// Calls of every kind: valid ones whose responses do not change, and those that a check rejects.
fn calls(application: &Application, token: &str) -> Vec<Call> {
    let right = basic(
        application,
        application.secret.as_deref().expect("a secret"),
    );
    let wrong = basic(application, "wrong");
    let mut calls: Vec<Call> = Vec::new();
    for path in ["/oidc/token", "/oidc/token/introspection"] {
        let body = format!("token={token}");
        let accept = format!("{right}accept: text/html\r\n");
        for (more, body) in [
            (right.as_str(), body.as_str()),
            (&wrong, &body),
            ("", &body),
            (&accept, &body),
            (&right, ""),
            (&right, "token=a&token=b"),
            (&right, "token=%zz"),
            (&right, "token=%00"),
            (&right, "grant_type=unknown"),
            (&right, "grant_type=authorization_code&code=x"),
            (&right, "grant_type=refresh_token&refresh_token=x"),
            (&right, &format!("token={}", "x".repeat(20_000))),
            (&right, &format!("token={}", "x".repeat(33_000))),
            ("authorization: Basic !\r\n", &body),
            ("authorization: Bearer x\r\n", &body),
            ("client-cert: nonsense\r\n", &body),
            ("sec-fetch-site: cross-site\r\n", &body),
            ("sec-fetch-site: same-origin\r\n", &body),
            ("origin: https://evil.example\r\n", &body),
        ] {
            let (headers, body) = form(more, body);
            calls.push(("POST", path, headers, body));
        }
        let json = format!("{right}content-type: application/json\r\ncontent-length: 2\r\n");
        calls.push(("POST", path, json, "{}".to_owned()));
        let chunked = format!(
            "{right}content-type: application/x-www-form-urlencoded\r\ntransfer-encoding: chunked\r\n"
        );
        calls.push((
            "POST",
            path,
            chunked,
            "7\r\ntoken=x\r\n0\r\n\r\n".to_owned(),
        ));
        let long = format!("{right}x-large: {}\r\n", "x".repeat(34 * 1024));
        let (headers, body) = form(&long, "token=x");
        calls.push(("POST", path, headers, body));
        for method in ["GET", "HEAD", "PUT", "OPTIONS"] {
            calls.push((method, path, right.clone(), String::new()));
        }
    }
    for headers in [
        format!("authorization: Bearer {token}\r\n"),
        format!("authorization: Bearer {token}\r\naccept: text/html\r\n"),
        format!("authorization: Bearer {token}\r\norigin: https://evil.example\r\n"),
        format!(
            "authorization: Bearer {token}\r\nx-large: {}\r\n",
            "x".repeat(34 * 1024)
        ),
        "authorization: Bearer x\r\n".to_owned(),
        "authorization: Basic x\r\n".to_owned(),
        String::new(),
    ] {
        for method in ["GET", "HEAD", "POST"] {
            calls.push((method, "/oidc/me", headers.clone(), String::new()));
        }
    }
    let (headers, body) = form("", &format!("access_token={token}"));
    calls.push(("POST", "/oidc/me", headers.clone(), body.clone()));
    calls.push(("GET", "/oidc/me", headers, body));
    calls
}

async fn assert_same_responses(host: &TestHost, calls: &[Call]) {
    for call in calls {
        let routed = response(host, call, "?x").await;
        let short = response(host, call, "").await;
        let (method, path, headers, body) = call;
        // A page has a reference number of its own.
        let is_page = routed.1.starts_with("<!");
        let (short, routed) = match is_page {
            true => ((short.0, String::new()), (routed.0, String::new())),
            false => (short, routed),
        };
        let start = |text: &str| text.chars().take(300).collect::<String>();
        assert_eq!(
            short,
            routed,
            "{method} {path} {} {}",
            start(headers),
            start(body)
        );
    }
}

async fn prepared(settings: &str) -> (TestHost, Vec<Call>) {
    let host = TestHost::start_on_with(Database::Sqlite, settings).await;
    let ada = host.ada().await;
    let tokens = ada.tokens(&host, &Browser::new(&host.base)).await;
    let calls = calls(&ada.application, tokens["access_token"].text());
    (host, calls)
}

#[tokio::test]
async fn each_call_gets_the_response_of_the_router() {
    let unlimited = "[rate_limits]\ntoken_requests_per_ip = { per_minute = 0, burst = 1 }\n\
                     client_auth_failures = { per_minute = 0, burst = 1 }";
    let (host, calls) = prepared(unlimited).await;
    assert_same_responses(&host, &calls).await;
    host.host.draining.begin();
    assert_same_responses(&host, &calls).await;
    host.host.store.close().await;
    assert_same_responses(&host, &calls).await;
}

#[tokio::test]
async fn calls_above_the_rate_limit_get_the_response_of_the_router() {
    let (host, calls) =
        prepared("[rate_limits]\ntoken_requests_per_ip = { per_minute = 1, burst = 3 }").await;
    for call in &calls {
        response(&host, call, "").await;
    }
    assert_same_responses(&host, &calls).await;
}

/// Both ways count in the same metrics.
#[tokio::test]
async fn both_ways_are_counted() {
    let (host, calls) = prepared("[metrics]\nlisten = \"127.0.0.1:0\"").await;
    let counted = async || {
        let metrics = http_client().get(host.metrics_url());
        let text = metrics.send().await.expect("an answer").read_text().await;
        let lines = text
            .lines()
            .filter(|line| line.starts_with("assent_http_requests_total"));
        let counts = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        counts.sum::<f64>()
    };
    let before = counted().await;
    let of_each = calls.iter().take(10);
    for call in of_each {
        response(&host, call, "?x").await;
        response(&host, call, "").await;
    }
    assert!((counted().await - before - 20.0).abs() < 0.5);
}

/// Requests for the pages of a sign-on: valid ones, and those that a check rejects. The address is the path with its
/// query.
fn pages(ada: &TestUser, service_provider: &str, browser: &Browser) -> Vec<(String, String)> {
    let valid = ada.application.request(&[]);
    let sso = format!("/sso/SingleSignOnService/{service_provider}");
    let signed_in = format!("cookie: {}\r\n", browser.cookie_header());
    let mut pages = Vec::new();
    for address in [
        valid.clone(),
        format!("{valid}&prompt=none"),
        format!("{valid}&prompt=login"),
        format!("{valid}&response_mode=form_post"),
        format!("{valid}&scope=email"),
        format!("{valid}&state=%00"),
        format!("{valid}&state={}", "x".repeat(17_000)),
        format!("{valid}&ui_locales=de"),
        "/oidc/auth".to_owned(),
        "/oidc/auth?client_id=did:web:unknown".to_owned(),
        "/oidc/auth?client_id=%zz".to_owned(),
        sso.clone(),
        format!("{sso}?RelayState=x"),
        format!("{sso}?SAMLRequest=nonsense"),
        format!("{sso}?SAMLRequest=%00"),
        "/sso/SingleSignOnService/unknown?SAMLRequest=nonsense".to_owned(),
    ] {
        for headers in [
            "",
            &signed_in,
            "cookie: assent_session=x\r\n",
            "accept: application/json\r\n",
            "accept-language: de\r\n",
            "sec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\nsec-fetch-dest: document\r\n",
            "sec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\nsec-fetch-dest: iframe\r\n",
            "sec-fetch-site: cross-site\r\nsec-fetch-mode: no-cors\r\nsec-fetch-dest: image\r\n",
            "origin: https://evil.example\r\n",
        ] {
            pages.push((address.clone(), headers.to_owned()));
        }
    }
    let large = format!("x-large: {}\r\n", "x".repeat(34 * 1024));
    pages.push((valid, large));
    pages
}

/// Replaces the random parts of a page's response: codes, ids of logins and of the page, and secrets.
fn without_random((lines, body): (Vec<String>, String)) -> (Vec<String>, String) {
    let lines = lines.into_iter().filter_map(|line| {
        let (name, value) = line.split_once(": ").unwrap_or((&line, ""));
        let kept = match name {
            "content-length" => return None,
            "content-security-policy" => value.split("'nonce-").next()?,
            "location" => value.split("code=").next()?.split("/login/").next()?,
            "set-cookie" => value.split('=').next()?,
            _ => value,
        };
        Some(format!("{name}: {kept}"))
    });
    let title = body.split("</title>").next().unwrap_or_default();
    (lines.collect(), title.to_owned())
}

async fn assert_same_pages(host: &TestHost, pages: &[(String, String)]) {
    for (address, headers) in pages {
        let parts = format!("{headers}transfer-encoding: chunked\r\n");
        let (path, query) = address.split_at(address.find('?').unwrap_or(address.len()));
        let path: &'static str = path.to_owned().leak();
        let routed = ("GET", path, parts, "0\r\n\r\n".to_owned());
        let routed = without_random(response(host, &routed, query).await);
        let short = ("GET", path, headers.clone(), String::new());
        let short = without_random(response(host, &short, query).await);
        let start: String = format!("{address} {headers}").chars().take(400).collect();
        assert_eq!(short, routed, "{start}");
    }
}

async fn prepared_pages(settings: &str) -> (TestHost, Vec<(String, String)>) {
    let host = TestHost::start_on_with(Database::Sqlite, settings).await;
    let ada = host.ada().await;
    let provider = TestServiceProvider::register(&host, serde_json::json!({})).await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let pages = pages(&ada, &provider.id, &browser);
    (host, pages)
}

#[tokio::test]
async fn each_page_is_that_of_the_router() {
    let unlimited = "[rate_limits]\nlogin_pages_per_ip = { per_minute = 0, burst = 1 }";
    let (host, pages) = prepared_pages(unlimited).await;
    assert_same_pages(&host, &pages).await;
    host.host.draining.begin();
    assert_same_pages(&host, &pages).await;
    host.host.store.close().await;
    assert_same_pages(&host, &pages).await;
}

#[tokio::test]
async fn pages_above_the_rate_limit_are_those_of_the_router() {
    let (host, pages) =
        prepared_pages("[rate_limits]\nlogin_pages_per_ip = { per_minute = 1, burst = 20 }").await;
    for (address, headers) in pages.iter().take(30) {
        let path: &'static str = address.clone().leak();
        response(&host, &("GET", path, headers.clone(), String::new()), "").await;
    }
    assert_same_pages(&host, &pages).await;
}
