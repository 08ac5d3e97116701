//! Recovery codes in the portal: approved on the device, shown once, and valid after the confirmation.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{actions, returned, signed_in};
use crate::harness::{Browser, Database, Device, Page, TestHost, TestUser, id};
use crate::lifecycle::{entries, events};

const PATH: &str = "/devices/recovery-codes";

/// Requests new codes. Returns the page with the number.
async fn requested(browser: &Browser) -> Page {
    let page = browser.get(PATH).await;
    page.submit(PATH, &[]).await.followed().await
}

/// Approves the request on the device. Returns the page that offers the codes.
async fn approved(ada: &TestUser, waiting: &Page) -> Page {
    let request = &ada.device.pending_requests(5).await[0];
    let summary = request.action.as_deref().expect("an action");
    assert!(
        summary.starts_with("Create new recovery codes for “ada”."),
        "{summary}"
    );
    let outcome = ada.device.approve(request, &waiting.number()).await;
    assert_eq!(outcome, "approved");
    waiting.again().await
}

/// Returns the codes on the page.
fn codes_on(page: &Page) -> Vec<String> {
    let codes = page.body.split("<li><code>").skip(1);
    codes
        .map(|rest| rest.split('<').next().unwrap_or_default().to_owned())
        .collect()
}

/// Returns whether the page for lost devices accepts a code.
async fn is_valid(host: &TestHost, code: &str) -> bool {
    let page = Browser::new(&host.base).get("/recover").await;
    let fields = [("name", "ada"), ("code", code)];
    page.submit("/recover", &fields).await.status == StatusCode::SEE_OTHER
}

#[both_databases]
async fn old_codes_stay_valid_until_the_new_ones_are_confirmed(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let old = ada.device.recovery_codes().await;
    let browser = signed_in(&host, &ada).await;
    assert!(
        browser
            .get(PATH)
            .await
            .body
            .contains("Your old codes stay valid")
    );
    let waiting = requested(&browser).await;
    let script = format!("{}/decided", waiting.path());
    let ready = approved(&ada, &waiting).await;
    assert_eq!(browser.get(&script).await.status, StatusCode::OK);
    let created = ready.submit(&ready.path(), &[]).await;
    let new = codes_on(&created);
    assert_eq!(new.len(), 10, "{database:?}: {}", created.body);
    assert!(created.body.contains("Your old codes stay valid"));
    // The response may have been lost, so the page shows the codes again until they are confirmed.
    let again = ready.submit(&ready.path(), &[]).await;
    assert_eq!(codes_on(&again), new, "{database:?}: {}", again.body);
    assert!(is_valid(&host, &old[0]).await, "{database:?}");
    assert!(!is_valid(&host, &new[0]).await, "{database:?}: unconfirmed");
    let unconfirmed = entries(&host, &format!("user={}", id(&ada.user))).await;
    let count = |entries: &[Value]| {
        let created = events(entries).into_iter();
        created
            .filter(|event| *event == "recovery.codes-created")
            .count()
    };
    assert_eq!(count(&unconfirmed), 1, "{database:?}");

    // A device does not show events from before its enrolment.
    host.advance(1);
    let confirm = format!("{}/confirm", ready.path());
    assert_eq!(actions(&created, &confirm), std::slice::from_ref(&confirm));
    let done = created.submit(&confirm, &[]).await.followed().await;
    assert_eq!(
        returned(&done),
        Some("Your new recovery codes are valid. Older codes no longer work.")
    );
    assert!(!is_valid(&host, &old[1]).await, "{database:?}");
    assert!(is_valid(&host, &new[0]).await, "{database:?}");
    assert!(!is_valid(&host, &new[0]).await, "{database:?}: used");
    let late = ready.submit(&ready.path(), &[]).await;
    assert!(
        codes_on(&late).is_empty() && late.body.contains("its codes were shown already."),
        "{}",
        late.body
    );
    // A second confirmation changes nothing.
    let repeated = created.submit(&confirm, &[]).await.followed().await;
    assert_eq!(
        returned(&repeated),
        Some("Your new recovery codes are valid. Older codes no longer work.")
    );
    let audited = entries(&host, &format!("user={}", id(&ada.user))).await;
    assert_eq!(count(&audited), 2, "{database:?}");
    let answer = ada.device.call_ok(Method::GET, "/requests", None).await;
    assert!(
        answer["notifications"]
            .to_string()
            .contains("recovery.codes-created"),
        "{answer}"
    );
}

#[both_databases]
async fn unconfirmed_codes_expire(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let old = ada.device.recovery_codes().await;
    let browser = signed_in(&host, &ada).await;
    let waiting = requested(&browser).await;
    let ready = approved(&ada, &waiting).await;
    let created = ready.submit(&ready.path(), &[]).await;
    host.advance(31 * 60);
    let again = ready.submit(&ready.path(), &[]).await;
    assert!(codes_on(&again).is_empty(), "{database:?}: {}", again.body);
    let confirm = format!("{}/confirm", ready.path());
    let late = created.submit(&confirm, &[]).await;
    assert!(
        late.body.contains("can’t be confirmed any more"),
        "{}",
        late.body
    );
    assert!(is_valid(&host, &old[0]).await, "{database:?}");
    assert!(!is_valid(&host, &codes_on(&created)[0]).await);
}

#[tokio::test]
async fn no_session_gets_codes_without_its_own_approval() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let (browser, thief) = (signed_in(&host, &ada).await, signed_in(&host, &ada).await);
    let waiting = requested(&browser).await;
    let pending = browser.get(&waiting.url).await;
    let page = thief.get(PATH).await;
    assert_eq!(thief.get(&waiting.url).await.status, StatusCode::NOT_FOUND);
    // The codes are not available before the approval. After it, they are not available to another session.
    let csrf = pending.body.contains("Show my new codes");
    assert!(!csrf, "{}", pending.body);
    let ready = approved(&ada, &waiting).await;
    let foreign = thief.post(&ready.path(), &[("csrf", &page.csrf())]).await;
    assert_eq!(foreign.status, StatusCode::FORBIDDEN, "{}", foreign.body);
    assert!(codes_on(&foreign).is_empty());
    let created = ready.submit(&ready.path(), &[]).await;
    assert_eq!(codes_on(&created).len(), 10);
    assert!(
        !created.body.contains("old codes"),
        "no codes exist before: {}",
        created.body
    );

    // A denial changes nothing.
    let waiting = requested(&browser).await;
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(ada.device.deny(request).await, "denied");
    let denied = waiting.again().await;
    assert!(
        denied.body.contains("You denied new recovery codes."),
        "{}",
        denied.body
    );
}

#[tokio::test]
async fn the_start_page_shows_the_security_of_the_account() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = signed_in(&host, &ada).await;
    let page = browser.get("/").await;
    for text in [
        "One device. If you lose it, you need a recovery code.",
        "No recovery codes.",
        "Off. Anyone who can unlock your phone can approve for you.",
    ] {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    assert_eq!(page.body.matches("data-state=\"warn\"").count(), 3);
    ada.device.recovery_codes().await;
    let path = format!("/users/{}/enrolments", id(&ada.user));
    let enrolment = host.admin_ok(Method::POST, &path, json!(null)).await;
    let link = enrolment["link"].as_str().expect("a link");
    Device::enrol(link, "Second phone").await;
    let page = browser.get("/").await;
    assert!(
        page.body.contains("2 devices can approve for you."),
        "{}",
        page.body
    );
    assert!(
        page.body.contains("10 valid recovery codes"),
        "{}",
        page.body
    );
    assert_eq!(page.body.matches("data-state=\"good\"").count(), 2);
}
