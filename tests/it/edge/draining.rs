//! Draining: after SIGTERM the instance is not ready but still serves, and no long poll waits until its end.

use std::process::Stdio;
use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::harness::{Body, ServerProcess, TestHost, http_client, in_time, temp_folder};

async fn get(base: &str, path: &str) -> (StatusCode, String) {
    let response = http_client().get(format!("{base}{path}")).send().await;
    let response = response.expect("an answer");
    (response.status(), response.read_text().await)
}

/// Waits until the instance reports that it is draining.
async fn draining(base: &str) {
    in_time(async {
        while get(base, "/readyz").await
            != (StatusCode::SERVICE_UNAVAILABLE, "draining\n".to_owned())
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn after_sigterm_the_instance_serves_but_is_not_ready() {
    let folder = temp_folder();
    let drain = "drain_time = \"10m\"";
    let server = ServerProcess::start(folder.path(), drain, "", Stdio::null()).await;
    assert_eq!(get(&server.base, "/readyz").await.0, StatusCode::OK);
    server.signal("TERM").await;
    draining(&server.base).await;
    assert_eq!(get(&server.base, "/healthz").await.0, StatusCode::OK);
    let discovery = "/oidc/.well-known/openid-configuration";
    assert_eq!(get(&server.base, discovery).await.0, StatusCode::OK);
    // A second signal ends the draining early.
    server.signal("TERM").await;
    assert!(server.ended().await.success());
}

#[tokio::test]
async fn ctrl_c_and_a_zero_drain_setting_skip_draining() {
    for (time, signal) in [("10m", "INT"), ("0s", "TERM")] {
        let folder = temp_folder();
        let drain = format!("drain_time = \"{time}\"");
        let server = ServerProcess::start(folder.path(), &drain, "", Stdio::null()).await;
        server.signal(signal).await;
        assert!(server.ended().await.success(), "{signal}");
    }
}

#[tokio::test]
async fn long_polls_are_answered_when_draining_begins() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let typed = ada
        .application
        .request(&[("prompt", Some("login")), ("state", Some("typed"))]);
    let login = browser.get(&typed).await.followed().await;
    let events = browser.stream(&format!("{}/events", login.path())).await;
    let started = std::time::Instant::now();
    let (requests, events, ()) = in_time(async {
        let path = "/authenticator/api/requests";
        let waiting = ada.device.call(Method::GET, path, "?wait=30", Vec::new());
        tokio::join!(waiting, events.text(), async {
            // The requests end early in either order, whether draining begins before or after them.
            host.host.draining.begin();
        })
    })
    .await;
    let requests = requests.expect("an answer");
    assert_eq!(requests.status, StatusCode::OK, "{}", requests.body);
    assert_eq!(requests.body["requests"], json!([]));
    let events = events.expect("its end");
    assert!(
        !events.contains("changed"),
        "the page polls again: {events}"
    );
    assert!(started.elapsed() < Duration::from_secs(25));

    // The next request uses a new connection, so it may reach another instance.
    let page = browser.get("/").await;
    assert_eq!(page.headers["connection"], "close");
    assert_eq!(page.status, StatusCode::OK);
}
