//! Checks of callers: a help desk asks the phone of a user whether the user is on the line.

use assent_model::id::ApprovalId;
use assent_model::statement::StatementSubject;
use assent_store::sql;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Administrator, Answer, Caller, console_caller, service};
use crate::harness::{Browser, Database, Parsed, TestHost, TestUser, Text, id};
use crate::lifecycle::entries;
use crate::oidc::ciba::pending;

/// Begins a check of Ada.
async fn ask(caller: &Caller, ada: &TestUser) -> Answer {
    let path = format!("/users/{}/caller-checks", id(&ada.user));
    caller.call(Method::POST, &path, Value::Null).await
}

/// Reads a check.
async fn read(caller: &Caller, check: &Value, wait: u32) -> Value {
    let path = format!("/caller-checks/{}?wait={wait}", check["id"].text());
    caller.get(&path).await.success()
}

async fn helper(host: &TestHost) -> Caller {
    console_caller(host, "sue", "support").await
}

#[both_databases]
async fn a_caller_approves_with_the_number_that_the_helper_reads_aloud(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let sue = Administrator::new(&host, "sue", "support").await;
    let desk = sue.signed_in(&host).await;
    let answer = ask(&desk, &ada).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    let check = answer.body;
    assert_eq!(
        (&check["state"], &check["user_id"]),
        (&json!("waiting"), &ada.user["id"])
    );
    let number = check["number"].text().to_owned();
    assert_eq!(number.len(), 2, "{check}");

    let request = pending(&ada.device).await;
    let shown = request.caller_check.clone().expect("the check of a caller");
    assert_eq!(
        shown.administrator, "Ada Lovelace",
        "the name of the administrator"
    );
    assert_eq!(request.application.name, "Assent");
    assert_eq!((request.place.as_str(), request.browser.as_str()), ("", ""));
    assert!(request.action.is_none() && request.backchannel.is_none());
    let statement = ada.device.statement(&request, Some(&number));
    assert_eq!(
        statement.subject,
        StatementSubject::CallerCheck("Ada Lovelace")
    );
    assert!(statement.text().starts_with("assent-caller-check-v1\n"));
    // Without the number there is no approval.
    let error = ada
        .device
        .decide(&request, Some(""))
        .await
        .expect_err("no number");
    assert!(error.to_string().starts_with("number_mismatch"), "{error}");
    assert_eq!(read(&desk, &check, 0).await["state"], "waiting");

    let (seen, outcome) = tokio::join!(read(&desk, &check, 20), async {
        ada.device.approve(&request, &number).await
    });
    assert_eq!(outcome, "approved");
    assert_eq!(seen["state"], "approved", "{database:?}: {seen}");
    assert!(
        seen["number"].is_null() && !seen["approved_at"].is_null(),
        "{seen}"
    );

    // Both events name the check, its administrator and the user.
    let log = format!("user={}", id(&ada.user));
    let log = entries(&host, &log).await;
    let about = |event: &str| {
        let about = |entry: &&Value| {
            entry["event"] == event && entry["detail"]["caller_check"] == check["id"]
        };
        log.iter()
            .find(about)
            .unwrap_or_else(|| panic!("{event}: {log:?}"))
    };
    let requested = about("sign-in.requested");
    assert_eq!(requested["actor"]["id"], sue.user["id"], "{requested}");
    assert_eq!(about("sign-in.approved")["actor"]["kind"], "device");
}

/// The approval grants nothing: no session, no sign-in, no protected action, no token.
#[both_databases]
async fn an_approved_check_gives_no_session_and_no_token(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let desk = helper(&host).await;
    let sessions = format!("/users/{}/sessions", id(&ada.user));
    let before = host.admin_ok(Method::GET, &sessions, Value::Null).await;
    // A sign-in in a browser waits meanwhile, with another number.
    let browser = Browser::new(&host.base);
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    let check = ask(&desk, &ada).await.success();
    let number = check["number"].text().to_owned();
    assert_ne!(waiting.number(), number, "{database:?}");
    let requests = ada.device.pending_requests(5).await;
    let of_check = requests
        .iter()
        .find(|one| one.caller_check.is_some())
        .expect("the check");
    assert_eq!(ada.device.approve(of_check, &number).await, "approved");
    assert_eq!(
        browser.get(&waiting.url).await.number(),
        waiting.number(),
        "it waits"
    );
    let after = host.admin_ok(Method::GET, &sessions, Value::Null).await;
    assert_eq!(after["items"], before["items"], "{database:?}");
    let approval: ApprovalId = of_check.id;
    let mut connection = host.connection().await;
    let rows: Vec<(Option<String>, Option<String>, Option<String>)> = sql::query_as(
        "SELECT login_id, action_approval_id, backchannel_id FROM approvals WHERE id = $1",
    )
    .bind(approval.to_string())
    .fetch_all(&mut connection)
    .await
    .expect("read");
    assert_eq!(rows, [(None, None, None)], "it belongs to no sign-in");
    // Its approval is not one of a protected action either.
    let path = format!("/action-approvals/{}", check["id"].text());
    assert_eq!(desk.get(&path).await.status, StatusCode::NOT_FOUND);
    for member in ["token", "session", "csrf_token"] {
        assert!(check.get(member).is_none(), "{check}");
    }
}

#[both_databases]
async fn the_helper_sees_denials_reports_wrong_numbers_and_expiry(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let desk = helper(&host).await;
    let check = ask(&desk, &ada).await.success();
    ada.device.deny(&pending(&ada.device).await).await;
    assert_eq!(
        read(&desk, &check, 5).await["state"],
        "denied",
        "{database:?}"
    );

    let check = ask(&desk, &ada).await.success();
    let number: u32 = check["number"].text().parsed();
    let request = pending(&ada.device).await;
    for wrong in 1..=3 {
        let wrong = format!("{}", 10 + (number - 10 + wrong) % 90);
        let error = ada
            .device
            .decide(&request, Some(&wrong))
            .await
            .expect_err("wrong");
        assert!(error.to_string().starts_with("number_mismatch"), "{error}");
    }
    assert_eq!(read(&desk, &check, 5).await["state"], "number_mismatch");

    let check = ask(&desk, &ada).await.success();
    host.advance(600);
    assert_eq!(
        read(&desk, &check, 0).await["state"],
        "expired",
        "{database:?}"
    );

    let check = ask(&desk, &ada).await.success();
    let request = pending(&ada.device).await;
    assert_eq!(ada.device.submit_report(&request).await, "reported");
    assert_eq!(
        read(&desk, &check, 5).await["state"],
        "reported",
        "{database:?}"
    );
    let reports = host.admin_ok(Method::GET, "/reports", Value::Null).await;
    assert_eq!(reports["items"][0]["kind"], "caller_check", "{reports}");
    assert!(reports["items"][0]["application_id"].is_null());
    // The report pauses the requests, and the helper learns it at once.
    let answer = ask(&desk, &ada).await;
    assert_eq!(answer.problem(), "conflict", "{}", answer.body);
    // The counts of sign-ins have none of this.
    let overview = host.admin_ok(Method::GET, "/overview", Value::Null).await;
    let hours = overview["sign_ins"].as_array().expect("a list");
    for name in [
        "denied",
        "reported",
        "number_mismatches",
        "expired",
        "cancelled",
    ] {
        let sum: u64 = hours.iter().filter_map(|hour| hour[name].as_u64()).sum();
        assert_eq!(sum, 0, "{database:?}: {name}");
    }
}

/// Two help desks never read out two numbers at once, and no administrator asks a user again and again.
#[both_databases]
async fn one_check_of_a_user_waits_at_a_time_and_checks_have_a_limit(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let (desk, operator) = (helper(&host).await, Caller::machine(&host));
    let check = ask(&desk, &ada).await.success();
    let second = ask(&operator, &ada).await;
    assert_eq!(
        second.status,
        StatusCode::TOO_MANY_REQUESTS,
        "{}",
        second.body
    );
    let path = format!("/caller-checks/{}", check["id"].text());
    // Only who asked sees the number or cancels the check.
    assert_eq!(operator.get(&path).await.status, StatusCode::NOT_FOUND);
    let cancelled = operator.call(Method::DELETE, &path, Value::Null).await;
    assert_eq!(cancelled.status, StatusCode::NOT_FOUND);
    let cancelled = desk.call(Method::DELETE, &path, Value::Null).await;
    assert_eq!(
        cancelled.status,
        StatusCode::NO_CONTENT,
        "{}",
        cancelled.body
    );
    assert_eq!(read(&desk, &check, 0).await["state"], "ended");
    assert!(
        ada.device.pending_requests(0).await.is_empty(),
        "{database:?}"
    );
    for _ in 0..3 {
        let check = ask(&operator, &ada).await.success();
        let path = format!("/caller-checks/{}", check["id"].text());
        operator.call(Method::DELETE, &path, Value::Null).await;
    }
    let above = ask(&operator, &ada).await;
    assert_eq!(
        above.status,
        StatusCode::TOO_MANY_REQUESTS,
        "{}",
        above.body
    );
}

#[tokio::test]
async fn a_check_needs_its_permission_and_a_user_who_can_answer() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let auditor = console_caller(&host, "tom", "auditor").await;
    let reader = service(&host, &["admin:read"]).await;
    for caller in [&auditor, &reader] {
        assert_eq!(ask(caller, &ada).await.status, StatusCode::FORBIDDEN);
    }
    let users = service(&host, &["admin:users"]).await;
    let check = ask(&users, &ada).await.success();
    assert_eq!(read(&users, &check, 0).await["state"], "waiting");
    let operator = Caller::machine(&host);
    let bob = host.user("bob").await;
    let path = format!("/users/{}/caller-checks", id(&bob));
    let answer = operator.call(Method::POST, &path, Value::Null).await;
    assert_eq!(answer.problem(), "conflict", "no device: {}", answer.body);
    let state = json!({"state": "suspended"});
    host.admin_ok(Method::PATCH, &format!("/users/{}", id(&ada.user)), state)
        .await;
    assert_eq!(ask(&operator, &ada).await.problem(), "conflict");
    let path = format!("/users/{}/caller-checks", "0".repeat(32));
    let answer = operator.call(Method::POST, &path, Value::Null).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
}

/// The text that the device signed has the name of the administrator, so it goes with the administrator's erasure.
#[both_databases]
async fn the_erasure_of_an_administrator_deletes_the_receipts_with_the_name(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let sue = Administrator::new(&host, "sue", "support").await;
    let check = ask(&sue.signed_in(&host).await, &ada).await.success();
    let request = pending(&ada.device).await;
    ada.device.approve(&request, check["number"].text()).await;
    let receipt = format!("/receipts/{}", request.id);
    host.admin_ok(Method::GET, &receipt, Value::Null).await;
    let path = format!("/users/{}", id(&sue.user));
    let ended = json!({"console_role": null, "state": "terminated"});
    host.admin_ok(Method::PATCH, &path, ended).await;
    host.admin_ok(Method::POST, &format!("{path}/erase"), Value::Null)
        .await;
    let answer = Caller::machine(&host).get(&receipt).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{database:?}");
    let mut connection = host.connection().await;
    let rows: Vec<(i64,)> = sql::query_as("SELECT COUNT(*) FROM caller_checks")
        .fetch_all(&mut connection)
        .await
        .expect("read");
    assert_eq!(rows, [(0,)], "{database:?}");
}
