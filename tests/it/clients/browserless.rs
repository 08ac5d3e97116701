//! Clients without a browser: the code of `docs/developers/clients-without-a-browser.md`, with npm's `openid-client`
//! and Java's `oauth2-oidc-sdk`. They ask for a user by CIBA, and sign a user in by a device grant. `scripts/clients`
//! runs the tests with Java.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Application, TestHost, TestUser, Text, id, in_time};
use crate::programs::Program;

const CIBA: &str = "urn:openid:params:grant-type:ciba";
const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// The clients poll each second.
const SETTINGS: &str =
    "[oidc.backchannel]\ninterval = \"1s\"\n[oidc.device_authorization]\ninterval = \"1s\"\n";
/// More than the lifetime of any request here, in seconds.
const EXPIRED: u64 = 601;
const PENDING: &str = "authorization_pending";
const SLOW_DOWN: &str = "slow_down";

/// The library of a client.
#[derive(Clone, Copy, Debug)]
enum Library {
    /// npm's `openid-client`.
    OpenidClient,
    /// `oauth2-oidc-sdk` of Connect2id, on Java.
    Nimbus,
}

impl Library {
    fn start(self) -> Program {
        match self {
            Self::OpenidClient => Program::node("browserless.mjs"),
            Self::Nimbus => Program::java("BrowserlessCalls"),
        }
    }
}

/// A request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// CIBA, of a confidential client.
    Ciba,
    /// A device grant, of a public client.
    Device,
}

const FLOWS: [Flow; 2] = [Flow::Ciba, Flow::Device];

/// How a client polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// At the interval.
    Regular,
    /// At the interval, with one further poll directly after the first.
    Hasty,
    /// With long polls.
    Patient,
}

/// A client that waits for the decision of Ada.
struct Waiting {
    host: TestHost,
    ada: TestUser,
    program: Program,
    flow: Flow,
    /// The answer to the request.
    answer: Value,
}

impl Waiting {
    /// Starts an instance with Ada, and a client that asks for her.
    async fn begin(library: Library, flow: Flow, pace: Pace) -> Self {
        let message = Some("Order 42");
        Self::begin_with(library, flow, pace, json!({}), message).await
    }

    /// Does the same with further settings of the application, and with this binding message.
    async fn begin_with(
        library: Library,
        flow: Flow,
        pace: Pace,
        settings: Value,
        message: Option<&str>,
    ) -> Self {
        let host = super::host(SETTINGS).await;
        let ada = host.ada().await;
        let application = match flow {
            Flow::Ciba => ada.application.clone(),
            Flow::Device => native_application(&host, &ada).await,
        };
        let mut changes = settings;
        changes["grant_types"] = match flow {
            Flow::Ciba => json!(["authorization_code", CIBA]),
            Flow::Device => json!([DEVICE_CODE]),
        };
        let path = format!("/applications/{}", application.id);
        host.admin_ok(Method::PATCH, &path, changes).await;
        let mut program = library.start();
        let mut connection = json!({
            "issuer": host.issuer(),
            "clientId": application.id,
            "isHasty": pace == Pace::Hasty,
            "isPatient": pace == Pace::Patient,
        });
        if let Some(secret) = &application.secret {
            connection["clientSecret"] = json!(secret);
        }
        program.send(&connection).await;
        let call = match flow {
            Flow::Ciba => {
                let mut parameters = json!({"scope": "openid profile", "login_hint": "ada"});
                if let Some(message) = message {
                    parameters["binding_message"] = json!(message);
                }
                json!({"call": "ask", "parameters": parameters})
            }
            Flow::Device => json!({"call": "codes", "parameters": {"scope": "openid profile"}}),
        };
        let mut answer = program.ask(&call).await;
        let answer = answer["request"].take();
        assert!(answer.is_object(), "{library:?}: {flow:?}");
        if flow == Flow::Device {
            let entered = ada.device.enter_code(answer["user_code"].text()).await;
            entered.expect("a right code");
        }
        Self {
            host,
            ada,
            program,
            flow,
            answer,
        }
    }

    /// Returns the error of the next poll, which does not end the request.
    async fn polled(&mut self) -> String {
        self.program.next().await["polled"].text().to_owned()
    }

    /// Returns the result of the request. The client may have polled before.
    async fn outcome(&mut self) -> Value {
        loop {
            let line = self.program.next().await;
            if line.get("polled").is_none() {
                return line;
            }
        }
    }

    async fn expect_error(&mut self, error: &str) {
        let flow = self.flow;
        let outcome = self.outcome().await;
        assert_eq!(outcome, json!({"error": error}), "{flow:?}");
    }

    async fn expect_tokens(&mut self) {
        let outcome = self.outcome().await;
        let (tokens, claims) = (&outcome["tokens"], &outcome["claims"]);
        assert!(tokens["access_token"].is_string(), "{outcome}");
        assert_eq!(claims["iss"], self.host.issuer(), "{outcome}");
        assert_eq!(claims["sub"], self.ada.user["sub"], "{outcome}");
        assert_eq!(claims["amr"], json!(["swk", "user"]), "{outcome}");
        assert!(claims["sid"].is_string(), "{outcome}");
    }

    /// Ada approves the request.
    async fn approve(&self, number: &str) {
        let request = self.ada.device.pending_requests(5).await.remove(0);
        assert_eq!(self.ada.device.approve(&request, number).await, "approved");
    }
}

/// Creates an application on the user's device, in which Ada has an account.
async fn native_application(host: &TestHost, ada: &TestUser) -> Application {
    let body = json!({
        "name": "Command line",
        "application_type": "native",
        "redirect_uris": [],
        "grant_types": [DEVICE_CODE],
    });
    let created = host.admin_ok(Method::POST, "/applications", body).await;
    let application = Application {
        id: id(&created).to_owned(),
        secret: None,
        redirect_uri: String::new(),
    };
    host.account(&ada.user, &application).await;
    application
}

async fn allow(library: Library, flow: Flow) {
    let mut waiting = Waiting::begin(library, flow, Pace::Regular).await;
    assert_eq!(waiting.polled().await, PENDING, "{library:?}: {flow:?}");
    if flow == Flow::Ciba {
        let shown = waiting.ada.device.pending_requests(5).await.remove(0);
        let shown = shown.backchannel.expect("a back-channel request");
        assert_eq!(shown.message.as_deref(), Some("Order 42"), "{library:?}");
    }
    waiting.approve("").await;
    waiting.expect_tokens().await;
}

async fn deny(library: Library, flow: Flow) {
    let mut waiting = Waiting::begin(library, flow, Pace::Regular).await;
    let request = waiting.ada.device.pending_requests(5).await.remove(0);
    assert_eq!(waiting.ada.device.deny(&request).await, "denied");
    waiting.expect_error("access_denied").await;
}

async fn expire(library: Library, flow: Flow) {
    let mut waiting = Waiting::begin(library, flow, Pace::Regular).await;
    assert_eq!(waiting.polled().await, PENDING, "{library:?}: {flow:?}");
    waiting.host.advance(EXPIRED);
    waiting.expect_error("expired_token").await;
}

/// A further poll, beside the library, comes too early. Both wait longer from then on, and the decision arrives.
async fn slow_down(library: Library, flow: Flow) {
    let mut waiting = Waiting::begin(library, flow, Pace::Hasty).await;
    for expected in [PENDING, SLOW_DOWN, SLOW_DOWN] {
        assert_eq!(waiting.polled().await, expected, "{library:?}: {flow:?}");
    }
    waiting.approve("").await;
    waiting.expect_tokens().await;
}

/// The client learns nothing of a report: the request expires.
async fn report(library: Library, flow: Flow) {
    let mut waiting = Waiting::begin(library, flow, Pace::Regular).await;
    let request = waiting.ada.device.pending_requests(5).await.remove(0);
    let outcome = waiting.ada.device.submit_report(&request).await;
    assert_eq!(outcome, "reported", "{library:?}: {flow:?}");
    assert_eq!(waiting.polled().await, PENDING, "{library:?}: {flow:?}");
    waiting.host.advance(EXPIRED);
    waiting.expect_error("expired_token").await;
}

/// The user types digits: those of the server, or those of the application.
async fn wrong_digits(library: Library, message: Option<&str>) {
    let settings = json!({"backchannel_binding": "typed"});
    for wrong in [1, 3] {
        let (flow, pace) = (Flow::Ciba, Pace::Regular);
        let mut waiting = Waiting::begin_with(library, flow, pace, settings.clone(), message).await;
        let number = match message {
            Some(digits) => digits.to_owned(),
            None => waiting.answer["binding_number"].text().to_owned(),
        };
        // The same wrong digits count once.
        let others = |turn: u8| -> String {
            let digits = number.bytes().map(|digit| digit - b'0');
            digits
                .map(|digit| char::from(b'0' + (digit + turn) % 10))
                .collect()
        };
        let request = waiting.ada.device.pending_requests(5).await.remove(0);
        for turn in 1..=wrong {
            let decided = waiting
                .ada
                .device
                .decide(&request, Some(&others(turn)))
                .await;
            assert!(decided.is_err(), "{library:?}");
        }
        if wrong < 3 {
            waiting.approve(&number).await;
            waiting.expect_tokens().await;
        } else {
            waiting.expect_error("access_denied").await;
        }
    }
}

#[tokio::test]
async fn openid_client_is_allowed() {
    join_all(FLOWS.map(|flow| allow(Library::OpenidClient, flow))).await;
}

#[tokio::test]
async fn openid_client_is_denied() {
    join_all(FLOWS.map(|flow| deny(Library::OpenidClient, flow))).await;
}

#[tokio::test]
async fn openid_client_sees_its_request_expire() {
    join_all(FLOWS.map(|flow| expire(Library::OpenidClient, flow))).await;
}

#[tokio::test]
async fn openid_client_slows_down() {
    join_all(FLOWS.map(|flow| slow_down(Library::OpenidClient, flow))).await;
}

#[tokio::test]
async fn openid_client_learns_nothing_of_a_report() {
    join_all(FLOWS.map(|flow| report(Library::OpenidClient, flow))).await;
}

#[tokio::test]
async fn openid_client_is_denied_after_three_wrong_numbers() {
    wrong_digits(Library::OpenidClient, None).await;
}

/// A poll waits until the decision.
#[tokio::test]
async fn openid_client_waits_with_long_polls() {
    for flow in FLOWS {
        let mut waiting = Waiting::begin(Library::OpenidClient, flow, Pace::Patient).await;
        let store = &waiting.host.host.store;
        let waits = async {
            while store.waiting_requests() == 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        in_time(waits).await;
        waiting.approve("").await;
        waiting.expect_tokens().await;
    }
}

#[tokio::test]
#[ignore = "scripts/clients runs it"]
async fn nimbus_receives_each_result_by_ciba() {
    each_result(Flow::Ciba).await;
    wrong_digits(Library::Nimbus, Some("4711")).await;
}

#[tokio::test]
#[ignore = "scripts/clients runs it"]
async fn nimbus_receives_each_result_by_a_device_grant() {
    each_result(Flow::Device).await;
}

async fn each_result(flow: Flow) {
    allow(Library::Nimbus, flow).await;
    deny(Library::Nimbus, flow).await;
    expire(Library::Nimbus, flow).await;
    slow_down(Library::Nimbus, flow).await;
    report(Library::Nimbus, flow).await;
}
