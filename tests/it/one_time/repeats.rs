//! Repeats of other requests that have an effect once: their responses may be lost.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::harness::{Browser, Database, Device, Page, TestHost, Text};
use crate::lifecycle::{entries, events};
use crate::qr_sign_in::code;

async fn submit_code(page: &Page, code: &str) -> Page {
    let answer = page
        .submit("/recover", &[("name", "ada"), ("code", code)])
        .await;
    match answer.status {
        StatusCode::SEE_OTHER => answer.followed().await,
        _ => answer,
    }
}

fn link_on(page: &Page) -> String {
    let at = page.body.find("/authenticator#enrol=").expect("a link");
    let path = page.body[at..].split('"').next().expect("a link");
    format!("{}{path}", page.origin().ascii_serialization())
}

#[both_databases]
async fn a_recovery_code_gives_the_same_link_to_the_same_browser_only(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let codes = ada.device.recovery_codes().await;
    let form = Browser::new(&host.base).get("/recover").await;
    // Two clicks: both get the link.
    let (first, second) =
        futures_util::future::join(submit_code(&form, &codes[0]), submit_code(&form, &codes[0]))
            .await;
    let link = link_on(&first);
    assert_eq!(link_on(&second), link, "{database:?}");
    host.advance(60);
    assert_eq!(
        link_on(&submit_code(&form, &codes[0]).await),
        link,
        "{database:?}"
    );
    let elsewhere = Browser::new(&host.base).get("/recover").await;
    let refused = submit_code(&elsewhere, &codes[0]).await;
    assert_eq!(
        refused.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{database:?}"
    );
    let used = entries(&host, "event=recovery.code-used").await;
    assert_eq!(used.len(), 1, "{database:?}: {:?}", events(&used));
    assert_eq!(
        ada.device.call_ok(Method::GET, "/devices", None).await["recovery_codes"],
        9,
        "{database:?}"
    );
    // No table has the link's secret, and the use of the link ends the repeats.
    Device::enrol(&link, "New phone").await;
    let late = submit_code(&form, &codes[0]).await;
    assert_eq!(
        late.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{database:?}"
    );
}

#[both_databases]
async fn a_repeated_decision_of_the_same_device_gets_the_same_result(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let second = host.authenticator(&ada.user).await;
    let browser = Browser::new(&host.base);
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    let request = &ada.device.pending_requests(5).await[0];
    let number = waiting.number();
    assert_eq!(ada.device.approve(request, &number).await, "approved");
    assert_eq!(
        ada.device.approve(request, &number).await,
        "approved",
        "{database:?}"
    );
    let forged = ada.device.signature("something else");
    let reply = ada
        .device
        .submit_proof(request, Some(&number), &forged)
        .await;
    assert_eq!(reply.body["error"], "invalid_proof", "{database:?}");
    for (device, number) in [(&ada.device, None), (&second, Some(number.as_str()))] {
        let error = device.decide(request, number).await.expect_err("decided");
        assert!(
            error.to_string().starts_with("already_decided"),
            "{database:?}: {error}"
        );
    }
    let approved = entries(&host, "event=sign-in.approved").await;
    assert_eq!(approved.len(), 1, "{database:?}");

    host.advance(121);
    ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(ada.device.deny(request).await, "denied");
    assert_eq!(ada.device.deny(request).await, "denied", "{database:?}");
    let denied = entries(&host, "event=sign-in.denied").await;
    assert_eq!(denied.len(), 1, "{database:?}");
}

#[both_databases]
async fn a_repeated_scan_of_the_same_device_gets_the_same_request(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let bob = host.user_with_account("bob", ada.application.clone()).await;
    let login = ada
        .application
        .login_page(&Browser::new(&host.base), &[])
        .await;
    let link = code(&login);
    let (_, token) = link.split_once("#login=").expect("a token");
    let scan = async || {
        let body = Some(json!({ "token": token }));
        let found = ada.device.call_ok(Method::POST, "/qr-sign-ins", body).await;
        found["request"].text().to_owned()
    };
    let first = scan().await;
    assert_eq!(scan().await, first, "{database:?}");
    assert_eq!(
        ada.device.pending_requests(0).await.len(),
        1,
        "{database:?}"
    );
    let error = bob.device.scan(&link).await.expect_err("taken");
    assert!(
        error.to_string().starts_with("sign_in_not_found"),
        "{database:?}: {error}"
    );
}

#[both_databases]
async fn a_repeated_removal_of_a_device_succeeds(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let second = host.authenticator(&ada.user).await;
    let bob = host.user_with_account("bob", ada.application.clone()).await;
    let path = format!("/devices/{}", second.device());
    for _ in 0..2 {
        ada.device.call_ok(Method::DELETE, &path, None).await;
    }
    let removed = entries(&host, "event=device.revoked").await;
    assert_eq!(removed.len(), 1, "{database:?}");
    let error = bob.device.ask(Method::DELETE, &path, None).await;
    let error = error.expect_err("another user").to_string();
    assert!(
        error.starts_with("device_not_found"),
        "{database:?}: {error}"
    );
}
