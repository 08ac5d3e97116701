//! A small vendor. It verifies each request's signature (RFC 9421), and answers as the test or the user's identifier
//! configures.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{channel, wait_until};
use crate::harness::{Text, listen, locked, parse_json, temp_folder, write_file};

const KEY: &str = "a secret of 32 characters or so!";

/// The service of a vendor.
pub struct Vendor {
    pub port: u16,
    shared: Arc<Shared>,
    folder: tempfile::TempDir,
}

#[derive(Default)]
struct Shared {
    port: u16,
    poll_after_ms: u32,
    received: Mutex<Received>,
}

#[derive(Default)]
struct Received {
    /// The questions, by the ids that the vendor assigns.
    questions: HashMap<String, Value>,
    /// The questions that the test has not read yet.
    fresh: Vec<Value>,
    statuses: HashMap<String, String>,
    started: usize,
    hanging: usize,
    polls: HashMap<String, usize>,
    cancelled: Vec<String>,
    pushed: usize,
    forged: usize,
}

impl Vendor {
    /// Starts a vendor that requests a poll after `poll_after_ms` milliseconds.
    pub async fn start(poll_after_ms: u32) -> Self {
        let (listener, port) = listen().await;
        let shared = Arc::new(Shared {
            port,
            poll_after_ms,
            received: Mutex::default(),
        });
        let router = Router::new()
            .route("/v1/approvals", post(begin))
            .route("/v1/approvals/{id}", get(status).delete(cancel))
            .route("/push", post(push))
            .with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let folder = temp_folder();
        write_file(folder.path().join("key"), KEY);
        Self {
            port,
            shared,
            folder,
        }
    }

    /// Returns the settings of a channel to the vendor, with further settings. Its calls wait longer than a test takes
    /// on any machine.
    pub fn channel(&self, name: &str, more: &str) -> String {
        self.channel_that_waits("2m", name, more)
    }

    /// Returns the settings of the same channel for tests that wait for the timeout of a call.
    pub fn impatient_channel(&self, name: &str) -> String {
        self.channel_that_waits("1s", name, "")
    }

    fn channel_that_waits(&self, timeout: &str, name: &str, more: &str) -> String {
        let Self { port, folder, .. } = self;
        let of_vendor = format!(
            "trust = \"delegated\"\nhttp_hosts = [\"localhost:{port}\"]\nlimits = {{ http_timeout = \"{timeout}\" }}\n\
             credentials = [{{ kind = \"signature\", key_id = \"assent\", secret_file = \"{}\" }}]\n\
             config = {{ base_url = \"http://localhost:{port}/v1\", cancel_path = \"/approvals/{{id}}\" }}\n{more}",
            folder.path().join("key").display(),
        );
        channel(name, "http-gateway", &of_vendor)
    }

    /// Waits for the next question to the user with this identifier, and returns it.
    pub async fn question(&self, user: &str) -> Value {
        let mut found = None;
        wait_until("the vendor receives the request", async || {
            let mut received = self.received();
            let at = received
                .fresh
                .iter()
                .position(|question| question["user"] == user);
            found = at.map(|at| received.fresh.remove(at));
            found.is_some()
        })
        .await;
        found.expect("an approval request")
    }

    /// Sets the user's answer to this question. From now on the question has this status.
    pub fn answer(&self, question: &Value, status: &str) {
        let previous = self
            .received()
            .statuses
            .insert(id_of(question), status.to_owned());
        assert!(previous.is_some(), "the request exists");
    }

    /// Returns the number of polls for this question.
    pub fn polls(&self, question: &Value) -> usize {
        self.received()
            .polls
            .get(&id_of(question))
            .copied()
            .unwrap_or_default()
    }

    /// Waits until this question was polled `times` times.
    pub async fn polled(&self, question: &Value, times: usize) {
        wait_until("the vendor is polled", async || {
            self.polls(question) >= times
        })
        .await;
    }

    /// Returns the number of cancellations of this question.
    pub fn cancelled(&self, question: &Value) -> usize {
        let id = id_of(question);
        self.received()
            .cancelled
            .iter()
            .filter(|cancelled| **cancelled == id)
            .count()
    }

    /// Returns the number of questions, including invalid ones.
    pub fn started(&self) -> usize {
        self.received().started
    }

    /// Returns the number of hanging requests of the instance.
    pub fn hanging(&self) -> usize {
        self.received().hanging
    }

    /// Returns the number of push messages.
    pub fn pushed(&self) -> usize {
        self.received().pushed
    }

    /// Returns the number of requests without a valid signature.
    pub fn forged(&self) -> usize {
        self.received().forged
    }

    fn received(&self) -> std::sync::MutexGuard<'_, Received> {
        locked(&self.shared.received)
    }
}

/// Counts a hanging request for as long as the instance waits.
struct HangingCall(Arc<Shared>);

impl HangingCall {
    fn new(shared: &Arc<Shared>) -> Self {
        locked(&shared.received).hanging += 1;
        Self(Arc::clone(shared))
    }
}

impl Drop for HangingCall {
    fn drop(&mut self) {
        locked(&self.0.received).hanging -= 1;
    }
}

fn id_of(question: &Value) -> String {
    format!("v/{}", question["request_id"].text())
}

/// Verifies a signature over method, address and body, with the header fields only (RFC 9421 sections 2.5 and 3.2).
fn is_genuine(
    shared: &Shared,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &[u8],
) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let genuine = || {
        let digest = format!("sha-256=:{}:", STANDARD.encode(openssl::sha::sha256(body)));
        let (label, parameters) = text("signature-input")?.split_once('=')?;
        let fields = "(\"@method\" \"@target-uri\" \"content-digest\")";
        let rest = parameters.strip_prefix(fields)?;
        let known = rest.contains(";keyid=\"assent\"") && rest.contains(";alg=\"hmac-sha256\"");
        let signed = format!(
            "\"@method\": {method}\n\"@target-uri\": http://localhost:{}{uri}\n\"content-digest\": \
             {digest}\n\"@signature-params\": {parameters}",
            shared.port
        );
        let key = openssl::pkey::PKey::hmac(KEY.as_bytes()).ok()?;
        let mut signer =
            openssl::sign::Signer::new(openssl::hash::MessageDigest::sha256(), &key).ok()?;
        let expected = format!(
            "{label}=:{}:",
            STANDARD.encode(signer.sign_oneshot_to_vec(signed.as_bytes()).ok()?)
        );
        Some(
            known
                && text("content-digest") == Some(&digest)
                && text("signature") == Some(&expected),
        )
    };
    let genuine = genuine().unwrap_or_default();
    if !genuine {
        locked(&shared.received).forged += 1;
    }
    genuine
}

async fn begin(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if !is_genuine(&shared, &method, &uri, &headers, &body) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let question: Value = parse_json(&body);
    assert_eq!(headers["idempotency-key"], question["request_id"].text());
    locked(&shared.received).started += 1;
    match question["user"].text() {
        "unknown" => return StatusCode::NOT_FOUND.into_response(),
        "broken" => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        "garbage" => return "<html>".into_response(),
        "redirect" => return (StatusCode::FOUND, [("location", "/v1/approvals")]).into_response(),
        "hangs" => {
            let _hanging = HangingCall::new(&shared);
            std::future::pending::<()>().await;
        }
        _ => {}
    }
    let id = id_of(&question);
    let mut received = locked(&shared.received);
    received.fresh.push(question.clone());
    received.questions.insert(id.clone(), question);
    received.statuses.insert(id.clone(), "pending".to_owned());
    (
        StatusCode::CREATED,
        axum::Json(json!({"id": id, "poll_after_ms": shared.poll_after_ms})),
    )
        .into_response()
}

async fn status(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    if !is_genuine(&shared, &method, &uri, &headers, b"") {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let (question, status) = {
        let mut received = locked(&shared.received);
        *received.polls.entry(id.clone()).or_default() += 1;
        let Some(question) = received.questions.get(&id) else {
            return StatusCode::NOT_FOUND.into_response();
        };
        (question.clone(), received.statuses[&id].clone())
    };
    match status.as_str() {
        "hangs" => {
            let _hanging = HangingCall::new(&shared);
            std::future::pending().await
        }
        "garbage" => "approved".into_response(),
        "redirect" => (StatusCode::FOUND, [("location", "/v1/approvals/other")]).into_response(),
        "wrong id" => axum::Json(
            json!({"request_id": "018f0000000070008000000000000001", "status": "approved"}),
        )
        .into_response(),
        "no id" => axum::Json(json!({"status": "approved"})).into_response(),
        "busy" => (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "2")]).into_response(),
        status => {
            if status == "slow" {
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
            let returned = if status == "slow" { "pending" } else { status };
            let body = json!({"request_id": question["request_id"], "status": returned,
                "poll_after_ms": shared.poll_after_ms});
            axum::Json(body).into_response()
        }
    }
}

async fn cancel(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> StatusCode {
    if !is_genuine(&shared, &method, &uri, &headers, b"") {
        return StatusCode::UNAUTHORIZED;
    }
    locked(&shared.received).cancelled.push(id);
    StatusCode::NO_CONTENT
}

async fn push(State(shared): State<Arc<Shared>>) -> StatusCode {
    locked(&shared.received).pushed += 1;
    StatusCode::CREATED
}
