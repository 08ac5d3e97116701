//! Tokens are sealed texts: the database has no row for each.

use assent::domain::sessions::session::revoke_all_tokens;
use assent_model::audit::AuditContext;
use assent_store::sql;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::introspection::own_token;
use super::refresh::{OFFLINE, offline_tokens, refresh, refresh_token};
use super::token::userinfo;
use crate::harness::{Browser, Database, TestHost, Text, id, in_time};

/// Returns the number of rows in each table that requests of applications write.
async fn rows(host: &TestHost) -> Vec<i64> {
    let mut connection = host.connection().await;
    let mut counts = Vec::new();
    for statement in [
        "SELECT COUNT(*) FROM token_families",
        "SELECT COUNT(*) FROM revoked_tokens",
        "SELECT COUNT(*) FROM replay_cache",
        "SELECT COUNT(*) FROM audit_entries",
    ] {
        let (count,): (i64,) = sql::query_as(statement)
            .fetch_one(&mut connection)
            .await
            .expect("counted");
        counts.push(count);
    }
    counts
}

#[both_databases]
async fn client_credentials_write_nothing(database: Database) {
    let host = TestHost::start_on(database).await;
    let application = host.web_application().await;
    let before = rows(&host).await;
    let tokens = own_token(&host, &application).await;
    assert!(tokens["access_token"].text().starts_with("at_"), "{tokens}");
    assert_eq!(rows(&host).await, before, "{database:?}");
}

#[both_databases]
async fn a_new_epoch_ends_all_tokens_on_every_instance(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let before = offline_tokens(&host, &ada).await;
    let old = before["access_token"].text().to_owned();
    assert_eq!(userinfo(&host, &old).await.0, StatusCode::OK);
    revoke_all_tokens(&host.host, &AuditContext::SERVER)
        .await
        .expect("revoked");
    assert_eq!(
        userinfo(&host, &old).await.0,
        StatusCode::UNAUTHORIZED,
        "{database:?}"
    );
    let (status, answer) = refresh(&host.base, &ada.application, refresh_token(&before), &[]).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_grant"))
    );
    let after = offline_tokens(&host, &ada).await;
    let new = after["access_token"].text();
    assert_eq!(userinfo(&host, new).await.0, StatusCode::OK, "{database:?}");
    // A restored backup does not contain the epoch. The next epoch still has a different number.
    let mut connection = host.connection().await;
    sql::query("DELETE FROM token_epochs WHERE epoch > 1")
        .execute(&mut connection)
        .await
        .expect("deleted");
    host.advance(1);
    revoke_all_tokens(&host.host, &AuditContext::SERVER)
        .await
        .expect("revoked");
    assert_eq!(
        userinfo(&host, new).await.0,
        StatusCode::UNAUTHORIZED,
        "{database:?}"
    );
}

#[both_databases]
async fn a_new_epoch_ends_sessions_too(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let request = ada.application.request(&[("prompt", Some("none"))]);
    assert!(!browser.get(&request).await.parameter("code").is_empty());
    revoke_all_tokens(&host.host, &AuditContext::SERVER)
        .await
        .expect("revoked");
    assert_eq!(
        browser.get(&request).await.parameter("error"),
        "login_required",
        "{database:?}"
    );
}

/// PostgreSQL's statistics count updates that change no index (heap-only tuples).
#[tokio::test]
async fn a_refresh_changes_no_index() {
    const REFRESHES: i64 = 5;
    let host = TestHost::start_on(Database::Postgres).await;
    let ada = host.ada().await;
    let mut tokens = offline_tokens(&host, &ada).await;
    for _ in 0..REFRESHES {
        let (status, next) =
            refresh(&host.base, &ada.application, refresh_token(&tokens), &[]).await;
        assert_eq!(status, StatusCode::OK, "{next}");
        tokens = next;
    }
    let mut connection = host.connection().await;
    // The exchange of the code changes the retention time of the family, which has an index.
    let (all, in_place) = in_time(async {
        loop {
            let counts: (i64, i64) = sql::query_as(
                "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'token_families'",
            )
            .fetch_one(&mut connection)
            .await
            .expect("counts");
            if counts.0 > REFRESHES {
                return counts;
            }
        }
    })
    .await;
    assert!(all - in_place <= 1, "{in_place} of {all}");
}

#[both_databases]
async fn a_code_ends_with_its_session(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let code = ada.sign_in_with(&Browser::new(&host.base), &OFFLINE).await;
    let sessions = format!("/users/{}/sessions", id(&ada.user));
    host.admin_ok(Method::DELETE, &sessions, Value::Null).await;
    let (status, answer) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    assert_eq!(answer["error"], "invalid_grant");
}

#[both_databases]
async fn a_new_epoch_ends_codes_too(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let code = ada.sign_in_with(&Browser::new(&host.base), &OFFLINE).await;
    revoke_all_tokens(&host.host, &AuditContext::SERVER)
        .await
        .expect("revoked");
    let (status, answer) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    assert_eq!(answer["error"], "invalid_grant");
}

/// An instance that stops while a retry waits leaves its mark in the row.
#[both_databases]
async fn an_interrupted_retry_does_not_cost_the_family(database: Database) {
    let host =
        TestHost::start_on_with(database, "[lifetimes]\nrefresh_token_grace = \"60s\"").await;
    let ada = host.ada().await;
    let first = offline_tokens(&host, &ada).await;
    refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
    let mut connection = host.connection().await;
    sql::query("UPDATE token_families SET retry_at = $1 WHERE counter = 1")
        .bind(host.host.now().millis())
        .execute(&mut connection)
        .await
        .expect("marked");
    host.advance(26);
    let (status, answer) = refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {answer}");
}

/// The database cannot respond, so a 401 shows that the server did not query it.
#[tokio::test]
async fn an_unknown_token_is_rejected_without_the_database() {
    let (host, proxy) = TestHost::start_behind_proxy().await;
    let ada = host.ada().await;
    let tokens = ada.tokens(&host, &Browser::new(&host.base)).await;
    let token = tokens["access_token"].text();
    // The first bytes name the key, so this token refers to another one.
    let forged = token.replacen("at_A", "at_B", 1);
    assert_ne!(forged, token);
    proxy.freeze();
    for unknown in [forged.as_str(), "at_", "at_AAAA", "rt_AAAA"] {
        assert_eq!(
            userinfo(&host, unknown).await.0,
            StatusCode::UNAUTHORIZED,
            "{unknown}"
        );
    }
    proxy.thaw();
    assert_eq!(userinfo(&host, token).await.0, StatusCode::OK);
}
