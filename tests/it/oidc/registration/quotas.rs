//! Initial access tokens: their quotas, their end, and the limits of the applications.

use assent_test_macros::both_databases;
use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{ENABLED, Fixture, fixture, fixture_on, fixture_with, metadata, new_token};
use crate::harness::{Database, Respond, Text, http_client, id};

const DAY: u64 = 86_400;

async fn with_token(database: Database, values: Value) -> Fixture {
    fixture_with(database, ENABLED, values).await
}

/// Returns the number of stored applications.
async fn applications(it: &Fixture) -> i64 {
    let mut db = it.host.connection().await;
    let (count,): (i64,) = assent_store::sql::query_as("SELECT COUNT(*) FROM applications")
        .fetch_one(&mut db)
        .await
        .expect("a count");
    count
}

/// Of parallel registrations with a quota of one, exactly one succeeds.
#[both_databases]
async fn parallel_registrations_do_not_exceed_the_quota(database: Database) {
    let it = with_token(database, json!({"quota": 1})).await;
    let before = applications(&it).await;
    let answers = join_all((0..12).map(|_| it.register(json!({})))).await;
    let created = answers
        .iter()
        .filter(|(status, _)| *status == StatusCode::CREATED);
    assert_eq!(created.count(), 1, "{database:?}: {answers:?}");
    for (status, answer) in &answers {
        if *status != StatusCode::CREATED {
            assert_eq!(*status, StatusCode::FORBIDDEN, "{answer}");
            assert_eq!(answer["error"], "access_denied");
        }
    }
    assert_eq!(applications(&it).await, before + 1, "{database:?}");
}

#[both_databases]
async fn a_daily_quota_begins_again_on_the_next_day(database: Database) {
    let it = with_token(database, json!({"quota": 3, "daily_quota": 2})).await;
    for expected in [
        StatusCode::CREATED,
        StatusCode::CREATED,
        StatusCode::FORBIDDEN,
    ] {
        assert_eq!(it.register(json!({})).await.0, expected, "{database:?}");
    }
    it.host.advance(DAY);
    assert_eq!(it.register(json!({})).await.0, StatusCode::CREATED);
    // The total quota does not begin again.
    it.host.advance(DAY);
    let (status, answer) = it.register(json!({})).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{database:?}: {answer}");
    let path = "/registration-tokens";
    let mut renewed = it;
    renewed.host.renew_token().await;
    let listed = renewed.host.admin_ok(Method::GET, path, Value::Null).await;
    assert_eq!(listed["items"][0]["registered"], json!(3), "{listed}");
    assert!(listed["items"][0].get("token").is_none());
}

/// A rejected registration does not count.
#[tokio::test]
async fn a_rejected_registration_leaves_the_quota() {
    let it = with_token(Database::Sqlite, json!({"quota": 1})).await;
    for _ in 0..3 {
        let invalid = json!({"redirect_uris": ["https://rp.example/cb#fragment"]});
        assert_eq!(it.refusal(invalid).await, "invalid_redirect_uri");
    }
    it.registered(json!({})).await;
}

/// Failed registrations do not use up a quota, but a token cannot let the server fetch documents without a limit.
#[tokio::test]
async fn failed_registrations_with_one_token_are_limited() {
    let it = fixture().await;
    let other = new_token(&it.host, json!({"name": "Other"})).await;
    let invalid = || json!({"redirect_uris": ["https://rp.example/cb#fragment"]});
    // A registration that succeeds counts for the quotas only.
    it.registered(json!({})).await;
    for _ in 0..60 {
        assert_eq!(it.refusal(invalid()).await, "invalid_redirect_uri");
    }
    let request = || {
        http_client()
            .post(format!("{}/oidc/register", it.host.base))
            .bearer_auth(&it.token)
            .json(&metadata(&json!({})))
    };
    let response = request().response().await;
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()["retry-after"], "60");
    let answer: Value = response.json().await.expect("JSON");
    assert_eq!(answer["error"], "temporarily_unavailable", "{answer}");
    let (status, answer) = it.register_with(other["token"].text(), json!({})).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
    it.host.advance(60);
    it.registered(json!({})).await;
}

/// A token that has expired or was deleted is as unknown as another text.
#[both_databases]
async fn an_ended_token_is_invalid(database: Database) {
    let it = fixture_on(database).await;
    let deleted = new_token(&it.host, json!({"name": "Other"})).await;
    let path = format!("/registration-tokens/{}", id(&deleted));
    it.host.admin_ok(Method::DELETE, &path, Value::Null).await;
    let (status, unknown) = it.register_with("ia_unknown", json!({})).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert_eq!(unknown["error"], "invalid_token");
    let (status, answer) = it.register_with(deleted["token"].text(), json!({})).await;
    assert_eq!((status, &answer), (StatusCode::UNAUTHORIZED, &unknown));
    it.host.advance(8 * DAY);
    let (status, answer) = it.register(json!({})).await;
    assert_eq!((status, &answer), (StatusCode::UNAUTHORIZED, &unknown));
}

/// The limits of the token hold for registrations.
#[tokio::test]
async fn limits_of_the_token_are_in_force() {
    let values = json!({
        "scopes": ["openid", "email"],
        "redirect_hosts": ["rp.example", "APP.example"],
        "application_types": ["web"],
    });
    let it = with_token(Database::Sqlite, values).await;
    let own = json!({"scope": "openid email"});
    it.registered(own).await;
    it.registered(json!({"scope": null, "redirect_uris": ["https://app.example/cb"]}))
        .await;
    for (changes, error) in [
        (json!({"scope": "openid phone"}), "invalid_client_metadata"),
        (
            json!({"scope": null, "redirect_uris": ["https://rp.example.evil.example/cb"]}),
            "invalid_redirect_uri",
        ),
        (
            json!({"scope": null, "redirect_uris": ["https://sub.rp.example/cb"]}),
            "invalid_redirect_uri",
        ),
        (
            json!({"scope": null, "post_logout_redirect_uris": ["https://evil.example/"]}),
            "invalid_client_metadata",
        ),
        (
            json!({"scope": null, "token_endpoint_auth_method": "none"}),
            "invalid_client_metadata",
        ),
    ] {
        assert_eq!(it.refusal(changes.clone()).await, error, "{changes}");
    }
}

/// The security profile of the token: its rules without a choice are set, and the others are required.
#[tokio::test]
async fn a_profile_of_the_token_is_in_force() {
    let values = json!({"security_profile": "fapi2"});
    let it = with_token(Database::Sqlite, values).await;
    let keys = json!({
        "token_endpoint_auth_method": "private_key_jwt",
        "jwks_uri": "https://rp.example/jwks",
    });
    let client = it.registered(keys).await;
    let own = it.application(&client).await;
    assert_eq!(own["security_profile"], "fapi2");
    assert_eq!(own["require_pushed_authorization_requests"], json!(true));
    assert_eq!(client["require_pushed_authorization_requests"], json!(true));
    assert_eq!(it.refusal(json!({})).await, "invalid_client_metadata");
}

/// Values that a token cannot have.
#[tokio::test]
async fn values_of_a_token_are_checked() {
    let it = fixture().await;
    let now = assent_model::clock::Clock::now(&*it.host.clock);
    let at = |days: u64| {
        let end = now + std::time::Duration::from_secs(days * DAY);
        assent::domain::audit::moment_text(end)
    };
    let valid = json!({"name": "Partners", "expires_at": at(1), "quota": 1});
    for (member, value) in [
        ("name", json!("")),
        ("expires_at", json!(at(0))),
        ("expires_at", json!(at(400))),
        ("expires_at", json!("tomorrow")),
        ("quota", json!(0)),
        ("quota", json!(10_001)),
        ("daily_quota", json!(2)),
        ("scopes", json!(["email"])),
        ("scopes", json!(["openid", "admin:read"])),
        ("redirect_hosts", json!(["not a host"])),
        ("application_types", json!([])),
    ] {
        let mut body = valid.clone();
        body[member] = value.clone();
        let path = "/registration-tokens";
        let (status, answer) = it.host.admin(Method::POST, path, body).await;
        let expected = StatusCode::UNPROCESSABLE_ENTITY;
        assert_eq!(status, expected, "{member} {value}: {answer}");
    }
}
