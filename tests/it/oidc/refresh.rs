//! Refresh tokens.

use assent_store::sql;
use assent_test_macros::both_databases;
use std::time::Duration;

use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::entropy::SystemEntropy;
use assent_model::id::{FamilyId, TokenId};
use assent_store::{NewAccess, Rotation, RotationRequest};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::token::userinfo;
use crate::harness::{
    Application, Body, Browser, Database, HostOptions, Parsed, Respond, TestHost, TestUser, Text,
    http_client, id, jwt_claims, wait_for_count,
};

/// The parameters that request a refresh token.
pub const OFFLINE: [(&str, Option<&str>); 2] = [
    ("prompt", Some("consent")),
    ("scope", Some("openid profile email offline_access")),
];

/// Signs in and returns tokens that include a refresh token.
pub async fn offline_tokens(host: &TestHost, ada: &TestUser) -> Value {
    let code = ada.sign_in_with(&Browser::new(&host.base), &OFFLINE).await;
    let (status, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    tokens
}

/// Returns the refresh token from a token response.
pub fn refresh_token(tokens: &Value) -> &str {
    tokens["refresh_token"]
        .as_str()
        .unwrap_or_else(|| panic!("no refresh token: {tokens}"))
}

/// Uses a refresh token. Returns the status and the body.
pub async fn refresh(
    base: &str,
    application: &Application,
    token: &str,
    more: &[(&str, &str)],
) -> (StatusCode, Value) {
    let mut form = vec![
        ("grant_type", "refresh_token"),
        ("refresh_token", token),
        ("client_id", &application.id),
    ];
    form.extend(more);
    let mut request = http_client().post(format!("{base}/oidc/token")).form(&form);
    if let Some(secret) = &application.secret {
        request = request.basic_auth(&application.id, Some(secret));
    }
    let response = request.response().await;
    assert_eq!(response.headers()["cache-control"], "no-store");
    (response.status(), response.read_json().await)
}

/// Checks that the refresh token is rejected.
async fn assert_refresh_rejected(host: &TestHost, ada: &TestUser, tokens: &Value) {
    let (_, answer) = refresh(&host.base, &ada.application, refresh_token(tokens), &[]).await;
    assert_eq!(answer["error"], "invalid_grant");
}

fn claims(tokens: &Value) -> Value {
    jwt_claims(tokens["id_token"].text())
}

#[tokio::test]
async fn a_refresh_returns_new_tokens_of_the_same_sign_in() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let first = offline_tokens(&host, &ada).await;
    assert_eq!(first["scope"], "openid profile email offline_access");
    host.advance(1000);
    let (status, second) = refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
    assert_eq!(status, StatusCode::OK, "{second}");
    assert_eq!(
        (&second["expires_in"], &second["token_type"]),
        (&json!(3600), &json!("Bearer"))
    );
    assert_ne!(second["refresh_token"], first["refresh_token"]);
    assert_ne!(second["access_token"], first["access_token"]);
    let (before, after) = (claims(&first), claims(&second));
    for claim in [
        "iss",
        "sub",
        "aud",
        "auth_time",
        "amr",
        "acr",
        "sid",
        "email",
        "account",
        "upn",
    ] {
        assert_eq!(before[claim], after[claim], "{claim}");
        assert!(!after[claim].is_null(), "{claim}");
    }
    assert_eq!(
        after["iat"].as_i64(),
        before["iat"].as_i64().map(|iat| iat + 1000)
    );
    assert!(after["nonce"].is_null());
    assert_eq!(
        userinfo(&host, second["access_token"].text()).await.0,
        StatusCode::OK
    );
}

#[tokio::test]
async fn without_prompt_consent_no_offline_access_is_granted() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let code = ada
        .sign_in_with(
            &Browser::new(&host.base),
            &[("scope", Some("openid offline_access"))],
        )
        .await;
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(tokens["scope"], "openid");
    assert!(tokens["refresh_token"].is_null());
}

#[tokio::test]
async fn without_the_refresh_token_grant_type_no_refresh_token_is_issued() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let tokens = offline_tokens(&host, &ada).await;
    let path = format!("/applications/{}", ada.application.id);
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"grant_types": ["authorization_code"]}),
    )
    .await;
    let (status, answer) = refresh(&host.base, &ada.application, refresh_token(&tokens), &[]).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("unauthorized_client"))
    );
    let code = ada.sign_in_with(&Browser::new(&host.base), &OFFLINE).await;
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert!(tokens["refresh_token"].is_null());
}

#[tokio::test]
async fn a_refresh_may_narrow_but_never_widen_the_scope() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let first = offline_tokens(&host, &ada).await;
    for scope in ["openid phone", "openid nonsense", "everything"] {
        let (status, answer) = refresh(
            &host.base,
            &ada.application,
            refresh_token(&first),
            &[("scope", scope)],
        )
        .await;
        assert_eq!(
            (status, &answer["error"]),
            (StatusCode::BAD_REQUEST, &json!("invalid_scope")),
            "{scope}"
        );
    }
    let (_, less) = refresh(
        &host.base,
        &ada.application,
        refresh_token(&first),
        &[("scope", "openid email")],
    )
    .await;
    assert_eq!(less["scope"], "openid email");
    assert!(claims(&less)["name"].is_null());
    // The next refresh may use the full scope again.
    let (_, all) = refresh(&host.base, &ada.application, refresh_token(&less), &[]).await;
    assert_eq!(all["scope"], "openid profile email offline_access");
    // Without `openid` there is no ID token.
    let (_, plain) = refresh(
        &host.base,
        &ada.application,
        refresh_token(&all),
        &[("scope", "email")],
    )
    .await;
    assert!(
        plain["id_token"].is_null() && plain["access_token"].is_string(),
        "{plain}"
    );
}

#[both_databases]
async fn the_reuse_of_a_refresh_token_revokes_its_family_also_after_a_restart(database: Database) {
    let (mut host, ada) = TestHost::start_on(database).await.with_ada().await;
    let first = offline_tokens(&host, &ada).await;
    let (_, second) = refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
    let access = second["access_token"].text();
    assert_eq!(userinfo(&host, access).await.0, StatusCode::OK);
    let (_again, running, base) = host
        .second(HostOptions {
            database,
            ..HostOptions::default()
        })
        .await;
    host.stop().await;
    let (status, answer) = refresh(&base, &ada.application, refresh_token(&first), &[]).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_grant")),
        "{database:?}"
    );
    // The reuse revoked the family: its access tokens are invalid, and its refresh tokens fail.
    let (_, answer) = refresh(&base, &ada.application, refresh_token(&second), &[]).await;
    assert_eq!(answer["error"], "invalid_grant");
    for token in [access, first["access_token"].text()] {
        let response = http_client()
            .get(format!("{base}/oidc/me"))
            .bearer_auth(token)
            .send()
            .await;
        assert_eq!(
            response.expect("an answer").status(),
            StatusCode::UNAUTHORIZED,
            "{database:?}"
        );
    }
    running.stop().await;
}

#[both_databases]
async fn of_fifty_concurrent_refreshes_on_two_instances_one_succeeds(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let tokens = offline_tokens(&host, &ada).await;
    let (_second, running, other) = host
        .second(HostOptions {
            database,
            ..HostOptions::default()
        })
        .await;
    let mut requests = JoinSet::new();
    for n in 0..50 {
        let (base, application) = (
            if n % 2 == 0 { &host.base } else { &other }.clone(),
            ada.application.clone(),
        );
        let token = refresh_token(&tokens).to_owned();
        requests.spawn(async move { refresh(&base, &application, &token, &[]).await.0 });
    }
    let statuses = requests.join_all().await;
    let good = statuses
        .iter()
        .filter(|status| **status == StatusCode::OK)
        .count();
    assert_eq!(good, 1, "{database:?}: {statuses:?}");
    assert!(
        statuses
            .iter()
            .all(|status| [200, 400].contains(&status.as_u16())),
        "{database:?}: {statuses:?}"
    );
    running.stop().await;
}

#[both_databases]
async fn of_fifty_refreshes_across_a_restart_one_succeeds(database: Database) {
    // Without a grace period for lost responses, each further use is reuse.
    let settings = "[lifetimes]\nrefresh_token_grace = \"0s\"";
    let mut host = TestHost::start_on_with(database, settings).await;
    let ada = host.ada().await;
    let tokens = offline_tokens(&host, &ada).await;
    let at_once = |base: &str| {
        let mut requests = JoinSet::new();
        for _ in 0..25 {
            let (base, application) = (base.to_owned(), ada.application.clone());
            let token = refresh_token(&tokens).to_owned();
            requests.spawn(async move { refresh(&base, &application, &token, &[]).await });
        }
        requests.join_all()
    };
    let mut answers = at_once(&host.base).await;
    host.stop().await;
    let (_second, running, base) = host
        .second(HostOptions {
            database,
            settings,
            ..HostOptions::default()
        })
        .await;
    answers.extend(at_once(&base).await);
    let (good, bad): (Vec<_>, Vec<_>) = answers
        .into_iter()
        .partition(|(status, _)| status.is_success());
    assert_eq!((good.len(), bad.len()), (1, 49), "{database:?}");
    assert!(
        bad.iter()
            .all(|(_, answer)| answer["error"] == "invalid_grant"),
        "{database:?}: {bad:?}"
    );
    let (_, answer) = refresh(&base, &ada.application, refresh_token(&good[0].1), &[]).await;
    assert_eq!(
        answer["error"], "invalid_grant",
        "{database:?}: the reuse revoked the family"
    );
    running.stop().await;
}

#[both_databases]
async fn a_lost_refresh_response_is_returned_again_once(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let first = offline_tokens(&host, &ada).await;
    let (_, lost) = refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
    host.advance(10);
    let (status, again) = refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {again}");
    // The tokens of the lost response are invalid.
    assert_eq!(
        userinfo(&host, lost["access_token"].text()).await.0,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        userinfo(&host, again["access_token"].text()).await.0,
        StatusCode::OK
    );
    let (status, third) = refresh(&host.base, &ada.application, refresh_token(&again), &[]).await;
    assert_eq!(status, StatusCode::OK, "{third}");
    // A second retry is reuse.
    let (_, answer) = refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
    assert_eq!(answer["error"], "invalid_grant");
    let (_, answer) = refresh(&host.base, &ada.application, refresh_token(&third), &[]).await;
    assert_eq!(answer["error"], "invalid_grant", "the family is revoked");
}

#[both_databases]
async fn a_client_that_disconnects_during_its_retry_may_retry_again(database: Database) {
    const WAITING: &str = "SELECT COUNT(*) FROM token_families WHERE retry_at > 0";
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let mut connection = host.connection().await;
    let (mut first, mut answered, mut hung_up) = (Value::Null, 0, 0);
    while hung_up < 2 {
        if hung_up == 0 {
            first = offline_tokens(&host, &ada).await;
            refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
        }
        let (base, application) = (host.base.clone(), ada.application.clone());
        let token = refresh_token(&first).to_owned();
        let request = tokio::spawn(async move { refresh(&base, &application, &token, &[]).await });
        wait_for_count(&mut connection, WAITING, answered + 1).await;
        // This closes the connection.
        request.abort();
        if request.await.is_ok() {
            // The test machine was too slow, so the retry had its response. The test starts again with another family.
            (answered, hung_up) = (answered + 1, 0);
            continue;
        }
        wait_for_count(&mut connection, WAITING, answered).await;
        hung_up += 1;
    }
    let (status, again) = refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {again}");
    assert_eq!(
        refresh(&host.base, &ada.application, refresh_token(&again), &[])
            .await
            .0,
        StatusCode::OK
    );
}

#[both_databases]
async fn a_second_retry_revokes_the_family_although_the_first_disconnects(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let first = offline_tokens(&host, &ada).await;
    let (_, lost) = refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
    let (id,): (String,) = sql::query_as("SELECT id FROM token_families WHERE counter = 1")
        .fetch_one(&mut host.connection().await)
        .await
        .expect("a refreshed one");
    let family: FamilyId = id.parsed();
    let now = host.host.now();
    let access = NewAccess {
        id: TokenId::new(now, &SystemEntropy),
        expires_at: now,
    };
    let store = &host.host.store;
    let reuse = || {
        Entry::new(
            Event::RefreshTokenReused,
            &AuditContext::SERVER,
            now,
            &SystemEntropy,
        )
    };
    let retry = async || {
        let since = Some(now - Duration::from_secs(30));
        store
            .rotate(RotationRequest {
                family,
                counter: 0,
                stays_valid: false,
                access,
                retry_admitted_since: since,
                retain_until: now,
                reuse: reuse(),
                proof: None,
                now,
            })
            .await
            .expect("read")
    };
    assert_eq!(retry().await, Rotation::Retried, "{database:?}");
    assert_eq!(retry().await, Rotation::Reused, "{database:?}");
    store
        .withdraw_retry(family, 0, now)
        .await
        .expect("withdrawn");
    let late = store
        .answer_retry(family, 0, now, access, reuse(), now)
        .await
        .expect("read");
    assert_eq!(late, Rotation::Reused, "{database:?}");
    for token in [&first, &lost] {
        let (_, answer) = refresh(&host.base, &ada.application, refresh_token(token), &[]).await;
        assert_eq!(answer["error"], "invalid_grant", "{database:?}");
    }
}

/// Counts the connections to this PostgreSQL database that wait for a lock.
const WAITING_FOR_A_LOCK: &str = "SELECT COUNT(*) FROM pg_stat_activity \
     WHERE datname = current_database() AND wait_event_type = 'Lock'";

/// On PostgreSQL, a transaction may use the first response. It may end between the check of the family and its
/// revocation.
#[tokio::test]
async fn using_a_response_during_its_retry_revokes_the_family() {
    for use_it in [
        "UPDATE token_families SET used_counter = counter",
        "UPDATE token_families SET counter = counter + 1",
    ] {
        let host = TestHost::start_on(Database::Postgres).await;
        let ada = host.ada().await;
        let first = offline_tokens(&host, &ada).await;
        let (_, lost) = refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
        let (mut user, mut observer) = (host.connection().await, host.connection().await);
        user.batch("BEGIN").await.expect("begun");
        assert_eq!(
            sql::query(use_it).execute(&mut user).await.expect("used"),
            1
        );
        let (base, application) = (host.base.clone(), ada.application.clone());
        let token = refresh_token(&first).to_owned();
        let repeat = tokio::spawn(async move { refresh(&base, &application, &token, &[]).await });
        // The retry has not seen the use, and waits for the row to revoke the family.
        wait_for_count(&mut observer, WAITING_FOR_A_LOCK, 1).await;
        user.batch("COMMIT").await.expect("committed");
        let (status, answer) = repeat.await.expect("an answer");
        assert_eq!(
            (status, &answer["error"]),
            (StatusCode::BAD_REQUEST, &json!("invalid_grant")),
            "{use_it}"
        );
        let access = lost["access_token"].text();
        assert_eq!(
            userinfo(&host, access).await.0,
            StatusCode::UNAUTHORIZED,
            "the family is revoked"
        );
    }
}

#[tokio::test]
async fn a_used_refresh_response_is_not_returned_again() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let first = offline_tokens(&host, &ada).await;
    let (_, second) = refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
    assert_eq!(
        userinfo(&host, second["access_token"].text()).await.0,
        StatusCode::OK
    );
    assert_refresh_rejected(&host, &ada, &first).await;

    let first = offline_tokens(&host, &ada).await;
    let (_, second) = refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
    refresh(&host.base, &ada.application, refresh_token(&second), &[]).await;
    assert_refresh_rejected(&host, &ada, &first).await;
}

#[tokio::test]
async fn a_late_retry_is_reuse_and_the_grace_period_can_be_disabled() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let first = offline_tokens(&host, &ada).await;
    refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
    host.advance(31);
    assert_refresh_rejected(&host, &ada, &first).await;

    let host = TestHost::start_with_settings("[lifetimes]\nrefresh_token_grace = \"0s\"").await;
    let ada = host.ada().await;
    let first = offline_tokens(&host, &ada).await;
    refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
    assert_refresh_rejected(&host, &ada, &first).await;
}

#[tokio::test]
async fn a_refresh_token_is_valid_for_a_week_and_its_family_for_two() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let week = Duration::from_secs(7 * 24 * 60 * 60).as_secs();
    let tokens = offline_tokens(&host, &ada).await;
    host.advance(week + 1);
    assert_refresh_rejected(&host, &ada, &tokens).await;

    let mut tokens = offline_tokens(&host, &ada).await;
    for _ in 0..2 {
        host.advance(week - 10);
        let (status, next) =
            refresh(&host.base, &ada.application, refresh_token(&tokens), &[]).await;
        assert_eq!(status, StatusCode::OK, "{next}");
        tokens = next;
    }
    host.advance(30);
    assert_refresh_rejected(&host, &ada, &tokens).await;
}

#[tokio::test]
async fn a_suspended_user_cannot_refresh_even_after_reactivation() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for path in [
        format!("/users/{}", id(&ada.user)),
        format!("/accounts/{}", id(&ada.account)),
    ] {
        let tokens = offline_tokens(&host, &ada).await;
        for state in ["suspended", "active"] {
            host.admin_ok(Method::PATCH, &path, json!({"state": state}))
                .await;
            let (_, answer) =
                refresh(&host.base, &ada.application, refresh_token(&tokens), &[]).await;
            assert_eq!(answer["error"], "invalid_grant", "{path} {state}");
        }
        // A grant in the same millisecond as the suspension counts as earlier.
        host.advance(1);
    }
}

#[tokio::test]
async fn a_refresh_token_is_bound_to_its_application_and_endpoint() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let other = host.web_application().await;
    let tokens = offline_tokens(&host, &ada).await;
    let token = refresh_token(&tokens);
    assert_eq!(
        refresh(&host.base, &other, token, &[]).await.1["error"],
        "invalid_grant"
    );
    assert_eq!(userinfo(&host, token).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(
        ada.application.exchange(&host.base, token, &[]).await.1["error"],
        "invalid_grant"
    );
    let access = tokens["access_token"].text();
    for wrong in [access, &access.replacen("at_", "rt_", 1), "rt_", "nonsense"] {
        assert_eq!(
            refresh(&host.base, &ada.application, wrong, &[]).await.1["error"],
            "invalid_grant",
            "{wrong}"
        );
    }
    // The rejected requests have no effect on the token.
    assert_eq!(
        refresh(&host.base, &ada.application, token, &[]).await.0,
        StatusCode::OK
    );
}

#[tokio::test]
async fn the_reuse_of_a_code_revokes_its_refresh_token_too() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let code = ada.sign_in_with(&Browser::new(&host.base), &OFFLINE).await;
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    // The module `codereuse-30seconds` of the conformance suite.
    host.advance(30);
    assert_eq!(
        ada.application.exchange(&host.base, &code, &[]).await.1["error"],
        "invalid_grant"
    );
    assert_eq!(
        userinfo(&host, tokens["access_token"].text()).await.0,
        StatusCode::UNAUTHORIZED
    );
    assert_refresh_rejected(&host, &ada, &tokens).await;
}
