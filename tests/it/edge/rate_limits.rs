//! The rate limits: reached, reported and expired.

use std::time::Duration;

use assent::domain::admin;
use assent_model::token_text;
use futures_util::{StreamExt, stream};
use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{
    Body, Browser, Parsed, Respond, TestHost, Text, http_client, http_client_builder, in_time,
    parse_json,
};

async fn host_with(limits: &str) -> TestHost {
    let settings = format!("[http]\ntrusted_proxies = [\"127.0.0.1\"]\n[rate_limits]\n{limits}\n");
    TestHost::start_with_settings(&settings).await
}

/// Sends a request of a client with this IP address, which the trusted proxy reports.
async fn ask(
    host: &TestHost,
    method: Method,
    path: &str,
    from: &str,
    form: &[(&str, &str)],
) -> Answer {
    let request = http_client_builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client");
    let mut request = request
        .request(method.clone(), format!("{}{path}", host.base))
        .header("x-forwarded-for", from);
    if method == Method::POST {
        request = request.form(form);
    }
    let response = request.response().await;
    let (status, headers) = (response.status(), response.headers().clone());
    Answer {
        status,
        headers,
        body: response.read_text().await,
    }
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    /// Checks that the response is 429 (Too Many Requests). Returns its `Retry-After` in seconds.
    fn retry_after(&self) -> u64 {
        assert_eq!(self.status, StatusCode::TOO_MANY_REQUESTS, "{}", self.body);
        self.headers["retry-after"].text().parsed()
    }

    fn json(&self) -> Value {
        parse_json(&self.body)
    }
}

#[tokio::test]
async fn login_pages_are_limited_per_ip() {
    let host = host_with("login_pages_per_ip = { per_minute = 6, burst = 2 }").await;
    let get = async |path, from| ask(&host, Method::GET, path, from, &[]).await;
    assert_eq!(
        get("/oidc/auth", "192.0.2.1").await.status,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(
        get("/login/x", "192.0.2.1").await.status,
        StatusCode::NOT_FOUND
    );
    let refused = get("/oidc/auth", "192.0.2.1").await;
    assert_eq!(refused.retry_after(), 10);
    assert!(
        refused.headers["content-type"]
            .text()
            .starts_with("text/html")
    );
    for text in [
        "Too many sign-ins",
        "from your network",
        "Wait 10 seconds and",
        "href=\"/oidc/auth\">Try again</a>",
    ] {
        assert!(refused.body.contains(text), "{text}: {}", refused.body);
    }
    assert!(!refused.body.contains("this name"), "no name was entered");
    // The link repeats the request. An attacker cannot change its target or its text.
    let refused = get("/oidc/auth?state=x&a=\"><b>", "192.0.2.1").await;
    let address = "href=\"/oidc/auth?state=x&#38;a=%22%3E%3Cb%3E\">Try again</a>";
    assert!(refused.body.contains(address), "{}", refused.body);
    let posted = ask(
        &host,
        Method::POST,
        "/oidc/auth",
        "192.0.2.1",
        &[("state", "x")],
    )
    .await;
    assert_eq!(posted.retry_after(), 10);
    assert!(
        posted.body.contains("href=\"/\">Start page</a>"),
        "{}",
        posted.body
    );
    // Other clients and other pages are not affected.
    assert_eq!(
        get("/oidc/auth", "192.0.2.2").await.status,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(get("/", "192.0.2.1").await.status, StatusCode::OK);
    host.advance(9);
    let refused = get("/oidc/auth", "192.0.2.1").await;
    assert_eq!(refused.retry_after(), 1);
    assert!(
        refused.body.contains("Wait 1 second and"),
        "{}",
        refused.body
    );
    host.advance(1);
    assert_eq!(
        get("/oidc/auth", "192.0.2.1").await.status,
        StatusCode::BAD_REQUEST
    );
}

#[tokio::test]
async fn console_sign_ins_are_limited_per_ip() {
    let host = host_with("login_pages_per_ip = { per_minute = 6, burst = 2 }").await;
    let get = async |path, from| ask(&host, Method::GET, path, from, &[]).await;
    for _ in 0..2 {
        assert_eq!(
            get("/admin", "192.0.2.1").await.status,
            StatusCode::SEE_OTHER
        );
    }
    let refused = get("/admin", "192.0.2.1").await;
    assert_eq!(refused.retry_after(), 10);
    assert!(
        refused.body.contains("href=\"/admin\">Try again</a>"),
        "{}",
        refused.body
    );
    assert_eq!(
        get("/sign-in", "192.0.2.1").await.retry_after(),
        10,
        "both count together"
    );
    // Requests without a write are not affected. Neither are other clients.
    assert_eq!(
        get("/admin/users", "192.0.2.1").await.status,
        StatusCode::OK
    );
    assert_eq!(
        get("/admin", "192.0.2.2").await.status,
        StatusCode::SEE_OTHER
    );
    host.advance(10);
    assert_eq!(
        get("/admin", "192.0.2.1").await.status,
        StatusCode::SEE_OTHER
    );
}

/// Each logout request may cost a signature, even without authentication.
#[tokio::test]
async fn logout_requests_are_limited_per_ip() {
    let host = host_with("login_pages_per_ip = { per_minute = 6, burst = 2 }").await;
    let endpoints = [
        (Method::GET, "/oidc/session/end"),
        (Method::POST, "/oidc/session/end"),
        (Method::GET, "/session/end"),
        (Method::POST, "/session/end"),
        (Method::GET, "/sso/SingleLogoutService/x"),
        (Method::POST, "/sso/SingleLogoutService/x"),
        (Method::GET, "/sso/logout/x"),
        (Method::GET, "/sso/logout/x/y"),
    ];
    let call = async |method: &Method, path: &str, from: &str| {
        ask(&host, method.clone(), path, from, &[]).await
    };
    for (number, (method, path)) in endpoints.iter().enumerate() {
        let from = format!("192.0.2.{number}");
        for _ in 0..2 {
            let answer = call(method, path, &from).await;
            assert_ne!(
                answer.status,
                StatusCode::TOO_MANY_REQUESTS,
                "{method} {path}: {}",
                answer.body
            );
        }
        let refused = call(method, path, &from).await;
        assert_eq!(refused.retry_after(), 10, "{method} {path}");
        assert!(
            refused.headers["content-type"]
                .text()
                .starts_with("text/html"),
            "{method} {path}"
        );
        // All of these endpoints share one limit. Sign-ins have a limit of their own.
        for (method, path) in &endpoints {
            assert_eq!(
                call(method, path, &from).await.status,
                StatusCode::TOO_MANY_REQUESTS,
                "{method} {path}"
            );
        }
        assert_eq!(
            call(&Method::GET, "/oidc/auth", &from).await.status,
            StatusCode::BAD_REQUEST,
            "{from}"
        );
    }
    let (method, path) = &endpoints[0];
    assert_ne!(
        call(method, path, "192.0.2.100").await.status,
        StatusCode::TOO_MANY_REQUESTS,
        "other networks continue"
    );
    host.advance(10);
    for (number, (method, path)) in endpoints.iter().enumerate() {
        let answer = call(method, path, &format!("192.0.2.{number}")).await;
        assert_ne!(
            answer.status,
            StatusCode::TOO_MANY_REQUESTS,
            "{method} {path}: {}",
            answer.body
        );
    }
}

#[tokio::test]
async fn ipv6_rate_limits_apply_to_the_network_prefix() {
    let host = host_with("login_pages_per_ip = { per_minute = 6, burst = 1 }").await;
    let get = async |from| ask(&host, Method::GET, "/oidc/auth", from, &[]).await;
    assert_eq!(get("2001:db8::1").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(get("2001:db8::ffff:1").await.retry_after(), 10);
    assert_eq!(get("2001:db8:0:1::1").await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_client_cannot_forge_its_ip() {
    let host = host_with("login_pages_per_ip = { per_minute = 6, burst = 1 }").await;
    let get = async |from| ask(&host, Method::GET, "/oidc/auth", from, &[]).await;
    assert_eq!(
        get("198.51.100.1, 192.0.2.1").await.status,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(get("198.51.100.2, 192.0.2.1").await.retry_after(), 10);
    // Without a trusted proxy, the server ignores the header.
    let settings = "[rate_limits]\nlogin_pages_per_ip = { per_minute = 6, burst = 1 }\n";
    let host = TestHost::start_with_settings(settings).await;
    assert_eq!(
        ask(&host, Method::GET, "/oidc/auth", "192.0.2.1", &[])
            .await
            .status,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(
        ask(&host, Method::GET, "/oidc/auth", "192.0.2.2", &[])
            .await
            .retry_after(),
        10
    );
}

#[tokio::test]
async fn prompts_are_limited_per_name_whether_or_not_it_exists() {
    let host = host_with("sign_ins_per_user_name = { per_minute = 6, burst = 2 }").await;
    let ada = host.ada().await;
    for name in ["ada", "nobody"] {
        let identify = async |typed: &str| {
            let login = ada
                .application
                .login_page(&Browser::new(&host.base), &[])
                .await;
            login.submit(&login.path(), &[("name", typed)]).await
        };
        assert_eq!(identify(name).await.status, StatusCode::SEE_OTHER);
        assert_eq!(
            identify(&format!(" {} ", name.to_uppercase())).await.status,
            StatusCode::SEE_OTHER
        );
        let refused = identify(name).await;
        assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{name}");
        assert_eq!(refused.headers["retry-after"], "10", "{name}");
        assert!(
            refused.body.contains("with this name") && refused.body.contains("Wait 10 seconds"),
            "{}",
            refused.body
        );
        let again = format!("href=\"{}\">Try again</a>", refused.path());
        assert!(
            refused.body.contains(&again) && refused.again().await.body.contains("name=\"name\""),
            "{again}"
        );
        host.advance(10);
        assert_eq!(identify(name).await.status, StatusCode::SEE_OTHER, "{name}");
    }
}

#[tokio::test]
async fn limits_per_ip_return_an_oauth_error() {
    let host = host_with("token_requests_per_ip = { per_minute = 60, burst = 1 }").await;
    let call = async |from| {
        ask(
            &host,
            Method::POST,
            "/oidc/token",
            from,
            &[("client_id", "x")],
        )
        .await
    };
    assert_eq!(call("192.0.2.1").await.status, StatusCode::UNAUTHORIZED);
    let refused = call("192.0.2.1").await;
    assert_eq!(refused.retry_after(), 1);
    assert_eq!(refused.json()["error"], "temporarily_unavailable");
    assert!(refused.json()["error_description"].is_string());
    assert_eq!(refused.headers["cache-control"], "no-store");
    host.advance(1);
    assert_eq!(call("192.0.2.1").await.json()["error"], "invalid_client");
}

#[tokio::test]
async fn client_auth_failures_are_limited_and_successes_do_not_count() {
    let host = host_with("client_auth_failures = { per_minute = 6, burst = 3 }").await;
    let (web, other) = (host.web_application().await, host.web_application().await);
    let url = format!("{}/oidc/token", host.base);
    let call = async |id: &str, secret: &str, from: &str| {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", "x"),
            ("redirect_uri", "x"),
        ];
        let request = http_client()
            .post(&url)
            .header("x-forwarded-for", from)
            .basic_auth(id, Some(secret))
            .form(&form);
        let response = request.response().await;
        let retry_after = response
            .headers()
            .get("retry-after")
            .map(|value| value.text().to_owned());
        let body: Value = response.read_json().await;
        (body["error"].text().to_owned(), retry_after)
    };
    let good = web.secret.as_deref().expect("a secret");
    let passed = ("invalid_grant".to_owned(), None);
    let failed = ("invalid_client".to_owned(), None);
    let held = ("temporarily_unavailable".to_owned(), Some("10".to_owned()));
    for _ in 0..20 {
        assert_eq!(call(&web.id, good, "192.0.2.1").await, passed);
    }
    for _ in 0..3 {
        assert_eq!(call(&web.id, "guess", "192.0.2.1").await, failed);
    }
    assert_eq!(call(&web.id, "guess", "192.0.2.1").await, held);
    // A colleague's guesses do not block the application: the correct secret passes, and clears the count.
    assert_eq!(call(&web.id, good, "192.0.2.1").await, passed);
    for _ in 0..3 {
        assert_eq!(call(&web.id, "guess", "192.0.2.1").await, failed);
    }
    assert_eq!(call(&web.id, "guess", "192.0.2.1").await, held);
    // The limit affects neither the application at another address nor another application at the same address.
    assert_eq!(call(&web.id, good, "192.0.2.2").await, passed);
    assert_eq!(call(&other.id, "guess", "192.0.2.1").await, failed);
    host.advance(10);
    assert_eq!(call(&web.id, good, "192.0.2.1").await, passed);
}

#[tokio::test]
async fn unauthenticated_requests_are_limited_at_the_admin_and_authenticator_apis() {
    for (path, method, body) in [
        ("/admin/api/v1/users", Method::GET, Value::Null),
        ("/authenticator/api/requests", Method::GET, Value::Null),
        (
            "/authenticator/api/enrolments/preview",
            Method::POST,
            json!({"token": *token_text::write("en", &[7; 48])}),
        ),
    ] {
        let host = host_with("unauthenticated_requests = { per_minute = 6, burst = 2 }").await;
        let try_it = async |from: &str| {
            let request = http_client().request(method.clone(), format!("{}{path}", host.base));
            let response = request
                .header("x-forwarded-for", from)
                .json(&body)
                .response()
                .await;
            let header = response
                .headers()
                .get("retry-after")
                .map(|value| value.text().to_owned());
            let kind = response.headers()["content-type"].text().to_owned();
            (response.status(), header, kind)
        };
        for _ in 0..2 {
            let (status, retry_after, _) = try_it("192.0.2.1").await;
            assert!(
                [StatusCode::UNAUTHORIZED, StatusCode::GONE].contains(&status),
                "{path}: {status}"
            );
            assert_eq!(retry_after, None, "{path}");
        }
        let (status, retry_after, kind) = try_it("192.0.2.1").await;
        assert_eq!(
            (status, retry_after.as_deref()),
            (StatusCode::TOO_MANY_REQUESTS, Some("10")),
            "{path}"
        );
        let expected = if path.starts_with("/admin") {
            "application/problem+json"
        } else {
            "application/json"
        };
        assert_eq!(kind, expected, "{path}");
        assert_ne!(
            try_it("192.0.2.2").await.0,
            StatusCode::TOO_MANY_REQUESTS,
            "{path}"
        );
        host.advance(10);
        assert_ne!(
            try_it("192.0.2.1").await.0,
            StatusCode::TOO_MANY_REQUESTS,
            "{path}"
        );
    }
}

#[tokio::test]
async fn authenticated_administrators_have_no_request_limit() {
    let host = host_with("unauthenticated_requests = { per_minute = 6, burst = 2 }").await;
    let (token, _) =
        admin::issue_admin_token(&host.host, &assent_model::audit::AuditContext::SERVER)
            .await
            .expect("a token");
    let call = async |token: &str| {
        let request = http_client()
            .get(format!("{}/admin/api/v1/users", host.base))
            .bearer_auth(token);
        request
            .header("x-forwarded-for", "192.0.2.1")
            .response()
            .await
            .status()
    };
    for _ in 0..20 {
        assert_eq!(call(token.expose()).await, StatusCode::OK);
    }
    assert_eq!(call("am_guess").await, StatusCode::UNAUTHORIZED);
    assert_eq!(call(token.expose()).await, StatusCode::OK);
    assert_eq!(call("am_guess").await, StatusCode::UNAUTHORIZED);
    assert_eq!(call("am_guess").await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(
        call(token.expose()).await,
        StatusCode::OK,
        "a valid token is not limited as a guess"
    );
}

#[tokio::test]
async fn a_disabled_limit_limits_no_request() {
    let host = host_with(
        "login_pages_per_ip = { per_minute = 0, burst = 1 }\nunauthenticated_requests = { per_minute = 0, burst = 1 }",
    )
    .await;
    for _ in 0..30 {
        assert_eq!(
            ask(&host, Method::GET, "/oidc/auth", "192.0.2.1", &[])
                .await
                .status,
            StatusCode::BAD_REQUEST
        );
        let refused = ask(&host, Method::GET, "/admin/api/v1/users", "192.0.2.1", &[]).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn event_streams_are_limited_per_ip_and_freed_on_close() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let login = ada.application.login_page(&browser, &[]).await;
    let events = format!("{}/events", login.path());
    // A few at a time, because 500 reads at once would wait longer for a connection than a busy machine allows.
    let streams = stream::iter((0..500).map(|_| browser.stream(&events)));
    let mut open = streams.buffered(16).collect::<Vec<_>>().await;
    let refused = open
        .iter()
        .map(reqwest::Response::status)
        .find(|status| *status != StatusCode::OK);
    assert_eq!(refused, None);
    assert_eq!(
        browser.stream(&events).await.status(),
        StatusCode::TOO_MANY_REQUESTS
    );
    open.truncate(499);
    // The instance notices the closed page at its next event.
    let mut ticks = tokio::time::interval(Duration::from_millis(100));
    let again = async {
        while browser.stream(&events).await.status() != StatusCode::OK {
            ticks.tick().await;
        }
    };
    in_time(again).await;
}
