//! The order in which transactions lock rows on PostgreSQL: groups before applications. Two transactions with different
//! orders could deadlock until PostgreSQL rolls one of them back, a second later.

use assent_store::sql;
use reqwest::Method;
use serde_json::{Value, json};

use super::groups::{assign, group};
use super::manifests::{applied, web};
use crate::harness::{Database, TestHost, id, wait_for_count};

/// Counts 1 if a connection waits for a lock of the connection with the name `holder`, and 0 otherwise.
const WAITS_FOR_HOLDER: &str = "SELECT COUNT(*) FROM (
    SELECT 1 FROM pg_stat_activity AS waiting
    JOIN pg_stat_activity AS holder ON holder.pid = ANY (pg_blocking_pids(waiting.pid))
    WHERE holder.datname = current_database() AND holder.application_name = 'holder' LIMIT 1) AS blocked";

/// Returns a manifest with a group and with an application that is assigned to it.
fn manifest(name: &str, role: &str) -> Value {
    json!({
        "owner": "team",
        "applications": [web("wiki", name)],
        "groups": [{"key": "managed", "name": name, "members": []}],
        "assignments": [{"application": "wiki", "group": "managed", "roles": [role]}],
    })
}

/// While another transaction holds the applications, `change` waits for one of them. Meanwhile it holds the group of
/// this name.
async fn locks_the_group_first(host: &TestHost, name: &str, change: impl Future<Output = ()>) {
    let (mut holder, mut observer) = (host.connection().await, host.connection().await);
    holder
        .batch("SET application_name = 'holder'; BEGIN; SELECT 1 FROM applications FOR UPDATE")
        .await
        .expect("locked");
    let observation = async {
        wait_for_count(&mut observer, WAITS_FOR_HOLDER, 1).await;
        let unlocked: Vec<(String,)> =
            sql::query_as("SELECT name FROM user_groups FOR UPDATE SKIP LOCKED")
                .fetch_all(&mut observer)
                .await
                .expect("read");
        holder.batch("ROLLBACK").await.expect("unlocked");
        unlocked
    };
    let ((), unlocked) = tokio::join!(change, observation);
    assert_eq!(unlocked.len(), 1, "{name}: {unlocked:?}");
    assert_ne!(unlocked[0].0, name);
}

#[tokio::test]
async fn groups_are_locked_before_applications() {
    let host = TestHost::start_on(Database::Postgres).await;
    let ada = host.user("ada").await;
    let books = host.web_application().await;
    let staff = group(&host, "Staff", &[]).await;
    applied(&host, &manifest("Managed", "reader"), false).await;
    let group = format!("/groups/{}", id(&staff));
    let members = format!("{group}/members");
    let member = format!("{members}/{}", id(&ada));
    let assigned = format!("/applications/{}/groups/{}", books.id, id(&staff));

    assign(&host, &books, &staff, &["reader"]).await;
    for (method, path, body) in [
        (Method::PUT, &assigned, json!({"roles": ["author"]})),
        (Method::POST, &members, json!({"users": [id(&ada)]})),
        (Method::PATCH, &group, json!({"description": "All of us"})),
        (Method::DELETE, &member, Value::Null),
        (Method::DELETE, &group, Value::Null),
    ] {
        locks_the_group_first(&host, "Staff", async {
            host.admin_ok(method, path, body).await;
        })
        .await;
    }
}

#[tokio::test]
async fn manifests_lock_groups_before_applications() {
    let host = TestHost::start_on(Database::Postgres).await;
    group(&host, "Staff", &[]).await;
    applied(&host, &manifest("Managed", "reader"), false).await;
    for next in [
        manifest("Managed", "author"),
        manifest("Managed too", "author"),
    ] {
        locks_the_group_first(&host, "Managed", async {
            applied(&host, &next, false).await;
        })
        .await;
    }
}
