//! The channels of an application in their order. A sign-in never fails because a channel fails.

use assent_model::device::{PushKeys, PushSubscription};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::Value;

use super::vendor::Vendor;
use super::{add_external_authenticator, channel, next_page, question};
use crate::harness::{
    Browser, Device, TestHost, TestUser, component, id, plugins, temp_folder, write_file,
};

/// Creates Ada, with a device whose push subscription has this address.
pub async fn ada_with_push(host: &TestHost, endpoint: &str) -> TestUser {
    let user = host.user("ada").await;
    let enrolment = host.enrolment_link(&user).await;
    let device = Device::enrol_with_push(&enrolment, "Phone", Some(push(endpoint))).await;
    let application = host.web_application().await;
    let account = host.account(&user, &application).await;
    TestUser {
        user,
        device,
        application,
        account,
    }
}

/// Returns a push subscription at this address. Its keys are discarded.
fn push(endpoint: &str) -> PushSubscription {
    let (pair, auth) = ece::generate_keypair_and_auth_secret().expect("keys");
    let p256dh = URL_SAFE_NO_PAD.encode(pair.pub_as_raw().expect("a public key"));
    PushSubscription {
        endpoint: endpoint.to_owned(),
        keys: PushKeys {
            p256dh,
            auth: URL_SAFE_NO_PAD.encode(auth),
        },
    }
}

#[tokio::test]
async fn a_user_unknown_to_the_vendor_receives_a_push_message() {
    let vendor = Vendor::start(500).await;
    let web_push = channel(
        "web-push",
        "web-push",
        &format!("http_hosts = [\"localhost:{}\"]", vendor.port),
    );
    let settings = plugins(&(vendor.channel("vendor", "") + &web_push));
    let host = TestHost::start_with_plugins(&settings).await;
    let ada = ada_with_push(&host, &format!("http://localhost:{}/push", vendor.port)).await;
    add_external_authenticator(&host, &ada, "vendor", "unknown").await;
    let browser = Browser::new(&host.base);
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    super::wait_until("pushed", async || vendor.pushed() == 1).await;
    assert_eq!(vendor.started(), 1);
    ada.approve(&waiting).await;
    assert!(
        next_page(&waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    // The identifier remains, because only an administrator may change it.
    let addresses = format!("/users/{}/external-authenticators", id(&ada.user));
    assert_eq!(
        host.admin_ok(Method::GET, &addresses, Value::Null).await["items"][0]["identifier"],
        "unknown"
    );
}

#[tokio::test]
async fn the_next_channel_is_tried_only_if_one_does_not_begin() {
    let (first, second) = (Vendor::start(500).await, Vendor::start(500).await);
    let hostile = channel(
        "hostile",
        "hostile-delegated",
        "trust = \"delegated\"\nconfig = { behaviour = \"fails\" }",
    );
    let entries = [
        hostile,
        first.impatient_channel("first"),
        second.channel("second", ""),
    ]
    .concat();
    let settings = plugins(&entries);
    let host = TestHost::start_with_plugins(&settings).await;
    let ada = host.ada().await;
    add_external_authenticator(&host, &ada, "second", "ada").await;
    // The browser is the same each time. A request of another browser would end the pending request.
    let browser = Browser::new(&host.base);
    let ask = async || {
        ada.begin_sign_in(&browser, &[]).await;
    };
    // Without an external authenticator, the server asks no vendor.
    ask().await;
    second.question("ada").await;
    assert_eq!(first.started(), 0);
    add_external_authenticator(&host, &ada, "hostile", "whoever").await;
    for (n, address) in ["unknown", "broken", "garbage", "redirect", "hangs"]
        .iter()
        .enumerate()
    {
        add_external_authenticator(&host, &ada, "first", address).await;
        ask().await;
        second.question("ada").await;
        assert_eq!(first.started(), n + 1, "{address}");
    }
    let started = second.started();
    add_external_authenticator(&host, &ada, "first", "ada").await;
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    let question = question(&host, &first, "ada").await;
    first.answer(&question, "approved");
    host.advance(1);
    assert!(
        next_page(&waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    assert_eq!(
        second.started(),
        started,
        "the second channel is not called if the first begins"
    );
}

#[tokio::test]
async fn a_sign_in_succeeds_although_no_channel_begins() {
    let vendor = Vendor::start(500).await;
    let web_push = channel("web-push", "web-push", "http_hosts = [\"push.example\"]");
    let settings = plugins(&(vendor.channel("vendor", "") + &web_push));
    let host = TestHost::start_with_plugins(&settings).await;
    let ada = ada_with_push(&host, "http://push.example/push").await;
    for address in ["broken", "hangs"] {
        add_external_authenticator(&host, &ada, "vendor", address).await;
        let requested = std::time::Instant::now();
        let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
        ada.approve(&waiting).await;
        assert!(
            next_page(&waiting)
                .await
                .parameter("code")
                .starts_with("ac_")
        );
        assert!(
            requested.elapsed().as_secs() < 30,
            "no sign-in waits for the vendor: {:?}",
            requested.elapsed()
        );
    }
}

#[tokio::test]
async fn a_slow_channel_delays_neither_pages_nor_other_requests() {
    const SLOW: usize = 12;
    let (slow, other) = (Vendor::start(500).await, Vendor::start(500).await);
    // No call ends by itself. The test must not depend on the end of a slow call.
    let settings = plugins(&(slow.channel("slow", "") + &other.channel("other", "")));
    let host = TestHost::start_with_plugins(&settings).await;
    let ada = host.ada().await;
    let mut requests = vec![];
    for at in 0..SLOW {
        let user = host
            .user_with_account(&format!("user{at}"), ada.application.clone())
            .await;
        add_external_authenticator(&host, &user, "slow", "hangs").await;
        let waiting = user.begin_sign_in(&Browser::new(&host.base), &[]).await;
        assert_eq!(waiting.number().len(), 2, "the page has a number");
        requests.push((user, waiting));
    }
    super::wait_until("all calls hang", async || slow.hanging() == SLOW).await;

    // Other users sign in through the slow channel and through the other one.
    for (vendor, channel) in [(&slow, "slow"), (&other, "other")] {
        let bob = host
            .user_with_account(&format!("bob-{channel}"), ada.application.clone())
            .await;
        add_external_authenticator(&host, &bob, channel, channel).await;
        let waiting = bob.begin_sign_in(&Browser::new(&host.base), &[]).await;
        let question = question(&host, vendor, channel).await;
        vendor.answer(&question, "approved");
        host.advance(1);
        assert!(
            next_page(&waiting)
                .await
                .parameter("code")
                .starts_with("ac_"),
            "{channel}"
        );
    }
    // A user with a hanging channel signs in with the device.
    let (user, waiting) = &requests[0];
    user.approve(waiting).await;
    assert!(
        next_page(waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    assert_eq!(slow.hanging(), SLOW, "no request waited for the slow calls");
}

#[tokio::test]
async fn a_vendor_channel_without_delegated_trust_does_not_load() {
    let folder = temp_folder();
    let vendor = Vendor::start(500).await;
    let settings = vendor
        .channel("vendor", "")
        .replace("trust = \"delegated\"\n", "");
    let file = folder.path().join("assent.toml");
    let text = format!(
        "base_url = \"http://localhost:1\"\n[database]\nurl = \"sqlite://{0}/assent.db\"\n[keys]\nmaster_key_file = \
         \"{0}/key\"\n{settings}",
        folder.path().display()
    );
    write_file(&file, text);
    let settings = assent::config::load(&file).expect("settings");
    let error = match assent::app::compose(
        settings,
        crate::harness::surroundings(
            &std::sync::Arc::new(assent_model::clock::ManualClock::new(
                assent_model::clock::Clock::now(&assent_model::clock::SystemClock),
            )),
            None,
        ),
    )
    .await
    {
        Ok(_) => panic!("the instance starts"),
        Err(error) => error.to_string(),
    };
    assert!(
        error.contains("plugin `vendor`") && error.contains("trust = \"delegated\""),
        "{error}"
    );
    assert!(component("http-gateway").is_file());
}
