//! Channels whose word counts nothing: what they bring back is verified as if the device had brought it.

use std::sync::{Arc, Mutex};

use assent::authenticator::{Authenticator, Request};
use axum::Router;
use axum::routing::post;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::fallback::ada_with_push;
use super::{call_back, callback_path, channel, moved_on, until};
use crate::harness::{Ada, Browser, HostOptions, Page, TestHost, id, plugins};

/// A service that the hostile channel asks how a request stands. It says what the test wants said.
struct Says {
    port: u16,
    text: Arc<Mutex<String>>,
    asked: Arc<Mutex<usize>>,
}

impl Says {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let text = Arc::new(Mutex::new(json!({"state": "pending"}).to_string()));
        let asked = Arc::new(Mutex::new(0));
        let (said, count) = (Arc::clone(&text), Arc::clone(&asked));
        let answer = move || async move {
            *count.lock().expect("a count") += 1;
            said.lock().expect("a text").clone()
        };
        let router = Router::new().route("/", post(answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { port, text, asked }
    }

    fn say(&self, what: &Value) {
        *self.text.lock().expect("a text") = what.to_string();
    }

    fn asked(&self) -> usize {
        *self.asked.lock().expect("a count")
    }
}

struct It {
    says: Says,
    host: TestHost,
    ada: Ada,
    waiting: Page,
    request: Request,
    callback: String,
}

/// Ada waits, and the hostile channel carries her request to her phone.
async fn asked() -> It {
    let says = Says::start().await;
    let more = format!(
        "http_hosts = [\"localhost:{}\"]\nconfig = {{ behaviour = \"relay\" }}",
        says.port
    );
    let settings = plugins(&channel("hostile", "hostile-channel", &more));
    let host = TestHost::start_with(HostOptions {
        plugins: &settings,
        ..HostOptions::default()
    })
    .await;
    let ada = ada_with_push(&host, &format!("http://localhost:{}/", says.port)).await;
    let waiting = ada.ask(&Browser::new(&host.base), &[]).await;
    let request = ada.phone.waiting(5).await.expect("requests").remove(0);
    until("kept", async || {
        host.host
            .store
            .next_delivery()
            .await
            .expect("read")
            .is_some()
    })
    .await;
    let callback = callback_path(&host, "hostile");
    It {
        says,
        host,
        ada,
        waiting,
        request,
        callback,
    }
}

/// What a phone signs about a request, as a channel carries it.
fn proof(phone: &Authenticator, request: &Request, number: Option<&str>) -> Value {
    let signature = phone
        .sign(&phone.statement(request, number).text())
        .expect("signed");
    let decision = if number.is_some() { "approve" } else { "deny" };
    json!({"device": phone.device(), "decision": decision, "number": number.unwrap_or_default(),
        "signature": signature})
}

fn evidence(request: &Request, proof: &Value) -> Value {
    json!({"request_id": request.id, "proof": proof.to_string()})
}

impl It {
    /// The channel says this, when it is asked and unasked; the page waits on.
    async fn is_of_no_use(&self, what: &Value, why: &str) {
        let status = call_back(&self.host.base, &self.callback, what.to_string()).await;
        assert_eq!(status, StatusCode::NO_CONTENT);
        assert_eq!(
            self.waiting.again().await.number(),
            self.waiting.number(),
            "a callback with {why}"
        );
        self.says.say(what);
        let before = self.says.asked();
        // The pause after what was of no use.
        self.host.advance(5);
        until("the channel is asked", async || self.says.asked() > before).await;
        assert_eq!(
            self.waiting.again().await.number(),
            self.waiting.number(),
            "a poll with {why}"
        );
    }
}

#[tokio::test]
async fn evidence_that_does_not_verify_approves_nothing() {
    let it = asked().await;
    let number = it.waiting.number();
    let good = proof(&it.ada.phone, &it.request, Some(&number));
    let eve = it.host.person("eve", it.ada.application.clone()).await;
    let changed = |name: &str, value: Value| {
        let mut changed = good.clone();
        changed[name] = value;
        changed
    };
    // A request of hers that she approved once, and its proof.
    let earlier = Request {
        id: "018f0000000070008000000000000001".parse().expect("an id"),
        ..it.request.clone()
    };
    let of_earlier = proof(&it.ada.phone, &earlier, Some(&number));
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
                &json!({"device": it.ada.phone.device(), "decision": "approve"}),
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
            evidence(&it.request, &changed("device", json!(eve.phone.device()))),
            "another's device",
        ),
        (
            evidence(&it.request, &proof(&eve.phone, &it.request, Some(&number))),
            "another person's proof",
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
        it.is_of_no_use(&what, why).await;
    }
    // None of it took anything from her phone.
    it.ada.approve(&it.waiting).await;
    assert!(
        moved_on(&it.waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
}

#[tokio::test]
async fn bare_words_of_a_channel_decide_nothing() {
    for state in ["denied", "expired"] {
        let it = asked().await;
        it.says.say(&json!({"state": state}));
        until("the channel is given up", async || {
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
            moved_on(&it.waiting)
                .await
                .parameter("code")
                .starts_with("ac_")
        );
    }
}

#[tokio::test]
async fn a_devices_own_proof_counts_however_it_comes_and_once() {
    // Brought unasked.
    let it = asked().await;
    let good = evidence(
        &it.request,
        &proof(&it.ada.phone, &it.request, Some(&it.waiting.number())),
    );
    assert_eq!(
        call_back(&it.host.base, &it.callback, good.to_string()).await,
        StatusCode::NO_CONTENT
    );
    assert!(
        moved_on(&it.waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    // Its repetition is of no use for the next request, nor under that one's name.
    let waiting = it.ada.ask(&Browser::new(&it.host.base), &[]).await;
    let request = it.ada.phone.waiting(5).await.expect("requests").remove(0);
    let mut replayed = good.clone();
    replayed["request_id"] = json!(request.id);
    for body in [good, replayed] {
        assert_eq!(
            call_back(&it.host.base, &it.callback, body.to_string()).await,
            StatusCode::NO_CONTENT
        );
        assert_eq!(waiting.again().await.number(), waiting.number());
    }
    // Brought when the channel was asked.
    it.says
        .say(&evidence(&request, &proof(&it.ada.phone, &request, None)));
    until("denied", async || {
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
async fn a_poll_brings_the_answer_of_the_device_that_was_asked_and_of_no_other() {
    let it = asked().await;
    // Her other phone, which no channel wakes.
    let path = format!("/users/{}/enrolments", id(&it.ada.user));
    let link = it.host.admin_ok(Method::POST, &path, Value::Null).await["link"]
        .as_str()
        .expect("a link")
        .to_owned();
    let other = Authenticator::enrol(&link, "Other phone", None)
        .await
        .expect("enrolled");
    let number = it.waiting.number();
    it.says.say(&evidence(
        &it.request,
        &proof(&other, &it.request, Some(&number)),
    ));
    let before = it.says.asked();
    until("the channel is asked", async || {
        it.host.clock.advance(std::time::Duration::from_millis(300));
        it.says.asked() >= before + 2
    })
    .await;
    assert_eq!(it.waiting.again().await.number(), number);
    it.says.say(&evidence(
        &it.request,
        &proof(&it.ada.phone, &it.request, Some(&number)),
    ));
    until("approved", async || {
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
        moved_on(&it.waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
}

#[tokio::test]
async fn a_wrong_number_counts_however_it_comes() {
    let it = asked().await;
    let wrong = async |number: &str| {
        let body = evidence(
            &it.request,
            &proof(&it.ada.phone, &it.request, Some(number)),
        )
        .to_string();
        assert_eq!(
            call_back(&it.host.base, &it.callback, body).await,
            StatusCode::NO_CONTENT
        );
    };
    // No number is below 10. The same proof, brought again and again, counts once.
    for _ in 0..4 {
        wrong("01").await;
    }
    assert_eq!(it.waiting.again().await.number(), it.waiting.number());
    wrong("02").await;
    wrong("03").await;
    assert_eq!(moved_on(&it.waiting).await.outcome(), "refused");
    // Nothing is left to look after.
    until("taken back", async || {
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
