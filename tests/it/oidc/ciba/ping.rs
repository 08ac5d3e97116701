//! Notifications of results (OpenID CIBA Core 1.0 section 10.2). Tests of the OpenID suite have the names of their
//! modules.

use assent::domain::operations::wakeups::Wakeup;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::receiver::{Fixture, Receiver, TOKEN, set_mode, settings};
use super::{GRANT, ask, asked, pending, permit, poll, poll_error};
use crate::harness::{
    Application, Database, HostOptions, TestHost, TestUser, Text, get, parse_json,
};

const WITH_TOKEN: (&str, Option<&str>) = ("client_notification_token", Some(TOKEN));

/// Asks for Ada with the token of the application.
async fn asked_with_token(host: &TestHost, ada: &TestUser) -> String {
    asked(host, ada, &[WITH_TOKEN]).await
}

/// Asks for Ada, and approves on her device.
async fn approved_with_token(it: &Fixture) -> String {
    let auth_req_id = asked_with_token(&it.host, &it.ada).await;
    let request = pending(&it.ada.device).await;
    assert_eq!(it.ada.device.approve(&request, "").await, "approved");
    auth_req_id
}

/// Fetches the tokens.
async fn fetched(it: &Fixture, auth_req_id: &str) {
    let (status, tokens) = poll(&it.host.base, &it.ada.application, auth_req_id).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
}

/// The happy flow in the mode ping.
#[both_databases]
async fn fapi_ciba_id1_ping(database: Database) {
    let mut it = Fixture::on(database, "ping", "204").await;
    let (status, answer) = ask(&it.host.base, &it.ada.application, &[WITH_TOKEN]).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {answer}");
    assert_eq!(answer["interval"], 1, "the client may poll, too");
    let auth_req_id = answer["auth_req_id"].text();
    assert_eq!(
        poll_error(&it.host, &it.ada, auth_req_id).await,
        "authorization_pending"
    );
    // Neither the identifier nor the token is legible in the database.
    let mut connection = it.host.connection().await;
    let query = "SELECT sealed FROM backchannel_deliveries";
    let (sealed,): (String,) = assent_store::sql::query_as(query)
        .fetch_one(&mut connection)
        .await
        .expect("read");
    assert!(!sealed.contains(TOKEN) && !sealed.contains(auth_req_id));
    let request = pending(&it.ada.device).await;
    assert_eq!(it.ada.device.approve(&request, "").await, "approved");
    it.receiver.next_ping(auth_req_id).await;
    fetched(&it, auth_req_id).await;
    it.until_none_is_stored().await;
    it.receiver.assert_quiet().await;
}

/// A denial is a result as well.
#[both_databases]
async fn fapi_ciba_id1_user_rejects_authentication_ping(database: Database) {
    let mut it = Fixture::on(database, "ping", "204").await;
    let auth_req_id = asked_with_token(&it.host, &it.ada).await;
    let request = pending(&it.ada.device).await;
    assert_eq!(it.ada.device.deny(&request).await, "denied");
    it.receiver.next_ping(&auth_req_id).await;
    assert_eq!(
        poll_error(&it.host, &it.ada, &auth_req_id).await,
        "access_denied",
        "{database:?}"
    );
}

/// So is the expiry of a request without an answer.
#[both_databases]
async fn fapi_ciba_id1_auth_req_id_expired_ping(database: Database) {
    let mut it = Fixture::on(database, "ping", "200").await;
    let changes = [WITH_TOKEN, ("requested_expiry", Some("10"))];
    let auth_req_id = asked(&it.host, &it.ada, &changes).await;
    it.host.advance(9);
    it.receiver.assert_quiet().await;
    it.host.advance(1);
    it.receiver.next_ping(&auth_req_id).await;
    assert_eq!(
        poll_error(&it.host, &it.ada, &auth_req_id).await,
        "expired_token",
        "{database:?}"
    );
}

/// The application learns of a report as of an expiry.
#[tokio::test]
async fn a_report_is_notified_like_an_expiry() {
    let mut it = Fixture::on(Database::Sqlite, "ping", "204").await;
    let auth_req_id = asked_with_token(&it.host, &it.ada).await;
    let request = pending(&it.ada.device).await;
    assert_eq!(it.ada.device.submit_report(&request).await, "reported");
    it.receiver.assert_quiet().await;
    it.host.advance(120);
    it.receiver.next_ping(&auth_req_id).await;
    assert_eq!(
        poll_error(&it.host, &it.ada, &auth_req_id).await,
        "expired_token"
    );
}

/// In the mode poll the server calls nothing.
#[tokio::test]
async fn fapi_ciba_id1_poll_is_not_notified() {
    let mut it = Fixture::on(Database::Sqlite, "ping", "204").await;
    let path = format!("/applications/{}", it.ada.application.id);
    let poll = json!({"backchannel_token_delivery_mode": "poll"});
    it.host.admin_ok(Method::PATCH, &path, poll).await;
    let auth_req_id = approved_with_token(&it).await;
    fetched(&it, &auth_req_id).await;
    it.receiver.assert_quiet().await;
}

/// The module with this name, and that for an answer with a body: the flow goes on, and nothing is sent again.
async fn is_notified_once(statuses: &str) {
    let mut it = Fixture::on(Database::Sqlite, "ping", statuses).await;
    let auth_req_id = approved_with_token(&it).await;
    it.receiver.next_ping(&auth_req_id).await;
    it.until_none_is_stored().await;
    it.host.advance(60);
    it.host.host.wakeups.send(Wakeup::BackchannelDecided);
    it.receiver.assert_quiet().await;
    fetched(&it, &auth_req_id).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ping_backchannel_notification_endpoint_response_has_body() {
    is_notified_once("200").await;
}

#[tokio::test]
async fn fapi_ciba_id1_ping_backchannel_notification_endpoint_response_401() {
    is_notified_once("401").await;
}

#[tokio::test]
async fn fapi_ciba_id1_ping_backchannel_notification_endpoint_response_403() {
    is_notified_once("403").await;
}

/// A notification endpoint that redirects.
#[tokio::test]
async fn fapi_ciba_id1_ping_backchannel_notification_endpoint_return_redirect_request() {
    for status in ["301", "307"] {
        is_notified_once(status).await;
    }
}

/// A notification endpoint that fails for a while.
#[both_databases]
async fn a_failed_notification_is_repeated_until_the_request_is_useless(database: Database) {
    let mut it = Fixture::on(database, "ping", "503-429-204").await;
    let auth_req_id = approved_with_token(&it).await;
    for pause in [2, 5] {
        it.receiver.next_ping(&auth_req_id).await;
        it.receiver.assert_quiet().await;
        it.host.advance(pause);
    }
    it.receiver.next_ping(&auth_req_id).await;
    it.until_none_is_stored().await;

    // The request is valid for two minutes, and its result for one more.
    let other = it.host.web_application().await;
    permit(&it.host, &other).await;
    it.host.account(&it.ada.user, &other).await;
    let mut receiver = Receiver::start().await;
    set_mode(&it.host, &other, "ping", &receiver.address("503")).await;
    let (_, answer) = ask(&it.host.base, &other, &[WITH_TOKEN]).await;
    let request = pending(&it.ada.device).await;
    it.ada.device.approve(&request, "").await;
    receiver.next_ping(answer["auth_req_id"].text()).await;
    it.host.advance(200);
    it.until_none_is_stored().await;
    receiver.assert_quiet().await;
    let path = "/audit?event=backchannel-result.abandoned";
    let page = it.host.admin_ok(Method::GET, path, Value::Null).await;
    let entry = &page["items"][0];
    assert_eq!(entry["application_id"], other.id.as_str(), "{page}");
    assert_eq!(entry["detail"]["outcome"], "failed", "{page}");
}

/// A notification endpoint that hangs delays no other application.
#[tokio::test]
async fn a_notification_endpoint_that_hangs_delays_no_other() {
    let mut it = Fixture::on(Database::Sqlite, "ping", "hang").await;
    let auth_req_id = approved_with_token(&it).await;
    it.receiver.next_ping(&auth_req_id).await;
    let other = it.host.web_application().await;
    permit(&it.host, &other).await;
    it.host.account(&it.ada.user, &other).await;
    let mut receiver = Receiver::start().await;
    set_mode(&it.host, &other, "ping", &receiver.address("204")).await;
    let (_, answer) = ask(&it.host.base, &other, &[WITH_TOKEN]).await;
    let request = pending(&it.ada.device).await;
    it.ada.device.approve(&request, "").await;
    receiver.next_ping(answer["auth_req_id"].text()).await;
    fetched(&it, &auth_req_id).await;
}

/// A notification endpoint that is private, or has no https.
#[tokio::test]
async fn a_notification_endpoint_is_public_and_has_https() {
    let (host, ada) = super::start(Database::Sqlite).await;
    let path = format!("/applications/{}", ada.application.id);
    for address in [
        "http://rp.example/ping",
        "https://127.0.0.1/ping",
        "https://10.0.0.1/ping",
        "https://[::1]/ping",
        "https://169.254.169.254/ping",
        "https://user@rp.example/ping",
        "https://rp.example/ping#fragment",
        "ftp://rp.example/ping",
        "ping",
    ] {
        let changes = json!({
            "backchannel_token_delivery_mode": "ping",
            "backchannel_client_notification_endpoint": address,
        });
        let (status, problem) = host.admin(Method::PATCH, &path, changes).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{address}");
        let pointer = &problem["errors"][0]["pointer"];
        assert_eq!(pointer, "/backchannel_client_notification_endpoint");
    }
    // The mode needs the address, and the address the mode.
    for changes in [
        json!({"backchannel_token_delivery_mode": "ping"}),
        json!({"backchannel_client_notification_endpoint": "https://rp.example/ping"}),
        json!({"backchannel_token_delivery_mode": "fax"}),
    ] {
        let (status, problem) = host.admin(Method::PATCH, &path, changes.clone()).await;
        assert!(status.is_client_error(), "{changes}: {problem}");
    }
    let ping = json!({
        "backchannel_token_delivery_mode": "ping",
        "backchannel_client_notification_endpoint": "https://rp.example/ping",
    });
    let shown = host.admin_ok(Method::PATCH, &path, ping.clone()).await;
    for (member, value) in ping.as_object().expect("members") {
        assert_eq!(shown[member], *value);
    }
    let removed = json!({"backchannel_client_notification_endpoint": null});
    let (status, _) = host.admin(Method::PATCH, &path, removed).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let poll = json!({"backchannel_token_delivery_mode": "poll"});
    let shown = host.admin_ok(Method::PATCH, &path, poll).await;
    assert!(shown["backchannel_client_notification_endpoint"].is_null());
}

/// A private address of an earlier time is not called after the operator forbade it.
#[tokio::test]
async fn a_private_notification_endpoint_is_not_called() {
    let mut it = Fixture::on(Database::Sqlite, "ping", "503-204").await;
    let auth_req_id = approved_with_token(&it).await;
    it.receiver.next_ping(&auth_req_id).await;
    it.host.stop().await;
    it.host.advance(30);
    let (_, running, _) = it.host.second(HostOptions::default()).await;
    it.receiver.assert_quiet().await;
    running.stop().await;
}

/// The token authenticates the server, so that the application rejects a forged notification.
#[tokio::test]
async fn a_request_needs_a_notification_token() {
    let it = Fixture::on(Database::Sqlite, "ping", "204").await;
    let long = "a".repeat(1024);
    let too_long = "a".repeat(1025);
    for token in [
        None,
        Some(""),
        Some("short"),
        Some("a token with spaces in it"),
        Some("a\r\nX-Other: header-of-the-server"),
        Some("\u{e4}bcdefghijklmnopqrstuvwxyz"),
        Some(&too_long),
    ] {
        let changes = [("client_notification_token", token)];
        let (status, answer) = ask(&it.host.base, &it.ada.application, &changes).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{token:?}: {answer}");
        assert_eq!(answer["error"], "invalid_request", "{token:?}");
    }
    asked(
        &it.host,
        &it.ada,
        &[("client_notification_token", Some(&long))],
    )
    .await;
}

/// The notification is sent once, although two instances look for it.
#[both_databases]
async fn two_instances_notify_once(database: Database) {
    let mut it = Fixture::on(database, "ping", "204").await;
    let settings = settings("ping");
    let options = HostOptions {
        database,
        settings: &settings,
        ..HostOptions::default()
    };
    let (second, running, _) = it.host.second(options).await;
    for _ in 0..5 {
        let auth_req_id = approved_with_token(&it).await;
        second.wakeups.send(Wakeup::BackchannelDecided);
        it.receiver.next_ping(&auth_req_id).await;
        it.host.advance(1);
    }
    it.receiver.assert_quiet().await;
    running.stop().await;
}

/// An instance that stopped during an attempt: another one repeats it after the lease.
#[both_databases]
async fn a_pending_notification_survives_a_restart(database: Database) {
    let mut it = Fixture::on(database, "ping", "hang").await;
    let auth_req_id = approved_with_token(&it).await;
    it.receiver.next_ping(&auth_req_id).await;
    it.host.stop().await;
    it.host.advance(31);
    let settings = settings("ping");
    let options = HostOptions {
        database,
        settings: &settings,
        ..HostOptions::default()
    };
    let (_, running, base) = it.host.second(options).await;
    it.receiver.next_ping(&auth_req_id).await;
    let (status, tokens) = poll(&base, &it.ada.application, &auth_req_id).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
    running.stop().await;
}

/// Discovery lists what the server offers, and an application that registered itself sees and keeps its own mode.
#[tokio::test]
async fn discovery_lists_the_modes() {
    for (mode, expected) in [
        ("ping", json!(["poll", "ping"])),
        ("push", json!(["poll", "ping", "push"])),
    ] {
        let host = TestHost::start_with_settings(&settings(mode)).await;
        let address = format!("{}/.well-known/openid-configuration", host.issuer());
        let document: Value = parse_json(get(address).await.bytes().await.expect("bytes"));
        let modes = &document["backchannel_token_delivery_modes_supported"];
        assert_eq!(*modes, expected);
        let grants = document["grant_types_supported"].as_array();
        assert!(grants.expect("a list").contains(&json!(GRANT)));
    }
}

/// A disabled application receives nothing.
#[tokio::test]
async fn a_disabled_application_is_not_notified() {
    let mut it = Fixture::on(Database::Sqlite, "ping", "503-204").await;
    let auth_req_id = approved_with_token(&it).await;
    it.receiver.next_ping(&auth_req_id).await;
    let application: &Application = &it.ada.application;
    let path = format!("/applications/{}", application.id);
    let disabled = json!({"enabled": false});
    it.host.admin_ok(Method::PATCH, &path, disabled).await;
    it.host.advance(10);
    it.until_none_is_stored().await;
    it.receiver.assert_quiet().await;
}
