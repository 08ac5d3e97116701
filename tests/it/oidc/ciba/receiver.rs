//! The server of an application that receives the results of its back-channel requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::permit;
use crate::harness::{Application, Database, TestHost, TestUser, in_time, parse_json};

/// The client's token of each request in the tests.
pub const TOKEN: &str = "8d67dc78-7faa-4d41-aabd-67707b374255";
/// The time without any notification. It is longer than the worker's poll interval.
const QUIET: Duration = Duration::from_secs(4);
/// The settings of a server that calls the receiver.
const SETTINGS: &str = "allow_insecure_redirect_uris = true\n[egress]\nallow_private_addresses = true\n\
                        [oidc.backchannel]\ninterval = \"1s\"\n";

/// A result that arrived.
pub struct Arrived {
    pub authorization: String,
    pub body: Value,
}

/// The server of an application. The path lists the statuses of its responses in order, for example `503-204`. The last
/// status repeats. The server never answers requests to `hang`.
pub struct Receiver {
    origin: String,
    arrived: mpsc::UnboundedReceiver<Arrived>,
}

#[derive(Clone)]
struct ReceiverState {
    arrived: mpsc::UnboundedSender<Arrived>,
    count: Arc<AtomicUsize>,
}

impl Receiver {
    pub async fn start() -> Self {
        let (sender, arrived) = mpsc::unbounded_channel();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = ReceiverState {
            arrived: sender,
            count: Arc::default(),
        };
        let router = Router::new()
            .route("/{statuses}", post(receive))
            .with_state(state);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            origin: format!("http://localhost:{port}"),
            arrived,
        }
    }

    /// Returns the address with these statuses.
    pub fn address(&self, statuses: &str) -> String {
        format!("{}/{statuses}", self.origin)
    }

    /// Waits for the next result. Its bearer token is that of the request.
    pub async fn next(&mut self) -> Value {
        let arrived = in_time(self.arrived.recv()).await.expect("a result");
        assert_eq!(arrived.authorization, format!("Bearer {TOKEN}"));
        arrived.body
    }

    /// Waits for a notification about this request, which has nothing else.
    pub async fn next_ping(&mut self, auth_req_id: &str) {
        assert_eq!(self.next().await, json!({"auth_req_id": auth_req_id}));
    }

    pub async fn assert_quiet(&mut self) {
        let more = tokio::time::timeout(QUIET, self.arrived.recv()).await;
        assert!(more.is_err(), "another result arrived");
    }
}

async fn receive(
    State(state): State<ReceiverState>,
    Path(statuses): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    assert_eq!(headers["content-type"], "application/json");
    let authorization = headers["authorization"].to_str().expect("a text");
    let arrived = Arrived {
        authorization: authorization.to_owned(),
        body: parse_json(body),
    };
    // A test may have ended.
    let _ = state.arrived.send(arrived);
    if statuses == "hang" {
        std::future::pending::<()>().await;
    }
    let statuses: Vec<u16> = statuses
        .split('-')
        .map(|status| status.parse().expect("a status"))
        .collect();
    let count = state.count.fetch_add(1, Ordering::SeqCst);
    let status = statuses[count.min(statuses.len() - 1)];
    let status = StatusCode::from_u16(status).expect("a status");
    match status.is_redirection() {
        true => (status, [("location", "/204")]).into_response(),
        // The server ignores a body.
        false if status != StatusCode::NO_CONTENT => (status, "a body").into_response(),
        false => status.into_response(),
    }
}

/// Ada, with an application that receives results.
pub struct Fixture {
    pub host: TestHost,
    pub ada: TestUser,
    pub receiver: Receiver,
}

impl Fixture {
    /// Starts an instance on this database. The application has this mode and these statuses.
    pub async fn on(database: Database, mode: &str, statuses: &str) -> Self {
        let settings = settings(mode);
        let host = TestHost::start_on_with(database, &settings).await;
        let ada = host.ada().await;
        permit(&host, &ada.application).await;
        let receiver = Receiver::start().await;
        let it = Self {
            host,
            ada,
            receiver,
        };
        let address = it.receiver.address(statuses);
        set_mode(&it.host, &it.ada.application, mode, &address).await;
        it
    }

    /// Returns the number of stored deliveries.
    pub async fn stored(&self) -> i64 {
        let mut connection = self.host.connection().await;
        let query = "SELECT COUNT(*) FROM backchannel_deliveries";
        let (count,): (i64,) = assent_store::sql::query_as(query)
            .fetch_one(&mut connection)
            .await
            .expect("read");
        count
    }

    /// Waits until no delivery is stored, and with it no secret.
    pub async fn until_none_is_stored(&self) {
        let none = async {
            while self.stored().await > 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        in_time(none).await;
    }
}

/// The settings of a server for applications with this mode.
pub fn settings(mode: &str) -> String {
    match mode {
        "push" => format!("{SETTINGS}push = true\n"),
        _ => SETTINGS.to_owned(),
    }
}

/// Sets the mode and the address of an application.
pub async fn set_mode(host: &TestHost, application: &Application, mode: &str, address: &str) {
    let path = format!("/applications/{}", application.id);
    let changes = json!({
        "backchannel_token_delivery_mode": mode,
        "backchannel_client_notification_endpoint": address,
    });
    host.admin_ok(Method::PATCH, &path, changes).await;
}
