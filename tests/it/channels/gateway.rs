//! A sign-in with a vendor's authenticator, through the plugin `http-gateway`.

use assent::domain::operations::traffic::rate_limits::keys::Network;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::vendor::Vendor;
use super::{add_external_authenticator, binding, channel, next_page, question, reload};
use crate::harness::{
    Body, Browser, Database, HostOptions, Json, Respond, TestHost, TestUser, Text, http_client, id,
    jwt_claims, plugins,
};
use crate::oidc::token::userinfo;

/// Starts an instance whose sign-ins this vendor may approve, and creates Ada, whom the vendor knows.
async fn host_with(vendor: &Vendor, database: Database) -> (TestHost, TestUser) {
    let settings = plugins(&vendor.channel("vendor", "shows_letters = true"));
    let host = TestHost::start_on_with_plugins(database, &settings).await;
    let ada = host.ada().await;
    add_external_authenticator(&host, &ada, "vendor", "ada@vendor").await;
    (host, ada)
}

#[both_databases]
async fn a_vendor_approval_is_visible_in_acr_and_amr(database: Database) {
    let vendor = Vendor::start(500).await;
    let (host, ada) = host_with(&vendor, database).await;
    let browser = Browser::new(&host.base);
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    let question = question(&host, &vendor, "ada@vendor").await;
    for (name, expected) in [
        ("application", "Books & <Co>"),
        ("account", "ada"),
        ("place", "This computer"),
        ("browser", "Firefox on Linux"),
    ] {
        assert_eq!(question[name], expected);
    }
    assert_eq!(question["expires_at"], host.host.now().seconds() + 120);
    let names: Vec<&String> = question.members().keys().collect();
    assert_eq!(names.len(), 9, "no other members, and no number: {names:?}");
    assert_eq!(question["binding_message"], binding(&waiting));
    assert_eq!(binding(&waiting.again().await), binding(&waiting));

    host.advance(1);
    vendor.polled(&question, 1).await;
    assert_eq!(
        waiting.again().await.number(),
        waiting.number(),
        "the page waits"
    );
    vendor.answer(&question, "approved");
    host.advance(1);
    let code = next_page(&waiting).await.parameter("code");
    let (status, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let claims = jwt_claims(tokens["id_token"].text());
    assert_eq!(
        (&claims["acr"], &claims["amr"]),
        (&json!("urn:assent:acr:delegated"), &json!(["mca"]))
    );
    let access = tokens["access_token"].text();
    assert_eq!(userinfo(&host, access).await.1["sub"], claims["sub"]);
    let returned = http_client()
        .post(format!("{}/oidc/token/introspection", host.base))
        .basic_auth(&ada.application.id, ada.application.secret.as_ref())
        .form(&[("token", access)]);
    let returned: Value = returned.response().await.read_json().await;
    assert_eq!(
        (&returned["active"], &returned["acr"]),
        (&json!(true), &json!("urn:assent:acr:delegated"))
    );
    let discovery = http_client().get(format!(
        "{}/oidc/.well-known/openid-configuration",
        host.base
    ));
    let discovery: Value = discovery.response().await.read_json().await;
    let acrs = json!(["urn:assent:acr:device", "urn:assent:acr:delegated", "phr"]);
    assert_eq!(discovery["acr_values_supported"], acrs);
    assert_eq!((vendor.forged(), vendor.cancelled(&question)), (0, 0));
}

#[tokio::test]
async fn a_vendor_denial_ends_the_sign_in() {
    let vendor = Vendor::start(500).await;
    let (host, ada) = host_with(&vendor, Database::Sqlite).await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let question = question(&host, &vendor, "ada@vendor").await;
    vendor.answer(&question, "denied");
    host.advance(1);
    assert_eq!(next_page(&waiting).await.outcome(), "denied");
    // The server does not poll for a later answer of the vendor.
    vendor.answer(&question, "approved");
    let polls = vendor.polls(&question);
    host.advance(40);
    assert_eq!(waiting.again().await.outcome(), "denied");
    assert_eq!(vendor.polls(&question), polls);
}

#[tokio::test]
async fn a_vendor_failure_does_not_reveal_whether_the_user_exists() {
    let vendor = Vendor::start(500).await;
    let (host, ada) = host_with(&vendor, Database::Sqlite).await;
    let unanswered = async || {
        let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
        let question = question(&host, &vendor, "ada@vendor").await;
        vendor.answer(&question, "expired");
        host.advance(1);
        wait_for_completion(&host).await;
        assert_eq!(waiting.again().await.number(), waiting.number());
        waiting
    };
    // The device can still approve.
    let waiting = unanswered().await;
    ada.approve(&waiting).await;
    assert!(
        next_page(&waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    // Otherwise the request expires, as for any name.
    let waiting = unanswered().await;
    host.advance(120);
    assert_eq!(waiting.again().await.outcome(), "expired");
}

/// Waits until the server no longer polls the vendor.
async fn wait_for_completion(host: &TestHost) {
    super::wait_until("the delivery has ended", async || {
        host.host
            .store
            .next_delivery()
            .await
            .expect("read")
            .is_none()
    })
    .await;
}

#[tokio::test]
async fn a_removed_external_authenticator_cannot_approve() {
    let vendor = Vendor::start(500).await;
    let (host, ada) = host_with(&vendor, Database::Sqlite).await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let question = question(&host, &vendor, "ada@vendor").await;
    let path = format!("/users/{}/external-authenticators/vendor", id(&ada.user));
    assert_eq!(
        host.admin(Method::DELETE, &path, Value::Null).await.0,
        StatusCode::NO_CONTENT
    );
    vendor.answer(&question, "approved");
    host.advance(1);
    wait_for_completion(&host).await;
    assert_eq!(waiting.again().await.number(), waiting.number());
}

#[tokio::test]
async fn an_invalid_vendor_response_approves_nothing_and_the_next_poll_counts() {
    let vendor = Vendor::start(500).await;
    let (host, ada) = host_with(&vendor, Database::Sqlite).await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let question = question(&host, &vendor, "ada@vendor").await;
    for (n, status) in [
        "garbage", "wrong id", "no id", "redirect", "busy", "slow", "Approved", "",
    ]
    .iter()
    .enumerate()
    {
        vendor.answer(&question, status);
        host.advance(6);
        vendor.polled(&question, n + 1).await;
        assert_eq!(waiting.again().await.number(), waiting.number(), "{status}");
        // Waits until the instance has processed the answer.
        super::wait_until("the request waits", async || {
            let next = host
                .host
                .store
                .next_delivery()
                .await
                .expect("read")
                .expect("a delivery");
            next.remaining(host.host.now()).as_secs() < 30
        })
        .await;
    }
    vendor.answer(&question, "approved");
    host.advance(6);
    assert!(
        next_page(&waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
}

#[tokio::test]
async fn an_ended_request_is_cancelled_at_the_vendor_once() {
    let vendor = Vendor::start(500).await;
    let (host, ada) = host_with(&vendor, Database::Sqlite).await;
    let browser = Browser::new(&host.base);
    let taken_back = async |question: &Value| {
        super::wait_until("the request is cancelled", async || {
            vendor.cancelled(question) == 1
        })
        .await;
        vendor.answer(question, "approved");
    };
    // The browser cancels the sign-in.
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    let cancelled = question(&host, &vendor, "ada@vendor").await;
    assert_eq!(
        waiting.cancel().await.followed().await.outcome(),
        "cancelled"
    );
    taken_back(&cancelled).await;
    assert_eq!(waiting.again().await.outcome(), "cancelled");
    // A newer request replaces it.
    host.advance(1);
    ada.begin_sign_in(&browser, &[]).await;
    let replaced = question(&host, &vendor, "ada@vendor").await;
    assert_ne!(replaced, cancelled);
    host.advance(1);
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    taken_back(&replaced).await;
    // A device of the user approves it.
    let by_phone = question(&host, &vendor, "ada@vendor").await;
    assert_ne!(by_phone, replaced);
    ada.approve(&waiting).await;
    taken_back(&by_phone).await;
    let code = next_page(&waiting).await.parameter("code");
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    let claims = jwt_claims(tokens["id_token"].text());
    assert_eq!(claims["acr"], "urn:assent:acr:device", "{claims}");
    // It expires.
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let late = question(&host, &vendor, "ada@vendor").await;
    host.advance(120);
    taken_back(&late).await;
    assert_eq!(waiting.again().await.outcome(), "expired");
    for question in [cancelled, replaced, by_phone, late] {
        assert_eq!(vendor.cancelled(&question), 1);
    }
}

#[tokio::test]
async fn a_vendor_approval_cannot_sign_in_a_suspended_user() {
    let vendor = Vendor::start(500).await;
    let (host, ada) = host_with(&vendor, Database::Sqlite).await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let question = question(&host, &vendor, "ada@vendor").await;
    let path = format!("/users/{}", id(&ada.user));
    host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    vendor.answer(&question, "approved");
    host.advance(1);
    super::wait_until("the request is cancelled", async || {
        vendor.cancelled(&question) == 1
    })
    .await;
    assert_eq!(vendor.polls(&question), 0, "the vendor is not polled");
    assert_eq!(waiting.again().await.number(), waiting.number());
}

#[tokio::test]
async fn a_vendor_without_trust_approves_nothing() {
    let vendor = Vendor::start(500).await;
    let (host, ada) = host_with(&vendor, Database::Sqlite).await;
    let other_kind = channel("vendor", "hostile-channel", "http_hosts = []");
    let other_application = vendor.channel(
        "vendor",
        "applications = [\"did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK\"]",
    );
    for (settings, ends) in [
        ("[plugins]", false),
        (other_kind.as_str(), true),
        (other_application.as_str(), true),
    ] {
        reload(&host.host, &vendor.channel("vendor", "")).await;
        let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
        let question = question(&host, &vendor, "ada@vendor").await;
        reload(&host.host, settings).await;
        vendor.answer(&question, "approved");
        host.advance(1);
        if ends {
            super::wait_until("the delivery has ended", async || {
                host.host
                    .store
                    .next_delivery()
                    .await
                    .expect("read")
                    .is_none()
            })
            .await;
        }
        host.advance(20);
        assert_eq!(waiting.again().await.number(), waiting.number());
        assert_eq!(vendor.polls(&question), 0, "the vendor is not polled");
        host.advance(120);
        assert_eq!(waiting.again().await.outcome(), "expired");
    }
}

#[tokio::test]
async fn trust_revoked_between_approval_and_use_signs_in_no_user() {
    let vendor = Vendor::start(500).await;
    let (host, ada) = host_with(&vendor, Database::Sqlite).await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let question = question(&host, &vendor, "ada@vendor").await;
    vendor.answer(&question, "approved");
    host.advance(1);
    super::wait_until("approved", async || {
        host.host
            .store
            .next_delivery()
            .await
            .expect("read")
            .is_none()
    })
    .await;
    reload(&host.host, "[plugins]").await;
    assert_eq!(waiting.again().await.outcome(), "expired");
}

#[tokio::test]
async fn callbacks_have_rate_limits_per_channel_and_ip() {
    let vendor = Vendor::start(500).await;
    let settings = plugins(&vendor.channel("vendor", ""));
    let limits = "[rate_limits]\ncallbacks_per_ip = { per_minute = 6, burst = 2 }";
    let host = TestHost::start_with(HostOptions {
        plugins: &settings,
        settings: limits,
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    add_external_authenticator(&host, &ada, "vendor", "ada@vendor").await;
    ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let question = question(&host, &vendor, "ada@vendor").await;
    let path = super::path_of(question["callback_url"].text());
    for expected in [
        StatusCode::NO_CONTENT,
        StatusCode::NO_CONTENT,
        StatusCode::TOO_MANY_REQUESTS,
    ] {
        assert_eq!(super::call_back(&host.base, &path, "{}").await, expected);
    }
    let other = (
        String::from("vendor"),
        Network::from(Some([192, 0, 2, 1].into())),
    );
    assert!(
        host.host
            .rate_limits
            .callbacks_per_ip
            .check(&other, host.host.now())
            .is_ok(),
        "another IP address has its own limit"
    );
}
