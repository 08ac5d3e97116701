//! Requests during a cooldown are held. They arrive when the cooldown ends or is lifted, if their page still waits.

use assent_test_macros::both_databases;
use reqwest::Method;
use serde_json::json;

use super::entries;
use crate::harness::{Browser, Database, HostOptions, Page, TestHost, TestUser, id};

/// Begins a sign-in with this name, in a browser of its own. Returns the waiting page.
async fn request_as(host: &TestHost, ada: &TestUser, name: &str) -> Page {
    let browser = Browser::new(&host.base);
    let login = ada.application.login_page(&browser, &[]).await;
    login.submit_name(name).await
}

/// Denies two requests, which begins a cooldown of 30 seconds.
async fn begin_cooldown(host: &TestHost, ada: &TestUser) {
    for _ in 0..2 {
        request_as(host, ada, "ada").await;
        let request = &ada.device.pending_requests(5).await[0];
        assert_eq!(ada.device.deny(request).await, "denied");
    }
    let until = ada.device.cooldown_end().await;
    assert_eq!(until, Some(host.host.now().seconds() + 30));
}

/// Lets the instance process the held requests. Returns the names of the pending ones.
async fn pending_now(host: &TestHost, ada: &TestUser) -> Vec<String> {
    let store = &host.host.store;
    store
        .release_held_requests(host.host.now())
        .await
        .expect("released");
    pending_names(ada, 0).await
}

async fn pending_names(ada: &TestUser, seconds: u32) -> Vec<String> {
    let pending = ada.device.pending_requests(seconds).await;
    pending.into_iter().map(|request| request.account).collect()
}

#[both_databases]
async fn a_held_request_arrives_when_the_cooldown_ends(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    begin_cooldown(&host, &ada).await;
    let page = request_as(&host, &ada, "ada").await;
    let cancelled = request_as(&host, &ada, "ada@example.org").await;
    cancelled.cancel().await;
    host.advance(29);
    assert!(pending_now(&host, &ada).await.is_empty(), "{database:?}");
    // The device waits, and wakes up at the end of the cooldown.
    let (pending, ()) = tokio::join!(pending_names(&ada, 10), async { host.advance(1) });
    assert_eq!(pending, ["ada"], "{database:?}");
    ada.approve(&page).await;
    let answer = page.browser().finish(&page.url).await;
    assert!(
        answer.parameter("code").starts_with("ac_"),
        "{database:?}: {}",
        answer.body
    );
    let about = format!("user={}&event=sign-in.requested", id(&ada.user));
    let held: Vec<_> = entries(&host, &about)
        .await
        .into_iter()
        .filter(|entry| entry["detail"]["held"] == true)
        .collect();
    assert_eq!(held.len(), 2, "{database:?}: {held:?}");
    assert!(
        held.iter()
            .all(|entry| entry["detail"]["prompted"] == json!(false)),
        "{database:?}: {held:?}"
    );
}

#[both_databases]
async fn a_held_request_arrives_when_the_user_lifts_the_cooldown(database: Database) {
    let (mut host, ada) = TestHost::start_on(database).await.with_ada().await;
    // The cooldown of a report lasts longer than any request.
    request_as(&host, &ada, "ada").await;
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(ada.device.submit_report(request).await, "reported");
    // Another instance received the request, and then stops.
    let options = HostOptions {
        database,
        ..HostOptions::default()
    };
    let (_, second, base) = host.second(options).await;
    let elsewhere = Browser::new(&base);
    let login = ada.application.login_page(&elsewhere, &[]).await;
    let page = login.submit_name("ada").await;
    assert!(pending_names(&ada, 0).await.is_empty(), "{database:?}");
    second.stop().await;
    ada.device.end_cooldown().await;
    // There is no delay, because the transaction that lifts the cooldown releases the request.
    assert_eq!(pending_names(&ada, 0).await, ["ada"], "{database:?}");
    let here = elsewhere.at(&host.base);
    ada.approve(&here.get(&page.path()).await).await;
    host.stop().await;
}

#[both_databases]
async fn a_report_drops_held_requests(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    begin_cooldown(&host, &ada).await;
    let held = request_as(&host, &ada, "ada").await;
    // A QR sign-in arrives during the cooldown. Ada reports it.
    let login = ada
        .application
        .login_page(&Browser::new(&host.base), &[])
        .await;
    ada.device.scan_code(&crate::qr_sign_in::code(&login)).await;
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(ada.device.submit_report(request).await, "reported");
    ada.device.end_cooldown().await;
    assert!(pending_names(&ada, 0).await.is_empty(), "{database:?}");
    assert_eq!(
        held.again().await.number(),
        held.number(),
        "{database:?}: the page of the request does not change"
    );
    host.advance(120);
    assert_eq!(held.again().await.outcome(), "expired", "{database:?}");
}

#[both_databases]
async fn a_held_request_waits_for_the_end_of_the_last_cooldown(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    begin_cooldown(&host, &ada).await;
    // A denial of a request that began earlier is the third one. It sets a cooldown of two minutes.
    let login = ada
        .application
        .login_page(&Browser::new(&host.base), &[])
        .await;
    ada.device.scan_code(&crate::qr_sign_in::code(&login)).await;
    request_as(&host, &ada, "ada").await;
    host.advance(10);
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(ada.device.deny(request).await, "denied");
    host.advance(20);
    let late = request_as(&host, &ada, "ada").await;
    assert!(pending_now(&host, &ada).await.is_empty(), "{database:?}");
    host.advance(100);
    assert_eq!(pending_names(&ada, 10).await, ["ada"], "{database:?}");
    ada.approve(&late).await;
}

#[both_databases]
async fn a_held_request_does_not_survive_a_suspension(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    for path in [
        format!("/accounts/{}", id(&ada.account)),
        format!("/users/{}", id(&ada.user)),
    ] {
        begin_cooldown(&host, &ada).await;
        let page = request_as(&host, &ada, "ada").await;
        for state in ["suspended", "active"] {
            host.admin_ok(Method::PATCH, &path, json!({ "state": state }))
                .await;
        }
        ada.device.end_cooldown().await;
        assert!(
            pending_now(&host, &ada).await.is_empty(),
            "{database:?} {path}"
        );
        assert_eq!(
            page.again().await.number(),
            page.number(),
            "{database:?} {path}"
        );
    }
}

/// Held requests take the places of pending ones, so at most five arrive at once.
#[both_databases]
async fn held_requests_take_the_places_of_pending_ones(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    begin_cooldown(&host, &ada).await;
    for _ in 0..6 {
        request_as(&host, &ada, "ada").await;
    }
    ada.device.end_cooldown().await;
    assert_eq!(pending_names(&ada, 0).await.len(), 5, "{database:?}");
}
