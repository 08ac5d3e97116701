//! The figures of the overview: each counts what it names, and the audit log lists exactly the counted entries.

use assent_test_macros::both_databases;
use reqwest::Method;
use serde_json::Value;

use super::{Administrator, Caller};
use crate::harness::{Browser, Database, Page, TestHost, TestUser, Text, id};

async fn begun(host: &TestHost, user: &TestUser) -> Page {
    let browser = Browser::new(&host.base);
    let login = user.application.login_page(&browser, &[]).await;
    login.submit_name(user.user["name"].text()).await
}

/// An administrator begins an action in the console, and denies it on the device.
async fn deny_an_action(host: &TestHost) {
    let bob = host.user("bob").await;
    let owner = Administrator::new(host, "grace", "owner")
        .await
        .signed_in(host)
        .await;
    let Caller::Console { device, .. } = &owner else {
        panic!("a session of the console");
    };
    let path = format!("/users/{}", id(&bob));
    owner
        .call_once(Method::DELETE, &path, &Value::Null, None)
        .await;
    let requests = device.pending_requests(5).await;
    let newest = requests.last().expect("a request");
    assert_eq!(device.deny(newest).await, "denied");
}

#[both_databases]
async fn each_outcome_is_counted_by_itself_and_without_actions(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    deny_an_action(&host).await;
    // A wrong number, and then the right one.
    let page = begun(&host, &ada).await;
    let number: u32 = page.number().parse().expect("a number");
    let requests = ada.device.pending_requests(5).await;
    let wrong = format!("{:02}", (number + 1) % 100);
    let rejected = ada
        .device
        .decide(requests.last().expect("a request"), Some(&wrong))
        .await;
    assert!(rejected.is_err(), "{database:?}");
    ada.approve(&page).await;
    page.browser().finish(&page.url).await;
    // Cancelled in the browser.
    begun(&host, &ada).await.cancel().await;
    // Expired.
    drop(begun(&host, &ada).await);
    host.advance(130);
    // Denied.
    drop(begun(&host, &ada).await);
    let requests = ada.device.pending_requests(5).await;
    assert_eq!(
        ada.device.deny(requests.last().expect("a request")).await,
        "denied"
    );
    // Reported.
    drop(begun(&host, &ada).await);
    let requests = ada.device.pending_requests(5).await;
    let newest = requests.last().expect("a request");
    assert_eq!(ada.device.submit_report(newest).await, "reported");

    for _ in 0..2 {
        let counts = host.admin_ok(Method::GET, "/overview", Value::Null).await;
        let periods = counts["sign_ins"].as_array().expect("periods");
        let first = periods[0]["from"].text();
        for (name, event) in [
            ("denied", "sign-in.denied"),
            ("reported", "sign-in.reported"),
            ("number_mismatches", "sign-in.number-match-failed"),
            ("cancelled", "sign-in.cancelled"),
            ("expired", "sign-in.expired"),
        ] {
            let sum: u64 = periods
                .iter()
                .filter_map(|period| period[name].as_u64())
                .sum();
            assert_eq!(sum, 1, "{database:?} {name}: {counts}");
            let path = format!("/audit?event={event}&subject=other&since={first}");
            let listed = host.admin_ok(Method::GET, &path, Value::Null).await;
            let listed = listed["items"].as_array().map(Vec::len);
            assert_eq!(listed, Some(1), "{database:?} {name}");
        }
    }
    let actions = "/audit?event=sign-in.denied&subject=action";
    let actions = host.admin_ok(Method::GET, actions, Value::Null).await;
    assert_eq!(
        actions["items"].as_array().map(Vec::len),
        Some(1),
        "{actions}"
    );
    assert!(
        actions["items"][0]["detail"]["action"].is_string(),
        "{actions}"
    );
}
