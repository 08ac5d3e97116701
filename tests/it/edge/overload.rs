//! Overload: the server rejects the least urgent requests first, and no request waits in a queue for long.

use std::sync::Arc;
use std::time::Duration;

use assent::domain::operations::traffic::admission::{AdmittedRequest, RequestClass};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{
    Body, Database, HostOptions, Json, Respond, TestHost, Text, http_client, in_time,
};

/// Returns requests that count as executing until the caller drops them.
fn executing(host: &TestHost, class: RequestClass, count: usize) -> Vec<AdmittedRequest> {
    let begin = |_| {
        let request = host.host.admission.enter(class);
        request.begin();
        request
    };
    (0..count).map(begin).collect()
}

fn assert_rejected(response: &Response) {
    assert_eq!(
        response.status(),
        StatusCode::SERVICE_UNAVAILABLE,
        "{}",
        response.url()
    );
    assert_eq!(response.headers()["retry-after"], "2", "{}", response.url());
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
}

struct Requests<'a>(&'a TestHost);

impl Requests<'_> {
    fn get(&self, path: &str) -> RequestBuilder {
        http_client().get(format!("{}{path}", self.0.base))
    }

    async fn console(&self) -> Response {
        self.get("/admin/api/v1/users")
            .bearer_auth(&self.0.token)
            .response()
            .await
    }

    async fn page(&self) -> Response {
        self.get("/").header("accept", "text/html").response().await
    }

    async fn token(&self) -> Response {
        let form = [("grant_type", "authorization_code")];
        http_client()
            .post(format!("{}/oidc/token", self.0.base))
            .form(&form)
            .response()
            .await
    }
}

#[tokio::test]
async fn the_least_urgent_requests_are_rejected_first() {
    let host = TestHost::start().await;
    let requests = Requests(&host);
    let capacity = host.host.admission.capacity();
    let mut load = Vec::new();
    for class in RequestClass::ALL {
        load.extend(executing(&host, class, 20));
    }
    load.extend(executing(&host, RequestClass::Application, capacity / 2));
    let problem = requests.console().await;
    assert_rejected(&problem);
    assert_eq!(
        problem.headers()["content-type"],
        "application/problem+json"
    );
    let problem: Value = problem.read_json().await;
    assert_eq!(problem["status"], 503);
    assert_eq!(requests.page().await.status(), StatusCode::OK);

    load.extend(executing(&host, RequestClass::Application, capacity / 4));
    let page = requests.page().await;
    assert_rejected(&page);
    assert!(page.read_text().await.contains("The server is busy"));
    // A page that lost its event stream reloads itself, so events have the class of pages.
    assert_rejected(&requests.get("/login/x/events").response().await);
    let waiting = requests
        .get("/authenticator/api/requests?wait=30")
        .response()
        .await;
    assert_rejected(&waiting);
    let error: Value = waiting.read_json().await;
    assert_eq!(error["error"], "temporarily_unavailable");
    assert_eq!(requests.token().await.status(), StatusCode::BAD_REQUEST);

    load.extend(executing(&host, RequestClass::Application, capacity / 4));
    let error = requests.token().await;
    assert_rejected(&error);
    let error: Value = error.read_json().await;
    assert_eq!(error["error"], "temporarily_unavailable");
    for path in ["/healthz", "/readyz", "/oidc/jwks"] {
        assert_eq!(
            requests.get(path).response().await.status(),
            StatusCode::OK,
            "{path}"
        );
    }
    assert_eq!(
        host.host.admission.rejected_requests(),
        [
            (RequestClass::Application, 1),
            (RequestClass::User, 3),
            (RequestClass::Administration, 1)
        ]
    );

    drop(load);
    assert_eq!(requests.console().await.status(), StatusCode::OK);
    assert_eq!(requests.page().await.status(), StatusCode::OK);
    assert_eq!(requests.token().await.status(), StatusCode::BAD_REQUEST);
}

/// A request counts until its response is complete. All of these requests have released their capacity.
#[tokio::test]
async fn completed_requests_release_their_capacity() {
    let host = TestHost::start().await;
    let requests = Requests(&host);
    for _ in 0..50 {
        requests.token().await;
        requests.page().await;
        requests.console().await;
    }
    let capacity = host.host.admission.capacity();
    // The load leaves exactly one place in the share of this class. The server still admits the class, although the
    // reserved places are in use.
    let _load = executing(&host, RequestClass::Administration, capacity / 2 - 1);
    assert_eq!(requests.console().await.status(), StatusCode::OK);
    let _last = executing(&host, RequestClass::Administration, 1);
    assert_rejected(&requests.console().await);
}

/// Another connection holds the database's lock, so writes queue up.
#[tokio::test]
async fn queued_writes_are_rejected_after_two_seconds_and_not_executed() {
    let host = Arc::new(
        TestHost::start_with(HostOptions {
            database: Database::Sqlite,
            ..HostOptions::default()
        })
        .await,
    );
    let mut lock = host.connection().await;
    lock.batch("BEGIN IMMEDIATE").await.expect("the lock");
    let mut writes = JoinSet::new();
    let mut sent = 0;
    let mut outcomes = Vec::new();
    // The first batch has begun and waits for the lock. Later writes wait in the queue.
    let rejected = async {
        loop {
            let (host, name) = (Arc::clone(&host), format!("user{sent}"));
            sent += 1;
            writes.spawn(async move {
                let body =
                    json!({"name": name, "email": format!("{name}@example.org"), "profile": {"name": "Grace Hopper"}});
                let response = http_client()
                    .post(format!("{}/admin/api/v1/users", host.base))
                    .bearer_auth(&host.token)
                    .json(&body)
                    .response()
                    .await;
                (
                    name,
                    response.status(),
                    response.headers().get("retry-after").cloned(),
                )
            });
            tokio::select! {
                Some(outcome) = writes.join_next() => {
                    let (name, status, retry) = outcome.expect("a response");
                    let is_rejected = status == StatusCode::SERVICE_UNAVAILABLE;
                    if is_rejected {
                        assert_eq!(retry.expect("a time"), "2");
                    }
                    outcomes.push((name, status));
                    if is_rejected {
                        break;
                    }
                }
                () = tokio::time::sleep(Duration::from_millis(200)) => {}
            }
        }
    };
    in_time(rejected).await;
    lock.batch("ROLLBACK").await.expect("the end");
    while let Some(outcome) = writes.join_next().await {
        let (name, status, _) = outcome.expect("a response");
        outcomes.push((name, status));
    }
    for (name, status) in outcomes {
        let users = host
            .admin_ok(Method::GET, &format!("/users?q={name}"), Value::Null)
            .await;
        let names: Vec<&str> = users["items"]
            .items()
            .iter()
            .map(|user| user["name"].text())
            .collect();
        let exists = names.contains(&name.as_str());
        assert!(
            status == StatusCode::CREATED || status == StatusCode::SERVICE_UNAVAILABLE,
            "{status}"
        );
        assert_eq!(
            exists,
            status == StatusCode::CREATED,
            "{name} {status} {names:?}"
        );
    }
}
