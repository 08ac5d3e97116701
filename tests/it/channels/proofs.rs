//! Channels without trust: the server verifies their proofs as if the device had sent them.

use std::sync::{Arc, Mutex};

use assent::authenticator::enrolled::PendingRequest;
use axum::Router;
use axum::routing::post;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::fallback::ada_with_push;
use super::{call_back, callback_path, channel, next_page, wait_until};
use crate::harness::{
    Browser, Device, Page, Parsed, TestHost, TestUser, Text, id, listen, locked, plugins,
};

/// A service that the hostile channel polls for the status of a request. It returns the answer that the test sets.
struct ScriptedService {
    port: u16,
    text: Arc<Mutex<String>>,
    requested: Arc<Mutex<usize>>,
}

impl ScriptedService {
    async fn start() -> Self {
        let (listener, port) = listen().await;
        let text = Arc::new(Mutex::new(json!({"state": "pending"}).to_string()));
        let requested = Arc::new(Mutex::new(0));
        let (message, count) = (Arc::clone(&text), Arc::clone(&requested));
        let answer = move || async move {
            *locked(&count) += 1;
            locked(&message).clone()
        };
        let router = Router::new().route("/", post(answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            port,
            text,
            requested,
        }
    }

    fn set_result(&self, what: &Value) {
        *locked(&self.text) = what.to_string();
    }

    fn requested(&self) -> usize {
        *locked(&self.requested)
    }
}

struct Fixture {
    service: ScriptedService,
    host: TestHost,
    ada: TestUser,
    waiting: Page,
    request: PendingRequest,
    callback: String,
}

/// Starts a sign-in of Ada whose request the hostile channel delivers to her device.
async fn requested() -> Fixture {
    let service = ScriptedService::start().await;
    let more = format!(
        "http_hosts = [\"localhost:{}\"]\nconfig = {{ behaviour = \"relay\" }}",
        service.port
    );
    let settings = plugins(&channel("hostile", "hostile-channel", &more));
    let host = TestHost::start_with_plugins(&settings).await;
    let ada = ada_with_push(&host, &format!("http://localhost:{}/", service.port)).await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let request = ada.device.pending_requests(5).await.remove(0);
    wait_until("the delivery is stored", async || {
        host.host
            .store
            .next_delivery()
            .await
            .expect("read")
            .is_some()
    })
    .await;
    let callback = callback_path(&host, "hostile");
    Fixture {
        service,
        host,
        ada,
        waiting,
        request,
        callback,
    }
}

/// Returns the proof that a device signs for a request, as a channel carries it.
fn proof(device: &Device, request: &PendingRequest, number: Option<&str>) -> Value {
    let signature = device.signature(&device.statement(request, number).text());
    let decision = if number.is_some() { "approve" } else { "deny" };
    json!({"device": device.device(), "decision": decision, "number": number.unwrap_or_default(),
        "signature": signature})
}

fn evidence(request: &PendingRequest, proof: &Value) -> Value {
    json!({"request_id": request.id, "proof": proof.to_string()})
}

impl Fixture {
    /// Sends this proof in a callback and in a poll. The page must continue to wait after each.
    async fn assert_rejected(&self, what: &Value, why: &str) {
        let status = call_back(&self.host.base, &self.callback, what.to_string()).await;
        assert_eq!(status, StatusCode::NO_CONTENT);
        assert_eq!(
            self.waiting.again().await.number(),
            self.waiting.number(),
            "a callback with {why}"
        );
        self.service.set_result(what);
        let before = self.service.requested();
        // The backoff after the rejected proof.
        self.host.advance(5);
        wait_until("the channel is polled", async || {
            self.service.requested() > before
        })
        .await;
        assert_eq!(
            self.waiting.again().await.number(),
            self.waiting.number(),
            "a poll with {why}"
        );
    }
}

#[tokio::test]
async fn an_invalid_channel_proof_approves_nothing() {
    let it = requested().await;
    let number = it.waiting.number();
    let good = proof(&it.ada.device, &it.request, Some(&number));
    let eve = it
        .host
        .user_with_account("eve", it.ada.application.clone())
        .await;
    let changed = |name: &str, value: Value| {
        let mut changed = good.clone();
        changed[name] = value;
        changed
    };
    // An earlier request that Ada approved, and its proof.
    let earlier = PendingRequest {
        id: "018f0000000070008000000000000001".parsed(),
        ..it.request.clone()
    };
    let of_earlier = proof(&it.ada.device, &earlier, Some(&number));
    for (what, why) in [
        (
            json!({"request_id": it.request.id, "proof": ""}),
            "no proof",
        ),
        (
            json!({"request_id": it.request.id, "proof": "approved"}),
            "a word",
        ),
        (
            json!({"request_id": it.request.id, "proof": "x".repeat(10_000)}),
            "a long text",
        ),
        (
            json!({"request_id": "", "proof": good.to_string()}),
            "no request",
        ),
        (
            evidence(
                &it.request,
                &json!({"device": it.ada.device.device(), "decision": "approve"}),
            ),
            "no signature",
        ),
        (
            evidence(&it.request, &changed("signature", json!("AAAA"))),
            "a forged signature",
        ),
        (
            evidence(&it.request, &changed("number", json!("00"))),
            "another number under the signature",
        ),
        (
            evidence(&it.request, &changed("decision", json!("deny"))),
            "another decision under the signature",
        ),
        (
            evidence(&it.request, &changed("device", json!(eve.device.device()))),
            "another's device",
        ),
        (
            evidence(&it.request, &proof(&eve.device, &it.request, Some(&number))),
            "the proof of another user",
        ),
        (
            evidence(&it.request, &of_earlier),
            "the proof of another request",
        ),
        (
            evidence(&earlier, &good),
            "a proof under another request's name",
        ),
    ] {
        it.assert_rejected(&what, why).await;
    }
    // Ada's device can still approve the request.
    it.ada.approve(&it.waiting).await;
    assert!(
        next_page(&it.waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
}

#[tokio::test]
async fn a_channel_result_without_proof_decides_nothing() {
    for state in ["denied", "expired"] {
        let it = requested().await;
        it.service.set_result(&json!({"state": state}));
        wait_until("the delivery has ended", async || {
            it.host.clock.advance(std::time::Duration::from_millis(300));
            it.host
                .host
                .store
                .next_delivery()
                .await
                .expect("read")
                .is_none()
        })
        .await;
        assert_eq!(
            it.waiting.again().await.number(),
            it.waiting.number(),
            "{state}"
        );
        it.ada.approve(&it.waiting).await;
        assert!(
            next_page(&it.waiting)
                .await
                .parameter("code")
                .starts_with("ac_")
        );
    }
}

#[tokio::test]
async fn a_device_proof_counts_once_through_any_channel() {
    // The channel sends the proof in a callback.
    let it = requested().await;
    let good = evidence(
        &it.request,
        &proof(&it.ada.device, &it.request, Some(&it.waiting.number())),
    );
    assert_eq!(
        call_back(&it.host.base, &it.callback, good.to_string()).await,
        StatusCode::NO_CONTENT
    );
    assert!(
        next_page(&it.waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    // A replay is rejected for the next request, also under the id of that request.
    let waiting = it
        .ada
        .begin_sign_in(&Browser::new(&it.host.base), &[])
        .await;
    let request = it.ada.device.pending_requests(5).await.remove(0);
    let mut replayed = good.clone();
    replayed["request_id"] = json!(request.id);
    for body in [good, replayed] {
        assert_eq!(
            call_back(&it.host.base, &it.callback, body.to_string()).await,
            StatusCode::NO_CONTENT
        );
        assert_eq!(waiting.again().await.number(), waiting.number());
    }
    // The channel returns the proof in a poll.
    it.service
        .set_result(&evidence(&request, &proof(&it.ada.device, &request, None)));
    wait_until("denied", async || {
        it.host.clock.advance(std::time::Duration::from_millis(500));
        waiting
            .again()
            .await
            .body
            .contains("data-outcome=\"denied\"")
    })
    .await;
}

#[tokio::test]
async fn a_poll_accepts_only_the_proof_of_a_prompted_device() {
    let it = requested().await;
    // Ada's other device, which no channel wakes.
    let path = format!("/users/{}/enrolments", id(&it.ada.user));
    let link = it.host.admin_ok(Method::POST, &path, Value::Null).await["link"]
        .text()
        .to_owned();
    let other = Device::enrol(&link, "Other phone").await;
    let number = it.waiting.number();
    it.service.set_result(&evidence(
        &it.request,
        &proof(&other, &it.request, Some(&number)),
    ));
    let before = it.service.requested();
    wait_until("the channel is polled", async || {
        it.host.clock.advance(std::time::Duration::from_millis(300));
        it.service.requested() >= before + 2
    })
    .await;
    assert_eq!(it.waiting.again().await.number(), number);
    it.service.set_result(&evidence(
        &it.request,
        &proof(&it.ada.device, &it.request, Some(&number)),
    ));
    wait_until("approved", async || {
        it.host.clock.advance(std::time::Duration::from_millis(500));
        it.host
            .host
            .store
            .next_delivery()
            .await
            .expect("read")
            .is_none()
    })
    .await;
    assert!(
        next_page(&it.waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
}

#[tokio::test]
async fn a_wrong_number_counts_through_any_channel() {
    let it = requested().await;
    let wrong = async |number: &str| {
        let body = evidence(
            &it.request,
            &proof(&it.ada.device, &it.request, Some(number)),
        )
        .to_string();
        assert_eq!(
            call_back(&it.host.base, &it.callback, body).await,
            StatusCode::NO_CONTENT
        );
    };
    // No number is below 10. Repetitions of the same proof count once.
    for _ in 0..4 {
        wrong("01").await;
    }
    assert_eq!(it.waiting.again().await.number(), it.waiting.number());
    wrong("02").await;
    wrong("03").await;
    assert_eq!(next_page(&it.waiting).await.outcome(), "number-mismatch");
    // No delivery remains to be polled.
    wait_until("the delivery has ended", async || {
        it.host
            .host
            .store
            .next_delivery()
            .await
            .expect("read")
            .is_none()
    })
    .await;
}
