//! The token endpoint and UserInfo.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{
    Body, Browser, Database, HostOptions, Log, Respond, TestHost, Text, VERIFIER, get, http_client,
    id,
};

#[tokio::test]
async fn a_code_is_exchanged_by_a_web_application() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (status, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    assert_eq!(
        (&tokens["token_type"], &tokens["expires_in"]),
        (&json!("Bearer"), &json!(3600))
    );
    assert_eq!(tokens["scope"], "openid profile email");
    assert!(tokens["refresh_token"].is_null());
}

#[tokio::test]
async fn a_code_is_exchanged_by_a_public_application_with_pkce_on_any_loopback_port() {
    let host = TestHost::start().await;
    let mut ada = host.ada().await;
    ada.application = host.native_application().await;
    host.account(&ada.user, &ada.application).await;
    ada.application.redirect_uri = "http://127.0.0.1:51004/callback".to_owned();
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (status, tokens) = ada
        .application
        .exchange(&host.base, &code, &[("client_secret", None)])
        .await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
}

#[tokio::test]
async fn both_encodings_of_basic_credentials_are_accepted() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let secret = ada.application.secret.clone().expect("a secret");
    let encoded: String =
        url::form_urlencoded::byte_serialize(ada.application.id.as_bytes()).collect();
    assert!(encoded.contains("%3A"));
    for name in [&ada.application.id, &encoded] {
        let page = browser.get(&ada.application.request(&[])).await;
        let code = if page.location().host_str() == Some("rp.example") {
            page.parameter("code")
        } else {
            ada.sign_in(&browser).await
        };
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", ada.application.redirect_uri.as_str()),
            ("code_verifier", VERIFIER),
        ];
        let request = http_client()
            .post(format!("{}/oidc/token", host.base))
            .basic_auth(name, Some(&secret))
            .form(&form);
        assert_eq!(request.response().await.status(), StatusCode::OK, "{name}");
    }
}

#[tokio::test]
async fn the_token_endpoint_returns_the_errors_of_the_specification() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let code = ada.sign_in(&browser).await;
    for (change, status, error) in [
        (("grant_type", None), 400, "invalid_request"),
        (
            ("grant_type", Some("password")),
            400,
            "unsupported_grant_type",
        ),
        (("code", None), 400, "invalid_request"),
        (("code", Some("nonsense")), 400, "invalid_grant"),
        (("redirect_uri", None), 400, "invalid_request"),
        (
            ("redirect_uri", Some("https://rp.example/other")),
            400,
            "invalid_grant",
        ),
        (("code_verifier", None), 400, "invalid_grant"),
        (("client_id", Some("did:key:other")), 400, "invalid_request"),
        (("client_secret", Some("again")), 400, "invalid_request"),
    ] {
        let (got, answer) = ada.application.exchange(&host.base, &code, &[change]).await;
        assert_eq!(
            (got.as_u16(), &answer["error"]),
            (status, &json!(error)),
            "{change:?}: {answer}"
        );
        assert!(answer["error_description"].is_string());
    }
    // None of these requests used up the code.
    let (status, _) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn a_rejected_token_request_is_in_the_log() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let application = format!("application={}", ada.application.id);
    for (change, error, description) in [
        (
            ("code_verifier", None),
            "invalid_grant",
            "code_verifier is missing",
        ),
        (
            ("redirect_uri", Some("https://rp.example/other")),
            "invalid_grant",
            "redirect_uri differs",
        ),
    ] {
        let log = Log::capture();
        ada.application.exchange(&host.base, &code, &[change]).await;
        let error = format!("error=\"{error}\"");
        let line = ["token request rejected", &application, &error, description];
        assert!(log.has(&line), "{line:?}: {:?}", log.lines());
        assert!(!log.has(&[&code]), "{:?}", log.lines());
    }
    // Without an authenticated client there is no line, because anyone could flood the log.
    let log = Log::capture();
    let change = [("client_assertion", Some("x"))];
    let (status, _) = ada.application.exchange(&host.base, &code, &change).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(!log.has(&["token request rejected"]), "{:?}", log.lines());
}

#[tokio::test]
async fn a_wrong_secret_is_invalid_client_with_a_challenge() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let url = format!("{}/oidc/token", host.base);
    let form = [
        ("grant_type", "authorization_code"),
        ("code", "x"),
        ("redirect_uri", "x"),
    ];
    for secret in ["", "wrong"] {
        let response = http_client()
            .post(&url)
            .basic_auth(&web.id, Some(secret))
            .form(&form)
            .response()
            .await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(
            response.headers()["www-authenticate"],
            "Basic realm=\"token endpoint\""
        );
        assert_eq!(
            response.read_json::<Value>().await["error"],
            "invalid_client"
        );
    }
    // A web application needs its secret, and a public application must not send one.
    let response = http_client()
        .post(&url)
        .form(&[("client_id", web.id.as_str())])
        .response()
        .await;
    assert_eq!(
        response.read_json::<Value>().await["error"],
        "invalid_client"
    );
    let native = host.native_application().await;
    let response = http_client()
        .post(&url)
        .basic_auth(&native.id, Some("x"))
        .form(&form)
        .response()
        .await;
    assert_eq!(
        response.read_json::<Value>().await["error"],
        "invalid_client"
    );
}

#[tokio::test]
async fn a_rotated_secret_revokes_the_old_one() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let path = format!("/applications/{}/secret/rotate", ada.application.id);
    host.admin_ok(Method::POST, &path, Value::Null).await;
    let (_, answer) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(answer["error"], "invalid_client");
}

#[tokio::test]
async fn a_code_expires_after_ten_minutes() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    host.advance(600);
    let (_, answer) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(answer["error"], "invalid_grant");
}

#[tokio::test]
async fn without_the_authorization_code_grant_type_no_code_or_token_is_issued() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let code = ada.sign_in(&browser).await;
    let path = format!("/applications/{}", ada.application.id);
    let grant_types = |enabled: &[&str]| json!({"grant_types": enabled});
    host.admin_ok(
        Method::PATCH,
        &path,
        grant_types(&["refresh_token", "client_credentials"]),
    )
    .await;
    // A code that was issued before the grant type was removed.
    let (status, answer) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("unauthorized_client")),
        "{answer}"
    );
    assert!(answer.get("access_token").is_none(), "{answer}");
    // A new request, in a browser with a session and in one without.
    for browser in [&browser, &Browser::new(&host.base)] {
        let page = browser.get(&ada.application.request(&[])).await;
        assert_eq!(page.parameter("error"), "unauthorized_client");
        assert_eq!(
            (page.parameter("state"), page.parameter("iss")),
            ("st&te".to_owned(), host.issuer())
        );
        assert!(
            page.location()
                .query_pairs()
                .all(|(name, _)| name != "code"),
            "{}",
            page.location()
        );
    }
    host.admin_ok(Method::PATCH, &path, grant_types(&["authorization_code"]))
        .await;
    let (status, answer) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(
        status,
        StatusCode::OK,
        "the rejection did not use the code: {answer}"
    );
}

#[tokio::test]
async fn an_access_token_expires_after_an_hour() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let tokens = ada.tokens(&host, &Browser::new(&host.base)).await;
    let token = tokens["access_token"].text();
    assert_eq!(userinfo(&host, token).await.0, StatusCode::OK);
    host.advance(3600);
    let (status, answer) = userinfo(&host, token).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::UNAUTHORIZED, &json!("invalid_token"))
    );
}

#[both_databases]
async fn of_fifty_concurrent_exchanges_of_a_code_one_succeeds(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (_, second, other_base) = host.second(HostOptions::default()).await;
    let mut attempts = tokio::task::JoinSet::new();
    for number in 0..50 {
        let base = if number % 2 == 0 {
            host.base.clone()
        } else {
            other_base.clone()
        };
        let (application, code) = (ada.application.clone(), code.clone());
        attempts.spawn(async move { application.exchange(&base, &code, &[]).await });
    }
    let answers = attempts.join_all().await;
    let (good, bad): (Vec<_>, Vec<_>) = answers
        .into_iter()
        .partition(|(status, _)| status.is_success());
    assert_eq!(good.len(), 1, "{database:?}");
    assert!(
        bad.iter()
            .all(|(_, answer)| answer["error"] == "invalid_grant"),
        "{database:?}: {bad:?}"
    );
    // The reuse revoked the tokens of the only success.
    let token = good[0].1["access_token"].text();
    assert_eq!(userinfo(&host, token).await.0, StatusCode::UNAUTHORIZED);
    second.stop().await;
}

#[tokio::test]
async fn the_reuse_of_a_code_revokes_its_token_after_a_restart_too() {
    let (mut host, ada) = TestHost::start().await.with_ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    let token = tokens["access_token"].text();
    host.stop().await;
    let (_, again, base) = host.second(HostOptions::default()).await;
    assert_eq!(
        userinfo_at(&base, token).await.0,
        StatusCode::OK,
        "tokens survive a restart"
    );
    let (_, answer) = ada.application.exchange(&base, &code, &[]).await;
    assert_eq!(answer["error"], "invalid_grant");
    assert_eq!(userinfo_at(&base, token).await.0, StatusCode::UNAUTHORIZED);
    again.stop().await;
}

#[both_databases]
async fn of_fifty_exchanges_of_a_code_across_a_restart_one_succeeds(database: Database) {
    let (mut host, ada) = TestHost::start_on(database).await.with_ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let redeem = |base: &str, number: usize| {
        let mut attempts = tokio::task::JoinSet::new();
        for _ in 0..number {
            let (application, base, code) =
                (ada.application.clone(), base.to_owned(), code.clone());
            attempts.spawn(async move { application.exchange(&base, &code, &[]).await });
        }
        attempts.join_all()
    };
    let mut answers = redeem(&host.base, 25).await;
    let token = answers
        .iter()
        .find_map(|(_, answer)| answer["access_token"].as_str())
        .expect("one success")
        .to_owned();
    host.stop().await;
    let (_, again, base) = host
        .second(HostOptions {
            database,
            ..HostOptions::default()
        })
        .await;
    answers.extend(redeem(&base, 25).await);
    let (good, bad): (Vec<_>, Vec<_>) = answers
        .into_iter()
        .partition(|(status, _)| status.is_success());
    assert_eq!((good.len(), bad.len()), (1, 49), "{database:?}");
    assert!(
        bad.iter()
            .all(|(_, answer)| answer["error"] == "invalid_grant"),
        "{database:?}: {bad:?}"
    );
    assert_eq!(
        userinfo_at(&base, &token).await.0,
        StatusCode::UNAUTHORIZED,
        "{database:?}: the reuse revoked it"
    );
    again.stop().await;
}

/// The instance stops while clients exchange the code. At most one request succeeds, before the stop or after the
/// restart.
#[both_databases]
async fn a_code_exchanged_during_a_shutdown_succeeds_at_most_once(database: Database) {
    let (mut host, ada) = TestHost::start_on(database).await.with_ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let secret = ada.application.secret.clone();
    // Unlike `exchange`, a failed connection is allowed here, because the instance may have stopped.
    let attempt = |base: String| {
        let (code, id, secret) = (code.clone(), ada.application.id.clone(), secret.clone());
        let redirect_uri = ada.application.redirect_uri.clone();
        async move {
            let form = [
                ("grant_type", "authorization_code"),
                ("code", code.as_str()),
                ("redirect_uri", redirect_uri.as_str()),
                ("code_verifier", VERIFIER),
            ];
            let request = http_client()
                .post(format!("{base}/oidc/token"))
                .basic_auth(id, secret)
                .form(&form);
            request.send().await.ok().map(|answer| answer.status())
        }
    };
    let mut attempts = tokio::task::JoinSet::new();
    for _ in 0..25 {
        attempts.spawn(attempt(host.base.clone()));
    }
    tokio::task::yield_now().await;
    host.stop().await;
    let (_, again, base) = host
        .second(HostOptions {
            database,
            ..HostOptions::default()
        })
        .await;
    for _ in 0..25 {
        attempts.spawn(attempt(base.clone()));
    }
    let statuses = attempts.join_all().await;
    let successes = statuses
        .iter()
        .flatten()
        .filter(|status| status.is_success())
        .count();
    // A response may be lost with its connection. Then no client has the tokens.
    let lost = statuses.iter().any(Option::is_none);
    assert!(
        successes == 1 || (successes == 0 && lost),
        "{database:?}: {statuses:?}"
    );
    assert!(
        statuses
            .iter()
            .flatten()
            .all(|status| status.is_success() || *status == StatusCode::BAD_REQUEST),
        "{statuses:?}"
    );
    again.stop().await;
}

#[tokio::test]
async fn suspended_users_neither_get_nor_use_tokens() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let user = format!("/users/{}", id(&ada.user));
    let account = format!("/accounts/{}", id(&ada.account));
    for path in [&account, &user] {
        let browser = Browser::new(&host.base);
        let code = ada.sign_in(&browser).await;
        let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
        let token = tokens["access_token"].text();
        assert_eq!(userinfo(&host, token).await.0, StatusCode::OK);
        let code = browser
            .get(&ada.application.request(&[]))
            .await
            .parameter("code");
        host.admin_ok(Method::PATCH, path, json!({"state": "suspended"}))
            .await;
        let (_, answer) = ada.application.exchange(&host.base, &code, &[]).await;
        assert_eq!(answer["error"], "invalid_grant");
        assert_eq!(userinfo(&host, token).await.0, StatusCode::UNAUTHORIZED);
        host.advance(1);
        host.admin_ok(Method::PATCH, path, json!({"state": "active"}))
            .await;
        assert_eq!(
            userinfo(&host, token).await.0,
            StatusCode::UNAUTHORIZED,
            "ended access does not return"
        );
    }
}

#[tokio::test]
async fn userinfo_names_the_error_of_a_token() {
    let host = TestHost::start().await;
    let url = format!("{}/oidc/me", host.base);
    let missing = get(&url).await;
    assert_eq!(missing.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(missing.headers()["www-authenticate"], "Bearer");
    let body: Value = missing.read_json().await;
    assert_eq!(
        body["error"], "invalid_token",
        "the specification has no error for a missing token"
    );
    assert!(body["error_description"].is_string(), "{body}");
    // The server accepts no other authentication scheme (RFC 6750 section 3.1).
    let basic = http_client()
        .get(&url)
        .basic_auth("ada", Some("x"))
        .response()
        .await;
    assert_eq!(
        (
            basic.status(),
            basic.headers()["www-authenticate"].as_bytes()
        ),
        (StatusCode::UNAUTHORIZED, &b"Bearer"[..])
    );
    let wrong = http_client()
        .post(&url)
        .bearer_auth("at_nonsense")
        .response()
        .await;
    assert_eq!(wrong.status(), StatusCode::UNAUTHORIZED);
    let challenge = wrong.headers()["www-authenticate"].text();
    assert!(
        challenge.starts_with("Bearer error=\"invalid_token\""),
        "{challenge}"
    );
}

/// Calls UserInfo with this token. Returns the status and the body.
pub async fn userinfo(host: &TestHost, token: &str) -> (StatusCode, Value) {
    userinfo_at(&host.base, token).await
}

async fn userinfo_at(base: &str, token: &str) -> (StatusCode, Value) {
    let response = http_client()
        .get(format!("{base}/oidc/me"))
        .bearer_auth(token)
        .response()
        .await;
    (response.status(), response.read_json().await)
}
