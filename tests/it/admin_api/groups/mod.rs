//! Groups, and the access to applications that they grant.

mod access;
mod administration;
mod claims;
mod transfers;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Application, TestHost, TestUser, id};

/// Creates a group with these members.
pub(super) async fn group(host: &TestHost, name: &str, members: &[&Value]) -> Value {
    let group = host
        .admin_ok(Method::POST, "/groups", json!({"name": name}))
        .await;
    if !members.is_empty() {
        add(host, &group, members).await;
    }
    group
}

/// Adds users to a group.
async fn add(host: &TestHost, group: &Value, members: &[&Value]) -> Value {
    let users: Vec<&str> = members.iter().map(|user| id(user)).collect();
    let path = format!("/groups/{}/members", id(group));
    host.admin_ok(Method::POST, &path, json!({"users": users}))
        .await
}

/// Removes a user from a group.
async fn remove(host: &TestHost, group: &Value, user: &Value) {
    let path = format!("/groups/{}/members/{}", id(group), id(user));
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
}

/// Assigns an application to a group with roles.
pub(super) async fn assign(
    host: &TestHost,
    application: &Application,
    group: &Value,
    roles: &[&str],
) {
    let path = format!("/applications/{}/groups/{}", application.id, id(group));
    host.admin_ok(Method::PUT, &path, json!({"roles": roles}))
        .await;
}

/// Assigns an application to everyone with roles.
async fn assign_everyone(host: &TestHost, application: &Application, roles: &[&str]) {
    let path = format!("/applications/{}/everyone", application.id);
    host.admin_ok(Method::PUT, &path, json!({"roles": roles}))
        .await;
}

/// Creates a user with a device and without an account.
async fn user_without_account(host: &TestHost, name: &str, application: Application) -> TestUser {
    let user = host.user(name).await;
    let device = host.authenticator(&user).await;
    TestUser {
        user,
        device,
        application,
        account: Value::Null,
    }
}

/// Returns the accounts of a user from the admin API.
async fn accounts(host: &TestHost, user: &Value) -> Value {
    let path = format!("/users/{}/accounts", id(user));
    host.admin_ok(Method::GET, &path, Value::Null).await["items"].clone()
}
