//! Changes between the decision on a device and the claim of the application: an approval from before them gives no
//! tokens afterwards.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{GRANT, approved, asked, pending, poll, poll_error, start};
use crate::harness::{Database, TestHost, TestUser, Text, id, jwt_claims};
use crate::oidc::token::userinfo;

/// Asks for Ada and approves on her device. The application has not polled yet.
async fn decided(host: &TestHost, ada: &TestUser, changes: &[(&str, Option<&str>)]) -> String {
    let auth_req_id = asked(host, ada, changes).await;
    let request = pending(&ada.device).await;
    assert_eq!(ada.device.approve(&request, "").await, "approved");
    auth_req_id
}

/// Asserts that the application receives no tokens now, and learns nothing but the expiry.
async fn assert_withdrawn(host: &TestHost, ada: &TestUser, auth_req_id: &str, what: &str) {
    let error = poll_error(host, ada, auth_req_id).await;
    assert_eq!(error, "authorization_pending", "{what}");
    host.advance(600);
    assert_eq!(
        poll_error(host, ada, auth_req_id).await,
        "expired_token",
        "{what}"
    );
}

/// The user or an administrator ends all sessions.
#[both_databases]
async fn the_end_of_all_sessions_withdraws_pending_and_approved_requests(database: Database) {
    let (host, ada) = start(database).await;
    let waiting = asked(&host, &ada, &[]).await;
    let request = pending(&ada.device).await;
    let path = format!("/users/{}/sessions", id(&ada.user));
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
    assert!(
        ada.device.pending_requests(0).await.is_empty(),
        "{database:?}"
    );
    let late = ada.device.decide(&request, Some("")).await;
    assert!(late.is_err(), "{database:?}: the request is withdrawn");
    let given = decided(&host, &ada, &[]).await;
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
    assert_eq!(
        poll_error(&host, &ada, &waiting).await,
        "authorization_pending"
    );
    assert_withdrawn(&host, &ada, &given, "the end of all sessions").await;
    // A later request is not affected.
    approved(&host, &ada, &[]).await;
}

/// A claim at the same time either comes first, and its session ends too, or finds a withdrawn request.
#[tokio::test]
async fn a_claim_during_the_end_of_all_sessions_leaves_no_session() {
    let (host, ada) = start(Database::Postgres).await;
    let path = format!("/users/{}/sessions", id(&ada.user));
    for round in 0..5 {
        let given = decided(&host, &ada, &[]).await;
        let ((status, answer), _) = tokio::join!(
            poll(&host.base, &ada.application, &given),
            host.admin_ok(Method::DELETE, &path, Value::Null),
        );
        if status == StatusCode::OK {
            let access = answer["access_token"].text();
            let (status, _) = userinfo(&host, access).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "round {round}");
        } else {
            let error = answer["error"].text();
            let expected = ["authorization_pending", "invalid_grant"];
            assert!(expected.contains(&error), "round {round}: {answer}");
        }
        // A withdrawn request counts until its expiry.
        host.advance(130);
    }
}

/// The settlement of a report ends the sessions, and so does what could become a session.
#[both_databases]
async fn the_settlement_of_a_report_withdraws_an_approved_request(database: Database) {
    let (host, ada) = start(database).await;
    asked(&host, &ada, &[]).await;
    let reported = pending(&ada.device).await;
    let given = asked(&host, &ada, &[]).await;
    let requests = ada.device.pending_requests(5).await;
    let other = requests.iter().find(|request| request.id != reported.id);
    ada.device.approve(other.expect("a request"), "").await;
    assert_eq!(ada.device.submit_report(&reported).await, "reported");
    let reports = host.admin_ok(Method::GET, "/reports", Value::Null).await;
    let path = format!("/reports/{}/settlement", id(&reports["items"][0]));
    let settlement = json!({"note": "Ada called", "end_sessions": true});
    host.admin_ok(Method::POST, &path, settlement).await;
    let what = format!("{database:?}: a settlement");
    assert_withdrawn(&host, &ada, &given, &what).await;
}

/// The approval is the consent, which the user withdraws before the application used it, and after that.
#[both_databases]
async fn the_withdrawal_of_a_consent_ends_its_approvals_and_tokens(database: Database) {
    let (host, ada) = start(database).await;
    let path = format!("/users/{}/consents/{}", id(&ada.user), ada.application.id);
    // There is no consent yet, because the application has not claimed the approval.
    let given = decided(&host, &ada, &[]).await;
    let (status, _) = host.admin(Method::DELETE, &path, Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{database:?}");
    assert_withdrawn(&host, &ada, &given, "a consent that was not used").await;
    let tokens = approved(&host, &ada, &[]).await;
    let access = tokens["access_token"].text();
    assert_eq!(userinfo(&host, access).await.0, StatusCode::OK);
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
    assert_eq!(
        userinfo(&host, access).await.0,
        StatusCode::UNAUTHORIZED,
        "{database:?}: a consent that was used"
    );
}

/// A consent of another application stays.
#[tokio::test]
async fn the_withdrawal_of_a_consent_does_not_concern_other_applications() {
    let (host, ada) = start(Database::Sqlite).await;
    let other = host.web_application().await;
    host.account(&ada.user, &other).await;
    let given = decided(&host, &ada, &[]).await;
    let path = format!("/users/{}/consents/{}", id(&ada.user), other.id);
    host.admin(Method::DELETE, &path, Value::Null).await;
    let (status, tokens) = poll(&host.base, &ada.application, &given).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
}

/// A proof of a revoked device is worth nothing, also after its approval.
#[both_databases]
async fn the_revocation_of_the_device_withdraws_its_approval(database: Database) {
    let (host, ada) = start(database).await;
    let given = decided(&host, &ada, &[]).await;
    let path = format!("/users/{}/devices", id(&ada.user));
    let devices = host.admin_ok(Method::GET, &path, Value::Null).await;
    let path = format!("/devices/{}", id(&devices["items"][0]));
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
    assert_withdrawn(&host, &ada, &given, "a revoked device").await;
}

/// The end of a disabled state does not revive an approval.
#[both_databases]
async fn a_disabled_application_cannot_claim_afterwards(database: Database) {
    let (host, ada) = start(database).await;
    let given = decided(&host, &ada, &[]).await;
    let path = format!("/applications/{}", ada.application.id);
    for enabled in [false, true] {
        host.admin_ok(Method::PATCH, &path, json!({"enabled": enabled}))
            .await;
    }
    assert_withdrawn(&host, &ada, &given, "an application that was disabled").await;
}

/// Access by a group is lost and regained.
#[both_databases]
async fn an_approval_does_not_outlive_the_access_to_the_application(database: Database) {
    let (host, ada) = start(database).await;
    let group = host
        .admin_ok(Method::POST, "/groups", json!({"name": "Staff"}))
        .await;
    let members = format!("/groups/{}/members", id(&group));
    let users = json!({"users": [id(&ada.user)]});
    host.admin_ok(Method::POST, &members, users).await;
    let assignment = format!("/applications/{}/groups/{}", ada.application.id, id(&group));
    let roles = json!({"roles": ["reader"]});
    host.admin_ok(Method::PUT, &assignment, roles.clone()).await;
    let account = format!("/accounts/{}", id(&ada.account));
    host.admin_ok(Method::PATCH, &account, json!({"individual": false}))
        .await;
    let given = decided(&host, &ada, &[]).await;
    host.admin_ok(Method::DELETE, &assignment, Value::Null)
        .await;
    host.admin_ok(Method::PUT, &assignment, roles).await;
    assert_withdrawn(&host, &ada, &given, "access that was lost").await;
}

/// An account that is suspended, and one that is deleted and created again.
#[both_databases]
async fn an_approval_does_not_outlive_the_account(database: Database) {
    let (host, ada) = start(database).await;
    let account = format!("/accounts/{}", id(&ada.account));
    let given = decided(&host, &ada, &[]).await;
    for state in ["suspended", "active"] {
        host.admin_ok(Method::PATCH, &account, json!({"state": state}))
            .await;
    }
    assert_withdrawn(&host, &ada, &given, "a suspended account").await;
    let given = decided(&host, &ada, &[]).await;
    host.admin_ok(Method::DELETE, &account, Value::Null).await;
    host.account(&ada.user, &ada.application).await;
    assert_withdrawn(&host, &ada, &given, "another account").await;
}

/// An administrator takes scopes from the application between the decision and the claim.
#[both_databases]
async fn scopes_that_the_application_lost_are_not_granted(database: Database) {
    let (host, ada) = start(database).await;
    let path = format!("/applications/{}", ada.application.id);
    let changes = [("scope", Some("openid profile email offline_access"))];
    let given = decided(&host, &ada, &changes).await;
    let fewer = json!({"scopes": ["openid", "profile"]});
    host.admin_ok(Method::PATCH, &path, fewer).await;
    let (status, tokens) = poll(&host.base, &ada.application, &given).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
    assert_eq!(tokens["scope"], "openid profile");
    assert!(tokens.get("refresh_token").is_none(), "{tokens}");
    assert!(jwt_claims(tokens["id_token"].text()).get("email").is_none());
    let (_, user) = userinfo(&host, tokens["access_token"].text()).await;
    assert!(user.get("email").is_none(), "{database:?}: {user}");

    // Without the grant type for refresh tokens there is no offline access.
    let all = json!({"scopes": ["openid", "profile", "email", "offline_access"]});
    host.admin_ok(Method::PATCH, &path, all).await;
    let given = decided(&host, &ada, &changes).await;
    let grants = json!({"grant_types": ["authorization_code", GRANT]});
    host.admin_ok(Method::PATCH, &path, grants).await;
    let (status, tokens) = poll(&host.base, &ada.application, &given).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
    assert_eq!(tokens["scope"], "openid profile email", "{database:?}");
    assert!(tokens.get("refresh_token").is_none(), "{tokens}");
}

/// The last moment of a claim: a minute after the expiry of an approved request.
#[both_databases]
async fn an_approved_request_can_be_claimed_until_a_minute_after_its_expiry(database: Database) {
    let (host, ada) = start(database).await;
    for (seconds, expected) in [(69, None), (70, Some("expired_token"))] {
        let changes = [("requested_expiry", Some("10"))];
        let given = decided(&host, &ada, &changes).await;
        host.advance(seconds);
        let (status, answer) = poll(&host.base, &ada.application, &given).await;
        assert_eq!(
            answer["error"].as_str(),
            expected,
            "{database:?}: {status} after {seconds} s"
        );
    }
}
