//! Same-device sign-in: the authenticator is in the browser that signs in, so the user needs no number.

use assent::authenticator::enrolled::PendingRequest;
use assent_model::action_approval::ActionOutline;
use assent_model::administration::ProtectedActionKind;
use assent_model::approval::ApprovalSubject;
use assent_model::clock::{Clock, SystemClock};
use assent_model::entropy::SystemEntropy;
use assent_model::id::ActionApprovalId;
use assent_model::secret::Digest;
use assent_model::statement::{ApprovalStatement, Binding, CallStatement, Decision};
use assent_store::sql;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Body, Browser, Database, Device, Respond, TestHost, Text};
use crate::qr_sign_in::code;
use crate::store::{NOW, approval, login};

/// A device in a browser. Its calls have the cookies of the browser.
pub(crate) struct Installed<'a> {
    pub(crate) device: &'a Device,
    pub(crate) browser: &'a Browser,
}

impl Installed<'_> {
    async fn call(&self, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
        let path = format!("/authenticator/api{path}");
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = nothing();
        let own = self.device.statement(&request, None);
        let statement = CallStatement {
            issuer: own.issuer,
            device: own.device,
            time: SystemClock.now().seconds(),
            method: method.as_str(),
            path: &path,
            body: body.as_bytes(),
        };
        let signature = self.device.signature(&statement.text());
        let authorization = format!(
            "Assent-Device {}.{}.{signature}",
            own.device, statement.time
        );
        let mut request = self
            .browser
            .request(method, &path)
            .header("authorization", authorization);
        if !body.is_empty() {
            request = request
                .header("content-type", "application/json")
                .body(body);
        }
        let answer = request.response().await;
        (answer.status(), answer.read_json().await)
    }

    /// Previews the code of a login page, and scans it. Returns both responses.
    async fn scan(&self, token: &str) -> (Value, Value) {
        let body = json!({ "token": token });
        let (status, preview) = self
            .call(Method::POST, "/qr-sign-ins/preview", body.clone())
            .await;
        assert_eq!(status, StatusCode::OK, "{preview}");
        let (status, begun) = self.call(Method::POST, "/qr-sign-ins", body).await;
        assert_eq!(status, StatusCode::OK, "{begun}");
        (preview, begun)
    }

    /// Returns the only pending request, and whether it belongs to this browser.
    pub(crate) async fn pending(&self) -> (PendingRequest, bool) {
        let (status, pending) = self.call(Method::GET, "/requests", Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{pending}");
        let request = &pending["requests"][0];
        (
            serde_json::from_value(request.clone()).expect("a request"),
            request["same_browser"] == true,
        )
    }

    /// Approves without a number.
    pub(crate) async fn approve(&self, request: &PendingRequest) -> (StatusCode, Value) {
        let signature = self.device.signature(&without_number(self.device, request));
        let body = json!({"decision": "approve", "same_browser": true, "signature": signature});
        self.call(Method::POST, &format!("/requests/{}", request.id), body)
            .await
    }
}

/// Returns a request for a statement in which only the issuer and the device matter.
fn nothing() -> PendingRequest {
    serde_json::from_value(json!({
        "id": "0".repeat(32), "application": {"id": "", "name": ""}, "account": "", "place": "", "browser": "",
        "expires_at": 0, "attempts_left": 0,
    }))
    .expect("a request")
}

fn without_number(device: &Device, request: &PendingRequest) -> String {
    ApprovalStatement {
        decision: Decision::Approve,
        binding: Binding::SameBrowser,
        ..device.statement(request, None)
    }
    .text()
}

fn token(link: &str) -> &str {
    link.split_once("#login=").expect("a code").1
}

#[both_databases]
async fn an_authenticator_in_the_browser_needs_no_number(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let browser = Browser::new(&host.base);
    let login = ada.application.login_page(&browser, &[]).await;
    let installed = Installed {
        device: &ada.device,
        browser: &browser,
    };
    let link = code(&login);
    let (preview, begun) = installed.scan(token(&link)).await;
    assert_eq!(preview["same_browser"], true);
    assert_eq!(begun["login_page"], login.path());
    let mut connection = host.connection().await;
    let carried: Vec<(String,)> = sql::query_as("SELECT approval_id FROM approval_dispatches")
        .fetch_all(&mut connection)
        .await
        .expect("read");
    assert_eq!(carried, [], "no message goes to the user's devices");
    let (request, is_here) = installed.pending().await;
    assert!(is_here);
    let (status, outcome) = installed.approve(&request).await;
    assert_eq!(
        (status, outcome["outcome"].text()),
        (StatusCode::OK, "approved")
    );
    let back = browser.finish(&login.url).await;
    assert!(back.parameter("code").starts_with("ac_"));
    let noted: Vec<(String,)> = sql::query_as(
        "SELECT event FROM audit_entries WHERE event = 'sign-in.approved' AND detail LIKE '%\"same_browser\":true%'",
    )
    .fetch_all(&mut connection)
    .await
    .expect("read");
    assert_eq!(noted.len(), 1);
}

/// The other browser has the same address and the same User-Agent. Its user opened the link of the login page.
#[both_databases]
async fn another_browser_cannot_approve_without_the_number(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let attacker = Browser::new(&host.base);
    let login = ada.application.login_page(&attacker, &[]).await;
    let own = Browser::new(&host.base);
    // Ada's browser has a sign-in of its own as well.
    ada.application.login_page(&own, &[]).await;
    let installed = Installed {
        device: &ada.device,
        browser: &own,
    };
    let link = code(&login);
    let (preview, begun) = installed.scan(token(&link)).await;
    assert_eq!(preview["same_browser"], false);
    assert_eq!(begun["login_page"], Value::Null);
    let (request, is_here) = installed.pending().await;
    assert!(!is_here);
    for browser in [&own, &Browser::new(&host.base)] {
        let installed = Installed {
            device: &ada.device,
            browser,
        };
        let (status, error) = installed.approve(&request).await;
        assert_eq!(
            (status, error["error"].text()),
            (StatusCode::FORBIDDEN, "other_browser")
        );
    }
    let waiting = attacker.get(&login.url).await;
    assert_eq!(waiting.number().len(), 2, "the page still waits");
    let (request, _) = installed.pending().await;
    assert_eq!(request.attempts_left, 3, "no number was typed");
    assert_eq!(
        ada.device.approve(&request, &waiting.number()).await,
        "approved"
    );
}

/// The name was typed. The request still belongs to the browser.
#[both_databases]
async fn a_typed_request_needs_no_number_in_its_own_browser_only(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let (own, other) = (Browser::new(&host.base), Browser::new(&host.base));
    ada.application.login_page(&other, &[]).await;
    let login = ada.application.login_page(&own, &[]).await;
    login.submit_name("ada").await;
    for (browser, expected) in [
        (&other, (StatusCode::FORBIDDEN, "other_browser")),
        (&own, (StatusCode::OK, "approved")),
    ] {
        let installed = Installed {
            device: &ada.device,
            browser,
        };
        let (request, is_here) = installed.pending().await;
        assert_eq!(is_here, expected.1 == "approved");
        let (status, answer) = installed.approve(&request).await;
        let word = if is_here { "outcome" } else { "error" };
        assert_eq!((status, answer[word].text()), expected);
    }
    let back = own.finish(&login.url).await;
    assert!(back.parameter("code").starts_with("ac_"));
}

/// A response may be lost in transit, so the device may ask again.
#[tokio::test]
async fn a_device_that_scans_again_receives_the_same_request() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let login = ada.application.login_page(&browser, &[]).await;
    let installed = Installed {
        device: &ada.device,
        browser: &browser,
    };
    let link = code(&login);
    let (_, first) = installed.scan(token(&link)).await;
    let body = json!({ "token": token(&link) });
    let (status, again) = installed.call(Method::POST, "/qr-sign-ins", body).await;
    assert_eq!((status, &again), (StatusCode::OK, &first));
    let (request, _) = installed.pending().await;
    assert_eq!(first["request"], request.id.to_string());
}

#[tokio::test]
async fn proofs_with_and_without_a_number_are_not_interchangeable() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let login = ada.application.login_page(&browser, &[]).await;
    let installed = Installed {
        device: &ada.device,
        browser: &browser,
    };
    installed.scan(token(&code(&login))).await;
    let (request, _) = installed.pending().await;
    let number = browser.get(&login.url).await.number();
    let with_number = ada.device.statement(&request, Some(&number)).text();
    let statements = [without_number(&ada.device, &request), with_number];
    let bodies = [
        json!({"decision": "approve", "number": number}),
        json!({"decision": "approve", "same_browser": true}),
    ];
    for (statement, mut body) in statements.iter().zip(bodies) {
        body["signature"] = ada.device.signature(statement).into();
        let path = format!("/requests/{}", request.id);
        let (status, error) = installed.call(Method::POST, &path, body).await;
        assert_eq!(
            (status, error["error"].text()),
            (StatusCode::FORBIDDEN, "invalid_proof")
        );
    }
}

#[test]
fn a_protected_action_always_needs_its_number() {
    let mut approval = approval(&login(), None, "ada");
    let browser = approval.browser;
    assert!(approval.is_sign_in_in(browser));
    assert!(!approval.is_sign_in_in(Digest::sha256(b"another")));
    approval.subject = ApprovalSubject::ProtectedAction {
        id: ActionApprovalId::new(NOW, &SystemEntropy),
        outline: ActionOutline {
            kind: ProtectedActionKind::DeleteUser,
            target_user: None,
            target_application: None,
        },
    };
    assert!(!approval.is_sign_in_in(browser));
}
