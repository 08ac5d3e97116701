//! A client finds out which names exist: the requests for names that it does not serve execute the same statements, and
//! so do those for users who cannot answer.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{ask, asked, pending, start};
use crate::harness::{Database, Statements, TestHost, TestUser, id};

/// The statements that no response waits for.
const BESIDE: [&str; 11] = [
    "approval_deliveries",
    "DELETE FROM approval_dispatches",
    "FROM devices",
    "client_requests",
    "claim_traces",
    "audit_root",
    "audit_lanes SET held_until",
    "instances",
    "leases",
    "run_once",
    "wrapped_keys",
];

/// The tables that a request reads and writes.
const TABLES: [&str; 7] = [
    "accounts",
    "approval_subjects",
    "approvals",
    "audit_entries",
    "backchannel_requests",
    "user_names",
    "users",
];

/// Asks for a name, and returns the answer with the statements in their order.
async fn asked_for(
    host: &TestHost,
    ada: &TestUser,
    statements: &Statements,
    name: &str,
) -> (StatusCode, Value, Vec<String>) {
    let begun = statements.executed().len();
    let (status, mut answer) =
        ask(&host.base, &ada.application, &[("login_hint", Some(name))]).await;
    let words = |text: &String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let counts = |text: &String| {
        TABLES.iter().any(|table| text.contains(table))
            && !BESIDE.iter().any(|beside| text.contains(beside))
            && !text.starts_with("SELECT * FROM approvals WHERE id")
    };
    let executed = statements.executed();
    if let Some(answer) = answer.as_object_mut() {
        answer.remove("auth_req_id");
    }
    let new = executed[begun..].iter().map(words).filter(counts).collect();
    (status, answer, new)
}

/// PostgreSQL executes all statements in the thread of the test, unlike SQLite.
#[tokio::test]
async fn names_that_are_not_served_cause_the_same_statements() {
    let statements = Statements::capture();
    let (host, ada) = start(Database::Postgres).await;
    // Bob has no account, and that of Carol is terminated.
    host.user("bob").await;
    let carol = host.user("carol").await;
    let account = host.account(&carol, &ada.application).await;
    let path = format!("/accounts/{}", id(&account));
    host.admin_ok(Method::PATCH, &path, json!({"state": "terminated"}))
        .await;
    // The first request fills the caches.
    asked_for(&host, &ada, &statements, "nobody").await;
    let expected = asked_for(&host, &ada, &statements, "nobody").await;
    assert_eq!(expected.1["error"], "unknown_user_id");
    assert!(!expected.2.is_empty(), "the queries of a name");
    for name in ["bob", "carol", "bob@example.org", "nobody@example.org"] {
        let found = asked_for(&host, &ada, &statements, name).await;
        assert_eq!(found, expected, "{name}");
    }
}

/// A request that reaches no device looks like one that does.
#[tokio::test]
async fn users_who_cannot_answer_cause_the_same_statements() {
    let statements = Statements::capture();
    let (host, ada) = start(Database::Postgres).await;
    let suspended = host
        .user_with_account("suspended", ada.application.clone())
        .await;
    let path = format!("/users/{}", id(&suspended.user));
    host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    let without = host.user("without").await;
    host.account(&without, &ada.application).await;
    let paused = host
        .user_with_account("paused", ada.application.clone())
        .await;
    asked(&host, &ada, &[("login_hint", Some("paused"))]).await;
    paused.device.deny(&pending(&paused.device).await).await;
    asked_for(&host, &ada, &statements, "ada").await;
    let expected = asked_for(&host, &ada, &statements, "ada").await;
    assert_eq!(expected.0, StatusCode::OK);
    assert_eq!(ada.device.pending_requests(5).await.len(), 2);
    let wrote = |table: &str| expected.2.iter().any(|text| text.contains(table));
    assert!(wrote("backchannel_requests") && wrote("audit_entries"));
    for name in ["suspended", "without", "paused"] {
        let found = asked_for(&host, &ada, &statements, name).await;
        assert_eq!(found, expected, "{name}");
    }
}
