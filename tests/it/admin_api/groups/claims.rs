//! Applications and plugins receive the groups that are assigned to the application, and no others.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{assign, assign_everyone, group};
use crate::harness::{
    Body, Browser, Database, Respond, TestHost, Text, component, get, http_client, id, jwt_claims,
};

const SCOPE: [(&str, Option<&str>); 1] = [("scope", Some("openid groups"))];

/// Lets an application use the scope `groups`.
async fn allow_groups(host: &TestHost, application: &str) {
    let path = format!("/applications/{application}");
    let scopes = json!({"scopes": ["openid", "profile", "groups"]});
    host.admin_ok(Method::PATCH, &path, scopes).await;
}

#[tokio::test]
async fn the_scope_groups_gives_the_names_of_assigned_groups() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    allow_groups(&host, &ada.application.id).await;
    let staff = group(&host, "Staff", &[&ada.user]).await;
    let admins = group(&host, "Admins", &[&ada.user]).await;
    group(&host, "Secret", &[&ada.user]).await;
    assign(&host, &ada.application, &staff, &[]).await;
    assign(&host, &ada.application, &admins, &[]).await;
    assign_everyone(&host, &ada.application, &[]).await;
    let browser = Browser::new(&host.base);
    let code = ada.sign_in_with(&browser, &SCOPE).await;
    let (status, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let claims = jwt_claims(tokens["id_token"].text());
    assert_eq!(claims["groups"], json!(["Admins", "Staff"]), "{claims}");
    let request = http_client().get(format!("{}/oidc/me", host.base));
    let info: Value = request
        .bearer_auth(tokens["access_token"].text())
        .response()
        .await
        .read_json()
        .await;
    assert_eq!(info["groups"], json!(["Admins", "Staff"]));

    // The next request returns the new name to the application.
    let path = format!("/groups/{}", id(&staff));
    host.admin_ok(Method::PATCH, &path, json!({"name": "Team"}))
        .await;
    host.advance(1);
    let request = http_client().get(format!("{}/oidc/me", host.base));
    let info: Value = request
        .bearer_auth(tokens["access_token"].text())
        .response()
        .await
        .read_json()
        .await;
    assert_eq!(info["groups"], json!(["Admins", "Team"]));

    // Without the scope, the claim is missing. Discovery names both.
    let code = ada
        .sign_in_with(&browser, &[("prompt", Some("login"))])
        .await;
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert!(jwt_claims(tokens["id_token"].text())["groups"].is_null());
    let document: Value = get(format!(
        "{}/.well-known/openid-configuration",
        host.issuer()
    ))
    .await
    .read_json()
    .await;
    let lists = |name: &str| {
        document[name]
            .as_array()
            .expect("a list")
            .contains(&json!("groups"))
    };
    assert!(lists("scopes_supported") && lists("claims_supported"));
}

/// `claim-map` creates claims and attributes from `user.groups`, which contains no group of another application.
#[tokio::test]
async fn plugins_receive_assigned_groups_only() {
    let file = component("claim-map");
    let settings = format!(
        "[[plugins.claim_mappers]]\nname = \"claim-map\"\nfile = \"{}\"\nwrites = [\"teams\", \"attribute:memberOf\"]\n\
         [[plugins.claim_mappers.config.rules]]\nclaim = \"teams\"\nfrom = \"user.groups\"\n\
         [[plugins.claim_mappers.config.rules]]\nattribute = \"memberOf\"\nfrom = \"user.groups\"\n",
        file.display()
    );
    let host = TestHost::start_with_plugins(&settings).await;
    let ada = host.ada().await;
    let staff = group(&host, "Staff", &[&ada.user]).await;
    let other = group(&host, "Other", &[&ada.user]).await;
    assign(&host, &ada.application, &staff, &[]).await;
    let provider = json!({
        "protocol": "saml", "name": "Wiki", "entity_id": "https://wiki.example",
        "acs": [{"url": "https://wiki.example/acs"}],
    });
    let provider = host.admin_ok(Method::POST, "/applications", provider).await;
    let path = format!("/applications/{}/accounts", id(&provider));
    let there = host
        .admin_ok(Method::POST, &path, json!({"user_id": id(&ada.user)}))
        .await;
    let path = format!("/applications/{}/groups/{}", id(&provider), id(&other));
    host.admin_ok(Method::PUT, &path, json!({"roles": []}))
        .await;

    let tokens = ada.tokens(&host, &Browser::new(&host.base)).await;
    let claims = jwt_claims(tokens["id_token"].text());
    assert_eq!(claims["teams"], json!(["Staff"]), "{claims}");
    let path = format!(
        "/applications/{}/claims-preview?account={}",
        id(&provider),
        id(&there)
    );
    let preview = host.admin_ok(Method::GET, &path, Value::Null).await;
    let text = preview.to_string();
    assert!(
        text.contains("memberOf") && text.contains("Other"),
        "{text}"
    );
    assert!(!text.contains("Staff"), "{text}");
}

/// The shipped plugins take the union of the roles.
#[tokio::test]
async fn the_preview_of_an_account_has_the_effective_roles() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let staff = group(&host, "Staff", &[&ada.user]).await;
    assign(&host, &ada.application, &staff, &["approver"]).await;
    let path = format!(
        "/applications/{}/claims-preview?account={}",
        ada.application.id,
        id(&ada.account)
    );
    let preview = host
        .admin_ok(Method::GET, &path, Value::Null)
        .await
        .to_string();
    assert!(preview.contains("approver"), "{preview}");
}

#[both_databases]
async fn the_preview_of_a_user_has_the_account_that_an_assignment_implies(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let bob = host.user("bob").await;
    let path = format!(
        "/applications/{}/claims-preview?user={}",
        ada.application.id,
        id(&bob)
    );
    let (status, none) = host.admin(Method::GET, &path, Value::Null).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{none}");
    let staff = group(&host, "Staff", &[&bob]).await;
    assign(&host, &ada.application, &staff, &["approver"]).await;
    let preview = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(preview["user"], bob["id"]);
    assert!(preview.to_string().contains("approver"), "{preview}");
    let accounts = format!("/applications/{}/accounts?q=bob", ada.application.id);
    let accounts = host.admin_ok(Method::GET, &accounts, Value::Null).await;
    assert_eq!(accounts["items"], json!([]), "a preview stores nothing");
    let both = format!("{path}&account={}", id(&ada.account));
    let (status, both) = host.admin(Method::GET, &both, Value::Null).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{both}");
}
