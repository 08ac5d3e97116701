//! Authorization details of back-channel requests (RFC 9396): on the device, in its signature, and in the tokens.

use assent_model::statement::{ApprovalStatement, Decision};
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{ask, asked, pending, poll, poll_error, post, start};
use crate::harness::{Database, TestHost, TestUser, Text};
use crate::oidc::authorization_details::{TYPE, payment, payment_type, permit, text};
use crate::oidc::refresh::{refresh, refresh_token};

/// Starts an instance with Ada, whose application may ask for payments.
async fn start_with_type(database: Database) -> (TestHost, TestUser) {
    let (host, ada) = start(database).await;
    host.admin_ok(Method::PUT, TYPE, payment_type()).await;
    permit(&host, &ada, json!(["payment"])).await;
    (host, ada)
}

async fn ask_for(host: &TestHost, ada: &TestUser, details: &Value) -> String {
    let details = details.to_string();
    let changes = [
        ("authorization_details", Some(details.as_str())),
        ("scope", Some("openid offline_access")),
    ];
    asked(host, ada, &changes).await
}

#[both_databases]
async fn the_device_shows_and_signs_the_details_and_tokens_have_them(database: Database) {
    let (host, ada) = start_with_type(database).await;
    let details = json!([payment("12.50"), payment("7.00")]);
    let auth_req_id = ask_for(&host, &ada, &details).await;
    let request = pending(&ada.device).await;
    assert_eq!(request.details, [text("12.50"), text("7.00")]);
    let signed = ada.device.statement(&request, Some("")).text();
    assert!(signed.starts_with("assent-backchannel-v1\n"), "{signed}");
    assert_eq!(signed.matches("\ndetail: ").count(), 2, "{signed}");
    // A device that showed another amount signs another text.
    let shown = [text("1.00"), text("7.00")];
    let other = ApprovalStatement {
        details: &shown,
        ..ada.device.statement(&request, Some(""))
    };
    let signature = ada.device.signature(&other.text());
    let reply = ada
        .device
        .send(request.id, Decision::Approve, "", &signature)
        .await
        .expect("an answer");
    assert_eq!(reply.status, StatusCode::FORBIDDEN, "{database:?}");
    assert_eq!(ada.device.approve(&request, "").await, "approved");
    let (status, tokens) = poll(&host.base, &ada.application, &auth_req_id).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
    assert_eq!(tokens["authorization_details"], details);
    let introspected = async |token: &str| {
        let url = format!("{}/oidc/token/introspection", host.base);
        let (status, answer) = post(url, &ada.application, &[("token", token)]).await;
        assert_eq!(status, StatusCode::OK);
        answer["authorization_details"].clone()
    };
    assert_eq!(introspected(tokens["access_token"].text()).await, details);
    let part = json!([payment("7.00")]);
    let text = part.to_string();
    let form = [("authorization_details", text.as_str())];
    let token = refresh_token(&tokens);
    let (status, refreshed) = refresh(&host.base, &ada.application, token, &form).await;
    assert_eq!(status, StatusCode::OK, "{refreshed}");
    assert_eq!(refreshed["authorization_details"], part);
    assert_eq!(introspected(refreshed["access_token"].text()).await, part);
}

/// The token request may name a part. One that was not granted leaves the request unclaimed.
#[tokio::test]
async fn a_poll_may_ask_for_a_part() {
    let (host, ada) = start_with_type(Database::Sqlite).await;
    let details = json!([payment("12.50"), payment("7.00")]);
    let auth_req_id = ask_for(&host, &ada, &details).await;
    let request = pending(&ada.device).await;
    ada.device.approve(&request, "").await;
    let exchange = async |part: &Value| {
        let part = part.to_string();
        let form = [
            ("grant_type", super::GRANT),
            ("auth_req_id", auth_req_id.as_str()),
            ("authorization_details", part.as_str()),
        ];
        post(format!("{}/oidc/token", host.base), &ada.application, &form).await
    };
    let (status, answer) = exchange(&json!([payment("12.51")])).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(answer["error"], "invalid_authorization_details");
    let part = json!([payment("7.00")]);
    let (status, answer) = exchange(&part).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["authorization_details"], part);
}

/// The rules are those of an authorization request.
#[tokio::test]
async fn details_that_the_device_cannot_show_are_rejected() {
    let (host, ada) = start_with_type(Database::Sqlite).await;
    for details in [
        json!([]),
        json!([{"type": "unknown"}]),
        json!([{"type": "payment", "amount": "1"}]),
        json!([payment("1234567890123")]),
        json!({"type": "payment"}),
    ] {
        let text = details.to_string();
        let changes = [("authorization_details", Some(text.as_str()))];
        let (status, answer) = ask(&host.base, &ada.application, &changes).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{details}: {answer}");
        assert_eq!(answer["error"], "invalid_authorization_details");
    }
    permit(&host, &ada, json!([])).await;
    let text = json!([payment("5.00")]).to_string();
    let changes = [("authorization_details", Some(text.as_str()))];
    let (_, answer) = ask(&host.base, &ada.application, &changes).await;
    assert_eq!(answer["error"], "invalid_authorization_details");
    assert!(ada.device.pending_requests(0).await.is_empty());
    let auth_req_id = asked(&host, &ada, &[]).await;
    let error = poll_error(&host, &ada, &auth_req_id).await;
    assert_eq!(error, "authorization_pending", "a request without details");
}
