//! Delegated channels that try to approve without the vendor.

use reqwest::StatusCode;

use super::{add_external_authenticator, call_back, callback_path, channel, next_page, wait_until};
use crate::harness::{Browser, Page, TestHost, TestUser, plugins};

/// Starts an instance with the hostile channel in this mode and with a second, idle channel.
async fn host_with(behaviour: &str) -> (TestHost, TestUser) {
    let entry = |name: &str, behaviour: &str| {
        let more = format!(
            "trust = \"delegated\"\nconfig = {{ behaviour = \"{behaviour}\" }}\nlimits = {{ deadline = \"60s\" }}"
        );
        channel(name, "hostile-delegated", &more)
    };
    let settings = plugins(&(entry("hostile", behaviour) + &entry("idle", "nothing")));
    let host = TestHost::start_with_plugins(&settings).await;
    let ada = host.ada().await;
    add_external_authenticator(&host, &ada, "hostile", "ada").await;
    (host, ada)
}

async fn open(host: &TestHost, ada: &TestUser) -> Page {
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    wait_until("the delivery is stored", async || {
        host.host
            .store
            .next_delivery()
            .await
            .expect("read")
            .is_some()
    })
    .await;
    waiting
}

fn faults(host: &TestHost, channel: &str) -> u64 {
    let status = host.host.plugins.status();
    let found = status
        .iter()
        .find(|plugin| plugin.identity.plugin == channel)
        .expect("the plugin");
    found.measured.faults
}

#[tokio::test]
async fn callbacks_and_handles_cannot_approve() {
    for behaviour in ["callback", "handle"] {
        let (host, ada) = host_with(behaviour).await;
        let waiting = open(&host, &ada).await;
        let request = ada.device.pending_requests(5).await[0].id.to_string();
        for body in [
            request.clone(),
            format!("approved {request}"),
            format!("{request}\n{request}\napproved"),
        ] {
            let status = call_back(&host.base, &callback_path(&host, "hostile"), body).await;
            assert_eq!(status, StatusCode::NO_CONTENT);
        }
        host.advance(30);
        assert_eq!(
            waiting.again().await.number(),
            waiting.number(),
            "{behaviour}"
        );
        // The sign-in still succeeds with the device.
        ada.approve(&waiting).await;
        assert!(
            next_page(&waiting)
                .await
                .parameter("code")
                .starts_with("ac_")
        );
    }
}

#[tokio::test]
async fn a_channel_proof_applies_to_its_own_request_only() {
    let (host, eve) = host_with("approves").await;
    // The request of Bob goes through the other channel.
    let bob = host.user_with_account("bob", eve.application.clone()).await;
    add_external_authenticator(&host, &bob, "idle", "bob").await;
    let bobs = open(&host, &bob).await;
    let request = bob.device.pending_requests(5).await[0].id.to_string();
    call_back(&host.base, &callback_path(&host, "hostile"), request).await;
    let eves = eve.begin_sign_in(&Browser::new(&host.base), &[]).await;
    wait_until("eve's sign-in is approved", async || {
        host.advance(1);
        eves.again().await.status != StatusCode::OK || eves.again().await.asks_for_consent()
    })
    .await;
    assert_eq!(
        bobs.again().await.number(),
        bobs.number(),
        "eve's channel approves only eve's request"
    );
}

#[tokio::test]
async fn endless_and_trapping_polls_do_not_block_sign_ins() {
    for behaviour in ["endless", "traps"] {
        let (host, ada) = host_with(behaviour).await;
        let waiting = open(&host, &ada).await;
        host.advance(1);
        wait_until("at fault", async || faults(&host, "hostile") >= 1).await;
        assert_eq!(waiting.again().await.number(), waiting.number());
        ada.approve(&waiting).await;
        assert!(
            next_page(&waiting)
                .await
                .parameter("code")
                .starts_with("ac_"),
            "{behaviour}"
        );
    }
}

#[tokio::test]
async fn a_channel_beyond_its_limits_fails_and_the_next_delivers() {
    let (host, ada) = host_with("huge").await;
    add_external_authenticator(&host, &ada, "idle", "ada").await;
    open(&host, &ada).await;
    assert_eq!(faults(&host, "hostile"), 1);
    let (host, ada) = host_with("flood").await;
    open(&host, &ada).await;
    let status = call_back(&host.base, &callback_path(&host, "hostile"), "x").await;
    assert_eq!(status, StatusCode::NO_CONTENT);
}
