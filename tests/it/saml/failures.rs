//! The responses to a service provider for failed sign-ins.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::service_provider::{ACS, RESPONDER, Response, TestServiceProvider, identify};
use crate::harness::{Browser, Page, TestHost, TestUser, id};

const AUTHN_FAILED: &str = "urn:oasis:names:tc:SAML:2.0:status:AuthnFailed";

struct Attempt {
    host: TestHost,
    service_provider: TestServiceProvider,
    ada: TestUser,
    browser: Browser,
}

impl Attempt {
    async fn new() -> Self {
        let (host, service_provider, ada) = TestServiceProvider::start_with_ada().await;
        let browser = Browser::new(&host.base);
        Self {
            host,
            service_provider,
            ada,
            browser,
        }
    }

    async fn waiting(&self) -> Page {
        let login = self
            .service_provider
            .begin(
                &self.browser,
                &self.service_provider.request(&self.host),
                Some("s"),
            )
            .await;
        identify(&self.ada, &login).await
    }

    /// Returns the response that the application receives when the browser returns automatically.
    async fn failed(&self, page: &Page) -> Response {
        self.answered(
            &self
                .browser
                .get(&page.returns().expect("it goes back"))
                .await,
        )
    }

    fn answered(&self, page: &Page) -> Response {
        let response = Response::from_page(page);
        assert_eq!(
            response.status(),
            [RESPONDER, AUTHN_FAILED],
            "{}",
            response.xml
        );
        assert_eq!(
            (response.action.as_str(), response.relay_state.as_deref()),
            (ACS, Some("s"))
        );
        assert!(response.element("Assertion").is_none());
        assert!(response.element("Signature").is_some());
        response
    }

    async fn set(&self, path: &str, state: &str) {
        self.host
            .admin_ok(Method::PATCH, path, json!({"state": state}))
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_is_returned_to_the_service_provider() {
    let attempt = Attempt::new().await;
    let waiting = attempt.waiting().await;
    let requests = attempt.ada.device.pending_requests(5).await;
    attempt.ada.device.deny(&requests[0]).await;
    let response = attempt.failed(&waiting.again().await).await;
    assert!(response.text("StatusMessage").contains("denied"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_request_is_returned_to_the_service_provider() {
    let attempt = Attempt::new().await;
    let waiting = attempt.waiting().await;
    attempt.host.advance(119);
    assert!(waiting.again().await.body.contains("id=\"number\""));
    attempt.host.advance(2);
    let response = attempt.failed(&waiting.again().await).await;
    assert!(response.text("StatusMessage").contains("in time"));
}

#[tokio::test(flavor = "multi_thread")]
async fn suspended_and_terminated_users_receive_no_prompt() {
    for state in ["suspended", "terminated"] {
        for full_flow in [true, false] {
            let attempt = Attempt::new().await;
            let path = match full_flow {
                true => format!("/users/{}", id(&attempt.ada.user)),
                false => format!("/accounts/{}", id(&attempt.ada.account)),
            };
            attempt.set(&path, state).await;
            let waiting = attempt.waiting().await;
            attempt.host.advance(121);
            attempt.failed(&waiting.again().await).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn suspension_between_approval_and_use_returns_no_assertion() {
    for state in ["suspended", "terminated"] {
        for full_flow in [true, false] {
            let attempt = Attempt::new().await;
            let waiting = attempt.waiting().await;
            attempt.ada.approve(&waiting).await;
            let path = match full_flow {
                true => format!("/users/{}", id(&attempt.ada.user)),
                false => format!("/accounts/{}", id(&attempt.ada.account)),
            };
            attempt.set(&path, state).await;
            attempt.failed(&waiting.again().await).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn suspension_during_a_session_ends_single_sign_on() {
    let attempt = Attempt::new().await;
    let request = attempt.service_provider.request(&attempt.host);
    attempt
        .service_provider
        .sign_in(&attempt.ada, &attempt.browser, &request)
        .await;
    attempt
        .set(
            &format!("/accounts/{}", id(&attempt.ada.account)),
            "suspended",
        )
        .await;
    let request = attempt.service_provider.request(&attempt.host);
    let page = attempt
        .service_provider
        .begin(&attempt.browser, &request, Some("s"))
        .await;
    assert!(page.body.contains("closed"), "{}", page.body);
    attempt.failed(&page).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_sign_in_is_returned_to_the_service_provider() {
    let attempt = Attempt::new().await;
    let request = attempt.service_provider.request(&attempt.host);
    let login = attempt
        .service_provider
        .begin(&attempt.browser, &request, Some("s"))
        .await;
    attempt.answered(&login.leave().await);
    // The server answers the request only once. The same browser may get the answer again for a short time.
    attempt.host.advance(30);
    assert_eq!(login.again().await.status, StatusCode::CONFLICT);
}
