//! Disabled service providers: no sign-on, and no logout message to them.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::logout::{PARTIAL, SUCCESS, answer, codes, frame, request, send, signed_in};
use super::service_provider::{Request, TestServiceProvider};
use crate::harness::{Browser, TestHost};

/// Neither a request nor a session leads to an assertion until the service provider is enabled again.
#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_service_provider_receives_no_assertion() {
    let host = TestHost::start().await;
    let provider = TestServiceProvider::register(&host, json!({})).await;
    let ada = provider.ada(&host).await;
    let browser = Browser::new(&host.base);
    provider
        .sign_in(&ada, &browser, &provider.request(&host))
        .await;
    assert!(browser.get("/").await.body.contains(&provider.sign_on()));
    // A stored request. The browser has not returned with its cookies yet.
    let elsewhere = Browser::new(&host.base);
    let request = Request {
        destination: None,
        ..provider.request(&host)
    };
    let stored = provider.post(&elsewhere, &request.xml(), None).await;
    let other = Browser::new(&host.base);
    let login = provider.begin(&other, &provider.request(&host), None).await;

    let path = format!("/applications/{}", provider.id);
    let set = async |enabled: bool| {
        host.admin_ok(Method::PATCH, &path, json!({"enabled": enabled}))
            .await
    };
    assert_eq!(set(false).await["enabled"], false);
    assert!(!browser.get("/").await.body.contains(&provider.sign_on()));
    let again = provider.request(&host).xml();
    for page in [
        browser.get(&provider.signed_redirect(&again, None)).await,
        browser.get(&provider.sign_on()).await,
        browser.get(stored.location().path()).await,
    ] {
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{}", page.body);
        assert!(
            page.body
                .contains("An administrator disabled this application")
        );
        assert!(!page.body.contains("SAMLResponse"));
    }
    let page = login.submit_name("ada").await;
    assert_eq!(page.outcome(), "rejected");

    set(true).await;
    let page = provider
        .begin(&browser, &provider.request(&host), None)
        .await;
    assert!(page.body.contains("SAMLResponse"), "{}", page.body);
}

/// Single logout neither notifies it nor answers it. Its own request still ends the session.
#[tokio::test(flavor = "multi_thread")]
async fn a_logout_sends_no_browser_to_a_disabled_service_provider() {
    let host = TestHost::start().await;
    let asking = TestServiceProvider::register(&host, json!({"name": "Asking"})).await;
    let other = TestServiceProvider::register(
        &host,
        json!({"name": "Other", "entity_id": "https://other.example"}),
    )
    .await;
    let ada = asking.ada(&host).await;
    host.account(&ada.user, &other.application()).await;
    let set = async |provider: &TestServiceProvider, enabled: bool| {
        let path = format!("/applications/{}", provider.id);
        host.admin_ok(Method::PATCH, &path, json!({"enabled": enabled}))
            .await
    };
    let browser = Browser::new(&host.base);

    let known = signed_in(&asking, &ada, &browser, &host).await;
    signed_in(&other, &ada, &browser, &host).await;
    set(&other, false).await;
    let page = send(&asking, &browser, &request(&asking, &host, &known), None).await;
    assert_eq!(codes(&answer(&page)), (SUCCESS, Some(PARTIAL)));

    // It is disabled during a logout, before the server notifies it.
    set(&other, true).await;
    let known = signed_in(&asking, &ada, &browser, &host).await;
    signed_in(&other, &ada, &browser, &host).await;
    let page = send(&asking, &browser, &request(&asking, &host, &known), None).await;
    let turn = page.followed().await;
    assert!(turn.body.contains("<iframe"), "{}", turn.body);
    set(&other, false).await;
    assert_eq!(frame(&turn).await.status, StatusCode::NO_CONTENT);
    let page = turn.again().await;
    assert_eq!(codes(&answer(&page)), (SUCCESS, Some(PARTIAL)));

    let known = signed_in(&asking, &ada, &browser, &host).await;
    set(&asking, false).await;
    let page = send(&asking, &browser, &request(&asking, &host, &known), None).await;
    assert_eq!(page.location().path(), "/session/ended");
    assert!(!browser.get("/").await.body.contains("/sign-out"));
}
