//! A sign-on takes the user and the account from memory, in the versions that the database has. So each change counts
//! in the next one.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Browser, Database, TestHost, TestUser, Text, id, jwt_claims, parse_json};
use crate::saml::service_provider::{Response, TestServiceProvider};

/// Signs in with the browser's session. Returns the claims of the ID token; `None` if the user gets no code.
async fn sign_in(host: &TestHost, ada: &TestUser, browser: &Browser) -> Option<Value> {
    let page = browser.get(&ada.application.request(&[])).await;
    let location = page.location();
    let code = location.query_pairs().find(|(name, _)| name == "code")?.1;
    let (status, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    Some(jwt_claims(tokens["id_token"].text()))
}

async fn roles(host: &TestHost, ada: &TestUser, browser: &Browser) -> Value {
    let claims = sign_in(host, ada, browser).await.expect("signed in");
    let account: Value = parse_json(claims["account"].text());
    account["roles"].clone()
}

#[both_databases]
async fn each_change_counts_in_the_next_sign_in(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let (user, account) = (
        format!("/users/{}", id(&ada.user)),
        format!("/accounts/{}", id(&ada.account)),
    );
    let change = async |path: &str, change: Value| {
        host.admin_ok(Method::PATCH, path, change).await;
        // A suspension ends all grants of its second.
        host.advance(1);
    };
    // The caches have the account after the first of these.
    roles(&host, &ada, &browser).await;
    change(&account, json!({"roles": ["clerk"]})).await;
    assert_eq!(roles(&host, &ada, &browser).await, json!(["clerk"]));

    change(&user, json!({"profile": {"name": "Ada King"}})).await;
    let claims = sign_in(&host, &ada, &browser).await.expect("signed in");
    assert_eq!(claims["name"], "Ada King");

    let group = host
        .admin_ok(Method::POST, "/groups", json!({"name": "Engines"}))
        .await;
    let members = format!("/groups/{}/members", id(&group));
    let assignment = format!("/applications/{}/groups/{}", ada.application.id, id(&group));
    host.admin_ok(Method::PUT, &assignment, json!({"roles": ["reader"]}))
        .await;
    assert_eq!(roles(&host, &ada, &browser).await, json!(["clerk"]));
    host.admin_ok(Method::POST, &members, json!({"users": [id(&ada.user)]}))
        .await;
    assert_eq!(
        roles(&host, &ada, &browser).await,
        json!(["clerk", "reader"])
    );

    change(&account, json!({"state": "suspended"})).await;
    assert_eq!(sign_in(&host, &ada, &browser).await, None);
    change(&account, json!({"state": "active"})).await;
    assert!(sign_in(&host, &ada, &browser).await.is_some());

    let application = format!("/applications/{}", ada.application.id);
    change(&application, json!({"enabled": false})).await;
    let page = browser.get(&ada.application.request(&[])).await;
    assert_eq!(page.status, 403);
    change(&application, json!({"enabled": true})).await;
    assert!(sign_in(&host, &ada, &browser).await.is_some());

    change(&user, json!({"state": "suspended"})).await;
    assert_eq!(sign_in(&host, &ada, &browser).await, None);
}

/// A fail-over to a replica that lacks the last changes: later ones use the same version numbers again.
#[both_databases]
async fn a_lost_version_is_not_used_for_another_one(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let account = format!("/accounts/{}", id(&ada.account));
    host.admin_ok(Method::PATCH, &account, json!({"roles": ["lost"]}))
        .await;
    assert_eq!(roles(&host, &ada, &browser).await, json!(["lost"]));
    let mut connection = host.connection().await;
    connection
        .batch("UPDATE accounts SET roles = '[\"clerk\"]', updated_at = updated_at + 1")
        .await
        .expect("changed");
    assert_eq!(roles(&host, &ada, &browser).await, json!(["clerk"]));
}

#[both_databases]
async fn each_change_counts_in_the_next_saml_sign_on(database: Database) {
    let host = TestHost::start_on(database).await;
    let provider = TestServiceProvider::register(&host, json!({})).await;
    let ada = provider.ada(&host).await;
    let browser = Browser::new(&host.base);
    provider
        .sign_in(&ada, &browser, &provider.request(&host))
        .await;
    let sign_on = async || {
        provider
            .begin(&browser, &provider.request(&host), None)
            .await
    };
    assert!(Response::from_page(&sign_on().await).is_success());
    let account = format!("/accounts/{}", id(&ada.account));
    host.admin_ok(Method::PATCH, &account, json!({"state": "suspended"}))
        .await;
    let page = sign_on().await;
    assert!(!page.body.contains("SAMLResponse"), "{}", page.body);
    host.admin_ok(Method::PATCH, &account, json!({"state": "active"}))
        .await;
    assert!(Response::from_page(&sign_on().await).is_success());
}
