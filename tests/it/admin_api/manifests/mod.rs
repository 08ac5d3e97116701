//! Configuration as code: plans, their application, and the export.

mod access;
mod applying;
mod approvals;
mod approved_parts;
mod by_key;
mod changed_members;
mod logo_uris;
mod permissions;
mod races;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Json, TestHost, Text, id};

/// Returns a manifest with applications of both protocols, groups, assignments and accounts.
fn everything() -> Value {
    let keys = json!({"keys": [{"kty": "EC", "crv": "P-256", "kid": "one", "alg": "ES256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]});
    json!({
        "owner": "platform-team",
        "applications": [
            {"key": "wiki", "name": "Wiki", "application_type": "web",
             "redirect_uris": ["https://wiki.example.org/b", "https://wiki.example.org/a"],
             "token_endpoint_auth_method": "private_key_jwt", "jwks": keys,
             "backchannel_logout_uri": "https://wiki.example.org/logout",
             "backchannel_logout_session_required": true, "consent": "implied"},
            {"key": "robot", "name": "Robot", "application_type": "web", "grant_types": ["client_credentials"],
             "token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://robot.example.org/jwks",
             "admin_scopes": ["admin:read"]},
            {"key": "app", "name": "App", "application_type": "native", "redirect_uris": ["org.example.app://cb"],
             "subject_type": "pairwise", "sector_identifier": "app.example.org", "scopes": ["openid", "email"]},
            {"key": "crm", "protocol": "saml", "name": "CRM", "entity_id": "https://crm.example.org/saml",
             "acs": [{"url": "https://crm.example.org/acs", "index": 3, "default": true}],
             "single_logout": {"url": "https://crm.example.org/slo", "binding": "post"},
             "name_id_format": "emailAddress", "other_name_id_formats": [],
             "custom_attributes": [{"name": "team", "values": ["{email}"]}], "clock_skew_seconds": 30}
        ],
        "groups": [
            {"key": "staff", "name": "Staff", "description": "All of us", "members": ["bob", "ada"]},
            {"key": "empty", "name": "Nobody", "members": []}
        ],
        "assignments": [
            {"application": "wiki", "group": "staff", "roles": ["reader", "author"]},
            {"application": "wiki", "roles": []},
            {"application": "crm", "group": "empty"}
        ],
        "accounts": [
            {"application": "wiki", "user": "ada", "roles": ["admin"]},
            {"application": "crm", "user": "bob"}
        ]
    })
}

/// Returns a manifest of `owner` with one web application.
fn web_manifest(owner: &str, key: &str, name: &str) -> Value {
    json!({"owner": owner, "applications": [web(key, name)]})
}

pub(super) fn web(key: &str, name: &str) -> Value {
    json!({"key": key, "name": name, "application_type": "web",
           "redirect_uris": [format!("https://{key}.example.org/cb")]})
}

async fn plan(host: &TestHost, manifest: &Value, prune: bool) -> Value {
    let body = json!({"manifest": manifest, "prune": prune});
    host.admin_ok(Method::POST, "/plans", body).await
}

/// Applies a plan. Returns the status and the body of the response.
async fn apply(
    host: &TestHost,
    manifest: &Value,
    prune: bool,
    digest: &Value,
) -> (StatusCode, Value) {
    let body = json!({"manifest": manifest, "prune": prune, "digest": digest});
    host.admin(Method::POST, "/plans/apply", body).await
}

/// Plans and applies a manifest. Returns the plan.
pub(super) async fn applied(host: &TestHost, manifest: &Value, prune: bool) -> Value {
    let plan = plan(host, manifest, prune).await;
    let (status, answer) = apply(host, manifest, prune, &plan["digest"]).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer, plan);
    plan
}

async fn export(host: &TestHost, owner: &str) -> Value {
    let path = format!("/manifests/{owner}");
    host.admin_ok(Method::GET, &path, Value::Null).await
}

/// Returns the changes of a plan, each as text such as "create application wiki".
fn changes(plan: &Value) -> Vec<String> {
    let words = |change: &Value| {
        let word = |name: &str| change[name].text().to_owned();
        format!("{} {} {}", word("action"), word("kind"), word("key"))
    };
    plan["changes"].items().iter().map(words).collect()
}

/// Returns the application with a key.
async fn by_key(host: &TestHost, owner: &str, key: &str) -> Value {
    let path = format!("/applications/by-key/{owner}/{key}");
    host.admin_ok(Method::GET, &path, Value::Null).await
}

/// Returns the number of applications.
async fn count_applications(host: &TestHost) -> usize {
    let list = host
        .admin_ok(Method::GET, "/applications", Value::Null)
        .await;
    list["items"].items().len()
}

/// Changes the name of an application through its own endpoint.
async fn rename(host: &TestHost, application: &Value, name: &str) {
    let path = format!("/applications/{}", id(application));
    host.admin_ok(Method::PATCH, &path, json!({"name": name}))
        .await;
}
