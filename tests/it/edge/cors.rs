//! Cross-origin access (CORS).

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Log, Respond, TestHost, Text, http_client, id};

/// The origin of the single-page application.
const SPA: &str = "https://books.example";
/// The endpoints that such an application calls.
const SHARED: [(&str, &str); 8] = [
    ("GET", "/oidc/.well-known/openid-configuration"),
    ("GET", "/oidc/jwks"),
    ("GET", "/oidc/receipts/keys"),
    ("GET", "/oidc/me"),
    ("POST", "/oidc/me"),
    ("POST", "/oidc/token"),
    ("POST", "/oidc/token/revocation"),
    ("POST", "/oidc/par"),
];

async fn host_with(kind: &str, redirect_uri: &str) -> (TestHost, Value) {
    let host = TestHost::start().await;
    let application = register(&host, kind, redirect_uri).await;
    (host, application)
}

async fn register(host: &TestHost, kind: &str, redirect_uri: &str) -> Value {
    let body = json!({"name": "Books", "application_type": kind, "redirect_uris": [redirect_uri]});
    host.admin_ok(Method::POST, "/applications", body).await
}

async fn ask(host: &TestHost, method: &str, path: &str, headers: &[(&str, &str)]) -> Response {
    let method = Method::from_bytes(method.as_bytes()).expect("a method");
    let mut request = http_client().request(method, format!("{}{path}", host.base));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.response().await
}

fn allowed<'a>(response: &'a Response, header: &str) -> Option<&'a str> {
    response
        .headers()
        .get(format!("access-control-{header}"))
        .map(|value| value.text())
}

#[tokio::test]
async fn a_single_page_application_reads_responses_and_errors() {
    let (host, _) = host_with("spa", &format!("{SPA}/callback")).await;
    for (method, path) in SHARED {
        let response = ask(&host, method, path, &[("origin", SPA)]).await;
        assert_eq!(
            allowed(&response, "allow-origin"),
            Some(SPA),
            "{method} {path}"
        );
        assert_eq!(allowed(&response, "allow-credentials"), None, "{path}");
        assert_eq!(
            allowed(&response, "expose-headers"),
            Some("www-authenticate,retry-after,dpop-nonce"),
            "{path}"
        );
        let vary: Vec<_> = response.headers().get_all("vary").iter().collect();
        assert!(
            vary.iter().any(|name| *name == "origin"),
            "{path}: {vary:?}"
        );
        // Documents also have a representation for each coding.
        assert!(
            vary.iter()
                .all(|name| *name == "origin" || *name == "accept-encoding"),
            "{path}: {vary:?}"
        );
    }
    let response = ask(&host, "GET", "/oidc/me", &[("origin", SPA)]).await;
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    // Errors that occur before the endpoint receives the request.
    let refused = http_client()
        .post(format!("{}/oidc/token", host.base))
        .header("origin", SPA)
        .body("x".repeat(100_000));
    let refused = refused.response().await;
    assert_eq!(
        (refused.status(), allowed(&refused, "allow-origin")),
        (StatusCode::PAYLOAD_TOO_LARGE, Some(SPA))
    );
    let response = ask(&host, "DELETE", "/oidc/token", &[("origin", SPA)]).await;
    assert_eq!(
        (response.status(), allowed(&response, "allow-origin")),
        (StatusCode::METHOD_NOT_ALLOWED, Some(SPA))
    );
}

#[tokio::test]
async fn a_preflight_lists_methods_and_headers() {
    let (host, _) = host_with("spa", &format!("{SPA}/callback")).await;
    for (method, path) in SHARED {
        let headers = [
            ("origin", SPA),
            ("access-control-request-method", method),
            (
                "access-control-request-headers",
                "authorization,content-type,dpop",
            ),
        ];
        let response = ask(&host, "OPTIONS", path, &headers).await;
        assert!(response.status().is_success(), "{path}");
        assert_eq!(allowed(&response, "allow-origin"), Some(SPA), "{path}");
        assert_eq!(
            allowed(&response, "allow-methods"),
            Some("GET,POST"),
            "{path}"
        );
        assert_eq!(
            allowed(&response, "allow-headers"),
            Some("authorization,content-type,dpop"),
            "{path}"
        );
        assert_eq!(allowed(&response, "max-age"), Some("600"), "{path}");
        assert_eq!(allowed(&response, "allow-credentials"), None, "{path}");
    }
}

#[tokio::test]
async fn unregistered_origins_get_no_cors_headers() {
    let (host, _) = host_with("spa", &format!("{SPA}/callback")).await;
    register(&host, "web", "https://web.example/callback").await;
    for origin in [
        "null",
        "https://evil.example",
        "http://books.example",
        "https://books.example:8443",
        "https://books.example.evil.example",
        "https://evilbooks.example",
        "https://books.example/",
        "https://BOOKS.example",
        "https://web.example",
        "*",
        "",
    ] {
        for (method, path) in SHARED {
            let requested = [
                ("origin", origin),
                ("access-control-request-method", method),
            ];
            for (method, headers) in [(method, &requested[..1]), ("OPTIONS", &requested[..])] {
                let response = ask(&host, method, path, headers).await;
                assert_eq!(
                    allowed(&response, "allow-origin"),
                    None,
                    "{origin:?} {method} {path}"
                );
            }
        }
    }
}

#[tokio::test]
async fn endpoints_outside_cors_stay_closed() {
    let (host, _) = host_with("spa", &format!("{SPA}/callback")).await;
    for (method, path) in [
        ("GET", "/oidc/auth"),
        ("POST", "/oidc/auth"),
        ("POST", "/oidc/token/introspection"),
        ("GET", "/"),
        ("GET", "/admin"),
        ("GET", "/admin/api/v1/users"),
        ("GET", "/authenticator/api/requests"),
        ("GET", "/login/x"),
    ] {
        let requested = [("origin", SPA), ("access-control-request-method", method)];
        for (method, headers) in [(method, &requested[..1]), ("OPTIONS", &requested[..])] {
            let response = ask(&host, method, path, headers).await;
            assert_eq!(allowed(&response, "allow-origin"), None, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn origins_follow_their_applications_within_seconds() {
    let host = TestHost::start_with_settings("allow_insecure_redirect_uris = true").await;
    let origin = "http://localhost:3000";
    let may = async || {
        let response = ask(&host, "GET", "/oidc/jwks", &[("origin", origin)]).await;
        allowed(&response, "allow-origin").is_some()
    };
    assert!(!may().await);
    let application = register(&host, "spa", "http://localhost:3000/callback").await;
    host.advance(5);
    assert!(may().await);
    host.admin_ok(
        Method::DELETE,
        &format!("/applications/{}", id(&application)),
        Value::Null,
    )
    .await;
    host.advance(5);
    assert!(!may().await);
}

/// Requests from any number of origins query the database at most once a second.
#[tokio::test]
async fn unknown_origins_cause_no_queries() {
    let (host, _) = host_with("spa", &format!("{SPA}/callback")).await;
    let flood = async |from: usize| {
        for number in from..from + 20 {
            let origin = format!("https://{number}.evil.example");
            let response = ask(
                &host,
                "GET",
                "/oidc/.well-known/openid-configuration",
                &[("origin", &origin)],
            )
            .await;
            assert_eq!(allowed(&response, "allow-origin"), None);
        }
    };
    flood(0).await;
    // The database is closed, so each query causes an error in the log.
    host.host.store.close().await;
    let log = Log::capture();
    let queries = || {
        log.lines()
            .iter()
            .filter(|line| line.contains("origins of single-page applications"))
            .count()
    };
    flood(100).await;
    assert_eq!(queries(), 0);
    let response = ask(
        &host,
        "GET",
        "/oidc/.well-known/openid-configuration",
        &[("origin", SPA)],
    )
    .await;
    assert_eq!(
        allowed(&response, "allow-origin"),
        Some(SPA),
        "a known origin stays known"
    );
    host.advance(1);
    flood(200).await;
    assert_eq!(queries(), 1, "{:?}", log.lines());
}
