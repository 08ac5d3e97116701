//! The authenticator app in Chromium, and its history.

use assent_test_macros::both_databases;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use assent_model::clock::ManualClock;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::{get, post};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};

use crate::harness::{
    Browser, Database, Device, Json, Parsed, TestHost, Text, component, id, plugins,
};
use crate::javascript::{run, run_with};

/// Returns links that enrol authenticators of administrators with these names.
pub(crate) async fn administrators(host: &TestHost, names: &[&str]) -> Vec<String> {
    let mut links = Vec::new();
    for name in names {
        let user = host.user(name).await;
        let path = format!("/users/{}", id(&user));
        host.admin_ok(Method::PATCH, &path, json!({"console_role": "owner"}))
            .await;
        let enrolment = host
            .admin_ok(Method::POST, &format!("{path}/enrolments"), Value::Null)
            .await;
        links.push(enrolment["link"].text().to_owned());
    }
    links
}

#[tokio::test]
async fn a_user_approves_with_a_passkey_in_chromium() {
    let host = TestHost::start().await;
    let links = administrators(&host, &["ada", "bob"]).await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &links[0]),
        ("SECOND_ENROL_URL", &links[1]),
    ];
    run_with(&host, "passkey.mjs", &variables).await;
}

#[tokio::test]
async fn a_user_signs_in_with_a_passkey_in_chromium() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let path = format!("/applications/{}", application.id);
    let permitted = json!({"passkey_sign_in": true, "consent": "implied"});
    host.admin_ok(Method::PATCH, &path, permitted).await;
    let ada = host.user("ada").await;
    host.account(&ada, &application).await;
    let link = host.enrolment_link(&ada).await;
    let authorize = format!("{}{}", host.base, application.request(&[]));
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("AUTHORIZE", &authorize),
        ("REDIRECT_URI", "https://rp.example/cb"),
    ];
    run_with(&host, "passkey_sign_in.mjs", &variables).await;
}

#[tokio::test]
async fn the_app_installs_works_offline_and_updates_in_chromium() {
    let host = TestHost::start().await;
    let links = administrators(&host, &["ada"]).await;
    run_with(
        &host,
        "app_lifecycle.mjs",
        &[("BASE_URL", host.base.as_str()), ("ENROL_URL", &links[0])],
    )
    .await;
}

/// A push service that stores its messages, and the clock of the instance, which the script advances.
pub(crate) struct Environment {
    pushes: mpsc::UnboundedSender<Bytes>,
    pushed: Mutex<mpsc::UnboundedReceiver<Bytes>>,
    pub(crate) clock: OnceLock<Arc<ManualClock>>,
}

impl Environment {
    pub(crate) async fn start() -> (Arc<Self>, String) {
        let (pushes, pushed) = mpsc::unbounded_channel();
        let around = Arc::new(Self {
            pushes,
            pushed: Mutex::new(pushed),
            clock: OnceLock::new(),
        });
        let router = Router::new()
            .route("/push", post(Self::push))
            .route("/pushed", get(Self::pushed))
            .route("/advance", post(Self::advance))
            .with_state(Arc::clone(&around));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let name = format!(
            "localhost:{}",
            listener.local_addr().expect("an address").port()
        );
        tokio::spawn(async move { axum::serve(listener, router).await });
        (around, name)
    }

    async fn push(State(around): State<Arc<Self>>, body: Bytes) -> StatusCode {
        around.pushes.send(body).expect("received");
        StatusCode::CREATED
    }

    async fn pushed(State(around): State<Arc<Self>>) -> Bytes {
        around.pushed.lock().await.recv().await.expect("a message")
    }

    async fn advance(State(around): State<Arc<Self>>, seconds: String) {
        let seconds = seconds.parsed();
        around
            .clock
            .get()
            .expect("a clock")
            .advance(Duration::from_secs(seconds));
    }
}

#[tokio::test]
async fn requests_reach_devices_with_and_without_push_and_are_answered_once_in_chromium() {
    let (around, name) = Environment::start().await;
    let plugin = plugins(&format!(
        "[[plugins.approval_channels]]\nname = \"web-push\"\nfile = \"{}\"\nhttp_hosts = [\"{name}\"]\n\
         allow_private_addresses = true\ncredentials = [{{ kind = \"vapid\" }}]\n",
        component("web-push").display(),
    ));
    let host = TestHost::start_with_plugins(&plugin).await;
    around.clock.set(Arc::clone(&host.clock)).expect("set once");
    let user = host.user("ada").await;
    let path = format!("/users/{}", id(&user));
    // An invited user has one link at a time.
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"console_role": "owner", "state": "active"}),
    )
    .await;
    let mut links = Vec::new();
    for _ in 0..2 {
        let enrolment = host
            .admin_ok(Method::POST, &format!("{path}/enrolments"), Value::Null)
            .await;
        links.push(enrolment["link"].text().to_owned());
    }
    let around = format!("http://{name}");
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &links[0]),
        ("SECOND_ENROL_URL", &links[1]),
        ("CONTROL_URL", &around),
    ];
    run("app_requests.mjs", &variables).await;
}

#[both_databases]
async fn a_device_shows_the_outcomes_of_its_users_last_requests(database: Database) {
    let settings = "[approvals]\ndenial_cooldowns = []\nreport_cooldown = \
         \"0s\"\n[rate_limits]\nsign_ins_per_user_name = { per_minute = 0 }\n";
    let host = TestHost::start_on_with(database, settings).await;
    let ada = host.ada().await;
    let eve = host.user_with_account("eve", ada.application.clone()).await;
    let history = async |device: &Device| {
        let reply = device
            .call(Method::GET, "/authenticator/api/history", "", Vec::new())
            .await
            .expect("an answer");
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.body);
        reply.body["items"].items().clone()
    };
    let ask = async || {
        host.advance(1);
        let page = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
        (
            ada.device.pending_requests(5).await.remove(0),
            page.number(),
        )
    };
    assert!(history(&ada.device).await.is_empty());
    let (request, number) = ask().await;
    ada.device.approve(&request, &number).await;
    let (request, _) = ask().await;
    ada.device.deny(&request).await;
    let (request, _) = ask().await;
    ada.device.submit_report(&request).await;
    let (request, number) = ask().await;
    let digit = if number.starts_with('1') { '2' } else { '1' };
    for wrong in ["0", "1", "2"] {
        ada.device
            .decide(&request, Some(&format!("{digit}{wrong}")))
            .await
            .expect_err("a wrong number");
    }
    ask().await;
    assert_eq!(
        history(&ada.device).await.len(),
        4,
        "one request is pending"
    );
    host.advance(121);
    let past = history(&ada.device).await;
    let outcomes: Vec<&str> = past.iter().map(|item| item["outcome"].text()).collect();
    assert_eq!(
        outcomes,
        [
            "unanswered",
            "number_mismatch",
            "reported",
            "denied",
            "approved"
        ]
    );
    let newest = &past[0];
    assert_eq!(
        newest["application"],
        json!({"id": ada.application.id, "name": "Books & <Co>"})
    );
    assert_eq!(
        (&newest["account"], &newest["browser"]),
        (&json!("ada"), &json!("Firefox on Linux"))
    );
    assert_eq!(newest["place"], json!(request.place));
    assert!(
        past.iter()
            .all(|item| item["at"].as_i64().is_some_and(|at| at > 0))
    );
    assert!(
        history(&eve.device).await.is_empty(),
        "the request of another user"
    );
}
