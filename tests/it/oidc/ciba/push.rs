//! Tokens and errors that the server sends (OpenID CIBA Core 1.0 sections 10.3 and 12).

use assent::domain::operations::wakeups::Wakeup;
use assent_test_macros::both_databases;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::receiver::{Fixture, TOKEN, settings};
use super::{ask, asked, pending, poll};
use crate::harness::{Database, HostOptions, Text, id, jwt_claims};
use crate::oidc::refresh::refresh;
use crate::oidc::token::userinfo;

const AUTH_REQ_ID: &str = "urn:openid:params:jwt:claim:auth_req_id";
const RT_HASH: &str = "urn:openid:params:jwt:claim:rt_hash";
const WITH_TOKEN: (&str, Option<&str>) = ("client_notification_token", Some(TOKEN));

/// The left half of the digest of a token, for RS256.
fn half_hash(token: &Value) -> String {
    URL_SAFE_NO_PAD.encode(&openssl::sha::sha256(token.text().as_bytes())[..16])
}

/// Asks for Ada with these scopes, and approves on her device.
async fn approved(it: &Fixture, scope: &str) -> String {
    let auth_req_id = asked(&it.host, &it.ada, &[WITH_TOKEN, ("scope", Some(scope))]).await;
    let request = pending(&it.ada.device).await;
    assert_eq!(it.ada.device.approve(&request, "").await, "approved");
    auth_req_id
}

/// The numbers of sessions and grants.
async fn counts(it: &Fixture) -> (i64, i64) {
    let mut connection = it.host.connection().await;
    let query = "SELECT (SELECT COUNT(*) FROM sessions), (SELECT COUNT(*) FROM token_families)";
    assent_store::sql::query_as(query)
        .fetch_one(&mut connection)
        .await
        .expect("read")
}

#[both_databases]
async fn an_approval_sends_the_tokens(database: Database) {
    let mut it = Fixture::on(database, "push", "204").await;
    let changes = [WITH_TOKEN, ("scope", Some("openid email offline_access"))];
    let (status, answer) = ask(&it.host.base, &it.ada.application, &changes).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {answer}");
    assert!(answer.get("interval").is_none(), "the client does not poll");
    let auth_req_id = answer["auth_req_id"].text();
    // A client with this mode may not fetch the tokens, before and after the decision.
    let fetch = async || poll(&it.host.base, &it.ada.application, auth_req_id).await;
    assert_eq!(fetch().await.1["error"], "unauthorized_client");
    let request = pending(&it.ada.device).await;
    assert_eq!(it.ada.device.approve(&request, "").await, "approved");
    assert_eq!(fetch().await.1["error"], "unauthorized_client");
    let pushed = it.receiver.next().await;
    assert_eq!(pushed["auth_req_id"], auth_req_id, "{database:?}");
    assert_eq!(pushed["token_type"], "Bearer");
    assert_eq!(pushed["scope"], "openid email offline_access");
    assert!(pushed["expires_in"].is_u64());
    let claims = jwt_claims(pushed["id_token"].text());
    assert_eq!(claims[AUTH_REQ_ID], auth_req_id);
    assert_eq!(claims["at_hash"], half_hash(&pushed["access_token"]));
    assert_eq!(claims[RT_HASH], half_hash(&pushed["refresh_token"]));
    assert_eq!(claims["aud"], it.ada.application.id.as_str());
    let (status, user) = userinfo(&it.host, pushed["access_token"].text()).await;
    assert_eq!(status, StatusCode::OK, "{user}");
    assert_eq!(user["sub"], claims["sub"]);
    let token = pushed["refresh_token"].text();
    let (status, refreshed) = refresh(&it.host.base, &it.ada.application, token, &[]).await;
    assert_eq!(status, StatusCode::OK, "{refreshed}");
    it.until_none_is_stored().await;
    it.receiver.assert_quiet().await;
    assert_eq!(counts(&it).await, (1, 1), "{database:?}");
}

#[both_databases]
async fn a_denial_and_an_expiry_send_an_error(database: Database) {
    let mut it = Fixture::on(database, "push", "204").await;
    let denied = asked(&it.host, &it.ada, &[WITH_TOKEN]).await;
    let request = pending(&it.ada.device).await;
    assert_eq!(it.ada.device.deny(&request).await, "denied");
    let error = it.receiver.next().await;
    assert_eq!(error["auth_req_id"], denied.as_str());
    assert_eq!(error["error"], "access_denied", "{database:?}");
    assert!(error["error_description"].is_string());
    assert!(error.get("access_token").is_none());
    let expired = asked(&it.host, &it.ada, &[WITH_TOKEN]).await;
    it.host.advance(120);
    let error = it.receiver.next().await;
    assert_eq!(error["auth_req_id"], expired.as_str());
    assert_eq!(error["error"], "expired_token", "{database:?}");
    assert_eq!(counts(&it).await, (0, 0));
}

/// The application gets one grant, however often the server sends its tokens.
#[both_databases]
async fn a_repeated_push_has_tokens_of_the_same_grant(database: Database) {
    let mut it = Fixture::on(database, "push", "503-204").await;
    approved(&it, "openid offline_access").await;
    let first = it.receiver.next().await;
    it.receiver.assert_quiet().await;
    it.host.advance(2);
    let second = it.receiver.next().await;
    it.until_none_is_stored().await;
    let sid = |pushed: &Value| jwt_claims(pushed["id_token"].text())["sid"].clone();
    assert_eq!(sid(&first), sid(&second), "{database:?}");
    for pushed in [&first, &second] {
        let (status, _) = userinfo(&it.host, pushed["access_token"].text()).await;
        assert_eq!(status, StatusCode::OK, "{database:?}");
    }
    assert_eq!(counts(&it).await, (1, 1), "{database:?}");
    let token = second["refresh_token"].text();
    let (status, refreshed) = refresh(&it.host.base, &it.ada.application, token, &[]).await;
    assert_eq!(status, StatusCode::OK, "{refreshed}");
}

/// A user who is suspended between two attempts.
#[tokio::test]
async fn a_repeated_push_after_a_suspension_is_an_error() {
    let mut it = Fixture::on(Database::Sqlite, "push", "503-204").await;
    approved(&it, "openid").await;
    let first = it.receiver.next().await;
    assert!(first["access_token"].is_string());
    it.receiver.assert_quiet().await;
    let path = format!("/users/{}", id(&it.ada.user));
    let suspended = json!({"state": "suspended"});
    it.host.admin_ok(Method::PATCH, &path, suspended).await;
    it.host.advance(2);
    let second = it.receiver.next().await;
    assert_eq!(second["error"], "access_denied", "{second}");
}

#[both_databases]
async fn two_instances_push_one_grant(database: Database) {
    let mut it = Fixture::on(database, "push", "204").await;
    let settings = settings("push");
    let options = HostOptions {
        database,
        settings: &settings,
        ..HostOptions::default()
    };
    let (second, running, _) = it.host.second(options).await;
    let auth_req_id = approved(&it, "openid").await;
    second.wakeups.send(Wakeup::BackchannelDecided);
    assert_eq!(
        it.receiver.next().await["auth_req_id"],
        auth_req_id.as_str()
    );
    it.receiver.assert_quiet().await;
    assert_eq!(counts(&it).await, (1, 1), "{database:?}");
    running.stop().await;
}

/// The operator permits the mode, and an application with tokens that are bound to a key may not have it.
#[tokio::test]
async fn push_is_off_by_default_and_never_with_bound_tokens() {
    let push = json!({
        "backchannel_token_delivery_mode": "push",
        "backchannel_client_notification_endpoint": "https://rp.example/push",
    });
    let (host, ada) = super::start(Database::Sqlite).await;
    let path = format!("/applications/{}", ada.application.id);
    let (status, problem) = host.admin(Method::PATCH, &path, push.clone()).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    let pointer = &problem["errors"][0]["pointer"];
    assert_eq!(*pointer, "/backchannel_token_delivery_mode");

    let it = Fixture::on(Database::Sqlite, "push", "204").await;
    let path = format!("/applications/{}", it.ada.application.id);
    let bound = json!({"dpop_bound_access_tokens": true});
    let (status, problem) = it.host.admin(Method::PATCH, &path, bound).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    assert_eq!(problem["errors"][0]["pointer"], *pointer);
}

/// The operator turns the mode off while applications have it.
#[tokio::test]
async fn a_server_that_pushes_no_more_rejects_the_requests() {
    let mut it = Fixture::on(Database::Sqlite, "push", "204").await;
    it.host.stop().await;
    let settings = settings("ping");
    let options = HostOptions {
        settings: &settings,
        ..HostOptions::default()
    };
    let (_, running, base) = it.host.second(options).await;
    let (status, answer) = ask(&base, &it.ada.application, &[WITH_TOKEN]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    assert_eq!(answer["error"], "unauthorized_client");
    it.receiver.assert_quiet().await;
    running.stop().await;
}
