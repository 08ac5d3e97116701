//! The ways in which a user connects a back-channel request with its application: a message to compare, digits to type,
//! or an approval with a passkey.

use assent_model::statement::Decision;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{ask, asked, pending, permit, poll, poll_error, start};
use crate::harness::{Browser, Database, TestHost, TestUser, Text, jwt_claims};
use crate::passkeys;
use crate::passkeys::software::Software;

async fn set_binding(host: &TestHost, client: &str, binding: &str) {
    let path = format!("/applications/{client}");
    let change = json!({"backchannel_binding": binding});
    host.admin_ok(Method::PATCH, &path, change).await;
}

/// Starts an instance with Ada, whose application has this binding.
async fn start_bound(database: Database, binding: &str) -> (TestHost, TestUser) {
    let (host, ada) = start(database).await;
    set_binding(&host, &ada.application.id, binding).await;
    (host, ada)
}

/// Asks with this message. Returns the answer.
async fn ask_with(host: &TestHost, ada: &TestUser, message: Option<&str>) -> (StatusCode, Value) {
    let changes = [("binding_message", message)];
    ask(&host.base, &ada.application, &changes).await
}

/// The error of a request with this message.
async fn message_error(host: &TestHost, ada: &TestUser, message: &str) -> String {
    let (status, answer) = ask_with(host, ada, Some(message)).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{message}: {answer}");
    answer["error"].text().to_owned()
}

/// The server chooses three digits, which the application shows. The device does not receive them.
#[both_databases]
async fn the_user_types_the_digits_of_the_server(database: Database) {
    let (host, ada) = start_bound(database, "typed").await;
    let (status, answer) = ask_with(&host, &ada, None).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {answer}");
    let number = answer["binding_number"].text().to_owned();
    let is_number = number.len() == 3 && number.bytes().all(|byte| byte.is_ascii_digit());
    assert!(is_number, "{answer}");
    let auth_req_id = answer["auth_req_id"].text().to_owned();
    let listed = ada.device.call_ok(Method::GET, "/requests", None).await;
    let request = &listed["requests"][0];
    assert_eq!(request["backchannel"]["binding"], "typed", "{listed}");
    assert_eq!(request["backchannel"]["message"], Value::Null, "{listed}");
    let request = pending(&ada.device).await;
    for wrong in ["", &number[..2]] {
        let error = ada.device.decide(&request, Some(wrong)).await;
        let error = error.expect_err("a wrong number").to_string();
        assert!(error.starts_with("number_mismatch"), "{wrong}: {error}");
    }
    assert_eq!(
        poll_error(&host, &ada, &auth_req_id).await,
        "authorization_pending",
        "{database:?}"
    );
    assert_eq!(ada.device.approve(&request, &number).await, "approved");
    let (status, tokens) = poll(&host.base, &ada.application, &auth_req_id).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
}

/// A third wrong number ends the request, as that of a sign-in.
#[both_databases]
async fn three_wrong_numbers_end_the_request(database: Database) {
    let (host, ada) = start_bound(database, "typed").await;
    let (_, answer) = ask_with(&host, &ada, Some("4711")).await;
    let auth_req_id = answer["auth_req_id"].text().to_owned();
    let request = pending(&ada.device).await;
    for wrong in ["4712", "11", "471"] {
        assert!(ada.device.decide(&request, Some(wrong)).await.is_err());
    }
    assert!(
        ada.device.decide(&request, Some("4711")).await.is_err(),
        "{database:?}: the right number is too late"
    );
    let error = poll_error(&host, &ada, &auth_req_id).await;
    assert_eq!(error, "access_denied", "{database:?}");
}

/// Digits of the application take the place of those of the server. Any other text is shown beside them.
#[tokio::test]
async fn the_user_types_the_digits_of_the_application() {
    let (host, ada) = start_bound(Database::Sqlite, "typed").await;
    for digits in ["42", "042", "0042"] {
        let (status, answer) = ask_with(&host, &ada, Some(digits)).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        assert!(answer.get("binding_number").is_none(), "{answer}");
        let request = pending(&ada.device).await;
        let shown = request.backchannel.clone().expect("details");
        assert_eq!(shown.message, None, "the device shows no digits");
        assert_eq!(ada.device.approve(&request, digits).await, "approved");
    }
    for wrong in ["7", "12345"] {
        let error = message_error(&host, &ada, wrong).await;
        assert_eq!(error, "invalid_binding_message", "{wrong}");
    }
    let (_, answer) = ask_with(&host, &ada, Some("Order 42")).await;
    let request = pending(&ada.device).await;
    let shown = request.backchannel.clone().expect("details");
    assert_eq!(shown.message.as_deref(), Some("Order 42"));
    let number = answer["binding_number"].text();
    assert_eq!(ada.device.approve(&request, number).await, "approved");
}

/// Digits of another unexpired request of the user, a sign-in or one of another application, are rejected. Otherwise a
/// user would type the number of one request for the other.
#[both_databases]
async fn digits_of_another_request_of_the_user_are_rejected(database: Database) {
    let (host, ada) = start_bound(database, "typed").await;
    let browser = Browser::new(&host.base);
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    let number = waiting.number();
    assert_eq!(
        message_error(&host, &ada, &number).await,
        "invalid_binding_message",
        "{database:?}: the number of a sign-in"
    );
    let other = host.web_application().await;
    permit(&host, &other).await;
    host.account(&ada.user, &other).await;
    set_binding(&host, &other.id, "typed").await;
    let changes = [("binding_message", Some("0815"))];
    let (status, answer) = ask(&host.base, &other, &changes).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(
        message_error(&host, &ada, "0815").await,
        "invalid_binding_message",
        "{database:?}: the digits of another application"
    );
    // The end of a request frees its digits.
    let requests = ada.device.pending_requests(5).await;
    let request = requests
        .iter()
        .find(|request| request.application.id == other.id)
        .expect("a request");
    assert_eq!(ada.device.approve(request, "0815").await, "approved");
    let (status, answer) = ask_with(&host, &ada, Some("0815")).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {answer}");
}

/// A request that reaches no device has digits, too: the answer does not reveal which users have one.
#[tokio::test]
async fn a_request_without_a_device_has_digits() {
    let (host, ada) = start_bound(Database::Sqlite, "typed").await;
    let grace = host.user("grace").await;
    host.account(&grace, &ada.application).await;
    let changes = [("login_hint", Some("grace")), ("binding_message", None)];
    let (status, answer) = ask(&host.base, &ada.application, &changes).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["binding_number"].text().len(), 3);
}

/// With the binding `none`, an approval of a device without a passkey does not count.
#[both_databases]
async fn an_unbound_request_needs_a_passkey(database: Database) {
    let (host, ada) = start_bound(database, "none").await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let request = pending(&ada.device).await;
    let shown = request.backchannel.clone().expect("details");
    assert_eq!(shown.binding.as_str(), "none");
    let text = ada.device.statement(&request, Some("")).text();
    let signature = ada.device.signature(&text);
    let reply = ada
        .device
        .send(request.id, Decision::Approve, "", &signature)
        .await
        .expect("an answer");
    assert_eq!(reply.status, StatusCode::FORBIDDEN, "{:?}", reply.body);
    assert_eq!(reply.body["error"], "passkey_missing", "{:?}", reply.body);
    assert_eq!(
        poll_error(&host, &ada, &auth_req_id).await,
        "authorization_pending",
        "{database:?}: it remains pending"
    );
    assert_eq!(ada.device.deny(&request).await, "denied");
}

/// The approval with a passkey counts, and the ID token says so.
#[both_databases]
async fn an_unbound_request_is_approved_with_a_passkey(database: Database) {
    let (host, ada) = start_bound(database, "none").await;
    let passkey = Software::new(&host.base);
    passkeys::add(&ada.device, &passkey).await;
    let passkey = Software {
        counter: 2,
        ..passkey
    };
    let auth_req_id = asked(&host, &ada, &[]).await;
    let request = pending(&ada.device).await;
    let options = passkeys::question(&ada.device, &request, "").await;
    let assertion = passkey.create_assertion(&options);
    let proof = passkeys::proof(&ada.device, &request, "", Some(assertion));
    let reply = passkeys::send(&ada.device, &request, &proof).await;
    assert_eq!(
        reply.status,
        StatusCode::OK,
        "{database:?}: {:?}",
        reply.body
    );
    let (status, tokens) = poll(&host.base, &ada.application, &auth_req_id).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
    let claims = jwt_claims(tokens["id_token"].text());
    assert_eq!(claims["amr"], json!(["swk", "user", "mfa"]));
}

/// `requested_expiry` is at most ten minutes, or what an administrator permits, which is at most a day.
#[tokio::test]
async fn an_administrator_permits_a_longer_expiry() {
    let (host, ada) = start(Database::Sqlite).await;
    let path = format!("/applications/{}", ada.application.id);
    let expires_in = async |seconds: &str| {
        let changes = [("requested_expiry", Some(seconds))];
        let (_, answer) = ask(&host.base, &ada.application, &changes).await;
        answer
            .get("expires_in")
            .cloned()
            .unwrap_or(answer["error"].clone())
    };
    assert_eq!(expires_in("600").await, 600);
    for wrong in ["601", "9", "-10", "1e3", "ten"] {
        assert_eq!(expires_in(wrong).await, "invalid_request", "{wrong}");
    }
    for wrong in [9, 86_401] {
        let change = json!({"backchannel_longest_expiry": wrong});
        let (status, problem) = host.admin(Method::PATCH, &path, change).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    }
    let change = json!({"backchannel_longest_expiry": 86_400});
    host.admin_ok(Method::PATCH, &path, change).await;
    assert_eq!(expires_in("86400").await, 86_400);
    assert_eq!(expires_in("86401").await, "invalid_request");
    // Shorter than the usual lifetime.
    let change = json!({"backchannel_longest_expiry": 60});
    host.admin_ok(Method::PATCH, &path, change).await;
    let (_, answer) = ask(&host.base, &ada.application, &[]).await;
    assert_eq!(answer["expires_in"], 60);
}
