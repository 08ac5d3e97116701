//! A logout shows the names of a user's other applications only to the browser of the session.

use serde_json::{Value, json};

use super::logout::{SessionRecord, must_sign_in, request, send, signed_in};
use super::service_provider::{SLO, TestServiceProvider};
use crate::harness::{Browser, Page, TestHost, TestUser, Text};

const OTHER: &str = "Secret application";

/// An application that does not support single logout, and another one that Ada uses in the same session.
struct Journey {
    host: TestHost,
    asking: TestServiceProvider,
    other: TestServiceProvider,
    ada: TestUser,
}

impl Journey {
    async fn new(logout_of_other: Value) -> Self {
        let host = TestHost::start().await;
        let asking =
            TestServiceProvider::register(&host, json!({"name": "Asking", "single_logout": null}))
                .await;
        let changes = json!({"name": OTHER, "entity_id": "https://other.example", "single_logout": logout_of_other});
        let other = TestServiceProvider::register(&host, changes).await;
        let ada = asking.ada(&host).await;
        host.account(&ada.user, &other.application()).await;
        Self {
            host,
            asking,
            other,
            ada,
        }
    }

    async fn signed_in(&self, browser: &Browser) -> SessionRecord {
        let known = signed_in(&self.asking, &self.ada, browser, &self.host).await;
        signed_in(&self.other, &self.ada, browser, &self.host).await;
        known
    }
}

/// Returns the last page that a caller sees.
async fn final_page(page: Page) -> Page {
    if page.status.is_redirection() {
        page.followed().await
    } else {
        page
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_of_a_service_provider_sees_no_other_applications() {
    for logout in [Value::Null, json!({"url": SLO, "binding": "redirect"})] {
        let journey = Journey::new(logout.clone()).await;
        let Journey { host, asking, .. } = &journey;
        for with_index in [true, false] {
            let browser = Browser::new(&host.base);
            let known = journey.signed_in(&browser).await;
            let mut request = request(asking, host, &known);
            if !with_index {
                request.session_indexes.clear();
            }
            let server = Browser::new(&host.base);
            let page = final_page(send(asking, &server, &request, None).await).await;
            assert!(
                page.body
                    .contains("Some applications could not be notified"),
                "{}",
                page.body
            );
            assert!(!page.body.contains(OTHER), "{logout}: {}", page.body);
            assert!(
                must_sign_in(asking, &browser, host).await,
                "the session has ended nevertheless"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_browser_of_the_session_sees_application_names() {
    let journey = Journey::new(Value::Null).await;
    let Journey { host, asking, .. } = &journey;
    let browser = Browser::new(&host.base);
    let known = journey.signed_in(&browser).await;
    let page = final_page(send(asking, &browser, &request(asking, host, &known), None).await).await;
    assert!(
        page.body.contains(OTHER)
            && !page
                .body
                .contains("Some applications could not be notified"),
        "{}",
        page.body
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_token_of_an_expired_session_reveals_no_names() {
    for logout in [Value::Null, json!({"url": SLO, "binding": "redirect"})] {
        let host = TestHost::start().await;
        let changes = json!({"name": OTHER, "single_logout": logout});
        let other = TestServiceProvider::register(&host, changes).await;
        let ada = host.ada().await;
        host.account(&ada.user, &other.application()).await;
        let browser = Browser::new(&host.base);
        let tokens = ada.tokens(&host, &browser).await;
        signed_in(&other, &ada, &browser, &host).await;
        host.advance(2 * 60 * 60);
        let hint = tokens["id_token"].text();
        let attacker = Browser::new(&host.base);
        let page = final_page(
            attacker
                .get(&format!("/oidc/session/end?id_token_hint={hint}"))
                .await,
        )
        .await;
        assert!(
            page.body
                .contains("Some applications could not be notified"),
            "{}",
            page.body
        );
        assert!(!page.body.contains(OTHER), "{}", page.body);
    }
}

/// The user's own browser arrives with a form of another site, to which it sends no cookies.
#[tokio::test(flavor = "multi_thread")]
async fn a_cross_site_form_with_cookies_shows_application_names() {
    let journey = Journey::new(Value::Null).await;
    let Journey { host, asking, .. } = &journey;
    let browser = Browser::new(&host.base);
    let known = journey.signed_in(&browser).await;
    let xml = request(asking, host, &known)
        .write(Some(&asking.signer))
        .expect("written");
    let message = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, xml);
    let elsewhere = Browser::new(&host.base);
    let sent = elsewhere
        .post(&asking.single_logout(), &[("SAMLRequest", &message)])
        .await;
    assert!(sent.status.is_redirection(), "{}", sent.body);
    let page = browser.get(sent.location().as_str()).await;
    assert!(page.body.contains(OTHER), "{}", page.body);
}
