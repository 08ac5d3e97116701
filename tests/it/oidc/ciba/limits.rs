//! The limits of back-channel requests, and the pauses after a denial and a report.

use assent::authenticator::enrolled::PendingRequest;
use assent_test_macros::both_databases;
use reqwest::StatusCode;

use super::{ask, asked, pending, permit, poll, poll_error, start, start_with};
use crate::harness::{Application, Browser, Database, TestHost, TestUser};

/// Another application in which Ada has an account, and which may ask for her.
pub(super) async fn other_application(host: &TestHost, ada: &TestUser) -> Application {
    let other = host.web_application().await;
    permit(host, &other).await;
    host.account(&ada.user, &other).await;
    other
}

/// A client asks again and again: three requests of one client for one user are open at most.
#[both_databases]
async fn three_requests_of_a_client_for_a_user_are_open_at_most(database: Database) {
    let (host, ada) = start(database).await;
    for _ in 0..3 {
        asked(&host, &ada, &[]).await;
    }
    let (status, answer) = ask(&host.base, &ada.application, &[]).await;
    assert_eq!(
        status,
        StatusCode::TOO_MANY_REQUESTS,
        "{database:?}: {answer}"
    );
    assert_eq!(ada.device.pending_requests(5).await.len(), 3);
    let other = other_application(&host, &ada).await;
    let (status, _) = ask(&host.base, &other, &[]).await;
    assert_eq!(
        status,
        StatusCode::OK,
        "{database:?}: another client has its own"
    );
    // An answered request makes room.
    let requests = ada.device.pending_requests(5).await;
    let own = |request: &&PendingRequest| request.application.id == ada.application.id;
    let request = requests.iter().find(own).expect("a request");
    ada.device.approve(request, "").await;
    asked(&host, &ada, &[]).await;
    host.advance(121);
    asked(&host, &ada, &[]).await;
}

/// A client asks 1,000 times, for any names.
#[tokio::test]
async fn the_requests_of_a_client_have_a_rate_limit() {
    let settings = "[oidc.backchannel]\nrequests_per_client = { per_minute = 6, burst = 4 }\n";
    let (host, ada) = start_with(Database::Sqlite, settings).await;
    for _ in 0..4 {
        let changes = [("login_hint", Some("nobody"))];
        let (_, answer) = ask(&host.base, &ada.application, &changes).await;
        assert_eq!(answer["error"], "unknown_user_id");
    }
    let (status, answer) = ask(&host.base, &ada.application, &[]).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{answer}");
    assert_eq!(answer["error"], "temporarily_unavailable");
    host.advance(10);
    asked(&host, &ada, &[]).await;
}

/// Above the limit of a user no device is prompted, and the client sees the request expire.
#[tokio::test]
async fn the_prompts_of_a_user_have_a_rate_limit_over_all_clients() {
    let settings = "[oidc.backchannel]\nrequests_per_user = { per_minute = 1, burst = 2 }\ninterval = \"1s\"\n";
    let (host, ada) = start_with(Database::Sqlite, settings).await;
    let other = other_application(&host, &ada).await;
    asked(&host, &ada, &[]).await;
    for _ in 0..2 {
        let (status, _) = ask(&host.base, &other, &[]).await;
        assert_eq!(status, StatusCode::OK);
    }
    assert_eq!(ada.device.pending_requests(5).await.len(), 2);
}

#[both_databases]
async fn a_denial_pauses_the_client_for_this_user(database: Database) {
    let (host, ada) = start(database).await;
    let other = other_application(&host, &ada).await;
    asked(&host, &ada, &[]).await;
    ada.device.deny(&pending(&ada.device).await).await;
    let paused = asked(&host, &ada, &[("requested_expiry", Some("10"))]).await;
    assert!(
        ada.device.pending_requests(0).await.is_empty(),
        "{database:?}"
    );
    assert_eq!(
        poll_error(&host, &ada, &paused).await,
        "authorization_pending"
    );
    // Neither another client nor a sign-in is paused, and no cooldown began.
    let (status, _) = ask(&host.base, &other, &[]).await;
    assert_eq!(status, StatusCode::OK);
    let request = pending(&ada.device).await;
    assert_eq!(request.application.id, other.id, "{database:?}");
    ada.device.approve(&request, "").await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    ada.approve(&waiting).await;
    assert_eq!(ada.device.cooldown_end().await, None, "{database:?}");
    host.advance(11);
    assert_eq!(poll_error(&host, &ada, &paused).await, "expired_token");
    host.advance(600);
    asked(&host, &ada, &[]).await;
    assert_eq!(
        pending(&ada.device).await.application.id,
        ada.application.id
    );
}

#[both_databases]
async fn a_report_pauses_all_clients(database: Database) {
    let (host, ada) = start(database).await;
    let other = other_application(&host, &ada).await;
    let reported = asked(&host, &ada, &[]).await;
    let (_, bystander) = ask(&host.base, &other, &[]).await;
    let requests = ada.device.pending_requests(5).await;
    let request = requests
        .iter()
        .find(|request| request.application.id == ada.application.id)
        .expect("a request");
    assert_eq!(ada.device.submit_report(request).await, "reported");
    assert!(
        ada.device.pending_requests(0).await.is_empty(),
        "{database:?}"
    );
    assert!(ada.device.cooldown_end().await.is_some(), "{database:?}");
    // The application does not learn of the report.
    assert_eq!(
        poll_error(&host, &ada, &reported).await,
        "authorization_pending"
    );
    let id = bystander["auth_req_id"].as_str().expect("an id");
    let (_, answer) = poll(&host.base, &other, id).await;
    assert_eq!(answer["error"], "authorization_pending");
    for application in [&ada.application, &other] {
        let (status, _) = ask(&host.base, application, &[]).await;
        assert_eq!(status, StatusCode::OK, "{database:?}");
    }
    assert!(
        ada.device.pending_requests(0).await.is_empty(),
        "{database:?}"
    );
    let reports = host
        .admin_ok(reqwest::Method::GET, "/reports", serde_json::Value::Null)
        .await;
    let report = &reports["items"][0];
    assert_eq!(report["kind"], "backchannel", "{reports}");
    assert_eq!(report["application_id"], ada.application.id.as_str());
}
