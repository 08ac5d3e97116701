//! Many concurrent approvals that wait for a slow vendor. The vendor may be a separate process, so that its resources
//! are not counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use assent::domain::approvals::request::ask;
use assent::domain::sign_in::known_browsers::BrowserStatus;
use assent::domain::sign_in::login;
use assent_model::audit::Origin;
use assent_model::delivery::ExternalAuthenticator;
use assent_model::entropy::{Entropy, SystemEntropy};
use assent_model::id::{Did, UserId};
use assent_model::login::{BrowserContext, LocalPage, LoginRequest};
use assent_model::name::LoginName;
use assent_model::secret::Digest;
use assent_model::user::profile::Profile;
use assent_model::user::{LifecycleState, User};
use assent_store::{RequestOutcome, UserAction};
use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{
    Body, HostOptions, PATIENCE, Parsed, TestHost, component, listen, plugins, read_file,
    write_user,
};

/// The cost of many concurrent approvals.
#[derive(Debug)]
pub struct VendorLoad {
    /// The threads of the process before the wait and during it.
    pub threads: (usize, usize),
    /// The memory of the process in bytes, before the wait and during it. Shared pages of several plugin instances
    /// count once.
    pub memory: (usize, usize),
    /// The time from the first request until all requests wait at the vendor.
    pub requested_in: Duration,
    /// The time from the vendor's answer until all requests are decided.
    pub decided_in: Duration,
}

/// Starts this number of concurrent sign-ins. The vendor at this port, which [`slow_vendor`] serves, approves each.
pub async fn vendor_load(count: usize, port: u16) -> VendorLoad {
    let entries = format!(
        "[[plugins.approval_channels]]\nname = \"vendor\"\nfile = \"{}\"\ntrust = \"delegated\"\n\
         http_hosts = [\"localhost:{port}\"]\nallow_private_addresses = true\n\
         limits = {{ http_timeout = \"60s\", queue_length = 1024 }}\nconfig = {{ base_url = \
              \"http://localhost:{port}/v1\" }}\n",
        component("http-gateway").display()
    );
    let settings = plugins(&entries);
    let host = TestHost::start_with(HostOptions {
        plugins: &settings,
        ..HostOptions::default()
    })
    .await;
    let names = create_users(&host, count + WARM_UP).await;
    let (first, others) = names.split_at(WARM_UP);
    // From here on, all one-time resources exist, such as threads and connections to the database.
    sign_in(&host, first).await;
    decided(&host).await;

    control(port, "close").await;
    let before = (threads(), memory());
    let started = Instant::now();
    sign_in(&host, others).await;
    while control(port, "waiting").await < count {
        assert!(started.elapsed() < PATIENCE, "not all requests are pending");
        // The first poll of the vendor is due a moment after the start, by the instance's clock.
        host.clock.advance(Duration::from_millis(100));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let requested_in = started.elapsed();
    let waiting = (threads(), memory());
    let opened = Instant::now();
    control(port, "open").await;
    decided(&host).await;
    VendorLoad {
        threads: (before.0, waiting.0),
        memory: (before.1, waiting.1),
        requested_in,
        decided_in: opened.elapsed(),
    }
}

/// The number of sign-ins before the measurement.
const WARM_UP: usize = 50;

/// The number of concurrent browsers.
const BROWSERS: usize = 32;

/// The vendor. It accepts each request at once, and returns the status when the gate is open.
struct Vendor {
    waiting: AtomicUsize,
    gate: watch::Sender<bool>,
}

/// Serves the vendor, and returns its port.
pub async fn slow_vendor() -> u16 {
    let (listener, port) = listen().await;
    let begin = async |Json(question): Json<Value>| {
        Json(json!({"id": question["request_id"], "poll_after_ms": 0}))
    };
    let vendor = Vendor {
        waiting: AtomicUsize::new(0),
        gate: watch::channel(true).0,
    };
    let router = Router::new()
        .route("/v1/approvals", post(begin))
        .route("/v1/approvals/{id}", get(status))
        .route("/{what}", get(controlled))
        .with_state(Arc::new(vendor));
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}

async fn status(State(vendor): State<Arc<Vendor>>, Path(id): Path<String>) -> Json<Value> {
    vendor.waiting.fetch_add(1, Ordering::SeqCst);
    vendor
        .gate
        .subscribe()
        .wait_for(|open| *open)
        .await
        .expect("a gate");
    Json(json!({"request_id": id, "status": "approved"}))
}

async fn controlled(State(vendor): State<Arc<Vendor>>, Path(what): Path<String>) -> String {
    if what == "close" {
        vendor.waiting.store(0, Ordering::SeqCst);
    }
    if what != "waiting" {
        vendor.gate.send_replace(what == "open");
    }
    vendor.waiting.load(Ordering::SeqCst).to_string()
}

/// Opens or closes the vendor's gate, or neither. Returns the number of waiting requests.
async fn control(port: u16, what: &str) -> usize {
    let answer = super::get(format!("http://localhost:{port}/{what}")).await;
    answer.read_text().await.parsed()
}

/// Creates this number of users, each with an external authenticator.
async fn create_users(host: &TestHost, count: usize) -> Vec<LoginName> {
    let (host, now) = (&host.host, host.host.now());
    let created = (0..count).map(|n| async move {
        let mut key = [0; 32];
        SystemEntropy.fill(&mut key);
        let did = Did::from_ed25519(&key);
        let name: LoginName = format!("person-{n}").parsed();
        let user = User {
            id: UserId::new(now, &SystemEntropy),
            subject: did.to_string(),
            did,
            name: name.clone(),
            email: None,
            email_confirmed: false,
            was_active: false,
            profile: Profile::default(),
            console_role: None,
            state: LifecycleState::Active,
            version: 1,
            created_at: now,
            updated_at: now,
        };
        let address = ExternalAuthenticator {
            channel: "vendor".to_owned(),
            identifier: name.to_string(),
        };
        let setting = UserAction::SetExternalAuthenticator(user.id.into(), address);
        for action in [UserAction::Insert(user), setting] {
            let written = write_user(&host.store, action, host.now()).await;
            written.expect("written");
        }
        name
    });
    stream::iter(created).buffered(BROWSERS).collect().await
}

/// Starts a sign-in of each user, each in a separate browser.
async fn sign_in(host: &TestHost, names: &[LoginName]) {
    let requested = names.iter().map(|name| async move {
        let request = LoginRequest::Local {
            page: LocalPage::Home,
        };
        let browser = Digest::sha256(name.as_str().as_bytes());
        let context = BrowserContext {
            place: "Somewhere".to_owned(),
            browser: "Firefox on Linux".to_owned(),
            ..BrowserContext::default()
        };
        let login = login::begin(&host.host, request, browser, context.clone(), None, None)
            .await
            .expect("begun");
        let requested = ask(
            &host.host,
            &login,
            (name, BrowserStatus::Unknown),
            context,
            Origin::NONE,
        )
        .await
        .expect("requested");
        assert!(
            matches!(requested, RequestOutcome::Prompted(_)),
            "{requested:?}"
        );
    });
    // More concurrent requests would wait in queues for longer than a debug build permits.
    stream::iter(requested)
        .buffer_unordered(BROWSERS)
        .collect::<()>()
        .await;
}

/// Waits until no pending request is left.
async fn decided(host: &TestHost) {
    let started = Instant::now();
    let mut quiet = 0;
    while quiet < 3 {
        assert!(started.elapsed() < PATIENCE, "not decided in time");
        host.clock.advance(Duration::from_millis(100));
        tokio::time::sleep(Duration::from_millis(20)).await;
        quiet = if host
            .host
            .store
            .next_delivery()
            .await
            .expect("read")
            .is_none()
        {
            quiet + 1
        } else {
            0
        };
    }
}

fn threads() -> usize {
    returned("/proc/self/status", "Threads:")
}

fn memory() -> usize {
    returned("/proc/self/smaps_rollup", "Pss:") * 1024
}

/// Returns a number about this process from the system.
fn returned(file: &str, name: &str) -> usize {
    let text = read_file(file);
    let line = text
        .lines()
        .find(|line| line.starts_with(name))
        .expect("a line");
    line.split_whitespace()
        .nth(1)
        .and_then(|value| value.parse().ok())
        .expect("a number")
}
