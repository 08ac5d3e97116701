//! Polls of the token endpoint (RFC 8628 sections 3.4 and 3.5).

use assent_test_macros::both_databases;
use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{approved, codes, entered, entry_error, permit, poll, poll_error, start};
use crate::harness::{Browser, Database, HostOptions, Text, id};
use crate::oidc::ciba;

#[both_databases]
async fn a_device_that_polls_too_fast_must_slow_down(database: Database) {
    let (host, ada) = start(database).await;
    let codes = codes(&host, &ada.application).await;
    let poll = async || poll_error(&host, &ada.application, &codes.device_code).await;
    assert_eq!(poll().await, "authorization_pending", "{database:?}");
    assert_eq!(poll().await, "slow_down", "{database:?}");
    // The entry of the code changes nothing about that.
    let request = entered(&ada.device, &codes.user_code).await;
    host.advance(3);
    assert_eq!(poll().await, "slow_down", "{database:?}");
    host.advance(11);
    assert_eq!(poll().await, "authorization_pending", "{database:?}");
    // The decision is returned at once.
    ada.device.approve(&request, "").await;
    let (status, tokens) = super::poll(&host.base, &ada.application, &codes.device_code).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
}

#[both_databases]
async fn codes_expire_with_or_without_an_entry(database: Database) {
    let (host, ada) = start(database).await;
    let untouched = codes(&host, &ada.application).await;
    let open = codes(&host, &ada.application).await;
    let request = entered(&ada.device, &open.user_code).await;
    host.advance(601);
    for codes in [&untouched, &open] {
        for _ in 0..2 {
            assert_eq!(
                poll_error(&host, &ada.application, &codes.device_code).await,
                "expired_token",
                "{database:?}"
            );
        }
        assert_eq!(
            entry_error(&ada.device, &codes.user_code).await,
            "user_code_not_found",
            "{database:?}"
        );
    }
    assert!(ada.device.decide(&request, Some("")).await.is_err());
    assert!(ada.device.pending_requests(0).await.is_empty());
}

#[both_databases]
async fn a_denial_is_final_and_pauses_nothing(database: Database) {
    let (host, ada) = start(database).await;
    let denied = codes(&host, &ada.application).await;
    let request = entered(&ada.device, &denied.user_code).await;
    assert_eq!(ada.device.deny(&request).await, "denied");
    for _ in 0..2 {
        assert_eq!(
            poll_error(&host, &ada.application, &denied.device_code).await,
            "access_denied",
            "{database:?}"
        );
    }
    assert!(ada.device.decide(&request, Some("")).await.is_err());
    assert_eq!(ada.device.cooldown_end().await, None, "{database:?}");
    approved(&host, &ada).await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    ada.approve(&waiting).await;
}

/// A device learns nothing of a report, and its request ends.
#[both_databases]
async fn a_report_ends_the_request(database: Database) {
    let (host, ada) = start(database).await;
    let codes = codes(&host, &ada.application).await;
    let request = entered(&ada.device, &codes.user_code).await;
    assert_eq!(ada.device.submit_report(&request).await, "reported");
    assert_eq!(
        poll_error(&host, &ada.application, &codes.device_code).await,
        "authorization_pending",
        "{database:?}"
    );
    let reports = host
        .admin_ok(Method::GET, "/reports", serde_json::Value::Null)
        .await;
    let report = &reports["items"][0];
    assert_eq!(report["application_id"], ada.application.id.as_str());
    host.advance(601);
    assert_eq!(
        poll_error(&host, &ada.application, &codes.device_code).await,
        "expired_token",
        "{database:?}"
    );
}

/// A device code is approved twice, or used twice.
#[both_databases]
async fn a_code_is_approved_once_and_its_device_code_used_once(database: Database) {
    let (host, ada) = start(database).await;
    let codes = codes(&host, &ada.application).await;
    let request = entered(&ada.device, &codes.user_code).await;
    let second = host.authenticator(&ada.user).await;
    ada.device.approve(&request, "").await;
    assert!(second.decide(&request, Some("")).await.is_err());
    let (status, _) = poll(&host.base, &ada.application, &codes.device_code).await;
    assert_eq!(status, StatusCode::OK, "{database:?}");
    assert_eq!(
        poll_error(&host, &ada.application, &codes.device_code).await,
        "invalid_grant",
        "{database:?}"
    );
    assert!(second.decide(&request, Some("")).await.is_err());
}

/// Codes of another client, of another kind, and codes that were never issued.
#[both_databases]
async fn device_codes_work_only_for_their_client_and_grant(database: Database) {
    let (host, ada) = start(database).await;
    let other = host.web_application().await;
    permit(&host, &other).await;
    let codes = codes(&host, &ada.application).await;
    let request = entered(&ada.device, &codes.user_code).await;
    ada.device.approve(&request, "").await;
    let code = &codes.device_code;
    let forged = format!("{}{}", &code[..20], "A".repeat(code.len() - 20));
    for (application, text) in [
        (&other, code.as_str()),
        (&ada.application, forged.as_str()),
        (&ada.application, "dc_x"),
        (&ada.application, &codes.user_code),
        (&ada.application, &code.replacen("dc_", "br_", 1)),
    ] {
        let (status, answer) = poll(&host.base, application, text).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{text}");
        assert_eq!(answer["error"], "invalid_grant", "{database:?}: {text}");
    }
    // A device code is no `auth_req_id`, whatever its prefix.
    let path = format!("/applications/{}", ada.application.id);
    let grants = json!({"grant_types": ["authorization_code", super::GRANT, ciba::GRANT]});
    host.admin_ok(Method::PATCH, &path, grants).await;
    for text in [code.clone(), code.replacen("dc_", "br_", 1)] {
        let (_, answer) = ciba::poll(&host.base, &ada.application, &text).await;
        assert_eq!(answer["error"], "invalid_grant", "{database:?}: {text}");
    }
    let (status, _) = poll(&host.base, &ada.application, code).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: nothing was used up");
}

/// A `device_code` used 50 times at once on two instances: one claim wins. A code entered at once by two users: one
/// wins.
#[tokio::test]
async fn concurrent_entries_and_claims_on_two_instances_have_one_winner() {
    let (host, ada) = start(Database::Postgres).await;
    let base_url = host.base.clone();
    let options = HostOptions {
        database: Database::Postgres,
        base_url: &base_url,
        ..HostOptions::default()
    };
    let (_services, _running, second) = host.second(options).await;
    let bob = host.user_with_account("bob", ada.application.clone()).await;
    let codes = codes(&host, &ada.application).await;
    let entries = (0..10).map(|turn| {
        let device = if turn % 2 == 0 {
            &ada.device
        } else {
            &bob.device
        };
        device.enter_code(&codes.user_code)
    });
    let entered = join_all(entries).await;
    let (own, others): (Vec<_>, Vec<_>) = entered
        .into_iter()
        .enumerate()
        .partition(|(turn, _)| turn % 2 == 0);
    let own = own.iter().any(|(_, entered)| entered.is_ok());
    let others = others.iter().any(|(_, entered)| entered.is_ok());
    assert_ne!(own, others, "one user entered the code");
    let winner = if own { &ada.device } else { &bob.device };
    let requests = winner.pending_requests(5).await;
    assert_eq!(requests.len(), 1, "{requests:?}");
    winner.approve(&requests[0], "").await;
    let bases = [host.base.as_str(), second.as_str()];
    let claims = (0..50).map(|turn| poll(bases[turn % 2], &ada.application, &codes.device_code));
    let answers = join_all(claims).await;
    let (won, lost): (Vec<_>, Vec<_>) = answers
        .into_iter()
        .partition(|(status, _)| *status == StatusCode::OK);
    assert_eq!(won.len(), 1, "{won:?}");
    for (status, answer) in lost {
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        // Some arrive while others are under way.
        let expected = ["invalid_grant", "slow_down"];
        assert!(expected.contains(&answer["error"].text()), "{answer}");
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
    let codes = codes(&host, &ada.application).await;
    let request = entered(&ada.device, &codes.user_code).await;
    ada.device.approve(&request, "").await;
    let path = format!("/users/{}", id(&ada.user));
    for state in ["suspended", "active"] {
        host.admin_ok(Method::PATCH, &path, json!({"state": state}))
            .await;
    }
    assert_eq!(
        poll_error(&host, &ada.application, &codes.device_code).await,
        "authorization_pending",
        "{database:?}"
    );
    host.advance(601);
    assert_eq!(
        poll_error(&host, &ada.application, &codes.device_code).await,
        "expired_token",
        "{database:?}"
    );
}
