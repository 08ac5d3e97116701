//! The consent page of a test sign-in, which gives the application nothing.

use assent_test_macros::both_databases;
use reqwest::{Method, Url};
use serde_json::Value;

use super::{ask, begin, decide, grace, read};
use crate::harness::{Database, Json, TestHost, id};
use crate::lifecycle::entries;

#[both_databases]
async fn a_test_sign_in_leaves_no_consent(database: Database) {
    let host = TestHost::start_on(database).await;
    let application = host.web_application().await;
    let (console, grace, browser) = grace(&host, &application).await;
    let own = Url::parse(&application.redirect_uri).expect("an address");
    let own = own.host_str().expect("a host");
    for attempt in 0..2 {
        host.advance(60);
        let test = begin(&console, &application.id).await;
        let waiting = ask(&browser, &test, "grace").await;
        decide(&grace, Some(&waiting.number())).await;
        let page = browser.get(&waiting.url).await;
        assert!(
            page.asks_for_consent(),
            "{database:?} {attempt}: {}",
            page.body
        );
        assert!(
            page.body
                .contains(&format!("<bdi class=\"muted\" dir=\"ltr\">{own}</bdi>")),
            "the host of the application and not of this server: {}",
            page.body
        );
        assert!(
            page.body.contains("The permission is not stored."),
            "{}",
            page.body
        );
        page.decide("allow").await.followed().await;
        assert_eq!(read(&console, &test).await["state"], "completed");
    }
    let path = format!("/users/{}/consents", id(&grace.user));
    let consents = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(
        consents["items"].items().len(),
        0,
        "{database:?}: {consents}"
    );
    let granted = entries(&host, "event=consent.granted").await;
    assert_eq!(granted.len(), 0, "{database:?}: {granted:?}");
}
