//! A sign-in page in a second tab notices the session that the first tab began.

use reqwest::StatusCode;

use crate::harness::{Browser, Page, TestHost, TestUser, Text};
use crate::saml::service_provider::TestServiceProvider;

const OFFER: &str = "Continue as <bdi>Ada Lovelace</bdi>";

/// Presses the button that continues as the offered user.
async fn continues(page: &Page) -> Page {
    let action = format!("{}/continue", page.path());
    page.submit(&action, &[("user", &page.user_token())])
        .await
        .followed()
        .await
}

async fn sign_in_elsewhere(ada: &TestUser, browser: &Browser) {
    assert!(ada.sign_in(browser).await.starts_with("ac_"));
}

#[tokio::test]
async fn the_page_offers_the_session_on_reload_and_when_its_form_is_sent() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let reloaded = ada.application.login_page(&browser, &[]).await;
    let sent = ada.application.login_page(&browser, &[]).await;
    let login = ada
        .application
        .login_page(&browser, &[("prompt", Some("login"))])
        .await;
    assert!(!reloaded.body.contains("Continue as"));
    sign_in_elsewhere(&ada, &browser).await;

    let page = reloaded.again().await;
    assert!(page.body.contains(OFFER), "{}", page.body);
    assert!(continues(&page).await.parameter("code").starts_with("ac_"));

    let page = sent.submit(&sent.path(), &[("name", "ada")]).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.body.contains(OFFER), "{}", page.body);
    assert!(page.body.contains("in another tab"), "{}", page.body);
    assert!(page.body.contains("value=\"ada\""), "the name stays");
    assert!(ada.device.pending_requests(0).await.is_empty());
    // The user may still sign in with a device, because the page has shown the session.
    let user = page.user_token();
    let asked = page
        .submit(&page.path(), &[("name", "ada"), ("user", &user)])
        .await;
    assert_eq!(asked.status, StatusCode::SEE_OTHER);
    assert_eq!(ada.device.pending_requests(5).await.len(), 1);

    // The session does not suffice for this request.
    assert!(!login.again().await.body.contains("Continue as"));
    let waiting = login.submit_name("ada").await;
    assert!(!waiting.number().is_empty());
}

#[tokio::test]
async fn another_browser_is_offered_nothing() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let (browser, other) = (Browser::new(&host.base), Browser::new(&host.base));
    let page = ada.application.login_page(&other, &[]).await;
    sign_in_elsewhere(&ada, &browser).await;
    assert!(!page.again().await.body.contains("Continue as"));
}

#[tokio::test]
async fn a_sign_in_to_an_own_page_continues_too() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let begun = browser.get("/devices").await.followed().await;
    let login = begun.followed().await;
    sign_in_elsewhere(&ada, &browser).await;
    let page = login.again().await;
    assert!(page.body.contains(OFFER), "{}", page.body);
    let devices = continues(&page).await;
    assert_eq!(
        (devices.status, devices.path()),
        (StatusCode::OK, "/devices".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_provider_gets_its_assertion_about_the_session() {
    let (host, service_provider, ada) = TestServiceProvider::start_with_ada().await;
    let browser = Browser::new(&host.base);
    let request = service_provider.request(&host);
    let login = service_provider.begin(&browser, &request, None).await;
    let first = service_provider.request(&host);
    service_provider.sign_in(&ada, &browser, &first).await;
    let page = login
        .submit(&login.path(), &[("name", ada.user["name"].text())])
        .await;
    assert!(page.body.contains("Continue as"), "{}", page.body);
    let answer = continues(&page).await;
    let response = crate::saml::service_provider::Response::from_page(&answer);
    assert!(response.is_success(), "{}", response.xml);
}
