//! Native applications. Any program on the user's computer can send their requests and receive codes at a custom scheme
//! or a loopback address, so they get no code for a session without a page (RFC 8252 section 8.6).

use reqwest::Method;
use serde_json::json;

use crate::harness::{Browser, Page, TestHost, TestUser};

async fn signed_in(host: &TestHost, consent: &str) -> (TestUser, Browser) {
    let pocket = host.native_application().await;
    let path = format!("/applications/{}", pocket.id);
    host.admin_ok(Method::PATCH, &path, json!({"consent": consent}))
        .await;
    let ada = host.user_with_account("ada", pocket).await;
    let browser = Browser::new(&host.base);
    assert!(ada.sign_in(&browser).await.starts_with("ac_"));
    (ada, browser)
}

async fn again(ada: &TestUser, browser: &Browser, redirect_uri: &str) -> Page {
    let changes = [("redirect_uri", Some(redirect_uri))];
    let begun = browser.get(&ada.application.request(&changes)).await;
    begun.followed().await
}

const ADDRESSES: [&str; 3] = [
    "http://127.0.0.1/callback",
    "http://127.0.0.1:50505/callback",
    "com.example.books://callback",
];

#[tokio::test]
async fn a_session_gives_a_native_application_no_code_without_a_page() {
    for consent in ["ask", "implied"] {
        let host = TestHost::start().await;
        let (ada, browser) = signed_in(&host, consent).await;
        for address in ADDRESSES {
            let page = again(&ada, &browser, address).await;
            assert!(page.asks_for_consent(), "{consent}: {}", page.body);
            let continues = page.body.contains("Continue as <bdi>");
            assert_eq!(continues, consent == "implied", "{}", page.body);
            assert_eq!(page.body.contains("class=\"scopes\""), consent == "ask");
            let silent = [("prompt", Some("none")), ("redirect_uri", Some(address))];
            let refused = browser.get(&ada.application.request(&silent)).await;
            assert_eq!(
                refused.parameter("error"),
                "interaction_required",
                "{address}"
            );
            let back = page.decide("allow").await;
            assert!(back.location().as_str().starts_with(address));
            assert!(back.parameter("code").starts_with("ac_"));
        }
        let denied = again(&ada, &browser, ADDRESSES[0])
            .await
            .decide("deny")
            .await;
        assert_eq!(denied.parameter("error"), "access_denied");
    }
}

/// Only the application itself receives a code at a claimed https address (RFC 8252 section 7.2).
#[tokio::test]
async fn a_claimed_https_address_gets_a_code_without_a_page() {
    const CLAIMED: &str = "https://books.example.com/callback";
    for consent in ["ask", "implied"] {
        let host = TestHost::start().await;
        let (ada, browser) = signed_in(&host, consent).await;
        let path = format!("/applications/{}", ada.application.id);
        let addresses = json!({"redirect_uris": [ADDRESSES[0], CLAIMED]});
        host.admin_ok(Method::PATCH, &path, addresses).await;
        let answer = async |prompt, address| {
            let changes = [("prompt", prompt), ("redirect_uri", Some(address))];
            browser.get(&ada.application.request(&changes)).await
        };
        for prompt in [Some("none"), None] {
            let answer = answer(prompt, CLAIMED).await;
            assert!(answer.location().as_str().starts_with(CLAIMED), "{consent}");
            assert!(answer.parameter("code").starts_with("ac_"), "{consent}");
        }
        let refused = answer(Some("none"), ADDRESSES[0]).await;
        assert_eq!(refused.parameter("error"), "interaction_required");
    }
}

/// Without a session, `prompt=none` says so. That is the same for every application.
#[tokio::test]
async fn a_silent_request_without_a_session_needs_a_sign_in() {
    let host = TestHost::start().await;
    let pocket = host.native_application().await;
    let silent = pocket.request(&[("prompt", Some("none"))]);
    let refused = Browser::new(&host.base).get(&silent).await;
    assert_eq!(refused.parameter("error"), "login_required");
}

#[tokio::test]
async fn continuing_stores_no_consent() {
    let host = TestHost::start().await;
    let (ada, browser) = signed_in(&host, "implied").await;
    again(&ada, &browser, ADDRESSES[0])
        .await
        .decide("allow")
        .await;
    let consents = browser.get("/consents").await;
    assert!(!consents.body.contains("Pocket Books"), "{}", consents.body);
}

/// The operating system passes a claimed https address only to the application (RFC 8252 section 7.2).
#[tokio::test]
async fn a_claimed_https_address_gets_a_code_for_a_session_without_a_page() {
    const CLAIMED: &str = "https://books.example/app/callback";
    for consent in ["ask", "implied"] {
        let host = TestHost::start().await;
        let (ada, browser) = signed_in(&host, consent).await;
        let path = format!("/applications/{}", ada.application.id);
        let addresses = json!({"redirect_uris": [ADDRESSES[0], CLAIMED]});
        host.admin_ok(Method::PATCH, &path, addresses).await;
        for prompt in [None, Some("none")] {
            let changes = [("redirect_uri", Some(CLAIMED)), ("prompt", prompt)];
            let back = browser.get(&ada.application.request(&changes)).await;
            let location = back.location().to_string();
            assert!(
                location.starts_with(CLAIMED),
                "{consent} {prompt:?}: {location}"
            );
            assert!(
                back.parameter("code").starts_with("ac_"),
                "{consent} {prompt:?}: {location}"
            );
        }
        // The exemption is that of the address, and not of the application.
        let silent = [("prompt", Some("none"))];
        let refused = browser.get(&ada.application.request(&silent)).await;
        assert_eq!(refused.parameter("error"), "interaction_required");
    }
}
