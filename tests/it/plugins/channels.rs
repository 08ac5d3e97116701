//! Approval channels and their egress.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use assent_model::clock::Timestamp;
use assent_model::secret::Secret;
use assent_plugin_host::{
    CallLimits, Callback, CallbackContent, ChannelFailureKind, ChannelRequest, ChannelState,
    Credential, CredentialGrant, Credentials, Fault, HttpGrant, Notice, PluginSpec,
};
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, Uri};
use serde_json::{Value, json};

use super::components::{Log, NOW, channel, load, load_with};
use crate::harness::{Text, listen, locked};

/// An external service with a different response for each path, and the requests that it received.
struct Service {
    port: u16,
    seen: Arc<Mutex<Vec<(HeaderMap, Bytes)>>>,
}

impl Service {
    async fn start() -> Self {
        let (listener, port) = listen().await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&seen);
        let app = Router::new().fallback(
            move |uri: Uri, headers: HeaderMap, body: Bytes| async move {
                let repeated = headers
                    .get("authorization")
                    .map(|value| value.as_bytes().to_vec());
                locked(&record).push((headers, body));
                match repeated.filter(|_| uri.path() == "/echo") {
                    Some(secret) => (StatusCode::OK, [("x-service", "test")], secret),
                    None => answer(uri.path()).await,
                }
            },
        );
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { port, seen }
    }

    /// Returns a grant that permits requests to the service, for development.
    fn grant(&self) -> HttpGrant {
        HttpGrant {
            hosts: vec![format!("localhost:{}", self.port)],
            allow_private: true,
            ..HttpGrant::default()
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.port)
    }

    fn requests(&self) -> Vec<(HeaderMap, Bytes)> {
        locked(&self.seen).clone()
    }
}

async fn answer(path: &str) -> (StatusCode, [(&'static str, &'static str); 1], Vec<u8>) {
    let plain = [("x-service", "test")];
    match path {
        "/never" => std::future::pending().await,
        "/slow" => {
            tokio::time::sleep(Duration::from_secs(1)).await;
            (StatusCode::CREATED, plain, b"late".to_vec())
        }
        "/gone" => (StatusCode::GONE, plain, Vec::new()),
        "/busy" => (
            StatusCode::TOO_MANY_REQUESTS,
            [("retry-after", "17")],
            Vec::new(),
        ),
        "/redirect" => (
            StatusCode::TEMPORARY_REDIRECT,
            [("location", "/elsewhere")],
            Vec::new(),
        ),
        "/see-other" => (
            StatusCode::SEE_OTHER,
            [("location", "/elsewhere")],
            Vec::new(),
        ),
        "/inside" => (
            StatusCode::FOUND,
            [("location", "http://127.0.0.1/")],
            Vec::new(),
        ),
        "/stranger" => (
            StatusCode::FOUND,
            [("location", "http://stranger.example/")],
            Vec::new(),
        ),
        "/round" => (StatusCode::FOUND, [("location", "/round")], Vec::new()),
        "/large" => (StatusCode::OK, plain, vec![b'x'; 1 << 20]),
        _ => (StatusCode::CREATED, plain, b"thanks".to_vec()),
    }
}

fn notice(address: String) -> ChannelRequest {
    ChannelRequest::Notice(Notice {
        request_id: "018f0000000070008000000000000001".to_owned(),
        expires_at: Timestamp::from_seconds(NOW + 120),
        address,
        sealed: vec![0, 159, 146, 150],
        collapse_key: "018f0000000070008000000000000002".to_owned(),
        callback_url: "https://id.example/approvals/callbacks/x".to_owned(),
    })
}

fn vapid() -> CredentialGrant {
    CredentialGrant {
        hosts: Vec::new(),
        credential: Credential::Vapid,
    }
}

struct Vapid;

impl Credentials for Vapid {
    fn vapid(&self, audience_origin: &str) -> Option<String> {
        Some(format!("vapid t=token-for-{audience_origin}, k=key"))
    }
}

/// Lets the hostile channel call this address with this grant. Returns the text of the rejection.
async fn rejected(config: Value, grant: HttpGrant, address: String) -> String {
    let plugins = load(vec![channel("hostile-channel", config, grant)]).await;
    let failure = plugins
        .begin("hostile-channel", notice(address))
        .await
        .expect_err("no answer");
    assert_eq!(
        failure.channel, "hostile-channel",
        "the error names the plugin"
    );
    match failure.kind {
        ChannelFailureKind::Rejected(why) => why,
        other => panic!("expected a rejection, got {other}"),
    }
}

#[tokio::test]
async fn web_push_sends_the_sealed_message_with_the_vapid_credential() {
    let service = Service::start().await;
    let grant = HttpGrant {
        credentials: vec![vapid()],
        ..service.grant()
    };
    let plugins = load_with(vec![channel("web-push", json!({}), grant)], Arc::new(Vapid)).await;
    let started = plugins
        .begin("web-push", notice(service.url("/push")))
        .await
        .expect("begun");
    assert_eq!(started.poll_after, None);

    let requests = service.requests();
    let [(headers, body)] = requests.as_slice() else {
        panic!("one request, got {}", requests.len())
    };
    assert_eq!(body.as_ref(), [0, 159, 146, 150]);
    for (name, value) in [
        ("ttl", "120"),
        ("urgency", "high"),
        ("content-encoding", "aes128gcm"),
        ("topic", "018f0000000070008000000000000002"),
        (
            "authorization",
            &format!("vapid t=token-for-http://localhost:{}, k=key", service.port),
        ),
    ] {
        assert_eq!(
            headers.get(name).and_then(|found| found.to_str().ok()),
            Some(value),
            "{name}"
        );
    }
    assert!(matches!(
        plugins.poll("web-push", started.handle.clone()).await,
        Ok(ChannelState::Pending(_))
    ));
    let callback = Callback {
        headers: Vec::new(),
        body: b"{}".to_vec(),
    };
    assert_eq!(
        plugins.on_callback("web-push", callback).await,
        Ok(CallbackContent::Evidence(Vec::new()))
    );
    assert_eq!(plugins.cancel("web-push", started.handle).await, Ok(()));
}

#[tokio::test]
async fn web_push_reports_the_response_of_the_push_service() {
    let service = Service::start().await;
    let plugins = load(vec![channel("web-push", json!({}), service.grant())]).await;
    let begin = async |path: &str| {
        plugins
            .begin("web-push", notice(service.url(path)))
            .await
            .map_err(|failure| failure.kind)
    };
    assert_eq!(begin("/gone").await, Err(ChannelFailureKind::Gone));
    assert_eq!(
        begin("/busy").await,
        Err(ChannelFailureKind::RetryAfter(Duration::from_secs(17)))
    );
    assert!(matches!(
        begin("/redirect").await,
        Err(ChannelFailureKind::Rejected(_))
    ));
    assert_eq!(service.requests().len(), 3, "the redirect was not followed");
}

#[tokio::test]
async fn the_credential_of_the_instance_replaces_the_placeholder() {
    let service = Service::start().await;
    let grant = HttpGrant {
        credentials: vec![vapid()],
        ..service.grant()
    };
    let plugins = load_with(
        vec![channel("hostile-channel", json!({}), grant)],
        Arc::new(Vapid),
    )
    .await;
    plugins
        .begin("hostile-channel", notice(service.url("/")))
        .await
        .expect("begun");
    let requests = service.requests();
    let sent: Vec<_> = requests[0].0.get_all("authorization").iter().collect();
    assert_eq!(sent.len(), 1);
    assert!(sent[0].text().starts_with("vapid "));
}

#[tokio::test]
async fn without_its_credential_no_request_is_sent() {
    let service = Service::start().await;
    let grant = HttpGrant {
        credentials: vec![vapid()],
        ..service.grant()
    };
    let why = rejected(json!({}), grant, service.url("/")).await;
    assert!(why.contains("no VAPID key"), "{why}");
    assert!(service.requests().is_empty());
}

#[tokio::test]
async fn an_ungranted_host_is_rejected() {
    let service = Service::start().await;
    let grant = HttpGrant {
        hosts: vec!["push.example.com".to_owned()],
        ..service.grant()
    };
    let log = Log::capture();
    let why = rejected(json!({}), grant, service.url("/")).await;
    assert!(
        why.contains("refused") && why.contains("localhost") && why.contains("not granted"),
        "{why}"
    );
    assert!(
        log.has(&["WARN", "plugin=\"hostile-channel\"", "not granted"]),
        "{:?}",
        log.lines()
    );
    assert!(service.requests().is_empty());
}

#[tokio::test]
async fn an_ip_literal_is_rejected() {
    let service = Service::start().await;
    for host in [
        "127.0.0.1",
        "[::1]",
        "2130706433",
        "0x7f.1",
        "[::ffff:127.0.0.1]",
    ] {
        let why = rejected(
            json!({}),
            service.grant(),
            format!("http://{host}:{}/", service.port),
        )
        .await;
        assert!(why.contains("IP address"), "{host}: {why}");
    }
    assert!(service.requests().is_empty());
}

#[tokio::test]
async fn a_name_that_resolves_to_loopback_is_rejected() {
    let service = Service::start().await;
    let grant = HttpGrant {
        allow_private: false,
        ..service.grant()
    };
    let why = rejected(
        json!({}),
        grant,
        format!("https://localhost:{}/", service.port),
    )
    .await;
    assert!(
        why.contains("refused") && why.contains("no address on the public internet"),
        "{why}"
    );
    assert!(service.requests().is_empty());
}

#[tokio::test]
async fn plain_http_is_rejected_without_the_setting() {
    let service = Service::start().await;
    let grant = HttpGrant {
        allow_private: false,
        ..service.grant()
    };
    let why = rejected(json!({}), grant, service.url("/")).await;
    assert!(why.contains("only `https`"), "{why}");
}

#[tokio::test]
async fn a_large_response_is_truncated() {
    let service = Service::start().await;
    assert_eq!(
        rejected(json!({}), service.grant(), service.url("/large")).await,
        "too large"
    );
}

#[tokio::test]
async fn requests_per_call_are_limited() {
    let service = Service::start().await;
    let why = rejected(
        json!({ "behaviour": "flood" }),
        service.grant(),
        service.url("/"),
    )
    .await;
    assert!(why.contains("4 requests"), "{why}");
    assert_eq!(service.requests().len(), 4);
}

#[tokio::test]
async fn an_endless_host_call_times_out() {
    let service = Service::start().await;
    let limits = CallLimits {
        http_timeout: Duration::from_millis(200),
        ..CallLimits::default()
    };
    let spec = PluginSpec {
        limits,
        ..channel("hostile-channel", json!({}), service.grant())
    };
    let plugins = load(vec![spec]).await;
    // The call runs in a task of its own, as the host calls channels.
    let call = tokio::spawn({
        let notice = notice(service.url("/never"));
        async move { plugins.begin("hostile-channel", notice).await }
    });
    let failure = call.await.expect("the task ends").expect_err("interrupted");
    assert_eq!(
        failure.kind,
        ChannelFailureKind::Rejected("timed out".to_owned())
    );
}

#[tokio::test]
async fn host_call_waits_do_not_count_as_execution_time() {
    let service = Service::start().await;
    let limits = CallLimits {
        deadline: Duration::from_millis(500),
        ..CallLimits::default()
    };
    let spec = PluginSpec {
        limits,
        ..channel("hostile-channel", json!({}), service.grant())
    };
    let plugins = load(vec![spec]).await;
    let started = plugins
        .begin("hostile-channel", notice(service.url("/slow")))
        .await
        .expect("begun");
    assert_eq!(
        (started.handle.as_slice(), started.poll_after),
        (b"late".as_slice(), Some(Duration::from_millis(7)))
    );
}

#[tokio::test]
async fn an_endless_or_memory_hungry_channel_is_a_fault() {
    for (behaviour, expected) in [("loop", "fuel"), ("handle", "handle is larger")] {
        let config = json!({ "behaviour": behaviour });
        let mut spec = channel("hostile-channel", config, HttpGrant::default());
        // On a busy machine, the default deadline would end before the fuel is used up.
        spec.limits.deadline = Duration::from_secs(60);
        let plugins = load(vec![spec]).await;
        let failure = plugins
            .begin("hostile-channel", notice(String::new()))
            .await
            .expect_err("a fault");
        assert!(
            matches!(
                failure.kind,
                ChannelFailureKind::Fault(Fault::Fuel(_) | Fault::Answer(_))
            ),
            "{failure}"
        );
        assert!(failure.to_string().contains(expected), "{failure}");
    }
}

#[tokio::test]
async fn channel_proofs_are_passed_through_unchanged() {
    let plugins = load(vec![channel(
        "hostile-channel",
        json!({}),
        HttpGrant::default(),
    )])
    .await;
    match plugins.poll("hostile-channel", b"proof".to_vec()).await {
        Ok(ChannelState::Evidence(evidence)) => assert_eq!(evidence.proof, b"proof"),
        other => panic!("expected evidence, got {other:?}"),
    }
    let callback = Callback {
        headers: Vec::new(),
        body: b"posted".to_vec(),
    };
    let content = plugins
        .on_callback("hostile-channel", callback)
        .await
        .expect("evidence");
    let CallbackContent::Evidence(evidence) = content else {
        panic!("expected evidence, got {content:?}")
    };
    assert_eq!(evidence[0].proof, b"posted");
    let failure = plugins
        .cancel("hostile-channel", Vec::new())
        .await
        .expect_err("rejected");
    assert_eq!(
        failure.kind,
        ChannelFailureKind::Rejected("one line".to_owned())
    );
}

#[tokio::test]
async fn an_unconfigured_channel_is_named() {
    let failure = load(Vec::new())
        .await
        .begin("carrier-pigeon", notice(String::new()))
        .await
        .expect_err("unknown");
    assert_eq!(
        failure.to_string(),
        "channel `carrier-pigeon` is not configured"
    );
}

#[tokio::test]
async fn redirects_are_followed_if_both_allow_it_and_only_to_granted_hosts() {
    let service = Service::start().await;
    let grant = || HttpGrant {
        follow_redirects: true,
        ..service.grant()
    };
    let plugins = load(vec![channel("hostile-channel", json!({}), grant())]).await;
    let started = plugins
        .begin("hostile-channel", notice(service.url("/redirect")))
        .await
        .expect("followed");
    assert_eq!(started.handle, b"thanks");
    assert_eq!(
        service.requests()[1].1.as_ref(),
        b"hello",
        "307 keeps method and body"
    );
    plugins
        .begin("hostile-channel", notice(service.url("/see-other")))
        .await
        .expect("followed");
    assert!(
        service.requests()[3].1.is_empty(),
        "303 is followed by a GET"
    );
    let sent = service.requests().len();
    for (path, words) in [
        ("/inside", "IP address"),
        ("/stranger", "not granted"),
        ("/round", "more than 5 times"),
    ] {
        let why = rejected(json!({}), grant(), service.url(path)).await;
        assert!(
            why.contains("refused") && why.contains(words),
            "{path}: {why}"
        );
    }
    assert_eq!(service.requests().len(), sent + 1 + 1 + 6);

    let spec = PluginSpec {
        name: "web-push".to_owned(),
        ..channel("web-push", json!({}), grant())
    };
    let message = super::components::load_error(vec![spec]).await;
    assert!(
        message.contains("`follow_redirects` is granted, which the component does not request"),
        "{message}"
    );
}

#[tokio::test]
async fn a_secret_is_added_at_egress_and_never_returned() {
    let service = Service::start().await;
    let secret = || CredentialGrant {
        hosts: Vec::new(),
        credential: Credential::Header {
            name: "authorization".to_owned(),
            prefix: "Bearer ".to_owned(),
            secret: Secret::new("s3cret-of-the-operator"),
        },
    };
    let grant = || HttpGrant {
        credentials: vec![secret()],
        ..service.grant()
    };
    let plugins = load(vec![channel("hostile-channel", json!({}), grant())]).await;
    plugins
        .begin("hostile-channel", notice(service.url("/")))
        .await
        .expect("begun");
    assert_eq!(
        service.requests()[0].0["authorization"],
        "Bearer s3cret-of-the-operator"
    );
    let log = Log::capture();
    let why = rejected(json!({}), grant(), service.url("/echo")).await;
    assert!(
        why.contains("repeats a credential") && !why.contains("s3cret"),
        "{why}"
    );
    assert!(
        log.lines().iter().all(|line| !line.contains("s3cret")),
        "{:?}",
        log.lines()
    );
}

#[tokio::test]
async fn a_secret_is_sent_to_its_own_hosts_only() {
    let service = Service::start().await;
    let credential = Credential::Header {
        name: "authorization".to_owned(),
        prefix: "Bearer ".to_owned(),
        secret: Secret::new("s3cret-of-the-operator"),
    };
    let elsewhere = CredentialGrant {
        hosts: vec!["vendor.example".to_owned()],
        credential,
    };
    let grant = HttpGrant {
        credentials: vec![elsewhere],
        ..service.grant()
    };
    let plugins = load(vec![channel("hostile-channel", json!({}), grant)]).await;
    plugins
        .begin("hostile-channel", notice(service.url("/")))
        .await
        .expect("begun");
    assert_eq!(
        service.requests()[0].0["authorization"],
        "Bearer of-its-own"
    );
}
