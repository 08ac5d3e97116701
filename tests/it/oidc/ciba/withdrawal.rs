//! The end of a request that its application withdraws, by the revocation of its `auth_req_id`.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::Value;

use super::{approved, ask, asked, pending, permit, poll_error, revoke, start};
use crate::harness::{Database, Text};
use crate::lifecycle::entries;
use crate::oidc::token::userinfo;

#[both_databases]
async fn a_withdrawn_request_disappears_from_the_devices(database: Database) {
    let (host, ada) = start(database).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let request = pending(&ada.device).await;
    let (status, _) = revoke(&host, &ada.application, &auth_req_id).await;
    assert_eq!(status, StatusCode::OK, "{database:?}");
    assert!(ada.device.pending_requests(0).await.is_empty());
    assert!(ada.device.decide(&request, Some("")).await.is_err());
    let error = poll_error(&host, &ada, &auth_req_id).await;
    assert_eq!(error, "invalid_grant", "{database:?}");
    // A second withdrawal changes nothing.
    let (status, _) = revoke(&host, &ada.application, &auth_req_id).await;
    assert_eq!(status, StatusCode::OK);
    // The overview records the ends of requests.
    host.admin_ok(Method::GET, "/overview", Value::Null).await;
    let ended = entries(&host, "event=sign-in.cancelled").await;
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!(ended[0]["detail"]["request"], request.id.to_string());
    assert_eq!(ended[0]["actor"]["id"], ada.application.id);
}

/// An approval just before the withdrawal gives no tokens.
#[both_databases]
async fn a_withdrawn_approval_cannot_be_claimed(database: Database) {
    let (host, ada) = start(database).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let request = pending(&ada.device).await;
    assert_eq!(ada.device.approve(&request, "").await, "approved");
    let (status, _) = revoke(&host, &ada.application, &auth_req_id).await;
    assert_eq!(status, StatusCode::OK, "{database:?}");
    let error = poll_error(&host, &ada, &auth_req_id).await;
    assert_eq!(error, "invalid_grant", "{database:?}");
}

#[both_databases]
async fn only_the_application_that_asked_withdraws_a_request(database: Database) {
    let (host, ada) = start(database).await;
    let other = host.web_application().await;
    permit(&host, &other).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let (status, answer) = revoke(&host, &other, &auth_req_id).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{database:?}: {answer}");
    assert_eq!(answer["error"], "invalid_grant");
    // The secret part is wrong: the answer is that of an unknown token, and nothing happens.
    let forged = format!("{}AAAA", &auth_req_id[..auth_req_id.len() - 4]);
    let (status, _) = revoke(&host, &ada.application, &forged).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        poll_error(&host, &ada, &auth_req_id).await,
        "authorization_pending",
        "{database:?}"
    );
    pending(&ada.device).await;
}

/// The tokens are not those of the request any more: they have their own revocation.
#[both_databases]
async fn a_claimed_request_cannot_be_withdrawn(database: Database) {
    let (host, ada) = start(database).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let request = pending(&ada.device).await;
    ada.device.approve(&request, "").await;
    let (_, tokens) = super::poll(&host.base, &ada.application, &auth_req_id).await;
    let (status, _) = revoke(&host, &ada.application, &auth_req_id).await;
    assert_eq!(status, StatusCode::OK, "{database:?}");
    let (status, _) = userinfo(&host, tokens["access_token"].text()).await;
    assert_eq!(status, StatusCode::OK, "{database:?}");
}

/// A malicious application asks, withdraws and asks again, so that the user is prompted without an end.
#[both_databases]
async fn withdrawals_do_not_permit_more_requests(database: Database) {
    let (host, ada) = start(database).await;
    for _ in 0..3 {
        let auth_req_id = asked(&host, &ada, &[]).await;
        revoke(&host, &ada.application, &auth_req_id).await;
    }
    let (status, answer) = ask(&host.base, &ada.application, &[]).await;
    assert_eq!(
        status,
        StatusCode::TOO_MANY_REQUESTS,
        "{database:?}: {answer}"
    );
    host.advance(121);
    approved(&host, &ada, &[]).await;
}
