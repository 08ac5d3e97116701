//! Back-channel requests: their parameters, hints and clients (OpenID CIBA Core 1.0 sections 7 and 13).

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{GRANT, approved, ask, asked, pending, permit, poll_error, start};
use crate::harness::{Application, Database, TestHost, Text, id};

/// Sends a request that is rejected, and returns the error.
async fn error(
    host: &TestHost,
    application: &Application,
    changes: &[(&str, Option<&str>)],
) -> String {
    let (status, answer) = ask(&host.base, application, changes).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{changes:?}: {answer}");
    assert!(!answer["error_description"].text().is_empty());
    answer["error"].text().to_owned()
}

/// A client asks for users that it does not serve, or finds out which names exist.
#[both_databases]
async fn each_name_without_access_is_unknown(database: Database) {
    let (host, ada) = start(database).await;
    // Bob exists, but has no account. Carol's account is terminated.
    let bob = host.user("bob").await;
    host.authenticator(&bob).await;
    let carol = host.user("carol").await;
    host.authenticator(&carol).await;
    let account = host.account(&carol, &ada.application).await;
    let path = format!("/accounts/{}", id(&account));
    host.admin_ok(Method::PATCH, &path, json!({"state": "terminated"}))
        .await;
    let mut answers = Vec::new();
    for name in [
        "nobody",
        "bob",
        "carol",
        "bob@example.org",
        "nobody@example.org",
    ] {
        let changes = [("login_hint", Some(name))];
        let (status, answer) = ask(&host.base, &ada.application, &changes).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{name}: {answer}");
        answers.push(answer);
    }
    assert_eq!(answers[0]["error"], "unknown_user_id");
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{database:?}: {answers:?}"
    );
    let mut connection = host.connection().await;
    let query = "SELECT COUNT(*) FROM approvals";
    let (count,): (i64,) = assent_store::sql::query_as(query)
        .fetch_one(&mut connection)
        .await
        .expect("read");
    assert_eq!(count, 0, "{database:?}: nothing was stored");
}

/// A suspended user, a suspended account, and a user without a device: the request is accepted, and expires.
#[both_databases]
async fn a_user_who_cannot_answer_gets_a_request_that_expires(database: Database) {
    let (host, ada) = start(database).await;
    let grace = host.user("grace").await;
    host.account(&grace, &ada.application).await;
    let bob = host.user("bob").await;
    let bobs = host.authenticator(&bob).await;
    let account = host.account(&bob, &ada.application).await;
    let path = format!("/accounts/{}", id(&account));
    host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    let path = format!("/users/{}", id(&ada.user));
    host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    for name in ["ada", "bob", "grace"] {
        let changes = [("login_hint", Some(name)), ("requested_expiry", Some("10"))];
        let auth_req_id = asked(&host, &ada, &changes).await;
        assert_eq!(
            poll_error(&host, &ada, &auth_req_id).await,
            "authorization_pending",
            "{database:?}: {name}"
        );
        host.advance(11);
        assert_eq!(poll_error(&host, &ada, &auth_req_id).await, "expired_token");
    }
    assert!(bobs.pending_requests(0).await.is_empty(), "{database:?}");
}

/// The binding message has line ends, bidi marks, a link, 10,000 characters, look-alike digits.
#[tokio::test]
async fn a_binding_message_is_one_line_of_ordinary_text() {
    let (host, ada) = start(Database::Sqlite).await;
    let long = "x".repeat(101);
    for message in [
        "two\nlines",
        "pay \u{202e}05 EUR",
        "see https://evil.example/",
        "\u{660}\u{661}",
        "\u{ff11}\u{ff12}",
        " 42",
        long.as_str(),
    ] {
        let changes = [("binding_message", Some(message))];
        let error = error(&host, &ada.application, &changes).await;
        assert_eq!(error, "invalid_binding_message", "{message:?}");
    }
    // Longer than any parameter may be.
    let huge = "x".repeat(10_000);
    let changes = [("binding_message", Some(huge.as_str()))];
    assert_eq!(
        error(&host, &ada.application, &changes).await,
        "invalid_request"
    );
    let emoji = "Order 42 \u{1f4e6} for \u{1f469}\u{200d}\u{1f4bb}";
    asked(&host, &ada, &[("binding_message", Some(emoji))]).await;
    let shown = pending(&ada.device).await.backchannel.expect("details");
    assert_eq!(shown.message.as_deref(), Some(emoji));
}

#[tokio::test]
async fn a_request_without_a_message_shows_none() {
    let (host, ada) = start(Database::Sqlite).await;
    asked(&host, &ada, &[("binding_message", None)]).await;
    let shown = pending(&ada.device).await.backchannel.expect("details");
    assert_eq!(shown.message, None);
}

/// `fapi-ciba-id1-ensure-request-with-multiple-hints-fails`, and parameters that are missing or not supported.
#[tokio::test]
async fn a_request_has_exactly_one_hint_and_a_scope() {
    let (host, ada) = start(Database::Sqlite).await;
    for (changes, expected) in [
        (vec![("login_hint", None)], "invalid_request"),
        (vec![("id_token_hint", Some("x.y.z"))], "invalid_request"),
        (vec![("login_hint_token", Some("x.y.z"))], "invalid_request"),
        (vec![("scope", None)], "invalid_request"),
        (vec![("scope", Some("profile"))], "invalid_scope"),
        (vec![("request", Some("x.y.z"))], "invalid_request"),
        (
            vec![("request_uri", Some("https://rp.example/r"))],
            "invalid_request",
        ),
        (
            vec![("authorization_details", Some("[{\"type\":\"payment\"}]"))],
            "invalid_authorization_details",
        ),
    ] {
        let error = error(&host, &ada.application, &changes).await;
        assert_eq!(error, expected, "{changes:?}");
    }
    // A client may send what this server does not need.
    let further = [
        ("acr_values", Some("urn:assent:acr:device")),
        ("user_code", Some("1234")),
        ("ui_locales", Some("de en")),
    ];
    asked(&host, &ada, &further).await;
}

/// An ID token may have expired, and is never one of another client.
#[both_databases]
async fn an_id_token_hint_names_a_user_of_the_same_client(database: Database) {
    let (host, ada) = start(database).await;
    let tokens = approved(&host, &ada, &[]).await;
    let hint = tokens["id_token"].text();
    let other = host.web_application().await;
    permit(&host, &other).await;
    host.advance(2 * 60 * 60);
    let changes = [("login_hint", None), ("id_token_hint", Some(hint))];
    asked(&host, &ada, &changes).await;
    let request = pending(&ada.device).await;
    assert_eq!(request.account, "ada", "{database:?}");
    let forged = format!("{}x", &hint[..hint.len() - 1]);
    for (application, hint) in [(&other, hint), (&ada.application, forged.as_str())] {
        let changes = [("login_hint", None), ("id_token_hint", Some(hint))];
        let error = error(&host, application, &changes).await;
        assert_eq!(error, "invalid_request", "{database:?}");
    }
}

/// A client that may not ask, one without its secret, and one that has none.
#[tokio::test]
async fn only_a_confidential_client_with_the_grant_type_may_ask() {
    let (host, ada) = start(Database::Sqlite).await;
    let other = host.web_application().await;
    assert_eq!(error(&host, &other, &[]).await, "unauthorized_client");
    let wrong = Application {
        secret: Some("wrong".to_owned()),
        ..ada.application.clone()
    };
    let (status, answer) = ask(&host.base, &wrong, &[]).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "{answer}");
    assert_eq!(answer["error"], "invalid_client");
    let native = host.native_application().await;
    let path = format!("/applications/{}", native.id);
    let changes = json!({"grant_types": ["authorization_code", GRANT]});
    let (status, problem) = host.admin(Method::PATCH, &path, changes).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    let changes = [("client_id", Some(native.id.as_str()))];
    assert_eq!(error(&host, &native, &changes).await, "unauthorized_client");
    host.admin_ok(
        Method::PATCH,
        &format!("/applications/{}", ada.application.id),
        json!({"enabled": false}),
    )
    .await;
    assert_eq!(
        error(&host, &ada.application, &[]).await,
        "unauthorized_client"
    );
}

/// The audit log names the application, the scopes and the request, and the user sees the message in the own activity.
#[tokio::test]
async fn a_request_and_its_outcome_are_in_the_audit_log() {
    let (host, ada) = start(Database::Sqlite).await;
    approved(&host, &ada, &[]).await;
    let path = format!("/audit?user={}", id(&ada.user));
    let page = host.admin_ok(Method::GET, &path, Value::Null).await;
    let entries = page["items"].as_array().expect("entries");
    let events: Vec<&str> = entries
        .iter()
        .filter(|entry| entry["detail"]["backchannel_request"].is_string())
        .map(|entry| entry["event"].text())
        .collect();
    assert_eq!(
        events,
        [
            "consent.granted",
            "sign-in.completed",
            "sign-in.approved",
            "sign-in.requested",
        ],
        "{entries:?}"
    );
}
