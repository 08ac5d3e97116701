//! Prebuilt responses equal those that the router builds for each request.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{Body, Browser, Json, TestHost, get, in_time, utf8};
use crate::saml::service_provider::TestServiceProvider;

const SPA: &str = "https://books.example";
const PATHS: [&str; 4] = [
    "/oidc/.well-known/openid-configuration",
    "/.well-known/oauth-authorization-server/oidc",
    "/oidc/jwks",
    "/healthz",
];

/// Returns the header lines, sorted, and the body of a response, without the date and the request id.
async fn response(
    host: &TestHost,
    method: &str,
    target: &str,
    headers: &str,
) -> (Vec<String>, String) {
    let address = host.base.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address.replace("localhost", "127.0.0.1"))
        .await
        .expect("a connection");
    let request = format!(
        "{method} {target} HTTP/1.1\r\nhost: {address}\r\n{headers}connection: close\r\n\r\n"
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
    (lines, body.to_owned())
}

/// Compares the prebuilt responses, and the kept ones, with those of the router, which answers requests with a query.
async fn assert_same_responses(host: &TestHost, paths: &[&str]) {
    for path in paths {
        for method in ["GET", "HEAD", "POST", "DELETE", "OPTIONS"] {
            for headers in [
                String::new(),
                format!("origin: {SPA}\r\n"),
                "origin: https://evil.example\r\n".to_owned(),
                "accept: text/html\r\nif-none-match: *\r\ncookie: a=b\r\n".to_owned(),
            ] {
                // Each error page has a reference number of its own.
                if headers.starts_with("accept") && !matches!(method, "GET" | "HEAD") {
                    continue;
                }
                let built = response(host, method, &format!("{path}?x"), &headers).await;
                for _ in 0..2 {
                    assert_eq!(
                        response(host, method, path, &headers).await,
                        built,
                        "{method} {path} {headers}"
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn prebuilt_responses_equal_those_of_the_router() {
    let host = TestHost::start().await;
    let body = json!({
        "name": "Books", "application_type": "spa", "redirect_uris": [format!("{SPA}/callback")],
    });
    host.admin_ok(Method::POST, "/applications", body).await;
    let provider = TestServiceProvider::register(&host, json!({})).await;
    let metadata = format!("/sso/metadata/{}", provider.id);
    let paths = [PATHS.as_slice(), &[&metadata]].concat();
    assert_same_responses(&host, &paths).await;
    let (lines, _) = response(&host, "GET", "/oidc/jwks", &format!("origin: {SPA}\r\n")).await;
    for expected in [
        "HTTP/1.1 200 OK",
        "content-type: application/json",
        "cache-control: public, max-age=300",
        "access-control-allow-origin: https://books.example",
        "x-content-type-options: nosniff",
    ] {
        assert!(
            lines.iter().any(|line| line == expected),
            "{expected}: {lines:?}"
        );
    }
    let (lines, body) = response(&host, "POST", "/oidc/jwks", "").await;
    assert!(
        lines.iter().any(|line| line.starts_with("HTTP/1.1 405 ")),
        "{lines:?}"
    );
    assert_eq!(body, "");
    let long = format!("x-large: {}\r\n", "x".repeat(34 * 1024));
    let (lines, _) = response(&host, "GET", "/oidc/jwks", &long).await;
    assert!(
        lines.iter().any(|line| line.starts_with("HTTP/1.1 431 ")),
        "{lines:?}"
    );

    // While the instance drains, its responses announce the end of the connection.
    let browser = Browser::new(&host.base);
    assert_eq!(
        browser.get("/oidc/jwks").await.headers.get("connection"),
        None
    );
    host.host.draining.begin();
    for path in &paths {
        assert_eq!(
            browser.get(path).await.headers["connection"],
            "close",
            "{path}"
        );
    }
    assert_same_responses(&host, &paths).await;
}

#[tokio::test]
async fn prebuilt_responses_need_no_database_and_follow_the_keys() {
    let host = TestHost::start().await;
    let served = async || {
        let set: Value = get(format!("{}/oidc/jwks", host.base))
            .await
            .read_json()
            .await;
        set["keys"].items().len()
    };
    assert_eq!(served().await, 2);
    host.admin_ok(Method::POST, "/keys/rotate", json!({})).await;
    assert_eq!(served().await, 4);
    host.host.store.close().await;
    assert_eq!(served().await, 4);
    // By then the next keys sign, and the former keys have left the set after two days.
    host.advance(3 * 24 * 60 * 60);
    assert_eq!(served().await, 2);
    assert_same_responses(&host, &PATHS).await;
}
