//! The codes of devices: their entry, their page for browsers, and who may enter them.

use assent_model::statement::{ApprovalStatement, Decision, StatementSubject};
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{approved, codes, entered, entry_error, permit, poll, poll_error, start, start_with};
use crate::harness::{Browser, Database, Text, id};

#[both_databases]
async fn case_spaces_and_hyphens_of_a_code_do_not_matter(database: Database) {
    let (host, ada) = start(database).await;
    for change in [
        (|code: &str| code.to_lowercase()) as fn(&str) -> String,
        |code| code.replace('-', ""),
        |code| code.replace('-', " "),
        |code| format!(" {} ", code.replace('-', "\u{2013}")),
        |code| code.chars().map(|one| format!("{one} ")).collect(),
    ] {
        let codes = codes(&host, &ada.application).await;
        let typed = change(&codes.user_code);
        let request = entered(&ada.device, &typed).await;
        let shown = request.device_authorization.clone().expect("a device");
        assert_eq!(shown.user_code, codes.user_code, "{database:?}: {typed:?}");
        ada.device.deny(&request).await;
    }
}

/// Device codes are guessed: five wrong codes of a network in a minute.
#[both_databases]
async fn after_five_wrong_codes_a_network_enters_none_for_a_while(database: Database) {
    let (host, ada) = start(database).await;
    let right = codes(&host, &ada.application).await.user_code;
    // Right codes do not count.
    for _ in 0..6 {
        let code = codes(&host, &ada.application).await.user_code;
        let request = entered(&ada.device, &code).await;
        ada.device.deny(&request).await;
    }
    for wrong in ["BBBB-BBBB", "bbbb", "", "12345678", "AEIO-UAEI"] {
        assert_eq!(
            entry_error(&ada.device, wrong).await,
            "user_code_not_found",
            "{database:?}: {wrong:?}"
        );
    }
    for code in ["BBBB-BBBB", &right] {
        assert_eq!(
            entry_error(&ada.device, code).await,
            "too_many_calls",
            "{database:?}: even the right code"
        );
    }
    host.advance(12);
    entered(&ada.device, &right).await;
}

#[tokio::test]
async fn the_limit_of_wrong_codes_is_a_setting() {
    let settings = "[rate_limits]\nwrong_user_codes = { per_minute = 60, burst = 1 }\n";
    let (host, ada) = start_with(Database::Sqlite, settings).await;
    assert_eq!(
        entry_error(&ada.device, "BBBB-BBBB").await,
        "user_code_not_found"
    );
    assert_eq!(
        entry_error(&ada.device, "BBBB-BBBB").await,
        "too_many_calls"
    );
    host.advance(1);
    assert_eq!(
        entry_error(&ada.device, "BBBB-BBBB").await,
        "user_code_not_found"
    );
}

/// A device of another user neither takes over an entered code nor answers its request. The own user may repeat it.
#[both_databases]
async fn a_device_of_another_user_cannot_use_an_entered_code(database: Database) {
    let (host, ada) = start(database).await;
    let bob = host.user_with_account("bob", ada.application.clone()).await;
    let codes = codes(&host, &ada.application).await;
    let request = entered(&ada.device, &codes.user_code).await;
    let again = entered(&ada.device, &codes.user_code).await;
    assert_eq!(again.id, request.id, "{database:?}: a repeated entry");
    assert_eq!(
        entry_error(&bob.device, &codes.user_code).await,
        "user_code_not_found",
        "{database:?}"
    );
    assert!(bob.device.pending_requests(0).await.is_empty());
    let error = bob
        .device
        .decide(&request, Some(""))
        .await
        .expect_err("a request of another user");
    assert!(
        error.to_string().starts_with("request_not_found"),
        "{error}"
    );
    assert_eq!(
        poll_error(&host, &ada.application, &codes.device_code).await,
        "authorization_pending"
    );
    // Another device of the same user may answer.
    let second = host.authenticator(&ada.user).await;
    let pending = second.pending_requests(5).await;
    assert_eq!(second.approve(&pending[0], "").await, "approved");
    let (status, _) = poll(&host.base, &ada.application, &codes.device_code).await;
    assert_eq!(status, StatusCode::OK, "{database:?}");
}

/// A user without access gets no request, and the device still waits for one with access.
#[both_databases]
async fn a_user_without_access_does_not_use_up_the_code(database: Database) {
    let (host, ada) = start(database).await;
    let eve = host.user("eve").await;
    let device = host.authenticator(&eve).await;
    let codes = codes(&host, &ada.application).await;
    assert_eq!(
        entry_error(&device, &codes.user_code).await,
        "no_access",
        "{database:?}"
    );
    assert!(device.pending_requests(0).await.is_empty());
    let path = format!("/users/{}", id(&eve));
    host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    let request = entered(&ada.device, &codes.user_code).await;
    ada.device.approve(&request, "").await;
    let (status, _) = poll(&host.base, &ada.application, &codes.device_code).await;
    assert_eq!(status, StatusCode::OK, "{database:?}");
}

/// An application that lost the grant type, or is disabled, has no codes any more.
#[tokio::test]
async fn codes_of_an_application_without_the_grant_type_are_unknown() {
    let (host, ada) = start(Database::Sqlite).await;
    let codes = codes(&host, &ada.application).await;
    let path = format!("/applications/{}", ada.application.id);
    for change in [
        json!({"grant_types": ["authorization_code"]}),
        json!({"grant_types": ["authorization_code", super::GRANT], "enabled": false}),
    ] {
        host.admin_ok(Method::PATCH, &path, change).await;
        assert_eq!(
            entry_error(&ada.device, &codes.user_code).await,
            "user_code_not_found"
        );
    }
}

/// A session in the browser is never used: the page shows the code and leads to the authenticator.
#[both_databases]
async fn a_session_in_the_browser_is_never_used(database: Database) {
    let (host, ada) = start(database).await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let codes = codes(&host, &ada.application).await;
    let complete = codes.answer["verification_uri_complete"].text();
    let page = browser.get(complete).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.body);
    assert!(page.body.contains(&codes.user_code), "{}", page.body);
    assert!(page.body.contains("Does your device show this code?"));
    let link = format!("/authenticator#device={}", codes.user_code);
    assert!(page.body.contains(&link), "{}", page.body);
    assert!(!page.body.contains("<form"), "{}", page.body);
    assert!(!page.headers.contains_key("set-cookie"));
    let stranger = Browser::new(&host.base).get(complete).await;
    assert_eq!(
        page.body, stranger.body,
        "{database:?}: the page is the same with and without a session"
    );
    let plain = browser.get("/device").await;
    assert!(
        plain.body.contains("/authenticator#device\""),
        "{}",
        plain.body
    );
    let odd = browser
        .get("/device?user_code=%3Cscript%3Ealert(1)%3C/script%3E")
        .await;
    assert_eq!(odd.body, plain.body, "{database:?}: nothing is reflected");
    assert!(ada.device.pending_requests(0).await.is_empty());
    assert_eq!(
        poll_error(&host, &ada.application, &codes.device_code).await,
        "authorization_pending",
        "{database:?}"
    );
}

/// A device code is entered by a victim for an attacker: application, place and age are shown and signed before
/// anything counts.
#[tokio::test]
async fn a_proof_covers_the_code_the_age_and_the_permissions() {
    let (host, ada) = start(Database::Sqlite).await;
    let codes = codes(&host, &ada.application).await;
    let request = entered(&ada.device, &codes.user_code).await;
    let shown = request.device_authorization.clone().expect("a device");
    let asked_at = assent_model::clock::Timestamp::from_seconds(shown.asked_at);
    let right = StatementSubject::DeviceAuthorization {
        code: &shown.user_code,
        asked_at,
        scopes: &shown.scopes,
    };
    let later = assent_model::clock::Timestamp::from_seconds(shown.asked_at + 60);
    let statement = || ApprovalStatement {
        subject: right,
        ..ada.device.statement(&request, Some(""))
    };
    for wrong in [
        ApprovalStatement {
            subject: StatementSubject::SignIn,
            ..statement()
        },
        ApprovalStatement {
            subject: StatementSubject::Backchannel {
                message: &shown.user_code,
                scopes: &shown.scopes,
            },
            ..statement()
        },
        ApprovalStatement {
            subject: StatementSubject::DeviceAuthorization {
                code: "BBBB-BBBB",
                asked_at,
                scopes: &shown.scopes,
            },
            ..statement()
        },
        ApprovalStatement {
            subject: StatementSubject::DeviceAuthorization {
                code: &shown.user_code,
                asked_at: later,
                scopes: &shown.scopes,
            },
            ..statement()
        },
        ApprovalStatement {
            subject: StatementSubject::DeviceAuthorization {
                code: &shown.user_code,
                asked_at,
                scopes: &shown.scopes[..1],
            },
            ..statement()
        },
        ApprovalStatement {
            place: "Zurich",
            ..statement()
        },
        ApprovalStatement {
            application_name: "Another application",
            ..statement()
        },
    ] {
        let signature = ada.device.signature(&wrong.text());
        let reply = ada
            .device
            .send(request.id, Decision::Approve, "", &signature)
            .await
            .expect("an answer");
        assert_eq!(reply.status, StatusCode::FORBIDDEN, "{wrong:?}");
    }
    assert_eq!(
        poll_error(&host, &ada.application, &codes.device_code).await,
        "authorization_pending"
    );
    let signature = ada.device.signature(&statement().text());
    let reply = ada
        .device
        .send(request.id, Decision::Approve, "", &signature)
        .await
        .expect("an answer");
    assert_eq!(reply.status, StatusCode::OK, "{:?}", reply.body);
}

/// A number of a sign-in does not approve a device, and a request for a device needs none.
#[tokio::test]
async fn a_sign_in_in_a_browser_is_not_confused_with_one_on_a_device() {
    let (host, ada) = start(Database::Sqlite).await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let codes = codes(&host, &ada.application).await;
    ada.device
        .enter_code(&codes.user_code)
        .await
        .expect("a right code");
    let requests = ada.device.pending_requests(5).await;
    assert_eq!(requests.len(), 2, "{requests:?}");
    let (device, browser): (Vec<_>, Vec<_>) = requests
        .iter()
        .partition(|request| request.device_authorization.is_some());
    let number = waiting.number();
    for (request, typed) in [(device[0], number.as_str()), (browser[0], "")] {
        let error = ada
            .device
            .decide(request, Some(typed))
            .await
            .expect_err("the wrong number");
        assert!(error.to_string().starts_with("number_mismatch"), "{error}");
    }
    assert_eq!(ada.device.approve(browser[0], &number).await, "approved");
    assert_eq!(
        poll_error(&host, &ada.application, &codes.device_code).await,
        "authorization_pending"
    );
}

/// A cooldown holds requests of strangers. The user begins this one.
#[tokio::test]
async fn a_cooldown_does_not_hold_a_code_that_the_user_enters() {
    let (host, ada) = start(Database::Sqlite).await;
    ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let request = ada.device.pending_requests(5).await.remove(0);
    ada.device.submit_report(&request).await;
    assert!(ada.device.cooldown_end().await.is_some());
    approved(&host, &ada).await;
}

/// No column has a code that could still be used.
#[both_databases]
async fn the_database_has_only_digests_of_open_codes(database: Database) {
    let (host, ada) = start(database).await;
    let other = host.web_application().await;
    permit(&host, &other).await;
    let codes = codes(&host, &ada.application).await;
    let mut connection = host.connection().await;
    let query = "SELECT digest, user_code FROM device_authorizations";
    let rows: Vec<(String, String)> = assent_store::sql::query_as(query)
        .fetch_all(&mut connection)
        .await
        .expect("read");
    let [(device_code, user_code)] = rows.as_slice() else {
        panic!("{rows:?}");
    };
    let plain = codes.user_code.replace('-', "");
    for digest in [device_code, user_code] {
        assert_eq!(digest.len(), 64, "{database:?}");
        assert!(!digest.contains(&plain) && !digest.contains(&codes.device_code));
    }
    let bare = assent_model::secret::Digest::sha256(plain.as_bytes()).to_text();
    assert_ne!(*user_code, bare, "{database:?}: the digest has a key");
}
