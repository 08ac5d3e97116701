//! A load of sign-ins and new users during an event of the server.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{join, join_all};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{Cluster, CodeExchange, PATIENCE, SignIn, new_name};
use crate::harness::{Browser, Json, TestUser};

const WORKERS: usize = 3;
/// The number of sign-ins of one user, because the sign-ins of a user name within two minutes are limited.
const SIGN_INS: usize = 10;
const PAUSE: Duration = Duration::from_millis(100);

/// The progress of the clients.
pub struct Load {
    is_finished: AtomicBool,
    completed: AtomicUsize,
}

impl Load {
    /// Waits until this number of additional rounds is complete.
    pub async fn more(&self, count: usize) {
        let target = self.completed.load(Ordering::Relaxed) + count;
        while self.completed.load(Ordering::Relaxed) < target {
            sleep(PAUSE).await;
        }
    }
}

/// Runs `event` while users sign in and are added through both instances. Then asserts that all acknowledged data
/// exists, and that no code was used twice. Returns the number of rounds that the clients completed.
pub async fn under_load(cluster: &Cluster, event: impl AsyncFnOnce(&Load)) -> usize {
    cluster.route_to_both();
    let load = Load {
        is_finished: AtomicBool::new(false),
        completed: AtomicUsize::new(0),
    };
    let workers = join_all((0..WORKERS).map(|_| work(cluster, &load)));
    let (records, ()) = join(workers, async {
        event(&load).await;
        load.is_finished.store(true, Ordering::Relaxed);
    })
    .await;
    for (names, exchanges) in records {
        for exchange in exchanges {
            exchange.check(cluster).await;
        }
        for name in names {
            let path = format!("/users?q={name}&limit=200");
            let users = cluster.admin_ok(Method::GET, &path, Value::Null).await;
            assert!(
                !users["items"].items().is_empty(),
                "{name} was acknowledged"
            );
        }
    }
    cluster.verify_audit_log().await;
    load.completed.into_inner()
}

/// Runs one client. Returns the acknowledged users, and the exchanges.
async fn work(cluster: &Cluster, load: &Load) -> (Vec<String>, Vec<CodeExchange>) {
    let mut user = new_user(cluster).await;
    let mut exchanges: Vec<CodeExchange> = Vec::new();
    let mut added = vec![user.user["name"].as_str().unwrap_or_default().to_owned()];
    while !load.is_finished.load(Ordering::Relaxed) {
        if exchanges.len() % SIGN_INS == SIGN_INS - 1 {
            user = new_user(cluster).await;
        }
        let mut sign_in = SignIn::new(&user, Browser::new(&cluster.base), &[]);
        let mut exchange = CodeExchange::of(cluster, &mut sign_in).await;
        while exchange.attempt().await.is_err() {
            sleep(PAUSE).await;
        }
        exchanges.push(exchange);
        let name = new_name();
        if add(cluster, &name).await {
            added.push(name);
        }
        load.completed.fetch_add(1, Ordering::Relaxed);
    }
    (added, exchanges)
}

/// Creates a user who can sign in. An outage extends the time for this.
async fn new_user(cluster: &Cluster) -> TestUser {
    while !add(cluster, &new_name()).await {
        sleep(PAUSE).await;
    }
    cluster.ada_named(&new_name()).await
}

/// Adds a user, and returns whether the server acknowledged it.
pub async fn add(cluster: &Cluster, name: &str) -> bool {
    let url = format!("{}/admin/api/v1/users", cluster.base);
    let body = json!({"name": name, "email": format!("{name}@example.org"), "profile": {"name": "Grace Hopper"}});
    let client = crate::harness::http_client();
    let request = client.post(url).bearer_auth(&cluster.token).json(&body);
    let sent = timeout(PATIENCE, request.send()).await;
    let Ok(Ok(response)) = sent else {
        return false;
    };
    let status = response.status();
    assert!(
        status == StatusCode::CREATED || status.is_server_error(),
        "{status}"
    );
    status == StatusCode::CREATED
}
