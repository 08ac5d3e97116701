//! `Idempotency-Key`.

use std::time::Duration;

use assent::domain::audit;
use assent_model::audit::{AuditContext, Event, RequestAttempt};
use assent_model::entropy::SystemEntropy;
use assent_model::id::TokenId;
use assent_model::secret::Digest;
use assent_store::{StoreError, sql};
use assent_test_macros::both_databases;
use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Answer, Caller, sent, service, service_application, service_token};
use crate::harness::{Database, TestHost, Text, id, in_time};

async fn post(caller: &Caller, path: &str, key: &str, body: &Value) -> Answer {
    let request = caller
        .request(Method::POST, path)
        .header("idempotency-key", key);
    sent(if body.is_null() {
        request
    } else {
        request.json(body)
    })
    .await
}

#[both_databases]
async fn a_request_with_a_repeated_idempotency_key_runs_once(database: Database) {
    let host = TestHost::start_on(database).await;
    let caller = Caller::machine(&host);
    let body = json!({"name": "eve"});
    let first = post(&caller, "/users", "k1", &body).await;
    assert_eq!(first.status, StatusCode::CREATED, "{}", first.body);
    let again = post(&caller, "/users", "k1", &body).await;
    assert_eq!(
        (again.status, &again.body, again.etag()),
        (first.status, &first.body, first.etag())
    );
    let other = post(&caller, "/users", "k1", &json!({"name": "mallory"})).await;
    assert_eq!(
        (other.status, other.problem()),
        (StatusCode::UNPROCESSABLE_ENTITY, "idempotency-key-reused")
    );
    // A key belongs to its path and its caller.
    let taken = post(
        &service(&host, &["admin:users"]).await,
        "/users",
        "k1",
        &body,
    )
    .await;
    assert_eq!(
        (taken.status, taken.problem()),
        (StatusCode::CONFLICT, "conflict"),
        "the response of another request was not returned"
    );
    let elsewhere = post(
        &caller,
        &format!("/users/{}/enrolments", id(&first.body)),
        "k1",
        &Value::Null,
    )
    .await;
    assert_eq!(elsewhere.status, StatusCode::CREATED, "{}", elsewhere.body);
}

#[both_databases]
async fn concurrent_requests_with_one_idempotency_key_run_once(database: Database) {
    let host = TestHost::start_on(database).await;
    let application = host.web_application().await;
    let caller = Caller::machine(&host);
    let path = format!("/applications/{}/secret/rotate", application.id);
    let answers = join_all((0..20).map(|_| post(&caller, &path, "once", &Value::Null))).await;
    let mut secrets: Vec<String> = Vec::new();
    for answer in answers {
        match answer.status {
            StatusCode::CREATED => secrets.push(answer.body["client_secret"].text().to_owned()),
            _ => assert_eq!(
                (answer.status, answer.problem()),
                (StatusCode::CONFLICT, "in-progress"),
                "{database:?}"
            ),
        }
    }
    secrets.dedup();
    assert_eq!(secrets.len(), 1, "{database:?}: one secret was created");
    let replayed = post(&caller, &path, "once", &Value::Null).await;
    assert_eq!(replayed.body["client_secret"], secrets[0].as_str());
    // The stored response is encrypted.
    let rows: Vec<(String,)> = sql::query_as("SELECT response FROM idempotent_requests")
        .fetch_all(&mut host.connection().await)
        .await
        .expect("rows");
    let stored: Vec<String> = rows.into_iter().map(|(response,)| response).collect();
    assert_eq!(stored.len(), 1);
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &secrets[0]);
    assert!(!stored[0].contains(&secrets[0]) && !stored[0].contains(&encoded[..encoded.len() - 4]));
}

#[tokio::test]
async fn idempotency_keys_expire_after_a_day_and_rejected_requests_release_them() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!("/users/{}/enrolments", id(&ada.user));
    let caller = Caller::machine(&host);
    let refused = post(&caller, "/users", "k", &json!({"name": "a b"})).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    post(&caller, "/users", "k", &json!({"name": "eve"}))
        .await
        .success();
    for key in ["", "a b", &"k".repeat(256), "\u{e4}"] {
        let request = caller
            .request(Method::POST, &path)
            .header("idempotency-key", key.as_bytes());
        let answer = sent(request).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (StatusCode::BAD_REQUEST, "malformed"),
            "{key:?}"
        );
    }
    // A token expires within a day, but the application remains the same caller.
    let application = service_application(&host, &["admin:users"]).await;
    let service = async || {
        let (_, token) = service_token(&host, &application, "admin:users").await;
        Caller::Bearer {
            base: host.base.clone(),
            token: token["access_token"].text().to_owned(),
        }
    };
    let first = post(&service().await, &path, "day", &Value::Null)
        .await
        .success();
    host.advance(24 * 60 * 60 - 10);
    assert_eq!(
        post(&service().await, &path, "day", &Value::Null)
            .await
            .success(),
        first
    );
    host.advance(20);
    assert_ne!(
        post(&service().await, &path, "day", &Value::Null)
            .await
            .success(),
        first
    );
}

#[tokio::test]
async fn a_request_whose_response_was_lost_is_not_executed_again() {
    let (host, proxy) = TestHost::start_behind_proxy().await;
    let caller = Caller::machine(&host);
    let add = async |name: &str| {
        let body = json!({"name": name, "email": format!("{name}@example.org")});
        post(&caller, "/users", name, &body).await
    };
    proxy.record();
    add("ada").await.success();
    let mut statements = proxy
        .recorded()
        .into_iter()
        .flat_map(|commit| commit.statements);
    let insert = statements.find(|text| text.starts_with("INSERT INTO users"));
    let insert = insert.expect("the statement that adds a user");
    proxy.drop_reply_to_commit_of("grace@example.org");
    let first = add("grace").await;
    assert_eq!(proxy.dropped(), 1);
    assert_eq!(first.status, StatusCode::SERVICE_UNAVAILABLE);
    let again = add("grace").await;
    assert_eq!(
        (again.status, again.problem()),
        (StatusCode::CONFLICT, "response-lost")
    );
    // The row refers to the user that the request created, so the erasure of that user finds it.
    let about: Vec<(String,)> = sql::query_as(
        "SELECT name FROM users JOIN idempotent_request_subjects AS about ON about.subject = users.id
         WHERE name = 'grace'",
    )
    .fetch_all(&mut host.connection().await)
    .await
    .expect("read");
    assert_eq!(about, [("grace".to_owned(),)]);
    // A request whose transaction was not committed releases its key.
    let held = proxy.hold_commit_of(&insert, 0);
    let refused = async { in_time(held).await.expect("the commit").refuse() };
    let (first, ()) = tokio::join!(add("alan"), refused);
    assert_eq!(first.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(add("alan").await.status, StatusCode::CREATED);
}

/// The database is in the state after a crash between the change and the response.
#[both_databases]
async fn a_request_that_made_a_change_is_not_executed_again_after_a_crash(database: Database) {
    let host = TestHost::start_on(database).await;
    let caller = Caller::machine(&host);
    let body = json!({"name": "ada"});
    post(&caller, "/users", "k", &body).await.success();
    let crashed = sql::query("UPDATE idempotent_requests SET response = NULL")
        .execute(&mut host.connection().await)
        .await;
    assert_eq!(crashed.expect("updated"), 1);
    let early = post(&caller, "/users", "k", &body).await;
    assert_eq!(early.problem(), "in-progress");
    host.advance(601);
    let late = post(&caller, "/users", "k", &body).await;
    assert_eq!(
        (late.status, late.problem()),
        (StatusCode::CONFLICT, "response-lost")
    );
    let users = caller.get("/users").await.success();
    assert_eq!(users["items"].as_array().map(Vec::len), Some(1));
}

/// The caller of the first attempt received an error, and a second attempt holds the key.
#[both_databases]
async fn an_attempt_that_lost_its_key_makes_no_change(database: Database) {
    let host = TestHost::start_on(database).await;
    let store = &host.host.store;
    let now = host.host.now();
    let [first, second] = ["first", "second"].map(|attempt| RequestAttempt {
        request: "request".to_owned(),
        attempt: attempt.to_owned(),
    });
    let claim = async |attempt: &RequestAttempt| {
        store
            .claim_request(
                attempt.clone(),
                Digest::sha256(b""),
                now,
                now + Duration::from_secs(600),
            )
            .await
            .expect("claimed")
            .is_none()
    };
    let add_token = async |attempt: &RequestAttempt| {
        let by = AuditContext {
            keyed_request: Some(attempt.clone()),
            ..AuditContext::SERVER
        };
        let entry = audit::entry(&host.host, Event::AdminTokenCreated, &by);
        let id = TokenId::new(now, &SystemEntropy);
        let until = now + Duration::from_secs(60);
        let added = store
            .insert_admin_token(id, Digest::sha256(b""), now, until, entry)
            .await;
        let is_there = store.admin_token(id).await.expect("read").is_some();
        (added, is_there)
    };
    assert!(claim(&first).await);
    assert!(!claim(&second).await);
    store
        .release_unless_executed(first.clone())
        .await
        .expect("released");
    assert!(claim(&second).await);
    let (added, is_there) = add_token(&first).await;
    assert!(matches!(added, Err(StoreError::Overtaken(_))), "{added:?}");
    assert!(!is_there);
    // The first attempt cannot release the key of the second.
    store.release_unless_executed(first).await.expect("ignored");
    assert!(!claim(&second).await);
    let (added, is_there) = add_token(&second).await;
    added.expect("added");
    assert!(is_there);
    store
        .release_unless_executed(second.clone())
        .await
        .expect("ignored");
    assert!(!claim(&second).await);
}
