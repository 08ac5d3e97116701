//! The authenticator app as a person has it, in Chromium; and what its history tells.

use assent_test_macros::both_databases;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use assent::authenticator::Authenticator;
use assent_model::clock::ManualClock;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::{get, post};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};

use crate::harness::{Browser, Database, HostOptions, TestHost, component, id, plugins};
use crate::javascript::{run, run_with};

/// Links that enrol authenticators of administrators with these names.
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
        links.push(enrolment["link"].as_str().expect("a link").to_owned());
    }
    links
}

#[tokio::test]
async fn a_person_approves_with_face_finger_or_pin_in_chromium() {
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
async fn the_app_is_installed_opens_without_a_network_and_takes_a_newer_version_in_chromium() {
    let host = TestHost::start().await;
    let links = administrators(&host, &["ada"]).await;
    run_with(
        &host,
        "app_life.mjs",
        &[("BASE_URL", host.base.as_str()), ("ENROL_URL", &links[0])],
    )
    .await;
}

/// What is around the host: a push service that keeps what comes, and a hand on the host's clock.
pub(crate) struct Around {
    pushes: mpsc::UnboundedSender<Bytes>,
    pushed: Mutex<mpsc::UnboundedReceiver<Bytes>>,
    pub(crate) clock: OnceLock<Arc<ManualClock>>,
}

impl Around {
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
        around.pushes.send(body).expect("kept");
        StatusCode::CREATED
    }

    async fn pushed(State(around): State<Arc<Self>>) -> Bytes {
        around.pushed.lock().await.recv().await.expect("a message")
    }

    async fn advance(State(around): State<Arc<Self>>, seconds: String) {
        let seconds = seconds.parse().expect("seconds");
        around
            .clock
            .get()
            .expect("a clock")
            .advance(Duration::from_secs(seconds));
    }
}

#[tokio::test]
async fn requests_reach_phones_with_and_without_notifications_and_are_answered_once_in_chromium() {
    let (around, name) = Around::start().await;
    let plugin = plugins(&format!(
        "[[plugins.approval_channels]]\nname = \"web-push\"\nfile = \"{}\"\nhttp_hosts = [\"{name}\"]\n\
         allow_private_addresses = true\ncredentials = [{{ kind = \"vapid\" }}]\n",
        component("web-push").display(),
    ));
    let host = TestHost::start_with(HostOptions {
        plugins: &plugin,
        ..HostOptions::default()
    })
    .await;
    around.clock.set(Arc::clone(&host.clock)).expect("set once");
    let user = host.user("ada").await;
    let path = format!("/users/{}", id(&user));
    // Whoever is invited has one link at a time.
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
        links.push(enrolment["link"].as_str().expect("a link").to_owned());
    }
    let around = format!("http://{name}");
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &links[0]),
        ("SECOND_ENROL_URL", &links[1]),
        ("SURROUNDINGS_URL", &around),
    ];
    run("app_requests.mjs", &variables).await;
}

#[both_databases]
async fn a_phone_shows_what_became_of_its_persons_last_requests(database: Database) {
    let settings = "[approvals]\ndenial_cooldowns = []\nreport_cooldown = \
         \"0s\"\n[rate_limits]\nsign_ins_per_user_name = { per_minute = 0 }\n";
    let host = TestHost::start_with(HostOptions {
        database,
        settings,
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    let eve = host.person("eve", ada.application.clone()).await;
    let history = async |phone: &Authenticator| {
        let reply = phone
            .call(Method::GET, "/authenticator/api/history", "", Vec::new())
            .await
            .expect("an answer");
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.body);
        reply.body["items"].as_array().expect("items").clone()
    };
    let ask = async || {
        host.advance(1);
        let page = ada.ask(&Browser::new(&host.base), &[]).await;
        (
            ada.phone.waiting(5).await.expect("requests").remove(0),
            page.number(),
        )
    };
    assert!(history(&ada.phone).await.is_empty());
    let (request, number) = ask().await;
    ada.phone
        .decide(&request, Some(&number))
        .await
        .expect("approved");
    let (request, _) = ask().await;
    ada.phone.decide(&request, None).await.expect("denied");
    let (request, _) = ask().await;
    ada.phone.not_me(&request).await.expect("not hers");
    let (request, number) = ask().await;
    let digit = if number.starts_with('1') { '2' } else { '1' };
    for wrong in ["0", "1", "2"] {
        ada.phone
            .decide(&request, Some(&format!("{digit}{wrong}")))
            .await
            .expect_err("a wrong number");
    }
    ask().await;
    assert_eq!(history(&ada.phone).await.len(), 4, "one is open");
    host.advance(121);
    let past = history(&ada.phone).await;
    let outcomes: Vec<&str> = past
        .iter()
        .map(|item| item["outcome"].as_str().expect("an outcome"))
        .collect();
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
    assert!(history(&eve.phone).await.is_empty(), "another person's");
}
