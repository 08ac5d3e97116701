//! The shipped approval channel, with a real push service (RFC 8030) on loopback. The tests decrypt the messages as a
//! browser would (RFC 8291), and verify the instance's signature as a push service would (RFC 8292).

use std::sync::Arc;
use std::time::Duration;

use assent_model::device::{PushKeys, PushSubscription};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ece::EcKeyComponents;
use josekit::jwk::Jwk;
use josekit::jws::ES256;
use josekit::jwt;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use assent_store::{DISPATCH_LEASE, sql};
use assent_test_macros::both_databases;

use crate::harness::{
    Browser, Database, Device, HostOptions, Json, Parsed, TestHost, TestUser, Text, base64url,
    component, id, in_time, parse_json,
};

/// A push service that passes its messages to the test. The path contains the status of the response.
struct PushService {
    origin: String,
    arrived: mpsc::UnboundedReceiver<(HeaderMap, Bytes)>,
    /// Messages to URLs below `/held` are answered when the test adds a permit.
    gate: Arc<Semaphore>,
}

impl PushService {
    async fn start() -> Self {
        let (sender, arrived) = mpsc::unbounded_channel();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let origin = format!(
            "http://localhost:{}",
            listener.local_addr().expect("an address").port()
        );
        let gate = Arc::new(Semaphore::new(0));
        let router = Router::new()
            .route("/{status}", post(receive))
            .route("/held/{status}", post(hold));
        let router = router.with_state((sender, Arc::clone(&gate)));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            origin,
            arrived,
            gate,
        }
    }

    async fn next(&mut self) -> (HeaderMap, Bytes) {
        in_time(self.arrived.recv()).await.expect("a message")
    }

    /// Returns the settings of the plugin, with permission to call this service.
    fn plugin(&self) -> String {
        self.plugin_called("web-push")
    }

    fn plugin_called(&self, name: &str) -> String {
        format!(
            "[[plugins.approval_channels]]\nname = \"{name}\"\nfile = \"{}\"\nhttp_hosts = [\"{}\"]\n\
             allow_private_addresses = true\ncredentials = [{{ kind = \"vapid\" }}]\n",
            component("web-push").display(),
            self.origin.trim_start_matches("http://")
        )
    }
}

type Shared = (mpsc::UnboundedSender<(HeaderMap, Bytes)>, Arc<Semaphore>);

async fn receive(
    State((arrived, _)): State<Shared>,
    Path(status): Path<u16>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    arrived.send((headers, body)).expect("the test listens");
    StatusCode::from_u16(status).expect("a status")
}

async fn hold(
    shared: State<Shared>,
    status: Path<u16>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let gate = Arc::clone(&shared.0.1);
    let status = receive(shared, status, headers, body).await;
    gate.acquire().await.expect("it stays").forget();
    status
}

/// A browser's subscription, with the keys that only the browser has.
struct Subscription {
    keys: EcKeyComponents,
    auth: [u8; 16],
    public: PushSubscription,
}

fn subscription(service: &PushService, status: u16) -> Subscription {
    let (pair, auth) = ece::generate_keypair_and_auth_secret().expect("keys");
    let keys = pair.raw_components().expect("components");
    let public = PushSubscription {
        endpoint: format!("{}/{status}", service.origin),
        keys: PushKeys {
            p256dh: URL_SAFE_NO_PAD.encode(pair.pub_as_raw().expect("a public key")),
            auth: URL_SAFE_NO_PAD.encode(auth),
        },
    };
    Subscription { keys, auth, public }
}

async fn ada_with(host: &TestHost, push: PushSubscription) -> TestUser {
    let user = host.user("ada").await;
    let link = host.enrolment_link(&user).await;
    let link = link.as_str();
    let device = Device::enrol_with_push(link, "Phone", Some(push)).await;
    let application = host.web_application().await;
    let account = host.account(&user, &application).await;
    TestUser {
        user,
        device,
        application,
        account,
    }
}

#[tokio::test]
async fn a_request_sends_a_push_message_that_only_the_device_can_decrypt() {
    let mut service = PushService::start().await;
    let plugin = service.plugin();
    let host = TestHost::start_with_plugins(&plugin).await;
    let browser = subscription(&service, 201);
    let ada = ada_with(&host, browser.public.clone()).await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;

    let (headers, body) = service.next().await;
    assert_eq!(headers["content-encoding"], "aes128gcm");
    assert_eq!(headers["urgency"], "high");
    let ttl: u32 = headers["ttl"].text().parsed();
    assert!((100..=120).contains(&ttl), "{ttl}");
    assert!(headers["topic"].len() <= 32);
    let text = ece::decrypt(&browser.keys, &browser.auth, &body).expect("decrypted");
    let message: Value = parse_json(&text);
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(message["request"], request.id.to_string());
    let names: Vec<&String> = message.members().keys().collect();
    assert!(
        !names.iter().any(|name| name.contains("number")) && waiting.number().len() == 2,
        "{names:?}"
    );
    check_vapid(&host, &service, headers["authorization"].text());
}

/// Verifies the header as a push service does: it has a signature with the key that the browser received, for this
/// service.
fn check_vapid(host: &TestHost, service: &PushService, header: &str) {
    let (token, key) = header
        .strip_prefix("vapid t=")
        .and_then(|rest| rest.split_once(", k="))
        .expect("a header");
    assert_eq!(key, host.host.push_key.public_key());
    let point = base64url(key);
    let coordinate = |range: std::ops::Range<usize>| URL_SAFE_NO_PAD.encode(&point[range]);
    let jwk = json!({"kty": "EC", "crv": "P-256", "x": coordinate(1..33), "y": coordinate(33..65)});
    let jwk = Jwk::from_bytes(jwk.to_string()).expect("a key");
    let verifier = ES256.verifier_from_jwk(&jwk).expect("a verifier");
    let (payload, _) = jwt::decode_with_verifier(token, &verifier).expect("a valid signature");
    assert_eq!(payload.claim("aud"), Some(&json!(service.origin)));
    assert_eq!(payload.claim("sub"), Some(&json!(host.base)));
}

#[tokio::test]
async fn an_expired_subscription_is_deleted_and_the_device_still_lists_the_request() {
    let mut service = PushService::start().await;
    let plugin = service.plugin();
    let host = TestHost::start_with_plugins(&plugin).await;
    let ada = ada_with(&host, subscription(&service, 410).public).await;
    let path = format!("/users/{}/devices", id(&ada.user));
    let has_push = async || {
        host.admin_ok(Method::GET, &path, Value::Null).await["items"][0]["has_push"] == true
    };
    assert!(has_push().await);
    let browser = Browser::new(&host.base);
    let page = ada.begin_sign_in(&browser, &[]).await;
    service.next().await;
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    let forgotten = async {
        while has_push().await {
            ticks.tick().await;
        }
    };
    in_time(forgotten).await;
    ada.approve(&page).await;
    assert!(
        browser
            .finish(&page.url)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
}

#[tokio::test]
async fn a_channel_without_egress_to_the_push_service_fails_no_sign_in() {
    let mut service = PushService::start().await;
    let plugin = service.plugin().replace("localhost:", "push.example:");
    let host = TestHost::start_with_plugins(&plugin).await;
    let ada = ada_with(&host, subscription(&service, 201).public).await;
    ada.sign_in(&Browser::new(&host.base)).await;
    assert!(
        service.arrived.try_recv().is_err(),
        "no request was sent to a host without a grant"
    );
}

#[tokio::test]
async fn account_notifications_wake_other_devices_without_details() {
    let mut service = PushService::start().await;
    let plugin = service.plugin();
    let host = TestHost::start_with_plugins(&plugin).await;
    let browser = subscription(&service, 201);
    let ada = ada_with(&host, browser.public.clone()).await;
    ada.device.recovery_codes().await;
    let link = ada
        .device
        .call_ok(Method::POST, "/devices/enrolment-links", None)
        .await;
    Device::enrol(link["link"].text(), "Tablet").await;
    let (headers, body) = service.next().await;
    let text = ece::decrypt(&browser.keys, &browser.auth, &body).expect("decrypted");
    assert_eq!(
        parse_json::<Value>(&text),
        json!({"version": 1, "kind": "account-notification"})
    );
    assert!(headers["topic"].len() <= 32);
    // The device received no notification of its own action. The next message is a request.
    ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let (_, body) = service.next().await;
    let text = ece::decrypt(&browser.keys, &browser.auth, &body).expect("decrypted");
    assert_eq!(parse_json::<Value>(&text)["kind"], "approval");
}

#[tokio::test]
async fn an_expired_subscription_does_not_remove_its_replacement() {
    let mut service = PushService::start().await;
    let settings = service.plugin() + &service.plugin_called("another");
    let host = TestHost::start_with_plugins(&settings).await;
    let mut old = subscription(&service, 410).public;
    old.endpoint = format!("{}/held/410", service.origin);
    let ada = ada_with(&host, old).await;
    ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    service.next().await;
    // The push service reports the expired subscription late. By then, the app has subscribed again.
    let new = subscription(&service, 201);
    let body = json!({"subscription": new.public});
    ada.device
        .call_ok(Method::PUT, "/device/push", Some(body))
        .await;
    service.gate.add_permits(1);
    // The server tries the next channel after it has processed the first result. It uses the device's current
    // subscription.
    let (_, body) = service.next().await;
    ece::decrypt(&new.keys, &new.auth, &body).expect("for the new subscription");
    let path = format!("/users/{}/devices", id(&ada.user));
    assert_eq!(
        host.admin_ok(Method::GET, &path, Value::Null).await["items"][0]["has_push"],
        true
    );
}

/// Enrols a new device with a link of Ada's device, which causes an account notification.
async fn notify_of_a_device(ada: &TestUser) {
    let link = ada
        .device
        .call_ok(Method::POST, "/devices/enrolment-links", None)
        .await;
    Device::enrol(link["link"].text(), "Tablet").await;
}

#[tokio::test]
async fn a_channel_for_certain_applications_delivers_no_account_notification() {
    let (mut restricted, mut general) = (PushService::start().await, PushService::start().await);
    // The restricted channel is first. It may call both services, so it could reach the device.
    let both = format!("\"{}\", \"{}\"", restricted.origin, general.origin).replace("http://", "");
    let one = format!("\"{}\"", restricted.origin.trim_start_matches("http://"));
    let first = restricted.plugin_called("restricted").replace(&one, &both)
        + "applications = [\"did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK\"]\n";
    let settings = first + &general.plugin_called("general");
    let host = TestHost::start_with_plugins(&settings).await;
    let ada = ada_with(&host, subscription(&general, 201).public).await;
    let started = |name: &str| {
        let status = host.host.plugins.status();
        status
            .into_iter()
            .find(|plugin| plugin.identity.plugin == name)
            .expect("the plugin")
            .measured
            .calls
    };
    // Both channels were called once for their description.
    let before = started("restricted");
    notify_of_a_device(&ada).await;
    general.next().await;
    assert_eq!(
        started("restricted"),
        before,
        "the other channel does not receive the notification"
    );
    assert!(restricted.arrived.try_recv().is_err());
}

#[tokio::test]
async fn an_account_notification_falls_back_to_the_next_channel() {
    let mut service = PushService::start().await;
    let broken = service
        .plugin_called("broken")
        .replace("localhost:", "push.example:");
    let settings = broken + &service.plugin_called("working");
    let host = TestHost::start_with_plugins(&settings).await;
    let browser = subscription(&service, 201);
    let ada = ada_with(&host, browser.public.clone()).await;
    notify_of_a_device(&ada).await;
    let (_, body) = service.next().await;
    let text = ece::decrypt(&browser.keys, &browser.auth, &body).expect("decrypted");
    assert_eq!(parse_json::<Value>(&text)["kind"], "account-notification");
}

#[tokio::test]
async fn only_an_explicit_null_removes_a_subscription() {
    let service = PushService::start().await;
    let plugin = service.plugin();
    let host = TestHost::start_with_plugins(&plugin).await;
    let subscribed = subscription(&service, 201).public;
    let ada = ada_with(&host, subscribed.clone()).await;
    let path = format!("/users/{}/devices", id(&ada.user));
    let has_push = async || {
        host.admin_ok(Method::GET, &path, Value::Null).await["items"][0]["has_push"].clone()
    };
    let put = async |body: Value| {
        let body = serde_json::to_vec(&body).expect("JSON");
        ada.device
            .call(Method::PUT, "/authenticator/api/device/push", "", body)
            .await
            .expect("an answer")
            .status
    };
    for body in [
        json!({}),
        json!([]),
        json!(null),
        json!({"subscripton": null}),
        json!({"subscripton": subscribed}),
        json!({"subscription": null, "other": 1}),
        json!({"subscription": subscribed, "other": 1}),
        json!({"subscription": {}}),
        json!({"subscription": ""}),
    ] {
        let text = body.to_string();
        assert_eq!(put(body).await, StatusCode::BAD_REQUEST, "{text}");
        assert_eq!(has_push().await, json!(true), "{text}");
    }
    // The result of a browser's `PushSubscription.toJSON()` has a member that the instance does not read.
    let mut of_browser = json!(subscribed);
    of_browser["expirationTime"] = Value::Null;
    assert_eq!(
        put(json!({"subscription": of_browser})).await,
        StatusCode::NO_CONTENT
    );
    assert_eq!(has_push().await, json!(true));
    assert_eq!(
        put(json!({"subscription": null})).await,
        StatusCode::NO_CONTENT
    );
    assert_eq!(has_push().await, json!(false));
}

/// Returns the outbox: each request, and the end of its lease.
async fn outbox(host: &TestHost) -> Vec<(String, i64)> {
    let mut connection = host.connection().await;
    sql::query_as("SELECT approval_id, leased_until FROM approval_dispatches")
        .fetch_all(&mut connection)
        .await
        .expect("read")
}

async fn until_outbox(host: &TestHost, is: impl Fn(&[(String, i64)]) -> bool) {
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    in_time(async {
        while !is(&outbox(host).await) {
            ticks.tick().await;
        }
    })
    .await;
}

fn options<'a>(database: Database, plugins: &'a str) -> HostOptions<'a> {
    HostOptions {
        database,
        plugins,
        ..HostOptions::default()
    }
}

#[both_databases]
async fn a_request_of_an_instance_that_stops_is_sent_by_another(database: Database) {
    let mut service = PushService::start().await;
    let plugin = service.plugin();
    let mut host = TestHost::start_with(options(database, &plugin)).await;
    let browser = subscription(&service, 201);
    let mut held = browser.public.clone();
    held.endpoint = format!("{}/held/201", service.origin);
    let ada = ada_with(&host, held).await;
    ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let (first, _) = service.next().await;
    let request = outbox(&host).await[0].0.clone();
    // The lease is extended while the request is being sent.
    host.advance(5);
    let extended = (host.host.now() + DISPATCH_LEASE).millis();
    until_outbox(&host, |rows| rows[0].1 == extended).await;

    host.stop().await;
    let (_, second, _) = host.second(options(database, &plugin)).await;
    let (again, body) = service.next().await;
    assert_eq!(
        again["topic"], first["topic"],
        "the device shows one message"
    );
    let text = ece::decrypt(&browser.keys, &browser.auth, &body).expect("decrypted");
    assert_eq!(parse_json::<Value>(&text)["request"], request);
    service.gate.add_permits(2);
    until_outbox(&host, <[_]>::is_empty).await;
    second.stop().await;
}

/// The instance was killed between the commit and the message, which leaves the row as it was inserted.
#[both_databases]
async fn a_request_that_was_not_sent_is_sent_after_the_lease_unless_it_ended(database: Database) {
    let mut service = PushService::start().await;
    let plugin = service.plugin();
    let host = TestHost::start_with(options(database, &plugin)).await;
    let browser = subscription(&service, 201);
    let ada = ada_with(&host, browser.public.clone()).await;
    let page = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let (first, _) = service.next().await;
    until_outbox(&host, <[_]>::is_empty).await;
    let request = ada.device.pending_requests(0).await[0].id;
    let left = async || {
        sql::query("INSERT INTO approval_dispatches (approval_id, leased_until) VALUES ($1, $2)")
            .bind(request.to_string())
            .bind((host.host.now() + DISPATCH_LEASE).millis())
            .execute(&mut host.connection().await)
            .await
            .expect("inserted");
        let claimed = host.host.store.claim_dispatches(1, host.host.now()).await;
        assert_eq!(claimed.expect("read"), [], "the lease lasts");
        host.advance(DISPATCH_LEASE.as_secs());
    };
    left().await;
    let (again, _) = service.next().await;
    assert_eq!(again["topic"], first["topic"]);
    until_outbox(&host, <[_]>::is_empty).await;

    page.cancel().await;
    left().await;
    until_outbox(&host, <[_]>::is_empty).await;
    assert!(service.arrived.try_recv().is_err(), "it ended before");
}
