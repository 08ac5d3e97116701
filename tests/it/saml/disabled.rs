//! Disabled service providers: no sign-on, and no answer to them.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::service_provider::TestServiceProvider;
use crate::harness::{Browser, TestHost};

/// Neither a request nor a session leads to an assertion, until it is enabled again.
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
    // A request that was stored before, whose browser has not come with its cookies yet.
    let stored = browser
        .get(&provider.signed_redirect(&provider.request(&host).xml(), None))
        .await;
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
        stored.followed().await,
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
