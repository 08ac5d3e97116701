//! Delegated channels with apps that show no letters: neither of two concurrent typed requests can be approved.

use reqwest::StatusCode;

use super::vendor::Vendor;
use super::{known_as, moved_on, question, until};
use crate::harness::{Ada, Browser, Database, HostOptions, Page, TestHost, plugins};
use crate::qr_sign_in::code;

/// A host with a vendor that knows Ada, and with these settings of its channel.
async fn host_with(vendor: &Vendor, more: &str, database: Database) -> (TestHost, Ada) {
    let settings = plugins(&vendor.channel("vendor", more));
    let host = TestHost::start_with(HostOptions {
        plugins: &settings,
        database,
        settings: LIMITS,
    })
    .await;
    let ada = host.ada().await;
    known_as(&host, &ada, "vendor", "ada@vendor").await;
    (host, ada)
}

const LIMITS: &str = "[rate_limits]\nsign_ins_per_user_name = { per_minute = 600, burst = 600 }\nprompts_per_user = { \
     per_minute = 600, burst = 600 }\n";

/// The same request by another name, in a new browser: its waiting page.
async fn ask_as(host: &TestHost, ada: &Ada, name: &str) -> Page {
    let browser = Browser::new(&host.base);
    let login = browser
        .get(&ada.application.request(&[]))
        .await
        .followed()
        .await;
    login
        .submit(&login.path(), &[("name", name)])
        .await
        .followed()
        .await
}

fn is_conflict(page: &Page) -> bool {
    page.status == StatusCode::OK && page.body.contains("data-outcome=\"conflict\"")
}

async fn conflicted(page: &Page) {
    until("the page shows that two sign-ins started", async || {
        is_conflict(&page.again().await)
    })
    .await;
}

#[tokio::test]
async fn a_channel_without_letters_carries_a_typed_request_a_second_one_starts_neither_can_be_approved()
 {
    for database in Database::BOTH {
        let vendor = Vendor::start(500).await;
        let (host, ada) = host_with(&vendor, "", database).await;
        let own = ada.ask(&Browser::new(&host.base), &[]).await;
        let number = own.number();
        assert!(
            !own.body.contains("id=\"binding\""),
            "no letters where the vendor's app shows none"
        );
        let question = question(&host, &vendor, "ada@vendor").await;
        let pending = ada.phone.waiting(5).await.expect("requests")[0].clone();

        // The attacker's request, from the same network with the same browser string.
        let stranger = ask_as(&host, &ada, "ada").await;
        assert!(
            is_conflict(&stranger) && stranger.returns().is_none(),
            "{database:?}: {}",
            stranger.body
        );
        conflicted(&own).await;
        // Ada approves the vendor's question, and types the number of her page on her device: both come too late.
        vendor.answer(&question, "approved");
        until("the question is taken back", async || {
            vendor.cancelled(&question) == 1
        })
        .await;
        let late = ada
            .phone
            .decide(&pending, Some(&number))
            .await
            .expect_err("refused")
            .to_string();
        assert!(late.starts_with("already_decided"), "{database:?}: {late}");
        // The attacker repeats the request: none is carried while an earlier one could still be Ada's.
        for _ in 0..3 {
            host.advance(5);
            assert!(
                is_conflict(&ask_as(&host, &ada, "ada").await),
                "{database:?}"
            );
        }
        assert!(
            is_conflict(&own.again().await) && is_conflict(&stranger.again().await),
            "{database:?}"
        );
        assert_eq!(
            vendor.begun(),
            1,
            "{database:?}: nothing but the first was carried"
        );
        assert!(
            ada.phone.waiting(0).await.expect("requests").is_empty(),
            "{database:?}"
        );

        // Once all of them have expired, the way is free again.
        host.advance(121);
        let waiting = ada.ask(&Browser::new(&host.base), &[]).await;
        let question = super::question(&host, &vendor, "ada@vendor").await;
        vendor.answer(&question, "approved");
        host.advance(1);
        assert!(
            moved_on(&waiting)
                .await
                .parameter("code")
                .starts_with("ac_"),
            "{database:?}"
        );
    }
}

#[tokio::test]
async fn a_conflict_reveals_neither_who_exists_nor_which_names_are_of_one_user() {
    let vendor = Vendor::start(500).await;
    let (host, ada) = host_with(&vendor, "", Database::Sqlite).await;
    // An unknown name, and a user without an account at the vendor.
    host.person("eve", ada.application.clone()).await;
    for name in ["nobody", "eve"] {
        let first = ask_as(&host, &ada, name).await;
        assert!(is_conflict(&ask_as(&host, &ada, name).await), "{name}");
        conflicted(&first).await;
    }
    // Ada's other name: nothing is carried, and no page shows it.
    let own = ada.ask(&Browser::new(&host.base), &[]).await;
    let question = question(&host, &vendor, "ada@vendor").await;
    let by_mail = ask_as(&host, &ada, "ada@example.org").await;
    until("the question is taken back", async || {
        vendor.cancelled(&question) == 1
    })
    .await;
    assert_eq!(own.again().await.number(), own.number());
    assert_eq!(by_mail.again().await.number(), by_mail.number());
    assert!(ada.phone.waiting(0).await.expect("requests").is_empty());
    assert_eq!(vendor.begun(), 1);
    // Nor does a page after its cancellation show it, nor the page of a later request by the same name.
    let cancelled = own
        .submit(&format!("{}/cancel", own.path()), &[])
        .await
        .followed()
        .await;
    assert!(
        cancelled.body.contains("data-outcome=\"cancelled\""),
        "{}",
        cancelled.body
    );
    let later = ask_as(&host, &ada, "ada").await;
    assert!(
        !is_conflict(&later) && !later.number().is_empty(),
        "{}",
        later.body
    );
    // E-mail addresses have other numbers than names, for every user: different numbers prove nothing.
    let is_even = |page: &Page| {
        page.number()
            .parse::<u32>()
            .expect("a number")
            .is_multiple_of(2)
    };
    assert!(!is_even(&later) && is_even(&by_mail));
}

/// The stranger uses up the limit of the name, so that the user's own request is refused and the stranger's prompt is
/// the only one.
#[tokio::test]
async fn a_request_that_a_limit_refuses_ends_the_carried_one_and_those_that_follow_on_both_databases()
 {
    for database in Database::BOTH {
        let vendor = Vendor::start(500).await;
        let channels = plugins(&vendor.channel("vendor", ""));
        let settings = "[rate_limits]\nsign_ins_per_user_name = { per_minute = 1, burst = 1 }\n";
        let host = TestHost::start_with(HostOptions {
            plugins: &channels,
            database,
            settings,
        })
        .await;
        let ada = host.ada().await;
        known_as(&host, &ada, "vendor", "ada@vendor").await;
        let theirs = ask_as(&host, &ada, "ada").await;
        let question = question(&host, &vendor, "ada@vendor").await;
        // The same by a name that nobody has.
        let unknown = ask_as(&host, &ada, "nobody").await;

        let own = Browser::new(&host.base);
        for name in ["ada", "nobody"] {
            let login = own
                .get(&ada.application.request(&[]))
                .await
                .followed()
                .await;
            let refused = login.submit(&login.path(), &[("name", name)]).await;
            assert_eq!(
                refused.status,
                StatusCode::TOO_MANY_REQUESTS,
                "{database:?} {name}"
            );
            let page = login.again().await;
            assert!(
                page.body.contains("name=\"name\""),
                "{database:?} {name}: nothing waits: {}",
                page.body
            );
        }
        conflicted(&theirs).await;
        conflicted(&unknown).await;
        vendor.answer(&question, "approved");
        until("the question is taken back", async || {
            vendor.cancelled(&question) == 1
        })
        .await;
        assert!(is_conflict(&theirs.again().await), "{database:?}");

        // Nor is the stranger's next one carried while the user may still expect a prompt.
        host.advance(60);
        for (page, name) in [(&theirs, "ada"), (&unknown, "nobody")] {
            let login = page
                .browser()
                .get(&ada.application.request(&[]))
                .await
                .followed()
                .await;
            let next = login
                .submit(&login.path(), &[("name", name)])
                .await
                .followed()
                .await;
            assert!(is_conflict(&next), "{database:?} {name}: {}", next.body);
        }
        assert_eq!(vendor.begun(), 1, "{database:?}");

        // Once all of them have expired, the way is free again.
        host.advance(121);
        let waiting = ada.ask(&own, &[]).await;
        let question = super::question(&host, &vendor, "ada@vendor").await;
        vendor.answer(&question, "approved");
        host.advance(1);
        assert!(
            moved_on(&waiting)
                .await
                .parameter("code")
                .starts_with("ac_"),
            "{database:?}"
        );
    }
}

#[tokio::test]
async fn the_same_browser_replaces_its_own_request_and_a_qr_sign_in_conflicts_with_nothing() {
    let vendor = Vendor::start(500).await;
    let (host, ada) = host_with(&vendor, "", Database::Sqlite).await;
    let browser = Browser::new(&host.base);
    ada.ask(&browser, &[]).await;
    question(&host, &vendor, "ada@vendor").await;
    let waiting = ada.ask(&browser, &[]).await;
    let second = question(&host, &vendor, "ada@vendor").await;
    // Ada's own QR sign-in beside it, with the device.
    let other = Browser::new(&host.base);
    let login = other
        .get(&ada.application.request(&[]))
        .await
        .followed()
        .await;
    ada.phone.scan(&code(&login)).await.expect("taken");
    assert_eq!(
        waiting.again().await.number(),
        waiting.number(),
        "the typed one stays pending"
    );
    // An attacker's request conflicts with the typed one only.
    assert!(is_conflict(&ask_as(&host, &ada, "ada").await));
    conflicted(&waiting).await;
    let number = other.get(&login.url).await.number();
    let requests = ada.phone.waiting(5).await.expect("requests");
    assert_eq!(requests.len(), 1);
    assert_eq!(
        ada.phone
            .decide(&requests[0], Some(&number))
            .await
            .expect("an outcome"),
        "approved"
    );
    assert!(
        other
            .finish(&login.url)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    vendor.answer(&second, "approved");
    assert_eq!(
        vendor.begun(),
        2,
        "a QR sign-in is for the user's own devices"
    );
}

#[tokio::test]
async fn with_letters_or_without_a_vendor_several_requests_are_pending_as_ever() {
    let vendor = Vendor::start(500).await;
    let (host, ada) = host_with(&vendor, "shows_letters = true", Database::Sqlite).await;
    let first = ada.ask(&Browser::new(&host.base), &[]).await;
    question(&host, &vendor, "ada@vendor").await;
    let second = ask_as(&host, &ada, "ada").await;
    question(&host, &vendor, "ada@vendor").await;
    for page in [&first, &second] {
        assert!(
            page.again().await.body.contains("id=\"binding\""),
            "{}",
            page.body
        );
    }
    // An application that the channel does not serve conflicts with nothing.
    let (host, ada) = host_with(
        &vendor,
        "applications = [\"did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK\"]",
        Database::Sqlite,
    )
    .await;
    let first = ada.ask(&Browser::new(&host.base), &[]).await;
    let second = ask_as(&host, &ada, "ada").await;
    assert_eq!(ada.phone.waiting(5).await.expect("requests").len(), 2);
    assert!(!is_conflict(&second) && !is_conflict(&first.again().await));
}
