//! A small vendor: it checks each request's signature by itself (RFC 9421), and answers as the test, or the address of
//! the person, tells it to.

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

use super::{channel, until};

const KEY: &str = "a secret of 32 characters or so!";

/// A vendor's service.
pub struct Vendor {
    pub port: u16,
    shared: Arc<Shared>,
    folder: tempfile::TempDir,
}

#[derive(Default)]
struct Shared {
    port: u16,
    poll_after_ms: u32,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The questions, by their ids here.
    questions: HashMap<String, Value>,
    /// Those that the test has not looked at.
    fresh: Vec<Value>,
    statuses: HashMap<String, String>,
    begun: usize,
    hanging: usize,
    polls: HashMap<String, usize>,
    cancelled: Vec<String>,
    pushed: usize,
    forged: usize,
}

impl Vendor {
    /// A vendor that asks to be polled after so many milliseconds.
    pub async fn start(poll_after_ms: u32) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared {
            port,
            poll_after_ms,
            seen: Mutex::default(),
        });
        let router = Router::new()
            .route("/v1/approvals", post(begin))
            .route("/v1/approvals/{id}", get(status).delete(cancel))
            .route("/push", post(push))
            .with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("key"), KEY).expect("written");
        Self {
            port,
            shared,
            folder,
        }
    }

    /// The channel that asks it, with further settings.
    pub fn channel(&self, name: &str, more: &str) -> String {
        let Self { port, folder, .. } = self;
        let of_vendor = format!(
            "trust = \"delegated\"\nhttp_hosts = [\"localhost:{port}\"]\nlimits = {{ http_timeout = \"1s\" }}\n\
             credentials = [{{ kind = \"signature\", key_id = \"assent\", secret_file = \"{}\" }}]\n\
             config = {{ base_url = \"http://localhost:{port}/v1\", cancel_path = \"/approvals/{{id}}\" }}\n{more}",
            folder.path().join("key").display(),
        );
        channel(name, "http-gateway", &of_vendor)
    }

    /// The next question to the person with this address, once it has come.
    pub async fn question(&self, user: &str) -> Value {
        let mut found = None;
        until("the vendor is asked", async || {
            let mut seen = self.seen();
            let at = seen
                .fresh
                .iter()
                .position(|question| question["user"] == user);
            found = at.map(|at| seen.fresh.remove(at));
            found.is_some()
        })
        .await;
        found.expect("a question")
    }

    /// The person answers this question: from now on its status is another.
    pub fn answer(&self, question: &Value, status: &str) {
        let previous = self
            .seen()
            .statuses
            .insert(id_of(question), status.to_owned());
        assert!(previous.is_some(), "there is such a question");
    }

    /// How often it was asked how this question stands.
    pub fn polls(&self, question: &Value) -> usize {
        self.seen()
            .polls
            .get(&id_of(question))
            .copied()
            .unwrap_or_default()
    }

    /// Waits until it was asked so often.
    pub async fn polled(&self, question: &Value, times: usize) {
        until("the vendor is polled", async || {
            self.polls(question) >= times
        })
        .await;
    }

    /// How often this question was taken back.
    pub fn cancelled(&self, question: &Value) -> usize {
        let id = id_of(question);
        self.seen()
            .cancelled
            .iter()
            .filter(|cancelled| **cancelled == id)
            .count()
    }

    /// How many questions were put, well or not.
    pub fn begun(&self) -> usize {
        self.seen().begun
    }

    /// How many questions the host waits for that are never answered.
    pub fn hanging(&self) -> usize {
        self.seen().hanging
    }

    /// How many push messages came.
    pub fn pushed(&self) -> usize {
        self.seen().pushed
    }

    /// How many requests had no good signature.
    pub fn forged(&self) -> usize {
        self.seen().forged
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.shared.seen.lock().expect("what was seen")
    }
}

/// Counts a question that is never answered, for as long as the host waits.
struct Hanging(Arc<Shared>);

impl Hanging {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.seen.lock().expect("what was seen").hanging += 1;
        Self(Arc::clone(shared))
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        self.0.seen.lock().expect("what was seen").hanging -= 1;
    }
}

fn id_of(question: &Value) -> String {
    format!("v/{}", question["request_id"].as_str().expect("an id"))
}

/// Checks a signature over method, address and body, from the header fields alone (RFC 9421 sections 2.5 and 3.2).
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
        shared.seen.lock().expect("what was seen").forged += 1;
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
    let question: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(
        headers["idempotency-key"],
        question["request_id"].as_str().expect("an id")
    );
    shared.seen.lock().expect("what was seen").begun += 1;
    match question["user"].as_str().expect("a user") {
        "unknown" => return StatusCode::NOT_FOUND.into_response(),
        "broken" => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        "garbage" => return "<html>".into_response(),
        "redirect" => return (StatusCode::FOUND, [("location", "/v1/approvals")]).into_response(),
        "hangs" => {
            let _hanging = Hanging::new(&shared);
            std::future::pending::<()>().await;
        }
        _ => {}
    }
    let id = id_of(&question);
    let mut seen = shared.seen.lock().expect("what was seen");
    seen.fresh.push(question.clone());
    seen.questions.insert(id.clone(), question);
    seen.statuses.insert(id.clone(), "pending".to_owned());
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
        let mut seen = shared.seen.lock().expect("what was seen");
        *seen.polls.entry(id.clone()).or_default() += 1;
        let Some(question) = seen.questions.get(&id) else {
            return StatusCode::NOT_FOUND.into_response();
        };
        (question.clone(), seen.statuses[&id].clone())
    };
    match status.as_str() {
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
            let told = if status == "slow" { "pending" } else { status };
            let body = json!({"request_id": question["request_id"], "status": told,
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
    shared
        .seen
        .lock()
        .expect("what was seen")
        .cancelled
        .push(id);
    StatusCode::NO_CONTENT
}

async fn push(State(shared): State<Arc<Shared>>) -> StatusCode {
    shared.seen.lock().expect("what was seen").pushed += 1;
    StatusCode::CREATED
}
