//! Traces and metrics over OTLP, and `/metrics`. They are complete, and contain no data about users.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Attribute;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::{
    Admin, Body, Browser, Respond, Run, ServerProcess, TestUser, Text, binary, free_port,
    http_client, id, in_time, shipped, temp_folder, utf8, write_file,
};

/// The id of the trace that a proxy began.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";
/// The address of the client, which the proxy reports.
const CLIENT: &str = "203.0.113.77";

/// The requests that the collector received: the path, the headers and the body of each request.
type Received = Arc<Mutex<Vec<(String, HeaderMap, Vec<u8>)>>>;

async fn take(State(received): State<Received>, request: Request) -> StatusCode {
    let path = request.uri().path().to_owned();
    let headers = request.headers().clone();
    let body = axum::body::to_bytes(request.into_body(), 16 << 20).await;
    let body = body.expect("a body").to_vec();
    received
        .lock()
        .expect("received")
        .push((path, headers, body));
    StatusCode::OK
}

/// Starts a collector. Returns its address and the requests that it received.
async fn collector() -> (String, Received) {
    let received = Received::default();
    let router = axum::Router::new()
        .fallback(take)
        .with_state(Arc::clone(&received));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}"), received)
}

fn spans(received: &Received) -> Vec<Span> {
    let received = received.lock().expect("received");
    let traces = received
        .iter()
        .filter(|(path, ..)| path == "/base/v1/traces");
    traces
        .flat_map(|(_, _, body)| {
            let request = ExportTraceServiceRequest::decode(body.as_slice()).expect("a request");
            let resources = request.resource_spans.into_iter();
            let scopes = resources.flat_map(|resource| resource.scope_spans);
            scopes.flat_map(|scope| scope.spans).collect::<Vec<_>>()
        })
        .collect()
}

fn attribute(span: &Span, key: &str) -> Option<Attribute> {
    let found = span.attributes.iter().find(|one| one.key == key)?;
    found.value.clone()?.value
}

fn is_text(span: &Span, key: &str, text: &str) -> bool {
    attribute(span, key) == Some(Attribute::StringValue(text.to_owned()))
}

/// Starts a server that exports to this collector, with `http` in its table of the settings. Returns it with the
/// address of its metrics.
async fn server(folder: &Path, http: &str, endpoint: &str) -> (ServerProcess, Admin, String) {
    let metrics = free_port();
    write_file(
        folder.join("headers"),
        "Authorization: Bearer for-the-collector\n",
    );
    let settings = format!(
        "[metrics]\nlisten = \"127.0.0.1:{metrics}\"\n[telemetry]\notlp_endpoint = \"{endpoint}/base/\"\n\
         headers_file = \"headers\"\ntraced_share = 1.0\nmetrics_interval = \"1s\"\n\
         [audit.stream]\nfile = \"audit.jsonl\"\n[log]\nformat = \"json\"\n{}",
        shipped()
    );
    let log = std::fs::File::create(folder.join("log")).expect("a log");
    let server = ServerProcess::start(folder, http, &settings, Stdio::from(log)).await;
    let mut command = Command::new(binary("assent"));
    command.args(["admin", "token", "--config", "assent.toml"]);
    let token = command.current_dir(folder).finish().await;
    let admin = Admin {
        base: server.base.clone(),
        token: utf8(token.stdout).trim().to_owned(),
    };
    (server, admin, format!("http://127.0.0.1:{metrics}/metrics"))
}

/// Exchanges a code in a request with the proxy's trace. Returns the status, the request id and the body.
async fn exchange(base: &str, user: &TestUser, code: &str) -> (StatusCode, String, Value) {
    let application = &user.application;
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", application.redirect_uri.as_str()),
        ("code_verifier", crate::harness::VERIFIER),
    ];
    let request = http_client()
        .post(format!("{base}/oidc/token"))
        .basic_auth(&application.id, application.secret.as_deref())
        .header("traceparent", format!("00-{TRACE}-{PARENT}-01"))
        .header("x-forwarded-for", CLIENT)
        .form(&form);
    let response = request.response().await;
    let status = response.status();
    let id = response.headers()["x-request-id"]
        .to_str()
        .expect("text")
        .to_owned();
    (status, id, response.read_json().await)
}

/// Waits until the collector has received a span for which `is_it` returns true.
async fn arrives(received: &Received, is_it: impl Fn(&Span) -> bool) -> Span {
    in_time(async {
        loop {
            if let Some(span) = spans(received).into_iter().find(|span| is_it(span)) {
                return span;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
}

#[tokio::test]
async fn a_run_is_traced_and_measured_without_anything_about_its_user() {
    let (endpoint, received) = collector().await;
    let folder = temp_folder();
    let proxies = "trusted_proxies = [\"127.0.0.1\"]";
    let (server, admin, metrics) = server(folder.path(), proxies, &endpoint).await;
    let application = admin.web_application().await;
    let user = admin.user_with_account("canary-name", application).await;
    let browser = Browser::new(&server.base);
    let code = user.sign_in(&browser).await;
    let (status, request_id, tokens) = exchange(&server.base, &user, &code).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let access = tokens["access_token"].text();
    let me = http_client()
        .get(format!("{}/oidc/me", server.base))
        .bearer_auth(access);
    let me: Value = me.response().await.read_json().await;
    let denied = user.begin_sign_in(&Browser::new(&server.base), &[]).await;
    let requests = user.device.pending_requests(5).await;
    assert_eq!(
        user.device.deny(requests.last().expect("a request")).await,
        "denied"
    );
    admin
        .admin_ok(
            Method::PATCH,
            &format!("/users/{}", id(&user.user)),
            json!({"profile": {"name": "Canary Family"}}),
        )
        .await;

    // A rejected exchange is logged.
    let (status, rejected, _) = exchange(&server.base, &user, &code).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);

    // The exchange is part of the proxy's trace. It contains spans of its use case, its write and its plugin.
    let token_request = arrives(&received, |span| span.name == "POST /oidc/token").await;
    assert_eq!(hex::encode(&token_request.trace_id), TRACE);
    assert_eq!(hex::encode(&token_request.parent_span_id), PARENT);
    assert_eq!(
        attribute(&token_request, "http.response.status_code"),
        Some(Attribute::IntValue(200))
    );
    assert!(is_text(&token_request, "http.route", "/oidc/token"));
    assert!(is_text(&token_request, "request_id", &request_id));
    let within = |name: &'static str| {
        move |span: &Span| span.name == name && hex::encode(&span.trace_id) == TRACE
    };
    let use_case = arrives(&received, within("oidc.token")).await;
    assert_eq!(use_case.parent_span_id, token_request.span_id);
    // Another write, for example of the audit stream, may be in the same batch. Then the batch may be a child of its
    // span, with a link to this one.
    let write = arrives(&received, within("store.write")).await;
    assert!(
        matches!(
            attribute(&write, "batch_size"),
            Some(Attribute::IntValue(1..))
        ),
        "{write:?}"
    );
    arrives(&received, |span| {
        let linked = span.links.iter().any(|link| link.span_id == write.span_id);
        span.name == "store.batch" && (linked || span.parent_span_id == write.span_id)
    })
    .await;
    let call = arrives(&received, |span| span.name == "plugin.call").await;
    assert!(
        matches!(attribute(&call, "fuel"), Some(Attribute::IntValue(1..))),
        "{call:?}"
    );
    arrives(&received, |span| span.name == "approval.answer").await;
    arrives(&received, |span| span.name == "audit_stream.delivery").await;
    arrives(&received, |span| span.name == "admin.command").await;
    arrives(&received, |span| span.name == "GET /login/{id}").await;

    // A busy machine may answer without the backlogs, because their read has a deadline.
    let text = in_time(async {
        loop {
            let text = http_client().get(&metrics).response().await;
            let text = text.read_text().await;
            if text.contains("assent_reports_open") {
                break text;
            }
        }
    })
    .await;
    for sample in [
        "assent_approval_decision_seconds_count{subject=\"sign_in\",decision=\"approved\"} 1",
        "assent_approval_decision_seconds_count{subject=\"sign_in\",decision=\"denied\"} 1",
        "assent_audit_entries_total{event=\"sign-in.completed\"} 1",
        "assent_http_requests_total{endpoint=\"token\",status=\"200\"} 1",
        "assent_http_request_duration_seconds_bucket{le=\"+Inf\",endpoint=\"token\"} 2",
    ] {
        assert!(text.lines().any(|line| line == sample), "{sample}\n{text}");
    }
    assert_eq!(documented(), served(&text));
    in_time(async {
        while exported_counter(&received, "assent_audit_entries", "sign-in.denied") != Some(1) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;

    server.signal("INT").await;
    assert!(server.ended().await.success());
    // The log line contains the trace id, and the trace contains the request id.
    let log = std::fs::read_to_string(folder.path().join("log")).expect("the log");
    let line = log.lines().find(|line| line.contains(&rejected));
    assert!(line.is_some_and(|line| line.contains(TRACE)), "{log}");

    let personal = [
        "canary-name",
        "Canary Family",
        "Lovelace",
        "+44 20",
        CLIENT,
        "127.0.0.1",
        "n0nce",
        "st&te",
        "st%26te",
        "Test phone",
        "for-the-collector",
        code.as_str(),
        access,
        tokens["id_token"].text(),
        user.application.secret.as_deref().expect("a secret"),
        me["sub"].text(),
        id(&user.user),
        id(&user.account),
        admin.token.as_str(),
        denied.path().rsplit('/').next().expect("an id"),
    ]
    .map(str::to_owned);
    let received = received.lock().expect("received");
    assert!(
        received
            .iter()
            .all(|(_, headers, _)| headers["authorization"] == "Bearer for-the-collector")
    );
    for canary in personal {
        assert!(canary.len() > 4, "{canary}");
        assert!(!text.contains(&canary), "{canary} in the metrics");
        for (path, _, body) in received.iter() {
            assert!(
                !body
                    .windows(canary.len())
                    .any(|part| part == canary.as_bytes()),
                "{canary} in {path}"
            );
        }
    }
}

/// Returns the names, types and descriptions of the metrics in the list. The alert rules and the dashboard are checked
/// against this list, and the reference page is generated from it.
fn documented() -> BTreeSet<String> {
    let list = include_str!("../../../packaging/monitoring/metrics.txt").lines();
    let lines = list.map(|line| {
        let [name, kind, _labels, help] = line.splitn(4, ' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        [format!("TYPE {name} {kind}"), format!("HELP {name} {help}")]
    });
    lines.flatten().collect()
}

/// Returns the names, types and descriptions of the metrics that the server serves.
fn served(text: &str) -> BTreeSet<String> {
    let about = text.lines().filter_map(|line| line.strip_prefix("# "));
    about
        .filter(|line| line.starts_with("TYPE ") || line.starts_with("HELP "))
        .map(str::to_owned)
        .collect()
}

/// Returns the value of an exported counter that has a label with this value.
fn exported_counter(received: &Received, name: &str, label: &str) -> Option<i64> {
    use opentelemetry_proto::tonic::metrics::v1::metric::Data;
    use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
    let received = received.lock().expect("received");
    let (_, _, body) = received
        .iter()
        .rev()
        .find(|(path, ..)| path == "/base/v1/metrics")?;
    let request = ExportMetricsServiceRequest::decode(body.as_slice()).expect("a request");
    let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
    let Some(Data::Sum(sum)) = &metrics.iter().find(|metric| metric.name == name)?.data else {
        return None;
    };
    let has_label = |point: &&opentelemetry_proto::tonic::metrics::v1::NumberDataPoint| {
        let label = Some(Attribute::StringValue(label.to_owned()));
        point
            .attributes
            .iter()
            .any(|one| one.value.as_ref().is_some_and(|value| value.value == label))
    };
    match sum.data_points.iter().find(has_label)?.value {
        Some(Value::AsInt(count)) => Some(count),
        _ => None,
    }
}

#[tokio::test]
async fn a_client_continues_no_trace_of_its_own() {
    let (endpoint, received) = collector().await;
    let folder = temp_folder();
    let (server, _, _) = server(folder.path(), "", &endpoint).await;
    let traceparent = format!("00-{TRACE}-{PARENT}-01");
    let request = http_client().get(format!("{}/nowhere/canary-path?secret=1", server.base));
    let response = request.header("traceparent", traceparent).response().await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    let span = arrives(&received, |span| {
        attribute(span, "http.response.status_code") == Some(Attribute::IntValue(404))
    })
    .await;
    assert_ne!(hex::encode(&span.trace_id), TRACE);
    assert!(span.parent_span_id.is_empty());
    let names: BTreeSet<String> = spans(&received).into_iter().map(|span| span.name).collect();
    assert!(!format!("{names:?} {span:?}").contains("canary-path"));
    server.signal("INT").await;
    assert!(server.ended().await.success());
}

/// Requests of users do not wait for a collector. Its absence causes one line in the log.
#[tokio::test]
async fn an_unreachable_collector_delays_no_request() {
    let folder = temp_folder();
    let nowhere = format!("http://127.0.0.1:{}", free_port());
    let (server, _, metrics) = server(folder.path(), "", &nowhere).await;
    let log = || std::fs::read_to_string(folder.path().join("log")).expect("the log");
    in_time(async {
        while !log().contains("telemetry not exported, dropped") {
            let answer = http_client()
                .get(format!("{}/nowhere", server.base))
                .response()
                .await;
            assert_eq!(answer.status(), StatusCode::NOT_FOUND);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    let text = http_client()
        .get(&metrics)
        .response()
        .await
        .read_text()
        .await;
    assert!(text.contains("assent_database_up 1"), "{text}");
    server.signal("INT").await;
    assert!(server.ended().await.success());
    assert_eq!(log().matches("telemetry not exported, dropped").count(), 1);
    assert!(!log().contains("for-the-collector"));
}
