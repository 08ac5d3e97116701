//! Results of claim mappers are reused at UserInfo while no input changes.

use assent_tests::harness::{Browser, TestHost, TestUser, Text, component, id};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::oidc::token::userinfo;

async fn start(settings: &str) -> TestHost {
    TestHost::start_with_plugins(&format!(
        "[[plugins.claim_mappers]]\nname = \"account-roles\"\nfile = \"{}\"\nwrites = [\"account\"]\n{settings}",
        component("account-roles").display(),
    ))
    .await
}

/// Returns the number of calls of the claim mapper.
async fn calls(host: &TestHost) -> u64 {
    let listed = host.admin_ok(Method::GET, "/plugins", Value::Null).await;
    listed["plugins"][0]["metrics"]["calls"]
        .as_u64()
        .expect("a number")
}

/// Returns the claims, and the number of calls of the claim mapper for them.
async fn ask(host: &TestHost, token: &str) -> (Value, u64) {
    let before = calls(host).await;
    let (status, claims) = userinfo(host, token).await;
    assert_eq!(status, StatusCode::OK, "{claims}");
    (claims, calls(host).await - before)
}

/// Returns the roles in the claim `account`, which is JSON in a string.
fn roles(claims: &Value) -> Value {
    let account: Value = serde_json::from_str(claims["account"].text()).expect("JSON");
    account["roles"].clone()
}

async fn token(host: &TestHost, ada: &TestUser) -> String {
    let tokens = ada.tokens(host, &Browser::new(&host.base)).await;
    tokens["access_token"].text().to_owned()
}

/// The clock of the tests stands still until it is advanced.
#[tokio::test]
async fn a_result_is_reused_within_its_second_until_a_change() {
    let host = start("").await;
    let ada = host.ada().await;
    let token = token(&host, &ada).await;
    let (first, called) = ask(&host, &token).await;
    assert_eq!(called, 1);
    assert_eq!(
        ask(&host, &token).await,
        (first.clone(), 0),
        "the same second"
    );
    host.advance(1);
    assert_eq!(ask(&host, &token).await, (first, 1), "the next second");
    let account = format!("/accounts/{}", id(&ada.account));
    host.admin_ok(Method::PATCH, &account, json!({"roles": ["owner"]}))
        .await;
    let (changed, called) = ask(&host, &token).await;
    assert_eq!(
        (roles(&changed), called),
        (json!(["owner"]), 1),
        "a change counts in the next request"
    );
    let user = format!("/users/{}", id(&ada.user));
    host.admin_ok(Method::PATCH, &user, json!({"email": "ada@new.example"}))
        .await;
    let (changed, called) = ask(&host, &token).await;
    assert_eq!((changed["email"].text(), called), ("ada@new.example", 1));
}

#[tokio::test]
async fn a_configured_age_of_results_does_not_outlast_a_change() {
    let host = start("result_max_age = \"1m\"\n").await;
    let ada = host.ada().await;
    let token = token(&host, &ada).await;
    let (first, _) = ask(&host, &token).await;
    host.advance(59);
    assert_eq!(ask(&host, &token).await, (first, 0), "59 seconds later");
    let account = format!("/accounts/{}", id(&ada.account));
    host.admin_ok(Method::PATCH, &account, json!({"roles": ["owner"]}))
        .await;
    let (changed, called) = ask(&host, &token).await;
    assert_eq!((roles(&changed), called), (json!(["owner"]), 1));
    host.advance(60);
    assert_eq!(ask(&host, &token).await.1, 1, "a minute later");
    host.admin_ok(Method::PATCH, &account, json!({"state": "suspended"}))
        .await;
    assert_eq!(userinfo(&host, &token).await.0, StatusCode::UNAUTHORIZED);
}
