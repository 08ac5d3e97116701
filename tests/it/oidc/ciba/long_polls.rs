//! Polls that wait for the decision (`Prefer: wait`, RFC 7240 section 4.3).

use std::time::{Duration, Instant};

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{GRANT, asked, pending, permit, poll_error, start, start_with};
use crate::harness::{
    Application, Database, HostOptions, Respond, Statements, TestHost, http_client, in_time,
};

/// The time until a decision reaches its poll on any instance.
const PROMPT: Duration = Duration::from_secs(1);

/// Polls with this preference.
async fn long_poll(
    base: &str,
    application: &Application,
    auth_req_id: &str,
    prefer: &str,
) -> (StatusCode, Value) {
    let form = [("grant_type", GRANT), ("auth_req_id", auth_req_id)];
    let response = http_client()
        .post(format!("{base}/oidc/token"))
        .form(&form)
        .basic_auth(&application.id, application.secret.as_ref())
        .header("prefer", prefer)
        .response()
        .await;
    (response.status(), response.json().await.expect("JSON"))
}

/// Waits until this number of polls waits at an instance.
async fn until_waiting(host: &TestHost, count: usize) {
    let waiting = async {
        while host.host.store.waiting_requests() != count {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    in_time(waiting).await;
}

#[both_databases]
async fn a_decision_reaches_its_poll_on_another_instance_within_a_second(database: Database) {
    let (host, ada) = start(database).await;
    let base_url = host.base.clone();
    let options = HostOptions {
        database,
        base_url: &base_url,
        ..HostOptions::default()
    };
    let (services, running, second) = host.second(options).await;
    for approves in [true, false] {
        let auth_req_id = asked(&host, &ada, &[]).await;
        let request = pending(&ada.device).await;
        let poll = long_poll(&second, &ada.application, &auth_req_id, "wait=30");
        let decision = async {
            while services.store.waiting_requests() == 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
            match approves {
                true => ada.device.approve(&request, "").await,
                false => ada.device.deny(&request).await,
            };
            Instant::now()
        };
        let answered = async {
            let answer = poll.await;
            (answer, Instant::now())
        };
        let (((status, answer), at), decided) =
            in_time(async { tokio::join!(answered, decision) }).await;
        let took = at.saturating_duration_since(decided);
        assert!(took < PROMPT, "{database:?}: {took:?}");
        match approves {
            true => assert_eq!(status, StatusCode::OK, "{database:?}: {answer}"),
            false => assert_eq!(answer["error"], "access_denied", "{database:?}"),
        }
        host.advance(600);
    }
    running.stop().await;
}

/// The interval counts from the answer, and a poll that comes too early does not wait.
#[tokio::test]
async fn a_poll_waits_as_long_as_the_client_prefers() {
    let (host, ada) = start(Database::Sqlite).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let poll = async |prefer| {
        let began = Instant::now();
        let (status, answer) = long_poll(&host.base, &ada.application, &auth_req_id, prefer).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        let error = answer["error"].as_str().map(str::to_owned);
        (error.expect("an error"), began.elapsed())
    };
    let second = Duration::from_secs(1);
    let (error, took) = poll("respond-async, Wait=1; foo=bar").await;
    assert_eq!(error, "authorization_pending");
    assert!(took >= second, "{took:?}");
    let (error, took) = poll("wait=30").await;
    assert_eq!(error, "slow_down");
    assert!(took < second, "{took:?}");
    host.advance(6);
    // Other preferences, and values that are no number of seconds, have no effect.
    for prefer in ["return=minimal", "wait=soon", "wait", "waiting=5", "wait=0"] {
        let (error, took) = poll(prefer).await;
        assert_eq!(error, "authorization_pending", "{prefer}");
        assert!(took < second, "{prefer}: {took:?}");
        host.advance(6);
    }
    // The expiry ends the wait.
    let expiry = async {
        until_waiting(&host, 1).await;
        host.advance(120);
    };
    let ((error, _), ()) = in_time(async { tokio::join!(poll("wait=30"), expiry) }).await;
    assert_eq!(error, "expired_token");
}

/// While nothing is decided, a poll that waits executes no statement beside those of the common poller.
#[tokio::test]
async fn a_waiting_poll_executes_no_statement() {
    let statements = Statements::capture();
    let (host, ada) = start(Database::Sqlite).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let watched = async {
        until_waiting(&host, 1).await;
        // Its last statement at the beginning may wait for those of other polls.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let reads = || {
            statements.count("FROM backchannel_requests")
                + statements.count("FROM approvals LEFT JOIN")
        };
        let before = reads();
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(reads(), before);
        let request = pending(&ada.device).await;
        ada.device.approve(&request, "").await;
    };
    let poll = long_poll(&host.base, &ada.application, &auth_req_id, "wait=30");
    let ((status, answer), ()) = in_time(async { tokio::join!(poll, watched) }).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    until_waiting(&host, 0).await;
}

/// A long poll reads its request and its application with others, and checks the same.
#[both_databases]
async fn a_long_poll_is_rejected_as_a_short_one(database: Database) {
    let (host, ada) = start(database).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let error = async |application: &Application, auth_req_id: &str| {
        let began = Instant::now();
        let poll = long_poll(&host.base, application, auth_req_id, "wait=30");
        let (status, answer) = poll.await;
        assert!(began.elapsed() < Duration::from_secs(20), "{database:?}");
        (status, answer["error"].as_str().map(str::to_owned))
    };
    let invalid = (StatusCode::BAD_REQUEST, Some("invalid_grant".to_owned()));
    let other = host.web_application().await;
    permit(&host, &other).await;
    assert_eq!(
        error(&other, &auth_req_id).await,
        invalid,
        "{database:?}: of another application"
    );
    let forged = format!("{}{}", &auth_req_id[..30], "A".repeat(37));
    for text in [forged.as_str(), "br_x"] {
        assert_eq!(error(&ada.application, text).await, invalid, "{database:?}");
    }
    let stranger = Application {
        secret: Some("wrong".to_owned()),
        ..ada.application.clone()
    };
    let rejected = (StatusCode::UNAUTHORIZED, Some("invalid_client".to_owned()));
    assert_eq!(error(&stranger, &auth_req_id).await, rejected);
    let request = pending(&ada.device).await;
    ada.device.approve(&request, "").await;
    assert_eq!(
        error(&ada.application, &auth_req_id).await,
        (StatusCode::OK, None),
        "{database:?}: decided before"
    );
    assert_eq!(
        error(&ada.application, &auth_req_id).await,
        invalid,
        "{database:?}: used"
    );
    let path = format!("/applications/{}", ada.application.id);
    let disabled = json!({"enabled": false});
    host.admin_ok(Method::PATCH, &path, disabled).await;
    let (status, _) = error(&ada.application, &auth_req_id).await;
    assert_ne!(status, StatusCode::OK, "{database:?}");
}

/// A newer poll replaces one that waits on a lost connection.
#[tokio::test]
async fn one_poll_of_a_request_waits() {
    let (host, ada) = start(Database::Sqlite).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let poll = || long_poll(&host.base, &ada.application, &auth_req_id, "wait=30");
    let second = async {
        until_waiting(&host, 1).await;
        host.advance(2);
        poll().await
    };
    let decided = async {
        let (_, first) = poll().await;
        assert_eq!(first["error"], "authorization_pending");
        let request = pending(&ada.device).await;
        ada.device.approve(&request, "").await;
    };
    let ((status, answer), ()) = in_time(async { tokio::join!(second, decided) }).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}

/// A setting bounds the polls that wait. Further ones are answered at once.
#[tokio::test]
async fn the_waiting_polls_of_an_instance_have_a_limit() {
    for (limit, waits) in [(0, false), (1, true)] {
        let settings = format!("[oidc.backchannel]\ninterval = \"1s\"\nlong_polls = {limit}\n");
        let (host, ada) = start_with(Database::Sqlite, &settings).await;
        let first = asked(&host, &ada, &[]).await;
        let second = asked(&host, &ada, &[]).await;
        let at_once = async {
            if waits {
                until_waiting(&host, 1).await;
            }
            let began = Instant::now();
            let (_, answer) = long_poll(&host.base, &ada.application, &second, "wait=30").await;
            assert_eq!(answer["error"], "authorization_pending");
            assert!(began.elapsed() < PROMPT, "{limit}");
        };
        let waiting = long_poll(&host.base, &ada.application, &first, "wait=3");
        let ((_, answer), ()) = in_time(async { tokio::join!(waiting, at_once) }).await;
        assert_eq!(answer["error"], "authorization_pending");
    }
}

/// The polls that wait do not count as load, so that many of them reject no other request.
#[tokio::test]
async fn waiting_polls_are_no_load() {
    let (host, ada) = start(Database::Sqlite).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let counted = async {
        until_waiting(&host, 1).await;
        let executing = host.host.admission.executing_requests();
        assert!(
            executing.iter().all(|(_, count)| *count == 0),
            "{executing:?}"
        );
        let request = pending(&ada.device).await;
        ada.device.approve(&request, "").await;
    };
    let poll = long_poll(&host.base, &ada.application, &auth_req_id, "wait=30");
    let ((status, answer), ()) = in_time(async { tokio::join!(poll, counted) }).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(poll_error(&host, &ada, &auth_req_id).await, "invalid_grant");
}

/// An instance that drains answers the polls that wait, so that its clients poll another one.
#[tokio::test]
async fn draining_answers_the_waiting_polls() {
    let (host, ada) = start(Database::Sqlite).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let drain = async {
        until_waiting(&host, 1).await;
        host.host.draining.begin();
    };
    let poll = long_poll(&host.base, &ada.application, &auth_req_id, "wait=30");
    let began = Instant::now();
    let ((_, answer), ()) = in_time(async { tokio::join!(poll, drain) }).await;
    assert_eq!(answer["error"], "authorization_pending");
    assert!(began.elapsed() < Duration::from_secs(10));
}
