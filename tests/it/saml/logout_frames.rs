//! Single logout together with the front-channel logout of OpenID Connect clients.

use assent_saml_core::message::Status;
use reqwest::Method;
use serde_json::json;

use super::logout::{
    PARTIAL, SUCCESS, answer, answered, codes, request, requested, send, signed_in,
};
use super::service_provider::TestServiceProvider;
use crate::harness::{Application, Browser, TestHost, TestUser};
use crate::oidc::backchannel::{PRIVATE, Receiver, register};
use crate::oidc::frontchannel::frame_key;

/// Registers a client with a sign-out page, and signs Ada in to it with her session.
async fn client(host: &TestHost, ada: &TestUser, browser: &Browser) -> Application {
    let client = host.web_application().await;
    host.account(&ada.user, &client).await;
    let path = format!("/applications/{}", client.id);
    let settings =
        json!({"consent": "implied", "frontchannel_logout_uri": "https://rp.example/logout"});
    host.admin_ok(Method::PATCH, &path, settings).await;
    let page = browser.get(&client.request(&[])).await;
    assert!(!page.parameter("code").is_empty());
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn single_logout_loads_the_pages_of_clients_before_it_answers() {
    let (host, service_provider, ada) = TestServiceProvider::start_with_ada().await;
    let browser = Browser::new(&host.base);
    let known = signed_in(&service_provider, &ada, &browser, &host).await;
    let client = client(&host, &ada, &browser).await;
    let request = request(&service_provider, &host, &known);
    let sent = send(&service_provider, &browser, &request, Some("st&te")).await;
    let page = sent.followed().await;
    assert!(
        page.body
            .contains("data-address=\"https://rp.example/logout?iss="),
        "{}",
        page.body
    );
    let policy = page.headers["content-security-policy"]
        .to_str()
        .expect("text");
    assert!(policy.contains("frame-src https://rp.example;"), "{policy}");
    let address = format!("{}?loaded={}", page.url, frame_key(&page, &client.id));
    let end = browser.get(&address).await;
    // A loaded page is no confirmation.
    assert_eq!(codes(&answer(&end)), (SUCCESS, Some(PARTIAL)));
    assert_eq!(end.parameter("RelayState"), "st&te");
}

#[tokio::test(flavor = "multi_thread")]
async fn service_providers_have_their_turns_before_the_frames() {
    let (host, service_provider, ada) = TestServiceProvider::start_with_ada().await;
    let browser = Browser::new(&host.base);
    signed_in(&service_provider, &ada, &browser, &host).await;
    let client = client(&host, &ada, &browser).await;
    let home = browser.get("/").await;
    let page = home.submit("/sign-out", &[]).await.followed().await;
    assert!(!page.body.contains("data-address"), "{}", page.body);
    let logout = requested(&page).await;
    answered(
        &service_provider,
        &host,
        &browser,
        &logout,
        Status::success(),
    )
    .await;
    let page = page.again().await;
    assert!(
        page.body
            .contains("data-address=\"https://rp.example/logout?iss="),
        "{}",
        page.body
    );
    assert!(
        page.body.contains("data-list=\"confirmed\""),
        "{}",
        page.body
    );
    let end = browser
        .get(&format!(
            "{}?loaded={}",
            page.url,
            frame_key(&page, &client.id)
        ))
        .await;
    for list in ["confirmed", "loaded"] {
        assert!(
            end.body.contains(&format!("data-list=\"{list}\"")),
            "{list}: {}",
            end.body
        );
    }
    assert!(
        !end.body.contains("data-list=\"unconfirmed\""),
        "{}",
        end.body
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_without_the_session_loads_no_frames() {
    let host = TestHost::start().await;
    let asking = TestServiceProvider::register(&host, json!({})).await;
    let other = TestServiceProvider::register(
        &host,
        json!({"name": "Other", "entity_id": "https://other.example"}),
    )
    .await;
    let ada = asking.ada(&host).await;
    host.account(&ada.user, &other.application()).await;
    let browser = Browser::new(&host.base);
    let known = signed_in(&asking, &ada, &browser, &host).await;
    signed_in(&other, &ada, &browser, &host).await;
    client(&host, &ada, &browser).await;
    let server = Browser::new(&host.base);
    let request = request(&asking, &host, &known);
    let page = send(&asking, &server, &request, None)
        .await
        .followed()
        .await;
    // It is answered at once.
    assert_eq!(codes(&answer(&page)), (SUCCESS, Some(PARTIAL)));
}

/// The status also says whether the clients of the session confirmed its end by the back channel (SAML core section
/// 3.7.3.2).
#[tokio::test(flavor = "multi_thread")]
async fn clients_that_did_not_confirm_make_the_logout_partial() {
    let settings = PRIVATE;
    for (statuses, frontchannel, expected) in [
        (Some("200"), false, None),
        (Some("200"), true, None),
        (Some("400"), false, Some(PARTIAL)),
        (None, true, Some(PARTIAL)),
        (None, false, Some(PARTIAL)),
    ] {
        let host = TestHost::start_with_settings(settings).await;
        let service_provider = TestServiceProvider::register(&host, json!({})).await;
        let ada = service_provider.ada(&host).await;
        let browser = Browser::new(&host.base);
        let known = signed_in(&service_provider, &ada, &browser, &host).await;
        let client = client(&host, &ada, &browser).await;
        if !frontchannel {
            let path = format!("/applications/{}", client.id);
            let without = json!({"frontchannel_logout_uri": null});
            host.admin_ok(Method::PATCH, &path, without).await;
        }
        let receiver = Receiver::start().await;
        if let Some(statuses) = statuses {
            register(&host, &client, &receiver, statuses).await;
        }
        let request = request(&service_provider, &host, &known);
        let mut page = send(&service_provider, &browser, &request, None).await;
        if frontchannel {
            page = page.followed().await;
            let key = frame_key(&page, &client.id);
            page = browser.get(&format!("{}?loaded={key}", page.url)).await;
        }
        let response = answer(&page);
        let case = format!("{statuses:?} {frontchannel}");
        assert_eq!(codes(&response), (SUCCESS, expected), "{case}");
    }
}
