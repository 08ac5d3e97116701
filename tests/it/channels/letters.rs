//! Delegated channels with apps that show no letters: neither of two concurrent typed requests can be approved.

use assent_test_macros::both_databases;
use reqwest::StatusCode;

use super::vendor::Vendor;
use super::{add_external_authenticator, next_page, question, wait_until};
use crate::harness::{Browser, Database, HostOptions, Page, Parsed, TestHost, TestUser, plugins};
use crate::qr_sign_in::code;

/// Starts an instance with a vendor that knows Ada, and with these settings of its channel.
async fn host_with(vendor: &Vendor, more: &str, database: Database) -> (TestHost, TestUser) {
    let settings = plugins(&vendor.channel("vendor", more));
    let host = TestHost::start_with(HostOptions {
        plugins: &settings,
        database,
        settings: LIMITS,
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    add_external_authenticator(&host, &ada, "vendor", "ada@vendor").await;
    (host, ada)
}

const LIMITS: &str = "[rate_limits]\nsign_ins_per_user_name = { per_minute = 600, burst = 600 }\nprompts_per_user = { \
     per_minute = 600, burst = 600 }\n";

/// Begins the same request with another name, in a new browser. Returns its waiting page.
async fn request_as(host: &TestHost, ada: &TestUser, name: &str) -> Page {
    let browser = Browser::new(&host.base);
    let login = ada.application.login_page(&browser, &[]).await;
    login.submit_name(name).await
}

fn is_conflict(page: &Page) -> bool {
    page.status == StatusCode::OK && page.body.contains("data-outcome=\"conflict\"")
}

async fn conflicted(page: &Page) {
    wait_until("the page shows that two sign-ins started", async || {
        is_conflict(&page.again().await)
    })
    .await;
}

#[both_databases]
async fn a_second_request_conflicts_on_a_channel_without_letters(database: Database) {
    let vendor = Vendor::start(500).await;
    let (host, ada) = host_with(&vendor, "", database).await;
    let own = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let number = own.number();
    assert!(
        !own.body.contains("id=\"binding\""),
        "no letters if the vendor's app shows none"
    );
    let question = question(&host, &vendor, "ada@vendor").await;
    let pending = ada.device.pending_requests(5).await[0].clone();

    // The attacker's request comes from the same network, with the same browser string.
    let attacker = request_as(&host, &ada, "ada").await;
    assert!(
        is_conflict(&attacker) && attacker.returns().is_none(),
        "{database:?}: {}",
        attacker.body
    );
    conflicted(&own).await;
    // Ada approves the vendor's question, and types the number of her page on her device. Both come too late.
    vendor.answer(&question, "approved");
    wait_until("the request is cancelled", async || {
        vendor.cancelled(&question) == 1
    })
    .await;
    let late = ada
        .device
        .decide(&pending, Some(&number))
        .await
        .expect_err("rejected")
        .to_string();
    assert!(late.starts_with("already_decided"), "{database:?}: {late}");
    // The attacker repeats the request. The server delivers none of them while an earlier one could still be Ada's.
    for _ in 0..3 {
        host.advance(5);
        assert!(
            is_conflict(&request_as(&host, &ada, "ada").await),
            "{database:?}"
        );
    }
    assert!(
        is_conflict(&own.again().await) && is_conflict(&attacker.again().await),
        "{database:?}"
    );
    assert_eq!(
        vendor.started(),
        1,
        "{database:?}: only the first request was sent"
    );
    assert!(
        ada.device.pending_requests(0).await.is_empty(),
        "{database:?}"
    );

    // After all of them have expired, the server delivers requests again.
    host.advance(121);
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let question = super::question(&host, &vendor, "ada@vendor").await;
    vendor.answer(&question, "approved");
    host.advance(1);
    assert!(
        next_page(&waiting)
            .await
            .parameter("code")
            .starts_with("ac_"),
        "{database:?}"
    );
}

#[tokio::test]
async fn a_conflict_reveals_neither_users_nor_their_aliases() {
    let vendor = Vendor::start(500).await;
    let (host, ada) = host_with(&vendor, "", Database::Sqlite).await;
    // An unknown name, and a user without an account at the vendor.
    host.user_with_account("eve", ada.application.clone()).await;
    for name in ["nobody", "eve"] {
        let first = request_as(&host, &ada, name).await;
        assert!(is_conflict(&request_as(&host, &ada, name).await), "{name}");
        conflicted(&first).await;
    }
    // Ada's other name: the server delivers no request, and no page reveals the conflict.
    let own = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let question = question(&host, &vendor, "ada@vendor").await;
    let by_mail = request_as(&host, &ada, "ada@example.org").await;
    wait_until("the request is cancelled", async || {
        vendor.cancelled(&question) == 1
    })
    .await;
    assert_eq!(own.again().await.number(), own.number());
    assert_eq!(by_mail.again().await.number(), by_mail.number());
    assert!(ada.device.pending_requests(0).await.is_empty());
    assert_eq!(vendor.started(), 1);
    // The page after a cancellation does not reveal it either. Nor does the page of a later request with the same name.
    let cancelled = own.cancel().await.followed().await;
    assert!(
        cancelled.body.contains("data-outcome=\"cancelled\""),
        "{}",
        cancelled.body
    );
    let later = request_as(&host, &ada, "ada").await;
    assert!(
        !is_conflict(&later) && !later.number().is_empty(),
        "{}",
        later.body
    );
    // For every user, email addresses have other numbers than names. So different numbers prove nothing.
    let is_even = |page: &Page| page.number().parsed::<u32>().is_multiple_of(2);
    assert!(!is_even(&later) && is_even(&by_mail));
}

/// The stranger uses up the rate limit of the name. The server rejects the user's own request, and the stranger's
/// prompt is the only one.
#[both_databases]
async fn a_rate_limited_request_ends_delegated_requests(database: Database) {
    let vendor = Vendor::start(500).await;
    let channels = plugins(&vendor.channel("vendor", ""));
    let settings = "[rate_limits]\nsign_ins_per_user_name = { per_minute = 1, burst = 1 }\n";
    let host = TestHost::start_with(HostOptions {
        plugins: &channels,
        database,
        settings,
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    add_external_authenticator(&host, &ada, "vendor", "ada@vendor").await;
    let theirs = request_as(&host, &ada, "ada").await;
    let question = question(&host, &vendor, "ada@vendor").await;
    // The same applies to an unknown name.
    let unknown = request_as(&host, &ada, "nobody").await;

    let own = Browser::new(&host.base);
    for name in ["ada", "nobody"] {
        let login = ada.application.login_page(&own, &[]).await;
        let refused = login.submit(&login.path(), &[("name", name)]).await;
        assert_eq!(
            refused.status,
            StatusCode::TOO_MANY_REQUESTS,
            "{database:?} {name}"
        );
        let page = login.again().await;
        assert!(
            page.body.contains("name=\"name\""),
            "{database:?} {name}: no request is pending: {}",
            page.body
        );
    }
    conflicted(&theirs).await;
    conflicted(&unknown).await;
    vendor.answer(&question, "approved");
    wait_until("the request is cancelled", async || {
        vendor.cancelled(&question) == 1
    })
    .await;
    assert!(is_conflict(&theirs.again().await), "{database:?}");

    // The server does not deliver the stranger's next request while the user may still expect a prompt.
    host.advance(60);
    for (page, name) in [(&theirs, "ada"), (&unknown, "nobody")] {
        let login = page
            .browser()
            .get(&ada.application.request(&[]))
            .await
            .followed()
            .await;
        let next = login.submit_name(name).await;
        assert!(is_conflict(&next), "{database:?} {name}: {}", next.body);
    }
    assert_eq!(vendor.started(), 1, "{database:?}");

    // After all of them have expired, the server delivers requests again.
    host.advance(121);
    let waiting = ada.begin_sign_in(&own, &[]).await;
    let question = super::question(&host, &vendor, "ada@vendor").await;
    vendor.answer(&question, "approved");
    host.advance(1);
    assert!(
        next_page(&waiting)
            .await
            .parameter("code")
            .starts_with("ac_"),
        "{database:?}"
    );
}

#[tokio::test]
async fn a_browser_replaces_its_own_request_and_qr_sign_ins_never_conflict() {
    let vendor = Vendor::start(500).await;
    let (host, ada) = host_with(&vendor, "", Database::Sqlite).await;
    let browser = Browser::new(&host.base);
    ada.begin_sign_in(&browser, &[]).await;
    question(&host, &vendor, "ada@vendor").await;
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    let second = question(&host, &vendor, "ada@vendor").await;
    // At the same time Ada uses QR sign-in, with the device.
    let other = Browser::new(&host.base);
    let login = ada.application.login_page(&other, &[]).await;
    ada.device.scan_code(&code(&login)).await;
    assert_eq!(
        waiting.again().await.number(),
        waiting.number(),
        "the typed request stays pending"
    );
    // An attacker's request conflicts with the typed request only.
    assert!(is_conflict(&request_as(&host, &ada, "ada").await));
    conflicted(&waiting).await;
    let number = other.get(&login.url).await.number();
    let requests = ada.device.pending_requests(5).await;
    assert_eq!(requests.len(), 1);
    assert_eq!(ada.device.approve(&requests[0], &number).await, "approved");
    assert!(
        other
            .finish(&login.url)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    vendor.answer(&second, "approved");
    assert_eq!(
        vendor.started(),
        2,
        "a QR sign-in is for the user's own devices"
    );
}

#[tokio::test]
async fn several_requests_may_be_pending_with_letters_or_without_a_vendor() {
    let vendor = Vendor::start(500).await;
    let (host, ada) = host_with(&vendor, "shows_letters = true", Database::Sqlite).await;
    let first = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    question(&host, &vendor, "ada@vendor").await;
    let second = request_as(&host, &ada, "ada").await;
    question(&host, &vendor, "ada@vendor").await;
    for page in [&first, &second] {
        assert!(
            page.again().await.body.contains("id=\"binding\""),
            "{}",
            page.body
        );
    }
    // A request for an application that the channel does not serve causes no conflict.
    let (host, ada) = host_with(
        &vendor,
        "applications = [\"did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK\"]",
        Database::Sqlite,
    )
    .await;
    let first = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let second = request_as(&host, &ada, "ada").await;
    assert_eq!(ada.device.pending_requests(5).await.len(), 2);
    assert!(!is_conflict(&second) && !is_conflict(&first.again().await));
}
