//! Network faults on the way to PostgreSQL: each request ends, the instance recovers by itself, and no action runs
//! twice.

mod instances;
mod messages;

use std::time::{Duration, Instant};

use assent_store::sql;
use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Browser, Database, Respond, TestHost, http_client, in_time};

/// The longest permitted duration of a request during a fault.
const LONGEST: Duration = Duration::from_secs(10);
/// The additional time that a busy machine may need.
const BUSY: Duration = Duration::from_secs(3);

/// Lists the users, or creates a user if there is a name. Returns the status and the duration.
async fn timed(host: &TestHost, name: Option<String>) -> (StatusCode, Duration) {
    let began = Instant::now();
    let (status, _) = match name {
        None => host.admin(Method::GET, "/users", Value::Null).await,
        Some(name) => add_user(host, &name).await,
    };
    (status, began.elapsed())
}

async fn add_user(host: &TestHost, name: &str) -> (StatusCode, Value) {
    let body = json!({
        "name": name,
        "email": format!("{name}@example.org"),
        "profile": {"name": "Grace Hopper"},
    });
    host.admin(Method::POST, "/users", body).await
}

/// Sends sixteen concurrent requests, of which half write.
async fn sixteen(host: &TestHost, prefix: &str) -> Vec<(StatusCode, Duration)> {
    join_all((0..16).map(|n| timed(host, (n % 2 == 0).then(|| format!("{prefix}{n}"))))).await
}

#[tokio::test]
async fn requests_time_out_when_the_database_freezes() {
    let (host, proxy) = TestHost::start_behind_proxy().await;
    for (status, _) in sixteen(&host, "before").await {
        assert!(status.is_success(), "{status}");
    }
    proxy.freeze();
    let thawing = async {
        // The duration of the fault.
        tokio::time::sleep(Duration::from_secs(8)).await;
        proxy.thaw();
    };
    let ((), answers) = tokio::join!(thawing, sixteen(&host, "during"));
    for (status, took) in answers {
        assert!(status.is_success() || status.is_server_error(), "{status}");
        assert!(took < LONGEST + BUSY, "{took:?}");
    }
    let began = Instant::now();
    in_time(async { while add_user(&host, "after").await.0.is_server_error() {} }).await;
    assert!(began.elapsed() < LONGEST, "{:?}", began.elapsed());
    for (status, _) in sixteen(&host, "later").await {
        assert!(status.is_success(), "{status}");
    }
}

/// No time limit of the database ends the statement, because the database is frozen too.
#[tokio::test]
async fn a_statement_ends_when_the_database_freezes() {
    let (host, proxy) = TestHost::start_behind_proxy().await;
    let limit = Some(Duration::from_millis(500));
    let options = sql::Options::postgres(host.database_url(), "", limit).expect("a URL");
    let mut connection = options.connect().await.expect("connected");
    proxy.freeze();
    let answer = sql::query("SELECT 1").execute(&mut connection).await;
    assert!(matches!(answer, Err(sql::Error::TimedOut(_))), "{answer:?}");
    proxy.thaw();
}

#[tokio::test]
async fn requests_succeed_after_all_database_connections_reset() {
    let (host, proxy) = TestHost::start_behind_proxy().await;
    for round in ["one", "two", "three"] {
        for (status, _) in sixteen(&host, round).await {
            assert!(status.is_success(), "{round}: {status}");
        }
        proxy.reset();
    }
    for (status, _) in sixteen(&host, "four").await {
        assert!(status.is_success(), "{status}");
    }
}

/// The situation after a failover in which the old primary still runs.
#[tokio::test]
async fn a_read_only_database_is_an_outage_until_it_takes_writes() {
    let host = TestHost::start_on(Database::Postgres).await;
    assert_eq!(add_user(&host, "before").await.0, StatusCode::CREATED);
    let mut connection = host.connection().await;
    let (database,): (String,) = sql::query_as("SELECT current_database()")
        .fetch_one(&mut connection)
        .await
        .expect("a name");
    let mut set_read_only = async |value: &str| {
        let text =
            format!("ALTER DATABASE \"{database}\" SET default_transaction_read_only = {value}");
        connection.batch(&text).await.expect("altered");
        // The setting applies to new connections.
        let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid() AND $1 = 'on'";
        sql::query(others)
            .bind(value.to_owned())
            .execute(&mut connection)
            .await
            .expect("terminated");
    };
    set_read_only("on").await;
    let url = format!("{}/admin/api/v1/users", host.base);
    for _ in 0..3 {
        let request = http_client()
            .post(&url)
            .bearer_auth(&host.token)
            .json(&json!({"name": "during", "email": "during@example.org"}));
        let response = request.response().await;
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key("retry-after"));
    }
    // Only the error makes the instance reconnect.
    set_read_only("off").await;
    let (status, user) = in_time(async {
        loop {
            let (status, user) = add_user(&host, "after").await;
            if !status.is_server_error() {
                return (status, user);
            }
        }
    })
    .await;
    assert_eq!(status, StatusCode::CREATED, "{user}");
}

#[tokio::test]
async fn a_lost_commit_reply_is_an_error_and_a_retry_is_safe() {
    let (host, proxy) = TestHost::start_behind_proxy().await;
    proxy.drop_reply_to_commit_of("grace@example.org");
    let (status, _) = add_user(&host, "grace").await;
    assert_eq!(proxy.dropped(), 1);
    assert!(status.is_server_error(), "{status}");
    assert_eq!(add_user(&host, "grace").await.0, StatusCode::CONFLICT);
    let users = host
        .admin_ok(Method::GET, "/users?q=grace", Value::Null)
        .await;
    assert_eq!(users["items"].as_array().map(Vec::len), Some(1), "{users}");
}

#[tokio::test]
async fn a_code_is_used_although_its_commit_reply_was_lost() {
    let (host, proxy) = TestHost::start_behind_proxy().await;
    let ada = host.ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    // Only the exchange names the code. A trace of the sign-in names the application, and may be written later.
    let (id,): (String,) = sql::query_as("SELECT id FROM token_families")
        .fetch_one(&mut host.connection().await)
        .await
        .expect("the code");
    proxy.drop_reply_to_commit_of(&id);
    let (status, _) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(proxy.dropped(), 1);
    assert!(status.is_server_error(), "{status}");
    let (status, answer) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(
        (status, answer["error"].as_str()),
        (StatusCode::BAD_REQUEST, Some("invalid_grant"))
    );
}
