//! `Idempotency-Key`.

use assent_store::sql;
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
    // The key is its path's and its caller's.
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
        "it was not answered as another was"
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
    assert_eq!(secrets.len(), 1, "{database:?}: one secret was made");
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
    let host = TestHost::start().await;
    let ada = host.ada().await;
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
    // Tokens do not live for a day, but their application is the same caller.
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
    // A request whose change was not committed gives its key back.
    let held = proxy.hold_commit_of(&insert, 0);
    let refused = async { in_time(held).await.expect("the commit").refuse() };
    let (first, ()) = tokio::join!(add("alan"), refused);
    assert_eq!(first.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(add("alan").await.status, StatusCode::CREATED);
}
