//! The channels of an application, one after the other, and the login that fails for none of them.

use assent::authenticator::Authenticator;
use assent_model::device::{PushKeys, PushSubscription};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::Value;

use super::vendor::Vendor;
use super::{channel, known_as, moved_on, question};
use crate::harness::{Ada, Browser, HostOptions, TestHost, component, id, plugins};

/// Ada with a phone that is woken at this address.
pub async fn ada_with_push(host: &TestHost, endpoint: &str) -> Ada {
    let user = host.user("ada").await;
    let enrolment = host
        .admin_ok(
            Method::POST,
            &format!("/users/{}/enrolments", id(&user)),
            Value::Null,
        )
        .await;
    let phone = Authenticator::enrol(
        enrolment["link"].as_str().expect("a link"),
        "Phone",
        Some(push(endpoint)),
    );
    let phone = phone.await.expect("enrolled");
    let application = host.web_application().await;
    let account = host.account(&user, &application).await;
    Ada {
        user,
        phone,
        application,
        account,
    }
}

/// A subscription at this address, with keys that nobody has.
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
async fn who_is_unknown_to_the_vendor_is_woken_by_a_push_message() {
    let vendor = Vendor::start(500).await;
    let web_push = channel(
        "web-push",
        "web-push",
        &format!("http_hosts = [\"localhost:{}\"]", vendor.port),
    );
    let settings = plugins(&(vendor.channel("vendor", "") + &web_push));
    let host = TestHost::start_with(HostOptions {
        plugins: &settings,
        ..HostOptions::default()
    })
    .await;
    let ada = ada_with_push(&host, &format!("http://localhost:{}/push", vendor.port)).await;
    known_as(&host, &ada, "vendor", "unknown").await;
    let browser = Browser::new(&host.base);
    let waiting = ada.ask(&browser, &[]).await;
    super::until("pushed", async || vendor.pushed() == 1).await;
    assert_eq!(vendor.begun(), 1);
    ada.approve(&waiting).await;
    assert!(
        moved_on(&waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    // The address stays: it is the administrator's to change.
    let addresses = format!("/users/{}/external-authenticators", id(&ada.user));
    assert_eq!(
        host.admin_ok(Method::GET, &addresses, Value::Null).await["items"][0]["identifier"],
        "unknown"
    );
}

#[tokio::test]
async fn the_next_channel_is_tried_where_one_does_not_begin_and_no_other() {
    let (first, second) = (Vendor::start(500).await, Vendor::start(500).await);
    let hostile = channel(
        "hostile",
        "hostile-delegated",
        "trust = \"delegated\"\nconfig = { behaviour = \"fails\" }",
    );
    let entries = [
        hostile,
        first.channel("first", ""),
        second.channel("second", ""),
    ]
    .concat();
    let settings = plugins(&entries);
    let host = TestHost::start_with(HostOptions {
        plugins: &settings,
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    known_as(&host, &ada, "second", "ada").await;
    // The same browser each time: a request of another one would end the pending request.
    let browser = Browser::new(&host.base);
    let ask = async || {
        ada.ask(&browser, &[]).await;
    };
    // Without an address nobody is asked.
    ask().await;
    second.question("ada").await;
    assert_eq!(first.begun(), 0);
    known_as(&host, &ada, "hostile", "whoever").await;
    for (n, address) in ["unknown", "broken", "garbage", "redirect", "hangs"]
        .iter()
        .enumerate()
    {
        known_as(&host, &ada, "first", address).await;
        ask().await;
        second.question("ada").await;
        assert_eq!(first.begun(), n + 1, "{address}");
    }
    let begun = second.begun();
    known_as(&host, &ada, "first", "ada").await;
    let waiting = ada.ask(&browser, &[]).await;
    let question = question(&host, &first, "ada").await;
    first.answer(&question, "approved");
    host.advance(1);
    assert!(
        moved_on(&waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    assert_eq!(
        second.begun(),
        begun,
        "the second is not asked where the first begins"
    );
}

#[tokio::test]
async fn no_login_fails_because_no_channel_begins() {
    let vendor = Vendor::start(500).await;
    let web_push = channel("web-push", "web-push", "http_hosts = [\"push.example\"]");
    let patient = vendor
        .channel("vendor", "")
        .replace(r#"http_timeout = "1s""#, r#"http_timeout = "60s""#);
    let settings = plugins(&(patient + &web_push));
    let host = TestHost::start_with(HostOptions {
        plugins: &settings,
        ..HostOptions::default()
    })
    .await;
    let ada = ada_with_push(&host, "http://push.example/push").await;
    for address in ["broken", "hangs"] {
        known_as(&host, &ada, "vendor", address).await;
        let asked = std::time::Instant::now();
        let waiting = ada.ask(&Browser::new(&host.base), &[]).await;
        ada.approve(&waiting).await;
        assert!(
            moved_on(&waiting)
                .await
                .parameter("code")
                .starts_with("ac_")
        );
        assert!(
            asked.elapsed().as_secs() < 30,
            "nobody waits for the vendor: {:?}",
            asked.elapsed()
        );
    }
}

#[tokio::test]
async fn a_slow_channel_delays_neither_the_page_nor_the_requests_of_others() {
    const SLOW: usize = 12;
    let (slow, other) = (Vendor::start(500).await, Vendor::start(500).await);
    // Longer than this test takes on any machine: nothing here may depend on the end of a slow call.
    let patient = slow
        .channel("slow", "")
        .replace(r#"http_timeout = "1s""#, r#"http_timeout = "2m""#);
    let settings = plugins(&(patient + &other.channel("other", "")));
    let host = TestHost::start_with(HostOptions {
        plugins: &settings,
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    let mut people = vec![];
    for at in 0..SLOW {
        let person = host
            .person(&format!("user{at}"), ada.application.clone())
            .await;
        known_as(&host, &person, "slow", "hangs").await;
        let waiting = person.ask(&Browser::new(&host.base), &[]).await;
        assert_eq!(waiting.number().len(), 2, "the page is there");
        people.push((person, waiting));
    }
    super::until("all of them hang", async || slow.hanging() == SLOW).await;

    // Another user, through the same channel and through the other one.
    for (vendor, channel) in [(&slow, "slow"), (&other, "other")] {
        let bob = host
            .person(&format!("bob-{channel}"), ada.application.clone())
            .await;
        known_as(&host, &bob, channel, channel).await;
        let waiting = bob.ask(&Browser::new(&host.base), &[]).await;
        let question = question(&host, vendor, channel).await;
        vendor.answer(&question, "approved");
        host.advance(1);
        assert!(
            moved_on(&waiting)
                .await
                .parameter("code")
                .starts_with("ac_"),
            "{channel}"
        );
    }
    // A user with a hanging channel signs in with the device.
    let (person, waiting) = &people[0];
    person.approve(waiting).await;
    assert!(moved_on(waiting).await.parameter("code").starts_with("ac_"));
    assert_eq!(
        slow.hanging(),
        SLOW,
        "none of this waited for the slow calls"
    );
}

#[tokio::test]
async fn a_vendor_channel_that_is_not_said_to_be_trusted_does_not_load() {
    let folder = tempfile::tempdir().expect("a folder");
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
    std::fs::write(&file, text).expect("written");
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
        Ok(_) => panic!("it starts"),
        Err(error) => error.to_string(),
    };
    assert!(
        error.contains("plugin `vendor`") && error.contains("trust = \"delegated\""),
        "{error}"
    );
    assert!(component("http-gateway").is_file());
}
