//! Changes between the moment when a request recomputes the plan and its transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assent::domain::admin::{AdminContext, AdminError, ApplyManifest, plan_manifest};
use assent_test_macros::both_databases;
use reqwest::Method;
use serde_json::{Value, json};

use super::{applied, by_key, count_applications, rename, web, web_manifest};
use crate::harness::{Database, Json, TestHost, id};

/// Returns a manifest that changes an object of each kind, after the manifest of [`start`].
fn next() -> Value {
    json!({
        "owner": "team",
        "applications": [web("wiki", "Renamed"), web("new", "New")],
        "groups": [{"key": "staff", "name": "Staff", "members": ["bob"]}],
        "assignments": [{"application": "wiki", "group": "staff", "roles": ["reader"]}],
        "accounts": [{"application": "wiki", "user": "ada"}],
    })
}

async fn start(database: Database) -> TestHost {
    let host = TestHost::start_on(database).await;
    for name in ["ada", "bob"] {
        host.user(name).await;
    }
    let mut manifest = web_manifest("team", "wiki", "Wiki");
    manifest["groups"] = json!([{"key": "staff", "name": "Staff", "members": []}]);
    applied(&host, &manifest, false).await;
    host
}

async fn user(host: &TestHost, name: &str) -> Value {
    let path = format!("/users?q={name}");
    let found = host.admin_ok(Method::GET, &path, Value::Null).await;
    found["items"][0].clone()
}

/// Applies [`next`], and makes `change` between the plan of the request and its transaction.
async fn apply_around(host: &TestHost, change: impl AsyncFn()) -> Result<(), AdminError> {
    let context = AdminContext::of_operator(Arc::clone(&host.host));
    let manifest = serde_json::from_value(next()).expect("a manifest");
    let (_, plan) = plan_manifest(&context, &manifest, false).await?;
    let command = ApplyManifest {
        manifest,
        prune: false,
        digest: plan.digest.to_text(),
    };
    let is_changed = AtomicBool::new(false);
    let once = async || {
        if !is_changed.swap(true, Ordering::Relaxed) {
            change().await;
        }
    };
    context.run_with(&command, once).await.map(|_| ())
}

/// A change of any object on which the plan depends undoes the whole transaction, including unrelated objects.
#[both_databases]
async fn a_change_after_the_plan_rolls_back_the_whole_transaction(database: Database) {
    type Change = for<'h> fn(&'h TestHost) -> futures_util::future::BoxFuture<'h, ()>;
    let changes: [(&str, Change); 4] = [
        ("the application", |host| {
            Box::pin(async move {
                let wiki = by_key(host, "team", "wiki").await;
                rename(host, &wiki, "Other").await;
            })
        }),
        ("the group", |host| {
            Box::pin(async move {
                let groups = host.admin_ok(Method::GET, "/groups", Value::Null).await;
                let path = format!("/groups/{}", id(&groups["items"][0]));
                let body = json!({"description": "changed"});
                host.admin_ok(Method::PATCH, &path, body).await;
            })
        }),
        ("the user of the account", |host| {
            Box::pin(async move {
                let path = format!("/users/{}", id(&user(host, "ada").await));
                host.admin_ok(Method::DELETE, &path, Value::Null).await;
            })
        }),
        ("the key", |host| {
            Box::pin(async move {
                let path = "/applications/by-key/team/new";
                let body = json!({"name": "Theirs", "application_type": "web",
                                  "redirect_uris": ["https://theirs.example/cb"]});
                host.admin_ok(Method::PUT, path, body).await;
            })
        }),
    ];
    for (what, change) in changes {
        let host = start(database).await;
        let before = count_applications(&host).await;
        let failed = apply_around(&host, async || change(&host).await).await;
        assert!(failed.is_err(), "{database:?} {what}");
        assert_ne!(
            by_key(&host, "team", "wiki").await["name"],
            "Renamed",
            "{what}"
        );
        let expected = if what == "the key" {
            before + 1
        } else {
            before
        };
        assert_eq!(
            count_applications(&host).await,
            expected,
            "{database:?} {what}"
        );
        let groups = host.admin_ok(Method::GET, "/groups", Value::Null).await;
        assert_eq!(groups["items"][0]["members"].unsigned(), 0, "{what}");
        assert_eq!(groups["items"][0]["applications"].unsigned(), 0, "{what}");
    }
    // The plan names this user but does not change with the user. So the second attempt applies the same plan.
    let host = start(database).await;
    let change = async || {
        let path = format!("/users/{}", id(&user(&host, "bob").await));
        let body = json!({"profile": {"nickname": "x"}});
        host.admin_ok(Method::PATCH, &path, body).await;
    };
    apply_around(&host, change).await.expect("applied");
    assert_eq!(by_key(&host, "team", "wiki").await["name"], "Renamed");
}

/// If another request takes the name of a group after the plan, the result is an error, and nothing is written.
#[both_databases]
async fn a_name_taken_after_the_plan_rolls_back_the_whole_transaction(database: Database) {
    let host = TestHost::start_on(database).await;
    let context = AdminContext::of_operator(Arc::clone(&host.host));
    let mut manifest = web_manifest("team", "wiki", "Wiki");
    manifest["groups"] = json!([{"key": "staff", "name": "Staff"}]);
    let manifest = serde_json::from_value(manifest).expect("a manifest");
    let (_, plan) = plan_manifest(&context, &manifest, false)
        .await
        .expect("a plan");
    let command = ApplyManifest {
        manifest,
        prune: false,
        digest: plan.digest.to_text(),
    };
    let taken = async || {
        host.admin_ok(Method::POST, "/groups", json!({"name": "STAFF"}))
            .await;
    };
    let failed = context.run_with(&command, taken).await;
    assert!(
        matches!(failed, Err(AdminError::Taken(_))),
        "{database:?}: {failed:?}"
    );
    assert_eq!(count_applications(&host).await, 0, "{database:?}");
}
