//! Names in the browser: the sign-in page, hints, the remembered name, recovery, and SAML requests.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{ADDRESS, ADDRESSES, COMPOSED, DECOMPOSED, NAMES};
use crate::harness::{Browser, Page, TestHost, TestUser, id};
use crate::saml::service_provider::{Response, TestServiceProvider, identify};

/// Creates the user `josé` with a device, an account, and an address in another alphabet.
async fn jose(host: &TestHost) -> TestUser {
    let application = host.web_application().await;
    let user = json!({"name": DECOMPOSED, "email": ADDRESSES[0]});
    let user = host.admin_ok(Method::POST, "/users", user).await;
    let device = host.authenticator(&user).await;
    let account = host.account(&user, &application).await;
    TestUser {
        user,
        device,
        application,
        account,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_spelling_reaches_the_device() {
    let host = TestHost::start().await;
    let jose = jose(&host).await;
    for spelling in NAMES.iter().chain(&ADDRESSES) {
        // The pause keeps the approvals below the rate limits.
        host.advance(120);
        let browser = Browser::new(&host.base);
        let login = jose.application.login_page(&browser, &[]).await;
        let waiting = login.submit_name(spelling).await;
        jose.approve(&waiting).await;
        let end = browser.finish(&waiting.url).await;
        assert!(!end.parameter("code").is_empty(), "{spelling:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hint_and_a_remembered_name_have_the_form_of_the_name() {
    let host = TestHost::start().await;
    let jose = jose(&host).await;
    for spelling in NAMES {
        let browser = Browser::new(&host.base);
        let hint = [("login_hint", Some(spelling))];
        let login = jose.application.login_page(&browser, &hint).await;
        let value = format!("value=\"{COMPOSED}\"");
        assert!(login.body.contains(&value), "{spelling:?} {}", login.body);
        let fields = [("name", spelling), ("remember", "yes")];
        login.submit(&login.path(), &fields).await;
        let again = jose.application.login_page(&browser, &[]).await;
        assert!(again.body.contains(&value), "{spelling:?} {}", again.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sign_in_page_names_the_rejected_character() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let login = ada
        .application
        .login_page(&Browser::new(&host.base), &[])
        .await;
    let shown = |page: &Page| page.body.replace("<bdi>", "").replace("</bdi>", "");
    for (typed, expected) in [
        ("ad\u{200b}a", "U+200B, which is character 3"),
        ("x²", "² (U+00B2), which is character 2"),
        ("ada lovelace", "without spaces"),
        ("ada@xn--zzzzzz99", "isn’t a domain name"),
    ] {
        let page = login.submit(&login.path(), &[("name", typed)]).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(shown(&page).contains(expected), "{typed:?} {}", page.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovery_code_is_found_by_each_spelling() {
    let host = TestHost::start().await;
    let jose = jose(&host).await;
    let codes = jose.device.recovery_codes().await;
    let spellings = NAMES.iter().chain(&ADDRESSES);
    for (spelling, code) in spellings.zip(&codes).take(4) {
        host.advance(3600);
        let page = Browser::new(&host.base).get("/recover").await;
        let fields = [("name", *spelling), ("code", code)];
        let answer = page.submit("/recover", &fields).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{spelling:?}");
    }
}

/// GluuFederation and FusionAuth report this: the service provider spells the name in another way than the directory.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_provider_names_the_user_in_another_spelling() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let user = json!({"name": "ada", "email": ADDRESSES[0]});
    let user = host.admin_ok(Method::POST, "/users", user).await;
    let application = service_provider.application();
    let ada = TestUser {
        device: host.authenticator(&user).await,
        account: host.account(&user, &application).await,
        application,
        user,
    };
    let subject = |name: &str| {
        let content = format!("<saml:Subject><saml:NameID>{name}</saml:NameID></saml:Subject>");
        service_provider.request(&host).containing(&content)
    };
    for spelling in ADDRESSES {
        host.advance(120);
        let browser = Browser::new(&host.base);
        let login = service_provider
            .begin(&browser, &subject(spelling), None)
            .await;
        assert!(
            login.body.contains(&format!("value=\"{ADDRESS}\"")),
            "{spelling}"
        );
        let waiting = identify(&ada, &login).await;
        ada.approve(&waiting).await;
        let response = Response::from_page(&browser.finish(&waiting.url).await);
        assert!(response.is_success(), "{spelling:?} {}", response.xml);
        assert_eq!(response.text("NameID"), ADDRESS);
        // The session answers the next request without a page.
        let next = service_provider
            .begin(&browser, &subject(spelling), None)
            .await;
        assert!(Response::from_page(&next).is_success(), "{spelling:?}");
    }
    // The name of an account need not be a name at sign-in.
    let path = format!("/applications/{}", service_provider.id);
    let by_account = json!({"name_id_format": "unspecified", "name_id_source": "account_name"});
    host.admin_ok(Method::PATCH, &path, by_account).await;
    let path = format!("/accounts/{}", id(&ada.account));
    host.admin_ok(Method::PATCH, &path, json!({"name": "Ada Lovelacé"}))
        .await;
    for (spelling, succeeds) in [("ada LOVELACE\u{301}", true), ("ada lovelace", false)] {
        host.advance(120);
        let browser = Browser::new(&host.base);
        let login = service_provider
            .begin(&browser, &subject(spelling), None)
            .await;
        let waiting = identify(&ada, &login).await;
        ada.approve(&waiting).await;
        let response = Response::from_page(&browser.finish(&waiting.url).await);
        assert_eq!(response.is_success(), succeeds, "{spelling:?}");
    }
}
