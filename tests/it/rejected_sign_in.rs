//! A sign-in of a user who approves, and may not sign in to the application: the reference of its page stays available.

use assent_test_macros::both_databases;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Browser, Database, Page, TestHost, TestUser, id};
use crate::portal::through_login;

/// Returns the page of a sign-in that Ada approved, without an account with the application.
async fn rejected(host: &TestHost, ada: &TestUser, browser: &Browser) -> Page {
    let account = format!("/accounts/{}", id(&ada.account));
    host.admin_ok(Method::DELETE, &account, Value::Null).await;
    let page = ada.begin_sign_in(browser, &[]).await;
    ada.approve(&page).await;
    browser.get(&page.url).await
}

#[both_databases]
async fn the_audit_log_has_a_rejected_sign_in_with_the_reference_of_its_page(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let browser = Browser::new(&host.base);
    let ended = rejected(&host, &ada, &browser).await;
    assert_eq!(ended.outcome(), "rejected");
    let reference = ended.between("id=\"reference\"><code>", "<");
    assert_eq!(reference.trim().len(), 8, "{reference}");
    // The user stays on the page, or loads it again: it is the same sign-in with the same reference.
    for address in [format!("{}?stay", ended.path()), ended.path()] {
        let again = browser.get(&address).await;
        assert_eq!(again.between("id=\"reference\"><code>", "<"), reference);
    }
    let query = format!("/audit?event=sign-in.rejected&user={}", id(&ada.user));
    let found = host.admin_ok(Method::GET, &query, Value::Null).await;
    let entries = found["items"].as_array().expect("a list");
    assert_eq!(entries.len(), 1, "{entries:?}");
    let entry = &entries[0];
    assert_eq!(entry["detail"]["reason"], "no_account");
    assert_eq!(entry["detail"]["reference"], json!(reference.trim()));
    assert_eq!(entry["application_id"], json!(ada.application.id));
    // The page still returns to the application by itself.
    let back = browser.get(&ended.returns().expect("a return")).await;
    assert_eq!(back.parameter("error"), "access_denied");
}

#[tokio::test]
async fn the_user_finds_the_reference_in_the_portal() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let ended = rejected(&host, &ada, &browser).await;
    let reference = ended.between("id=\"reference\"><code>", "<");
    let activity = through_login(&ada, &browser.get("/activity").await).await;
    let reference = format!("Reference: <bdi>{}</bdi>", reference.trim());
    assert!(activity.body.contains(&reference), "{}", activity.body);
}
