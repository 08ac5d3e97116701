//! The bounds of a malicious application: it neither silences others, nor wears the user out, nor hides what it did.

use assent::authenticator::enrolled::PendingRequest;
use assent_test_macros::both_databases;
use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::limits::other_application;
use super::{SETTINGS, ask, asked, pending, poll, poll_error, start, start_with};
use crate::harness::{Application, Browser, Database, HostOptions, TestHost, TestUser};

/// Asks for Ada, which the server accepts.
async fn ask_ok(base: &str, application: &Application) {
    let (status, answer) = ask(base, application, &[]).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}

/// The applications whose requests Ada's device shows.
async fn shown(ada: &TestUser) -> Vec<String> {
    let requests = ada.device.pending_requests(0).await;
    requests
        .into_iter()
        .map(|request| request.application.id)
        .collect()
}

/// Requests of one application that reach no device do not use up the user's limit of another one.
#[both_databases]
async fn one_application_cannot_silence_another_one(database: Database) {
    let settings = "[oidc.backchannel]\nrequests_per_user = { per_minute = 1, burst = 3 }\ninterval = \"1s\"\n";
    let (host, ada) = start_with(database, settings).await;
    let other = other_application(&host, &ada).await;
    // After a denial, none of its requests reaches the user. The fourth one is above the limit of open requests.
    asked(&host, &ada, &[]).await;
    ada.device.deny(&pending(&ada.device).await).await;
    for _ in 0..10 {
        ask(&host.base, &ada.application, &[]).await;
    }
    assert_eq!(shown(&ada).await, Vec::<String>::new(), "{database:?}");
    ask_ok(&host.base, &other).await;
    assert_eq!(
        shown(&ada).await,
        [other.id.as_str()],
        "{database:?}: the other one is heard"
    );
    // The limit of the user itself still applies.
    ask_ok(&host.base, &other).await;
    ask_ok(&host.base, &other).await;
    assert_eq!(shown(&ada).await.len(), 2, "{database:?}");
}

/// A cooldown holds requests, which do not count before they reach the user.
#[tokio::test]
async fn requests_that_a_cooldown_holds_do_not_count() {
    let settings = "[oidc.backchannel]\nrequests_per_user = { per_minute = 1, burst = 2 }\ninterval = \"1s\"\n";
    let (host, ada) = start_with(Database::Sqlite, settings).await;
    let other = other_application(&host, &ada).await;
    let sign_in = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let request = ada.device.pending_requests(5).await.remove(0);
    assert_eq!(ada.device.submit_report(&request).await, "reported");
    drop(sign_in);
    for _ in 0..3 {
        ask_ok(&host.base, &ada.application).await;
    }
    assert_eq!(shown(&ada).await, Vec::<String>::new());
    ada.device.end_cooldown().await;
    ask_ok(&host.base, &other).await;
    assert!(shown(&ada).await.contains(&other.id));
}

/// A client asks again and again, and the user ignores it: the prompts end, although each request expires.
#[both_databases]
async fn five_requests_without_an_answer_end_the_prompts(database: Database) {
    let (host, ada) = start(database).await;
    let other = other_application(&host, &ada).await;
    let short = [("requested_expiry", Some("10"))];
    for _ in 0..5 {
        asked(&host, &ada, &short).await;
        assert_eq!(shown(&ada).await.len(), 1, "{database:?}");
        host.advance(11);
    }
    let ignored = asked(&host, &ada, &short).await;
    assert_eq!(shown(&ada).await, Vec::<String>::new(), "{database:?}");
    assert_eq!(
        poll_error(&host, &ada, &ignored).await,
        "authorization_pending",
        "{database:?}: the application does not learn of it"
    );
    ask_ok(&host.base, &other).await;
    assert_eq!(shown(&ada).await, [other.id.as_str()], "{database:?}");
    // Each instance counts the same requests.
    let options = HostOptions {
        database,
        base_url: &host.base,
        ..HostOptions::default()
    };
    let (_services, _running, second) = host.second(options).await;
    host.advance(11);
    ask_ok(&second, &ada.application).await;
    assert!(!shown(&ada).await.contains(&ada.application.id));
    // After the pause the application may ask again.
    host.advance(600);
    asked(&host, &ada, &[]).await;
    assert!(shown(&ada).await.contains(&ada.application.id));
}

/// Answered requests do not count.
#[tokio::test]
async fn a_user_who_approves_receives_any_number_of_requests() {
    let (host, ada) = start(Database::Sqlite).await;
    for _ in 0..7 {
        super::approved(&host, &ada, &[]).await;
        host.advance(10);
    }
}

/// A denial ends what the application already has on the device.
#[both_databases]
async fn a_denial_ends_the_other_requests_of_the_application(database: Database) {
    let (host, ada) = start(database).await;
    let other = other_application(&host, &ada).await;
    let first = asked(&host, &ada, &[("binding_message", Some("first"))]).await;
    let second = asked(&host, &ada, &[("binding_message", Some("second"))]).await;
    ask_ok(&host.base, &other).await;
    let requests = ada.device.pending_requests(5).await;
    let [denied, withdrawn] = ["first", "second"].map(|message| {
        let has_message = |request: &&PendingRequest| {
            let shown = request.backchannel.as_ref();
            shown.and_then(|shown| shown.message.as_deref()) == Some(message)
        };
        requests.iter().find(has_message).expect("a request")
    });
    ada.device.deny(denied).await;
    assert_eq!(shown(&ada).await, [other.id.as_str()], "{database:?}");
    assert!(ada.device.decide(withdrawn, Some("")).await.is_err());
    assert_eq!(poll_error(&host, &ada, &first).await, "access_denied");
    assert_eq!(
        poll_error(&host, &ada, &second).await,
        "authorization_pending",
        "{database:?}"
    );
}

/// A request that a cooldown holds arrives at its end, unless the user refused another one of the application.
#[both_databases]
async fn a_held_request_arrives_after_the_cooldown_but_not_after_a_denial(database: Database) {
    let (host, ada) = start(database).await;
    let other = other_application(&host, &ada).await;
    let refused = asked(&host, &ada, &[]).await;
    let request = pending(&ada.device).await;
    // Another sign-in is reported, which begins the cooldown and ends the pending requests.
    ask_ok(&host.base, &other).await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let requests = ada.device.pending_requests(5).await;
    let sign_in = requests
        .iter()
        .find(|request| request.backchannel.is_none())
        .expect("a sign-in");
    assert_eq!(ada.device.submit_report(sign_in).await, "reported");
    drop(waiting);
    assert!(ada.device.decide(&request, None).await.is_err());
    assert_eq!(
        poll_error(&host, &ada, &refused).await,
        "authorization_pending"
    );
    // Neither of the two reaches the device while the pause after the report lasts.
    let third = other_application(&host, &ada).await;
    ask_ok(&host.base, &third).await;
    ask_ok(&host.base, &other).await;
    assert_eq!(shown(&ada).await, Vec::<String>::new(), "{database:?}");
    ada.device.end_cooldown().await;
    assert_eq!(
        shown(&ada).await,
        [third.id.as_str()],
        "{database:?}: only the application whose requests were not reported"
    );
}

/// A report pauses the application for as long as a denial does, also after the user lifted the cooldown.
#[both_databases]
async fn a_report_pauses_the_application_like_a_denial(database: Database) {
    let (host, ada) = start(database).await;
    asked(&host, &ada, &[]).await;
    let request = pending(&ada.device).await;
    assert_eq!(ada.device.submit_report(&request).await, "reported");
    ada.device.end_cooldown().await;
    asked(&host, &ada, &[]).await;
    assert_eq!(shown(&ada).await, Vec::<String>::new(), "{database:?}");
    host.advance(601);
    asked(&host, &ada, &[]).await;
    assert_eq!(shown(&ada).await.len(), 1, "{database:?}");
}

/// A client asks 1,000 times, at once and on two instances.
#[tokio::test]
async fn a_thousand_requests_at_once_on_two_instances_leave_three_open() {
    let (host, ada) = start(Database::Postgres).await;
    let base_url = host.base.clone();
    let options = HostOptions {
        database: Database::Postgres,
        base_url: &base_url,
        ..HostOptions::default()
    };
    let (_services, _running, second) = host.second(options).await;
    let bases = [host.base.as_str(), second.as_str()];
    let mut accepted = 0;
    for round in 0..20 {
        let asks = (0..50).map(|turn| ask(bases[(round + turn) % 2], &ada.application, &[]));
        for (status, answer) in join_all(asks).await {
            match status {
                StatusCode::OK => accepted += 1,
                StatusCode::TOO_MANY_REQUESTS => {}
                other => panic!("{other}: {answer}"),
            }
        }
    }
    assert_eq!(accepted, 3);
    assert_eq!(ada.device.pending_requests(5).await.len(), 3);
}

/// Polls that come too early do not fill the list of the application's recent requests.
#[tokio::test]
async fn early_polls_are_not_among_the_recent_requests() {
    let (host, ada) = start_with(Database::Sqlite, SETTINGS).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    for expected in ["authorization_pending", "slow_down", "slow_down"] {
        assert_eq!(poll_error(&host, &ada, &auth_req_id).await, expected);
    }
    ada.device.deny(&pending(&ada.device).await).await;
    poll_error(&host, &ada, &auth_req_id).await;
    let errors = recent_errors(&host, &ada.application).await;
    assert!(errors.contains(&json!("access_denied")), "{errors:?}");
    assert!(!errors.contains(&json!("slow_down")), "{errors:?}");
}

/// The errors of an application's requests, as soon as the last one is stored.
async fn recent_errors(host: &TestHost, application: &Application) -> Vec<Value> {
    let path = format!("/applications/{}/requests", application.id);
    let mut errors = Vec::new();
    for _ in 0..100 {
        let listed = host.admin_ok(Method::GET, &path, Value::Null).await;
        let items = listed["items"].as_array().cloned().unwrap_or_default();
        errors = items.iter().map(|item| item["error"].clone()).collect();
        if errors.contains(&json!("access_denied")) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    errors
}

/// Concurrent polls of an approved request call the plugins a few times at once. The others must slow down.
#[tokio::test]
async fn concurrent_claims_have_a_bound() {
    let (host, ada) = start(Database::Sqlite).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    ada.device.approve(&pending(&ada.device).await, "").await;
    let polls = (0..50).map(|_| poll(&host.base, &ada.application, &auth_req_id));
    let (won, lost): (Vec<_>, Vec<_>) = join_all(polls)
        .await
        .into_iter()
        .partition(|(status, _)| *status == StatusCode::OK);
    assert_eq!(won.len(), 1, "{won:?}");
    for (_, answer) in lost {
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(["invalid_grant", "slow_down"].contains(&error), "{answer}");
    }
}
