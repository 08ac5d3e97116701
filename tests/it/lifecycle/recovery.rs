//! Recovery codes for users without an authenticator.

use assent::authenticator::enrolled::Authenticator;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};

use super::{entries, events};
use crate::harness::{
    Browser, Database, Device, Json, Page, TestHost, TestUser, Text, id, parse_codes,
};

async fn remaining_codes(device: &Device) -> Value {
    device.call_ok(Method::GET, "/devices", None).await["recovery_codes"].clone()
}

/// Submits a code, in a browser of its own.
async fn submit_code(host: &TestHost, name: &str, code: &str) -> Page {
    let page = Browser::new(&host.base).get("/recover").await;
    let answer = page
        .submit("/recover", &[("name", name), ("code", code)])
        .await;
    if answer.status == StatusCode::SEE_OTHER {
        answer.followed().await
    } else {
        answer
    }
}

/// Returns the link on the page of a valid code.
fn link_of(page: &Page) -> String {
    let path = page
        .body
        .split("href=\"")
        .find(|rest| rest.starts_with("/authenticator#enrol="))
        .expect("a link");
    format!(
        "{}{}",
        page.origin().ascii_serialization(),
        path.split('"').next().expect("a link")
    )
}

#[both_databases]
async fn a_recovery_code_enrols_one_device_and_notifies_the_others(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    assert_eq!(remaining_codes(&ada.device).await, 0);
    let codes = ada.device.recovery_codes().await;
    let distinct: std::collections::BTreeSet<&String> = codes.iter().collect();
    assert_eq!(
        (
            codes.len(),
            distinct.len(),
            remaining_codes(&ada.device).await
        ),
        (10, 10, json!(10))
    );

    host.advance(1);
    let page = submit_code(
        &host,
        "Ada@Example.org",
        &codes[3].to_lowercase().replace('-', " "),
    )
    .await;
    assert_eq!(page.status, StatusCode::OK, "{database:?}: {}", page.body);
    assert_eq!(page.headers[header::CACHE_CONTROL], "no-store");
    host.advance(1);
    assert_eq!(page.path(), "/recover/done");
    let again = page.again().await;
    assert_eq!(
        link_of(&again),
        link_of(&page),
        "{database:?}: a reload of the page uses no code"
    );
    let elsewhere = Browser::new(&host.base).get(&page.url).await;
    assert_eq!(
        elsewhere.location().path(),
        "/recover",
        "{database:?}: the page is invalid in another browser"
    );
    let found = Device::enrol(&link_of(&page), "New phone").await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let request = &found.pending_requests(5).await[0];
    assert_eq!(found.approve(request, &waiting.number()).await, "approved");
    assert_eq!(remaining_codes(&found).await, 9);
    assert_eq!(
        submit_code(&host, "ada", &codes[3]).await.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "used"
    );

    let answer = ada.device.call_ok(Method::GET, "/requests", None).await;
    assert_eq!(
        events(answer["notifications"].items()),
        ["recovery.code-used", "device.enrolled"]
    );
    let returned = entries(&host, &format!("user={}", id(&ada.user))).await;
    let about: Vec<&str> = events(&returned)
        .into_iter()
        .filter(|event| event.starts_with("recovery"))
        .collect();
    assert_eq!(
        about,
        [
            "recovery.codes-created",
            "recovery.code-used",
            "recovery.failed"
        ]
    );
    let database_dump = super::erasure::database_dump(&host, database).await;
    for code in &codes {
        assert!(
            !database_dump.contains(code.as_str())
                && !database_dump.contains(&code.replace('-', "")),
            "{code}"
        );
    }
}

#[both_databases]
async fn of_fifty_concurrent_uses_of_a_recovery_code_one_succeeds(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let code = ada.device.recovery_codes().await.remove(0);
    let tries = (0..50).map(|_| submit_code(&host, "ada", &code));
    let pages = futures_util::future::join_all(tries).await;
    let good: Vec<&Page> = pages
        .iter()
        .filter(|page| page.status == StatusCode::OK)
        .collect();
    assert_eq!(good.len(), 1, "{database:?}");
}

#[tokio::test]
async fn wrong_used_and_foreign_recovery_codes_get_the_same_response() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let bob = host.user_with_account("bob", ada.application.clone()).await;
    let (old, his) = (
        ada.device.recovery_codes().await,
        bob.device.recovery_codes().await,
    );
    let new = ada.device.recovery_codes().await;
    host.advance(1);
    let without_token = |page: &Page| page.body.replace(&page.csrf(), "");
    let unknown = submit_code(&host, "nobody", &new[0]).await;
    assert_eq!(unknown.status, StatusCode::UNPROCESSABLE_ENTITY);
    let expected = without_token(&unknown).replace("nobody", "ada");
    for wrong in [
        old[0].as_str(),
        his[0].as_str(),
        "0000-0000-0000-0000",
        "",
        "x",
        "ÄÖÜ\u{0}",
    ] {
        let page = submit_code(&host, "ada", wrong).await;
        assert_eq!(
            (page.status, without_token(&page)),
            (StatusCode::UNPROCESSABLE_ENTITY, expected.clone()),
            "{wrong}"
        );
        assert!(
            wrong.len() < 2 || !page.body.contains(wrong),
            "the entered code is not shown again"
        );
    }
    for name in ["", "a\u{0}b", &"a".repeat(5000)] {
        assert_eq!(
            submit_code(&host, name, &new[0]).await.status,
            StatusCode::UNPROCESSABLE_ENTITY
        );
    }
    let escaped = submit_code(&host, "<script>alert(1)</script>", "x").await;
    assert!(!escaped.body.contains("<script>alert"), "{}", escaped.body);
    assert_eq!(remaining_codes(&ada.device).await, 10, "no code was used");
    assert_eq!(
        entries(&host, "event=recovery.failed").await.len(),
        6,
        "no entries about unknown names"
    );

    let path = format!("/users/{}", id(&ada.user));
    host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    let page = submit_code(&host, "ada", &new[0]).await;
    assert_eq!(
        (page.status, without_token(&page)),
        (StatusCode::UNPROCESSABLE_ENTITY, expected)
    );
    host.admin_ok(Method::PATCH, &path, json!({"state": "active"}))
        .await;
    assert_eq!(
        submit_code(&host, "ada", &new[1]).await.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "the codes were removed"
    );
}

#[tokio::test]
async fn recovery_rejects_cross_site_forms_and_limits_guesses() {
    let settings = "[rate_limits]\nunauthenticated_requests = { per_minute = 1, burst = 5 }\n";
    let host = TestHost::start_with_settings(settings).await;
    let ada = host.ada().await;
    let codes = ada.device.recovery_codes().await;
    let browser = Browser::new(&host.base);
    let forged = browser
        .post(
            "/recover",
            &[("name", "ada"), ("code", &codes[0]), ("csrf", "")],
        )
        .await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
    for _ in 0..5 {
        assert_eq!(
            submit_code(&host, "ada", "0000-0000-0000-0000")
                .await
                .status,
            StatusCode::UNPROCESSABLE_ENTITY
        );
    }
    let held = submit_code(&host, "ada", &codes[0]).await;
    assert_eq!(held.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(held.headers.contains_key(header::RETRY_AFTER));
    host.advance(61);
    assert_eq!(
        submit_code(&host, "ada", &codes[0]).await.status,
        StatusCode::OK,
        "the code is still valid"
    );
}

#[tokio::test]
async fn the_link_of_a_recovery_code_is_valid_once_for_15_minutes() {
    let host = TestHost::start().await;
    let ada: TestUser = host.ada().await;
    let codes = ada.device.recovery_codes().await;
    let first = link_of(&submit_code(&host, "ada", &codes[0]).await);
    Device::enrol(&first, "New phone").await;
    assert!(
        Authenticator::enrol(&first, "Newer phone", None)
            .await
            .is_err()
    );
    let late = link_of(&submit_code(&host, "ada", &codes[1]).await);
    host.advance(15 * 60 + 1);
    assert!(
        Authenticator::enrol(&late, "New phone", None)
            .await
            .is_err()
    );
}

#[both_databases]
async fn a_suspended_user_cannot_create_recovery_codes(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let path = format!("/users/{}", id(&ada.user));
    host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    let error = ada
        .device
        .ask(Method::POST, "/recovery-codes", None)
        .await
        .expect_err("rejected")
        .to_string();
    assert!(error.starts_with("user_inactive"), "{database:?}: {error}");
    host.admin_ok(Method::PATCH, &path, json!({"state": "active"}))
        .await;
    assert_eq!(remaining_codes(&ada.device).await, 0);
    ada.device.recovery_codes().await;
}

#[both_databases]
async fn revoking_a_device_revokes_its_links_and_codes_only(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    host.advance(1);
    let stolen = host.authenticator(&ada.user).await;
    let own = ada.device.recovery_codes().await;
    let link = |created: &Value| created["link"].text().to_owned();
    let of_thief = link(
        &stolen
            .call_ok(Method::POST, "/devices/enrolment-links", None)
            .await,
    );
    let of_code = link_of(&submit_code(&host, "ada", &own[0]).await);
    let path = format!("/users/{}/enrolments", id(&ada.user));
    let of_administrator = link(&host.admin_ok(Method::POST, &path, Value::Null).await);
    ada.device
        .call_ok(
            Method::DELETE,
            &format!("/devices/{}", stolen.device()),
            None,
        )
        .await;
    for revoked_link in [&of_thief, &of_code] {
        let error = Authenticator::enrol(revoked_link, "Thief", None)
            .await
            .map(|_| ())
            .expect_err("rejected")
            .to_string();
        assert!(error.starts_with("link_withdrawn"), "{database:?}: {error}");
    }
    assert_eq!(
        remaining_codes(&ada.device).await,
        9,
        "her own codes are unchanged"
    );
    let third = Device::enrol(&of_administrator, "Third").await;

    // The codes that the thief created in place of the user's codes end as well. A link ends when the user creates new
    // codes.
    third.recovery_codes().await;
    ada.device
        .call_ok(
            Method::DELETE,
            &format!("/devices/{}", third.device()),
            None,
        )
        .await;
    assert_eq!(remaining_codes(&ada.device).await, 0);
    let open = link(
        &ada.device
            .call_ok(Method::POST, "/devices/enrolment-links", None)
            .await,
    );
    ada.device.recovery_codes().await;
    assert!(
        Authenticator::enrol(&open, "Late", None).await.is_err(),
        "{database:?}"
    );
}

#[both_databases]
async fn concurrent_code_creation_leaves_ten_valid_codes(database: Database) {
    let (_host, ada) = TestHost::start_on(database).await.with_ada().await;
    // Newer codes replace unconfirmed ones, so some of these confirmations are late.
    let create = async || {
        let created = ada
            .device
            .call_ok(Method::POST, "/recovery-codes", None)
            .await;
        let confirm = format!("/recovery-codes/{}/confirm", created["id"].text());
        ada.device
            .call_any(Method::POST, &confirm, None)
            .await
            .status
    };
    let statuses = futures_util::future::join_all((0..8).map(|_| create())).await;
    for status in &statuses {
        let expected = [StatusCode::NO_CONTENT, StatusCode::GONE];
        assert!(expected.contains(status), "{database:?}: {statuses:?}");
    }
    assert_eq!(remaining_codes(&ada.device).await, 10, "{database:?}");
}

#[both_databases]
async fn old_codes_stay_valid_until_the_device_confirms_the_new_ones(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let other = host.authenticator(&ada.user).await;
    let old = ada.device.recovery_codes().await;
    let create = async || {
        let created = ada
            .device
            .call_ok(Method::POST, "/recovery-codes", None)
            .await;
        let path = format!("/recovery-codes/{}/confirm", created["id"].text());
        (parse_codes(&created), path)
    };
    let is_valid =
        async |code: &str| submit_code(&host, "ada", code).await.status == StatusCode::OK;
    let confirmed = async |device: &Device, path: &str| {
        let reply = device.call_any(Method::POST, path, None).await;
        (reply.status, reply.body["error"].clone())
    };
    let created_events = async || {
        let returned = entries(&host, &format!("user={}", id(&ada.user))).await;
        let events = events(&returned).into_iter();
        events
            .filter(|event| *event == "recovery.codes-created")
            .count()
    };
    host.advance(1);
    let (replaced, late) = create().await;
    let (new, confirm) = create().await;
    assert!(is_valid(&old[0]).await, "{database:?}");
    for code in [&replaced[0], &new[0]] {
        assert!(!is_valid(code).await, "{database:?}: unconfirmed");
    }
    assert_eq!(remaining_codes(&ada.device).await, 9);
    assert_eq!(created_events().await, 1, "{database:?}");
    let gone = (StatusCode::GONE, json!("recovery_codes_not_found"));
    for path in [late.as_str(), "/recovery-codes/x/confirm"] {
        assert_eq!(confirmed(&ada.device, path).await, gone, "{database:?}");
    }
    let bob = host.user_with_account("bob", ada.application.clone()).await;
    assert_eq!(confirmed(&bob.device, &confirm).await, gone);

    let done = (StatusCode::NO_CONTENT, Value::Null);
    assert_eq!(confirmed(&ada.device, &confirm).await, done);
    assert!(!is_valid(&old[1]).await, "{database:?}");
    assert!(is_valid(&new[0]).await, "{database:?}");
    // If the response was lost, the device repeats the call.
    assert_eq!(confirmed(&ada.device, &confirm).await, done);
    assert_eq!(created_events().await, 2, "{database:?}");
    assert_eq!(remaining_codes(&ada.device).await, 9);
    let answer = other.call_ok(Method::GET, "/requests", None).await;
    let notified = events(answer["notifications"].items()).into_iter();
    let created = notified.filter(|event| *event == "recovery.codes-created");
    assert_eq!(created.count(), 1, "{database:?}: {answer}");

    // Unconfirmed codes expire after half an hour.
    let (in_time, confirm) = create().await;
    host.advance(29 * 60);
    assert_eq!(confirmed(&ada.device, &confirm).await, done);
    let (_, confirm) = create().await;
    host.advance(31 * 60);
    assert_eq!(confirmed(&ada.device, &confirm).await, gone, "{database:?}");
    assert!(is_valid(&in_time[0]).await, "{database:?}");
}
