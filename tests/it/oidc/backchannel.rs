//! Notification of applications about a logout (OpenID Connect Back-Channel Logout 1.0), with a real receiver.

use assent_store::sql;
use assent_test_macros::both_databases;
use std::time::Duration;

use assent::domain::operations::wakeups::Wakeup;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode as Status};
use axum::routing::post;
use josekit::jwk::JwkSet;
use josekit::jws::{PS256, RS256};
use josekit::jwt;
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::token::userinfo;
use crate::harness::{
    Application, Browser, Database, HostOptions, Json, Parsed, TestHost, TestUser, Text, get, id,
    in_time, parse_json,
};

pub const PRIVATE: &str =
    "allow_insecure_redirect_uris = true\n[egress]\nallow_private_addresses = true";

/// The time without any notification. It is longer than the worker's poll interval.
const QUIET: Duration = Duration::from_secs(4);

/// The server of an application. The path lists the statuses of its responses in order, for example `503-200`. The last
/// status repeats. The server never answers requests to `hang`.
pub struct Receiver {
    origin: String,
    arrived: mpsc::UnboundedReceiver<String>,
}

#[derive(Clone)]
struct ReceiverState {
    arrived: mpsc::UnboundedSender<String>,
    count: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl Receiver {
    pub async fn start() -> Self {
        let (sender, arrived) = mpsc::unbounded_channel();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let origin = format!(
            "http://localhost:{}",
            listener.local_addr().expect("an address").port()
        );
        let state = ReceiverState {
            arrived: sender,
            count: Default::default(),
        };
        let router = Router::new()
            .route("/{statuses}", post(receive))
            .with_state(state);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { origin, arrived }
    }

    /// Waits for the next logout token, and returns it.
    pub(super) async fn next(&mut self) -> String {
        in_time(self.arrived.recv()).await.expect("a logout token")
    }

    async fn assert_quiet(&mut self) {
        let more = tokio::time::timeout(QUIET, self.arrived.recv()).await;
        assert!(more.is_err(), "another logout token arrived");
    }
}

async fn receive(
    State(state): State<ReceiverState>,
    Path(statuses): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Status {
    assert_eq!(headers["content-type"], "application/x-www-form-urlencoded");
    let form: Vec<(String, String)> = url::form_urlencoded::parse(&body).into_owned().collect();
    assert_eq!((form.len(), form[0].0.as_str()), (1, "logout_token"));
    state
        .arrived
        .send(form[0].1.clone())
        .expect("the test listens");
    if statuses == "hang" {
        std::future::pending::<()>().await;
    }
    let statuses: Vec<u16> = statuses.split('-').map(|status| status.parsed()).collect();
    let count = state
        .count
        .fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    Status::from_u16(statuses[count.min(statuses.len() - 1)]).expect("a status")
}

/// Sets the back-channel logout URI of the application to this path of the receiver.
pub async fn register(
    host: &TestHost,
    application: &Application,
    receiver: &Receiver,
    statuses: &str,
) {
    let uri = format!("{}/{statuses}", receiver.origin);
    let path = format!("/applications/{}", application.id);
    host.admin_ok(Method::PATCH, &path, json!({"backchannel_logout_uri": uri}))
        .await;
}

struct Fixture {
    host: TestHost,
    ada: TestUser,
    receiver: Receiver,
}

impl Fixture {
    async fn new(statuses: &str) -> Self {
        Self::on(Database::Sqlite, statuses).await
    }

    async fn on(database: Database, statuses: &str) -> Self {
        let host = TestHost::start_on_with(database, PRIVATE).await;
        let ada = host.ada().await;
        let receiver = Receiver::start().await;
        register(&host, &ada.application, &receiver, statuses).await;
        Self {
            host,
            ada,
            receiver,
        }
    }

    /// Signs Ada in with a new browser. Returns the browser, the claims of her ID token, and her access token.
    async fn sign_in(&self) -> (Browser, Map<String, Value>, String) {
        let browser = Browser::new(&self.host.base);
        let code = self.ada.sign_in(&browser).await;
        let (status, tokens) = self
            .ada
            .application
            .exchange(&self.host.base, &code, &[])
            .await;
        assert_eq!(status, StatusCode::OK, "{tokens}");
        let claims = verified(&self.host, tokens["id_token"].text(), "JWT").await;
        (browser, claims, tokens["access_token"].text().to_owned())
    }

    /// Advances the clock, and lets the worker look for deliveries.
    fn pass(&self, seconds: u64) {
        self.host.advance(seconds);
        self.host.host.wakeups.send(Wakeup::LoggedOut);
    }
}

async fn sign_out(browser: &Browser) {
    browser.get("/").await.submit("/sign-out", &[]).await;
}

/// Verifies the signature of a token with the published key that it names. Returns its claims.
async fn verified(host: &TestHost, token: &str, token_type: &str) -> Map<String, Value> {
    let keys = get(format!("{}/jwks", host.issuer())).await;
    let keys = JwkSet::from_bytes(keys.bytes().await.expect("bytes")).expect("keys");
    let header = jwt::decode_header(token).expect("a header");
    let text = |name: &str| {
        header
            .claim(name)
            .and_then(Value::as_str)
            .expect("text")
            .to_owned()
    };
    let key = keys.get(&text("kid"))[0].clone();
    let (payload, header) = match text("alg").as_str() {
        "RS256" => jwt::decode_with_verifier(token, &RS256.verifier_from_jwk(&key).expect("a key")),
        "PS256" => jwt::decode_with_verifier(token, &PS256.verifier_from_jwk(&key).expect("a key")),
        other => panic!("signed with {other}"),
    }
    .expect("a valid signature");
    assert_eq!(header.claim("typ"), Some(&json!(token_type)));
    payload.claims_set().clone()
}

#[tokio::test]
async fn the_logout_token_has_the_claims_of_the_specification() {
    for algorithm in ["RS256", "PS256"] {
        let mut it = Fixture::new("200").await;
        let path = format!("/applications/{}", it.ada.application.id);
        it.host
            .admin_ok(
                Method::PATCH,
                &path,
                json!({"id_token_signed_response_alg": algorithm}),
            )
            .await;
        let (browser, signed_in, access) = it.sign_in().await;
        sign_out(&browser).await;
        let token = it.receiver.next().await;
        let header = jwt::decode_header(&token).expect("a header");
        assert_eq!(header.claim("alg"), Some(&json!(algorithm)));
        let claims = verified(&it.host, &token, "logout+jwt").await;
        for same in ["iss", "sub", "aud", "sid"] {
            assert_eq!(claims[same], signed_in[same], "{same}");
        }
        assert_eq!(
            claims["events"],
            json!({"http://schemas.openid.net/event/backchannel-logout": {}})
        );
        let (issued, expires) = (claims["iat"].integer(), claims["exp"].integer());
        assert_eq!(expires - issued, 120);
        assert!(claims["jti"].is_string() && claims.get("nonce").is_none());
        assert_eq!(claims.len(), 8, "{claims:?}");
        assert_eq!(
            userinfo(&it.host, &access).await.0,
            StatusCode::UNAUTHORIZED
        );
        // A logout token is not valid as a hint.
        let page = browser
            .get(&format!("/oidc/session/end?id_token_hint={token}"))
            .await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST);
        it.receiver.assert_quiet().await;
    }
}

#[both_databases]
async fn failed_deliveries_are_retried_with_a_fresh_logout_token(database: Database) {
    let mut it = Fixture::on(database, "503-302-204").await;
    let (browser, ..) = it.sign_in().await;
    sign_out(&browser).await;
    let first = it.receiver.next().await;
    it.receiver.assert_quiet().await;
    it.pass(5);
    let second = it.receiver.next().await;
    it.receiver.assert_quiet().await;
    it.pass(30);
    let third = it.receiver.next().await;
    let claims = verified(&it.host, &third, "logout+jwt").await;
    assert_eq!(
        claims["iat"],
        json!(assent_model::clock::Clock::now(&*it.host.clock).seconds())
    );
    assert!(first != second && second != third);
    // The worker stores the outcome before the clock advances.
    it.receiver.assert_quiet().await;
    it.pass(3600);
    it.receiver.assert_quiet().await;
}

#[tokio::test]
async fn pending_deliveries_survive_a_restart() {
    let mut it = Fixture::new("503-200").await;
    let (browser, ..) = it.sign_in().await;
    sign_out(&browser).await;
    it.receiver.next().await;
    it.host.stop().await;
    it.host.advance(60);
    let (_, running, _) = it
        .host
        .second(HostOptions {
            settings: PRIVATE,
            ..HostOptions::default()
        })
        .await;
    it.receiver.next().await;
    it.receiver.assert_quiet().await;
    running.stop().await;
}

#[both_databases]
async fn two_instances_deliver_once(database: Database) {
    let mut it = Fixture::on(database, "200").await;
    let options = HostOptions {
        database,
        settings: PRIVATE,
        ..HostOptions::default()
    };
    let (second, running, _) = it.host.second(options).await;
    let mut browsers = Vec::new();
    for _ in 0..8 {
        browsers.push(it.sign_in().await.0);
    }
    for browser in &browsers {
        sign_out(browser).await;
        second.wakeups.send(Wakeup::LoggedOut);
    }
    let mut sids = std::collections::BTreeSet::new();
    for _ in 0..8 {
        let token = it.receiver.next().await;
        let (payload, _) = token
            .split_once('.')
            .and_then(|(_, rest)| rest.split_once('.'))
            .expect("a JWT");
        let payload =
            base64::Engine::decode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, payload);
        let claims: Value = parse_json(payload.expect("base64"));
        assert!(
            sids.insert(claims["sid"].text().to_owned()),
            "notified twice"
        );
    }
    it.receiver.assert_quiet().await;
    running.stop().await;
}

#[tokio::test]
async fn a_rejected_delivery_is_not_retried() {
    let mut it = Fixture::new("400").await;
    let (browser, ..) = it.sign_in().await;
    sign_out(&browser).await;
    it.receiver.next().await;
    it.receiver.assert_quiet().await;
    it.pass(24 * 3600);
    it.receiver.assert_quiet().await;
}

#[tokio::test]
async fn a_slow_application_delays_neither_the_user_nor_other_applications() {
    let mut it = Fixture::new("hang").await;
    let mut browsers = Vec::new();
    for _ in 0..3 {
        browsers.push(it.sign_in().await.0);
    }
    for browser in &browsers {
        sign_out(browser).await;
    }
    for _ in 0..3 {
        it.receiver.next().await;
    }
    let mut quick = Receiver::start().await;
    let other = it.host.web_application().await;
    it.host.account(&it.ada.user, &other).await;
    register(&it.host, &other, &quick, "200").await;
    let browser = Browser::new(&it.host.base);
    let login = other.login_page(&browser, &[]).await;
    let waiting = login.submit_name("ada").await;
    it.ada.approve(&waiting).await;
    browser.finish(&waiting.url).await.parameter("code");
    sign_out(&browser).await;
    // The instance ends hanging calls after ten seconds.
    let returned = tokio::time::timeout(Duration::from_secs(9), quick.arrived.recv()).await;
    assert!(returned.expect("in time, while the others hang").is_some());
}

/// Queues deliveries. Each has the session id, the application, and the time since which it waits.
async fn queue(host: &TestHost, deliveries: &[(String, String, i64)]) {
    let mut connection = host.connection().await;
    connection.batch("BEGIN").await.expect("begun");
    for (sid, application, since) in deliveries {
        sql::query(
            "INSERT INTO logout_deliveries (id, application_id, sid, subject, attempts, next_attempt_at, created_at)
             VALUES ($1, $2, $3, 'ada', 0, $4, $4)",
        )
        .bind(format!("{sid}.{application}"))
        .bind(application.clone())
        .bind(sid.clone())
        .bind(*since)
        .execute(&mut connection)
        .await
        .expect("inserted");
    }
    connection.batch("COMMIT").await.expect("committed");
    host.host.wakeups.send(Wakeup::LoggedOut);
}

async fn register_at(host: &TestHost, uri: &str) -> String {
    let body = json!({"name": "Books", "application_type": "web", "redirect_uris": ["https://rp.example/cb"],
                      "backchannel_logout_uri": uri});
    id(&host.admin_ok(Method::POST, "/applications", body).await).to_owned()
}

/// One application never responds and has very many logouts. A part of them is in progress at once, and other
/// applications receive theirs meanwhile.
#[tokio::test]
async fn logouts_of_one_application_are_delivered_concurrently() {
    let host = TestHost::start_with_settings(PRIVATE).await;
    let (mut slow, mut quick) = (Receiver::start().await, Receiver::start().await);
    let application = register_at(&host, &format!("{}/hang", slow.origin)).await;
    let other = register_at(&host, &format!("{}/200", quick.origin)).await;
    let now = assent_model::clock::Clock::now(&*host.clock).millis();
    let many: Vec<_> = (0..100)
        .map(|number| (format!("sid{number}"), application.clone(), now - 10))
        .collect();
    queue(&host, &many).await;
    // The instance ends hanging calls after ten seconds.
    let limit = Duration::from_secs(9);
    let arrived = tokio::time::timeout(limit, async {
        for _ in 0..32 {
            slow.next().await;
        }
        queue(&host, &[("sid".to_owned(), other, now)]).await;
        quick.next().await;
    });
    arrived.await.expect("in time, while all of them hang");
}

/// There are more slow applications than concurrent deliveries.
#[tokio::test]
async fn applications_with_many_logouts_delay_others_by_one_round_at_most() {
    const SLOW: usize = 70;
    let host = TestHost::start_with_settings(PRIVATE).await;
    let mut receiver = Receiver::start().await;
    let mut deliveries = Vec::new();
    let now = assent_model::clock::Clock::now(&*host.clock).millis();
    for number in 0..=SLOW {
        let application = register_at(&host, &format!("{}/503", receiver.origin)).await;
        let (count, since) = if number < SLOW {
            (10, now - 10_000)
        } else {
            (1, now - 1)
        };
        deliveries.extend((0..count).map(|n| (format!("sid{n}"), application.clone(), since)));
    }
    queue(&host, &deliveries).await;
    let late = &deliveries.last().expect("a delivery").1;
    let mut before = 0;
    while verified(&host, &receiver.next().await, "logout+jwt").await["aud"] != json!(late) {
        before += 1;
    }
    // Each slow application had one turn, in addition to the concurrent deliveries.
    assert!(before < SLOW + 256, "{before} were notified before");
}

#[tokio::test]
async fn private_addresses_are_not_called_without_the_setting() {
    let host = TestHost::start_with_settings("allow_insecure_redirect_uris = true").await;
    let ada = host.ada().await;
    let mut receiver = Receiver::start().await;
    // The server checks the address of the name at the call. No TLS server runs there, so an attempt would fail and be
    // repeated.
    receiver.origin = receiver.origin.replace("http://", "https://");
    register(&host, &ada.application, &receiver, "200").await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    sign_out(&browser).await;
    receiver.assert_quiet().await;
    let (waiting,): (i64,) = sql::query_as("SELECT COUNT(*) FROM logout_deliveries")
        .fetch_one(&mut host.connection().await)
        .await
        .expect("a number");
    assert_eq!(waiting, 0, "the delivery is not attempted for a day");
}

#[tokio::test]
async fn exactly_the_applications_of_the_session_are_notified() {
    let mut it = Fixture::new("200").await;
    let mut second = Receiver::start().await;
    let other = it.host.web_application().await;
    it.host.account(&it.ada.user, &other).await;
    register(&it.host, &other, &second, "200").await;
    let (browser, signed_in, _) = it.sign_in().await;
    let (elsewhere, ..) = it.sign_in().await;
    let login = browser.get(&other.request(&[])).await.location();
    browser.finish(login.as_str()).await.parameter("code");
    sign_out(&browser).await;
    for receiver in [&mut it.receiver, &mut second] {
        let claims = verified(&it.host, &receiver.next().await, "logout+jwt").await;
        assert_eq!(claims["sid"], signed_in["sid"]);
        receiver.assert_quiet().await;
    }
    assert!(elsewhere.get("/").await.body.contains("Hello,"));
}

#[tokio::test]
async fn suspension_deletion_and_account_closure_sign_out_of_applications() {
    let mut it = Fixture::new("200").await;
    let user = format!("/users/{}", id(&it.ada.user));
    let account = format!("/accounts/{}", id(&it.ada.account));
    for path in [&account, &user] {
        let (_, signed_in, _) = it.sign_in().await;
        it.host
            .admin_ok(Method::PATCH, path, json!({"state": "suspended"}))
            .await;
        let claims = verified(&it.host, &it.receiver.next().await, "logout+jwt").await;
        assert_eq!(
            (&claims["sub"], &claims["sid"]),
            (&signed_in["sub"], &signed_in["sid"])
        );
        it.host.advance(1);
        it.host
            .admin_ok(Method::PATCH, path, json!({"state": "active"}))
            .await;
    }
    let (_, signed_in, _) = it.sign_in().await;
    it.host.admin_ok(Method::DELETE, &user, Value::Null).await;
    let claims = verified(&it.host, &it.receiver.next().await, "logout+jwt").await;
    assert_eq!(claims["sub"], signed_in["sub"]);
    it.receiver.assert_quiet().await;
}

#[tokio::test]
async fn another_user_in_the_same_browser_ends_the_first_session() {
    let mut it = Fixture::new("200").await;
    let (browser, signed_in, access) = it.sign_in().await;
    let eve = it.host.user("eve").await;
    let device = it.host.authenticator(&eve).await;
    let account = it.host.account(&eve, &it.ada.application).await;
    let eve = TestUser {
        user: eve,
        device,
        application: it.ada.application.clone(),
        account,
    };
    let login = eve
        .application
        .login_page(&browser, &[("prompt", Some("login"))])
        .await;
    let waiting = login.submit_name("eve").await;
    eve.approve(&waiting).await;
    browser.finish(&waiting.url).await.parameter("code");
    let claims = verified(&it.host, &it.receiver.next().await, "logout+jwt").await;
    assert_eq!(
        (&claims["sub"], &claims["sid"]),
        (&signed_in["sub"], &signed_in["sid"])
    );
    assert_eq!(
        userinfo(&it.host, &access).await.0,
        StatusCode::UNAUTHORIZED
    );
    it.receiver.assert_quiet().await;
}

#[tokio::test]
async fn offline_access_tokens_survive_the_logout() {
    let it = Fixture::new("200").await;
    let (browser, _, access) = it.sign_in().await;
    // The state after a consent to `offline_access`.
    let mut connection = it.host.connection().await;
    sql::query("UPDATE token_families SET offline = 1")
        .execute(&mut connection)
        .await
        .expect("updated");
    connection.close().await;
    sign_out(&browser).await;
    assert_eq!(userinfo(&it.host, &access).await.0, StatusCode::OK);
}

#[tokio::test]
async fn the_application_of_an_expired_session_is_notified_of_a_sign_out() {
    let mut it = Fixture::new("200").await;
    let browser = Browser::new(&it.host.base);
    let code = it.ada.sign_in(&browser).await;
    let (_, tokens) = it.ada.application.exchange(&it.host.base, &code, &[]).await;
    let id_token = tokens["id_token"].text().to_owned();
    let claims = verified(&it.host, &id_token, "JWT").await;
    it.host.advance(3601);
    let end = format!("/oidc/session/end?id_token_hint={id_token}");
    browser.get(&end).await;
    let returned = verified(&it.host, &it.receiver.next().await, "logout+jwt").await;
    assert_eq!(returned["sid"], claims["sid"]);
}
