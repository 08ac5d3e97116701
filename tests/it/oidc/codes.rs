//! The protection of authorization codes against a sign-in other than the one that received them.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Browser, Database, TestHost, TestUser, VERIFIER};

const WRONG: &str = "a-verifier-of-the-right-length-but-not-the-one";

async fn exchange(
    ada: &TestUser,
    host: &TestHost,
    code: &str,
    changes: &[(&str, Option<&str>)],
) -> (StatusCode, Value) {
    ada.application.exchange(&host.base, code, changes).await
}

#[both_databases]
async fn a_wrong_code_verifier_spends_the_code(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let browser = Browser::new(&host.base);
    let code = ada.sign_in(&browser).await;
    let wrong = [("code_verifier", Some(WRONG))];
    let (status, answer) = exchange(&ada, &host, &code, &wrong).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_grant"))
    );
    let right = [("code_verifier", Some(VERIFIER))];
    let (status, answer) = exchange(&ada, &host, &code, &right).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{database:?}: {answer}");
}

/// A stolen code revokes nothing after its exchange, unless the thief has the verifier too.
#[both_databases]
async fn a_wrong_code_verifier_after_the_exchange_revokes_no_token(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (status, tokens) = exchange(&ada, &host, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let (status, _) = exchange(&ada, &host, &code, &[("code_verifier", Some(WRONG))]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let request = crate::harness::http_client()
        .get(format!("{}/oidc/me", host.base))
        .bearer_auth(tokens["access_token"].as_str().expect("a token"));
    let answer = request.send().await.expect("a response");
    assert_eq!(answer.status(), StatusCode::OK, "{database:?}");
}

#[both_databases]
async fn a_missing_verifier_and_a_failed_authentication_spend_no_code(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (status, answer) = exchange(&ada, &host, &code, &[("code_verifier", None)]).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_grant"))
    );
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("redirect_uri", ada.application.redirect_uri.as_str()),
        ("code_verifier", WRONG),
    ];
    let request = crate::harness::http_client()
        .post(format!("{}/oidc/token", host.base))
        .basic_auth(&ada.application.id, Some("wrong"))
        .form(&form);
    let answer = request.send().await.expect("a response");
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    let (status, answer) = exchange(&ada, &host, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {answer}");
}

#[tokio::test]
async fn require_pkce_is_a_setting_of_web_applications() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!("/applications/{}", ada.application.id);
    let shown = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(shown["require_pkce"], false);
    let without = [("code_challenge", None), ("code_challenge_method", None)];
    let begin = async || {
        let browser = Browser::new(&host.base);
        browser.get(&ada.application.request(&without)).await
    };
    assert!(
        begin().await.url.contains("/login/")
            || begin().await.location().path().starts_with("/login/")
    );
    host.admin_ok(Method::PATCH, &path, json!({"require_pkce": true}))
        .await;
    let page = begin().await;
    assert_eq!(page.parameter("error"), "invalid_request");
    assert!(
        page.parameter("error_description")
            .contains("code_challenge is missing")
    );
    let native = host.native_application().await;
    let path = format!("/applications/{}", native.id);
    let (status, answer) = host
        .admin(Method::PATCH, &path, json!({"require_pkce": false}))
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    let shown = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(shown["require_pkce"], true);
}

/// Port 0 names no port, and `04` is another spelling of 4.
#[tokio::test]
async fn the_loopback_port_is_a_port_in_its_only_spelling() {
    let host = TestHost::start().await;
    let body = json!({"name": "App", "application_type": "native",
                      "redirect_uris": ["http://127.0.0.1/cb"]});
    let native = host.admin_ok(Method::POST, "/applications", body).await;
    let client = native["id"].as_str().expect("an id");
    for (port, is_accepted) in [
        (":1", true),
        (":65535", true),
        ("", true),
        (":0", false),
        (":04", false),
        (":", false),
        (":65536", false),
        (":+80", false),
    ] {
        let uri = format!("http://127.0.0.1{port}/cb");
        let application = crate::harness::Application {
            id: client.to_owned(),
            secret: None,
            redirect_uri: uri.clone(),
        };
        let browser = Browser::new(&host.base);
        let page = browser.get(&application.request(&[])).await;
        assert_eq!(
            page.status != StatusCode::BAD_REQUEST,
            is_accepted,
            "{uri}: {}",
            page.status
        );
    }
}

/// The tokens of an ended session stay invalid after retention deleted the session's row.
#[both_databases]
async fn tokens_of_a_deleted_session_are_invalid(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (_, tokens) = exchange(&ada, &host, &code, &[]).await;
    let token = tokens["access_token"].as_str().expect("a token").to_owned();
    let me = async || {
        let request = crate::harness::http_client().get(format!("{}/oidc/me", host.base));
        request
            .bearer_auth(&token)
            .send()
            .await
            .expect("a response")
            .status()
    };
    assert_eq!(me().await, StatusCode::OK);
    assent_store::sql::query("DELETE FROM sessions")
        .execute(&mut host.connection().await)
        .await
        .expect("deleted");
    assert_eq!(me().await, StatusCode::UNAUTHORIZED, "{database:?}");
}
