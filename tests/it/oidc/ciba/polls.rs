//! Polls of the token endpoint (OpenID CIBA Core 1.0 sections 10.1 and 11).

use assent_model::statement::{ApprovalStatement, Decision, StatementSubject};
use assent_test_macros::both_databases;
use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{ask, asked, pending, permit, poll, poll_error, start};
use crate::harness::{Database, HostOptions, Text, id};

/// The first poll comes at once, and the others after the interval.
#[both_databases]
async fn fapi_ciba_id1_multiple_call_to_token_endpoint(database: Database) {
    let (host, ada) = start(database).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let poll = async || poll_error(&host, &ada, &auth_req_id).await;
    assert_eq!(poll().await, "authorization_pending", "{database:?}");
    host.advance(1);
    assert_eq!(poll().await, "authorization_pending", "{database:?}");
    for _ in 0..3 {
        assert_eq!(poll().await, "slow_down", "{database:?}");
    }
    // Three times five seconds were added.
    host.advance(15);
    assert_eq!(poll().await, "slow_down", "{database:?}");
    host.advance(21);
    assert_eq!(poll().await, "authorization_pending", "{database:?}");
    // The decision is returned at once, however fast the client polls.
    let request = pending(&ada.device).await;
    ada.device.approve(&request, "").await;
    let (status, tokens) = super::poll(&host.base, &ada.application, &auth_req_id).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
}

#[both_databases]
async fn fapi_ciba_id1_auth_req_id_expired(database: Database) {
    let (host, ada) = start(database).await;
    for expiry in ["10", "600"] {
        let changes = [("requested_expiry", Some(expiry))];
        let (_, answer) = ask(&host.base, &ada.application, &changes).await;
        assert_eq!(answer["expires_in"].to_string(), expiry);
        let auth_req_id = answer["auth_req_id"].text().to_owned();
        host.advance(5);
        assert_eq!(
            poll_error(&host, &ada, &auth_req_id).await,
            "authorization_pending"
        );
        host.advance(expiry.parse::<u64>().expect("a number"));
        assert_eq!(
            poll_error(&host, &ada, &auth_req_id).await,
            "expired_token",
            "{database:?}"
        );
    }
    assert!(ada.device.pending_requests(0).await.is_empty());
    for expiry in ["0", "-1", "9", "601", "3600", "soon", "1e2"] {
        let changes = [("requested_expiry", Some(expiry))];
        let (status, answer) = ask(&host.base, &ada.application, &changes).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{expiry}: {answer}");
        assert_eq!(answer["error"], "invalid_request");
    }
}

#[both_databases]
async fn fapi_ciba_id1_user_rejects_authentication(database: Database) {
    let (host, ada) = start(database).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let request = pending(&ada.device).await;
    assert_eq!(ada.device.deny(&request).await, "denied");
    for _ in 0..2 {
        assert_eq!(
            poll_error(&host, &ada, &auth_req_id).await,
            "access_denied",
            "{database:?}"
        );
    }
    // A denial cannot become an approval.
    assert!(ada.device.decide(&request, Some("")).await.is_err());
}

/// `auth_req_id` of another client, and one that was never issued.
#[both_databases]
async fn fapi_ciba_id1_auth_req_id_bound_to_client(database: Database) {
    let (host, ada) = start(database).await;
    let other = host.web_application().await;
    permit(&host, &other).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let request = pending(&ada.device).await;
    ada.device.approve(&request, "").await;
    let forged = format!(
        "{}{}",
        &auth_req_id[..20],
        "A".repeat(auth_req_id.len() - 20)
    );
    for (application, text) in [
        (&other, auth_req_id.as_str()),
        (&ada.application, forged.as_str()),
        (&ada.application, "br_x"),
        (&ada.application, &auth_req_id.replacen("br_", "ac_", 1)),
    ] {
        let (status, answer) = poll(&host.base, application, text).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{text}");
        assert_eq!(answer["error"], "invalid_grant", "{database:?}: {text}");
    }
    let (status, _) = poll(&host.base, &ada.application, &auth_req_id).await;
    assert_eq!(
        status,
        StatusCode::OK,
        "{database:?}: the others used up nothing"
    );
    assert_eq!(
        poll_error(&host, &ada, &auth_req_id).await,
        "invalid_grant",
        "{database:?}: it is single use"
    );
}

/// `auth_req_id` used at once on two instances: one claim wins.
#[tokio::test]
async fn concurrent_claims_on_two_instances_have_one_winner() {
    let (host, ada) = start(Database::Postgres).await;
    let base_url = host.base.clone();
    let options = HostOptions {
        database: Database::Postgres,
        base_url: &base_url,
        ..HostOptions::default()
    };
    let (_services, _running, second) = host.second(options).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let request = pending(&ada.device).await;
    ada.device.approve(&request, "").await;
    let bases = [host.base.as_str(), second.as_str()];
    let claims = (0..50).map(|turn| poll(bases[turn % 2], &ada.application, &auth_req_id));
    let answers = join_all(claims).await;
    let (won, lost): (Vec<_>, Vec<_>) = answers
        .into_iter()
        .partition(|(status, _)| *status == StatusCode::OK);
    assert_eq!(won.len(), 1, "{won:?}");
    for (status, answer) in lost {
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        // Each instance lets a few polls of one request call the plugins at once.
        let error = answer["error"].text();
        assert!(["invalid_grant", "slow_down"].contains(&error), "{answer}");
    }
    let mut connection = host.connection().await;
    let query = "SELECT (SELECT COUNT(*) FROM sessions), (SELECT COUNT(*) FROM token_families)";
    let counts: (i64, i64) = assent_store::sql::query_as(query)
        .fetch_one(&mut connection)
        .await
        .expect("read");
    assert_eq!(counts, (1, 1));
}

/// An approval from before a suspension admits no user afterwards.
#[both_databases]
async fn a_suspension_withdraws_an_approval_that_was_not_claimed(database: Database) {
    let (host, ada) = start(database).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let request = pending(&ada.device).await;
    ada.device.approve(&request, "").await;
    let path = format!("/users/{}", id(&ada.user));
    for state in ["suspended", "active"] {
        host.admin_ok(Method::PATCH, &path, json!({"state": state}))
            .await;
    }
    assert_eq!(
        poll_error(&host, &ada, &auth_req_id).await,
        "authorization_pending",
        "{database:?}: the application learns nothing"
    );
    host.advance(600);
    assert_eq!(
        poll_error(&host, &ada, &auth_req_id).await,
        "expired_token",
        "{database:?}"
    );
}

/// A device that shows a sign-in, or other permissions, signs another text.
#[tokio::test]
async fn a_proof_covers_the_message_and_the_permissions() {
    let (host, ada) = start(Database::Sqlite).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let request = pending(&ada.device).await;
    let scopes = request.backchannel.clone().expect("details").scopes;
    let fewer = [scopes[0].clone()];
    for subject in [
        StatementSubject::SignIn,
        StatementSubject::Action("Order 42"),
        StatementSubject::Backchannel {
            message: "Order 43",
            scopes: &scopes,
        },
        StatementSubject::Backchannel {
            message: "Order 42",
            scopes: &fewer,
        },
    ] {
        let text = ApprovalStatement {
            subject,
            ..ada.device.statement(&request, Some(""))
        }
        .text();
        let signature = ada.device.signature(&text);
        let reply = ada
            .device
            .send(request.id, Decision::Approve, "", &signature)
            .await
            .expect("an answer");
        assert_eq!(reply.status, StatusCode::FORBIDDEN, "{subject:?}");
    }
    assert_eq!(
        poll_error(&host, &ada, &auth_req_id).await,
        "authorization_pending"
    );
}
