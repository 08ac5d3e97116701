//! Reports of users ("This wasn't me"): who sees them, and how an administrator settles them, once.

use assent_model::id::ReportId;
use assent_store::Retention;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;

use super::protected_actions::{refused, requested, waiting};
use super::{Administrator, Caller, console_caller};
use crate::harness::{Body, Browser, Database, Respond, TestHost, TestUser, Text, http_client, id};
use crate::lifecycle::entries;

/// Begins a sign-in with the user's name in another browser, and reports it on the device.
async fn report(host: &TestHost, user: &TestUser) {
    let browser = Browser::new(&host.base);
    let login = user.application.login_page(&browser, &[]).await;
    login.submit_name(user.user["name"].text()).await;
    let requests = user.device.pending_requests(5).await;
    let newest = requests.last().expect("a request");
    assert_eq!(user.device.submit_report(newest).await, "reported");
}

async fn get(host: &TestHost, path: &str) -> Value {
    host.admin_ok(Method::GET, path, Value::Null).await
}

async fn open_reports(host: &TestHost) -> Vec<Value> {
    let list = get(host, "/reports?open=true").await;
    list["items"].as_array().expect("a list").clone()
}

async fn listed(host: &TestHost, user: &TestUser) -> Value {
    get(host, &format!("/users?q={}", id(&user.user))).await["items"][0].clone()
}

#[both_databases]
async fn a_report_stays_until_an_administrator_settles_it(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    assert_eq!(open_reports(&host).await, Vec::<Value>::new());
    report(&host, &ada).await;

    let found = open_reports(&host).await;
    assert_eq!(found.len(), 1, "{database:?}");
    let one = &found[0];
    assert_eq!(
        (&one["user_id"], &one["user_name"], &one["kind"]),
        (&ada.user["id"], &json!("ada"), &json!("sign_in"))
    );
    assert_eq!(one["application_id"], ada.application.id);
    assert!(
        !one["requested_from"].text().is_empty() && one["settlement"].is_null(),
        "{one}"
    );
    // The user has a mark in the list, and is among the paused users.
    let row = listed(&host, &ada).await;
    assert_eq!(row["open_reports"], 1);
    let paused = get(&host, "/cooldowns").await["items"][0].clone();
    assert_eq!(paused["user_id"], ada.user["id"]);
    assert_eq!(paused["until"], row["paused_until"], "{row}");

    // The report outlives the end of the cooldown.
    ada.device.end_cooldown().await;
    assert_eq!(get(&host, "/cooldowns").await["items"], json!([]));
    assert_eq!(listed(&host, &ada).await["paused_until"], Value::Null);
    assert_eq!(open_reports(&host).await.len(), 1);

    let path = format!("/reports/{}/settlement", one["id"].text());
    for note in ["", "  ", "a\nb"] {
        let (status, _) = host.admin(Method::POST, &path, json!({"note": note})).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{note:?}");
    }
    let admin = console_caller(&host, "grace", "admin").await;
    let settled = admin
        .call(Method::POST, &path, json!({"note": "Ada called"}))
        .await
        .success();
    assert_eq!(
        (
            &settled["settlement"]["note"],
            &settled["settlement"]["settled_by_name"]
        ),
        (&json!("Ada called"), &json!("grace"))
    );
    assert_eq!(open_reports(&host).await, Vec::<Value>::new());
    assert_eq!(get(&host, "/reports").await["items"][0], settled);
    let of_user = get(&host, &format!("/reports?user={}", id(&ada.user))).await;
    assert_eq!(of_user["items"].as_array().map(Vec::len), Some(1));
    let entry = &entries(&host, "event=report.settled").await[0];
    assert_eq!(entry["user_id"], ada.user["id"], "{entry}");
    assert_eq!(entry["personal"]["note"], "Ada called", "{entry}");
    let (status, _) = host
        .admin(Method::POST, &path, json!({"note": "again"}))
        .await;
    assert_eq!(status, StatusCode::CONFLICT);
}

#[both_databases]
async fn a_settlement_ends_the_cooldown_the_sessions_and_the_device(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    ada.sign_in(&Browser::new(&host.base)).await;
    host.advance(1);
    report(&host, &ada).await;
    let reported = open_reports(&host).await[0].clone();
    let path = format!("/reports/{}/settlement", reported["id"].text());
    // A device of another user: nothing happens, and the report stays open.
    let bob = host.user("bob").await;
    host.authenticator(&bob).await;
    let foreign = get(&host, &format!("/users/{}/devices", id(&bob))).await;
    let settlement = |device: &str| {
        json!({"note": "The phone was stolen", "end_cooldown": true, "end_sessions": true,
               "revoke_device": device})
    };
    let with_foreign = settlement(foreign["items"][0]["id"].text());
    let (status, _) = host.admin(Method::POST, &path, with_foreign).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{database:?}");
    assert!(listed(&host, &ada).await["paused_until"].is_string());

    let device = reported["device_id"].text();
    host.admin_ok(Method::POST, &path, settlement(device)).await;
    assert_eq!(listed(&host, &ada).await["paused_until"], Value::Null);
    for part in ["devices", "sessions"] {
        let left = get(&host, &format!("/users/{}/{part}", id(&ada.user))).await;
        assert_eq!(left["items"], json!([]), "{database:?} {part}");
    }
    for event in [
        "report.settled",
        "cooldown.lifted",
        "session.ended",
        "device.revoked",
    ] {
        let found = entries(&host, &format!("event={event}")).await;
        assert_eq!(found.len(), 1, "{database:?} {event}: {found:?}");
    }
}

/// Two administrators settle a report at the same time, again and again: one result, one entry.
#[both_databases]
async fn of_concurrent_settlements_one_counts(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    report(&host, &ada).await;
    let path = format!(
        "/reports/{}/settlement",
        open_reports(&host).await[0]["id"].text()
    );
    let calls = (0..8).map(|number| {
        let body = json!({"note": format!("note {number}"), "end_cooldown": true});
        host.admin(Method::POST, &path, body)
    });
    let answers = futures_util::future::join_all(calls).await;
    let won: Vec<&Value> = answers
        .iter()
        .filter(|(status, _)| *status == StatusCode::OK)
        .map(|(_, answer)| answer)
        .collect();
    assert_eq!(won.len(), 1, "{database:?}: {answers:?}");
    let lost = answers
        .iter()
        .filter(|(status, _)| *status == StatusCode::CONFLICT);
    assert_eq!(lost.count(), 7, "{database:?}: {answers:?}");
    let found = entries(&host, "event=report.settled").await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["personal"]["note"], won[0]["settlement"]["note"]);
    assert_eq!(&get(&host, "/reports").await["items"][0], won[0]);
}

#[both_databases]
async fn support_and_auditors_see_reports_and_do_not_settle_them(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    report(&host, &ada).await;
    let path = format!(
        "/reports/{}/settlement",
        open_reports(&host).await[0]["id"].text()
    );
    for role in ["support", "auditor"] {
        let caller: Caller = console_caller(&host, role, role).await;
        for list in ["/reports?open=true", "/cooldowns"] {
            let found = caller.get(list).await.success();
            assert_eq!(
                found["items"][0]["user_id"], ada.user["id"],
                "{database:?} {role} {list}"
            );
        }
        let answer = caller
            .call(Method::POST, &path, json!({"note": "mine"}))
            .await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{role}");
    }
    // An admin does not settle the report of an owner.
    let admin = console_caller(&host, "grace", "admin").await;
    let user = format!("/users/{}", id(&ada.user));
    host.admin_ok(Method::PATCH, &user, json!({"console_role": "owner"}))
        .await;
    let answer = admin
        .call(Method::POST, &path, json!({"note": "mine"}))
        .await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{database:?}");
    assert_eq!(open_reports(&host).await.len(), 1);
}

/// The removal of an administrator's device with a settlement needs the approval that the removal itself needs.
#[both_databases]
async fn the_removal_of_an_administrators_device_needs_an_approval(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    report(&host, &ada).await;
    let user = format!("/users/{}", id(&ada.user));
    host.admin_ok(Method::PATCH, &user, json!({"console_role": "support"}))
        .await;
    let reported = open_reports(&host).await[0].clone();
    let path = format!("/reports/{}/settlement", reported["id"].text());
    let owner = Administrator::new(&host, "grace", "owner")
        .await
        .signed_in(&host)
        .await;
    let body = json!({"note": "stolen", "revoke_device": reported["device_id"]});
    let answer = owner.call_once(Method::POST, &path, &body, None).await;
    assert!(
        answer.body["action_approval"].is_object(),
        "{database:?}: {}",
        answer.body
    );
    assert_eq!(open_reports(&host).await.len(), 1);
    owner.call(Method::POST, &path, body).await.success();
    assert_eq!(open_reports(&host).await.len(), 0);
}

/// The attacker whom an administrator reported has the session of this administrator, and must not settle the report.
#[both_databases]
async fn an_administrator_settles_an_own_report_only_with_an_approval(database: Database) {
    let host = TestHost::start_on(database).await;
    let other = console_caller(&host, "olga", "owner").await;
    let grace = Administrator::new(&host, "grace", "owner").await;
    // The report ends only the session that began the action.
    let sessions = [grace.signed_in(&host).await, grace.signed_in(&host).await];
    let console = grace.signed_in(&host).await;
    let bob = host.user("bob").await;
    for stolen in &sessions {
        let path = format!("/users/{}", id(&bob));
        requested(stolen, Method::DELETE, &path, &Value::Null).await;
        let request = waiting(&grace.device).await;
        assert_eq!(grace.device.submit_report(&request).await, "reported");
        host.advance(1);
    }
    let [first, second] = open_reports(&host).await.try_into().expect("two reports");
    let path = |report: &Value| format!("/reports/{}/settlement", report["id"].text());
    let body = json!({"note": "Nothing happened", "end_cooldown": true});
    let action = requested(&console, Method::POST, &path(&first), &body).await;
    let summary = action["summary"].text();
    let reported_at = first["reported_at"].text()[..19].replace('T', " ");
    assert_eq!(
        summary,
        format!(
            "Settle the report of “grace” from {reported_at} (UTC), which then no longer alerts administrators. The \
             pause of sign-in requests for “grace” ends"
        ),
        "{database:?}"
    );
    assert_eq!(
        grace.device.deny(&waiting(&grace.device).await).await,
        "denied"
    );
    let denied = console
        .call_once(Method::POST, &path(&first), &body, action["id"].as_str())
        .await;
    assert!(refused(&denied), "{database:?}: {}", denied.body);
    assert_eq!(open_reports(&host).await.len(), 2);
    console
        .call(Method::POST, &path(&first), body)
        .await
        .success();
    assert_eq!(open_reports(&host).await.len(), 1, "{database:?}");
    let approved = entries(&host, "event=sign-in.approved").await;
    assert!(
        approved
            .iter()
            .any(|entry| entry["detail"]["action"] == "settle-report"),
        "{database:?}: {approved:?}"
    );
    // Another administrator needs no approval.
    let body = json!({"note": "Grace called"});
    other
        .call_once(Method::POST, &path(&second), &body, None)
        .await
        .success();
    assert!(open_reports(&host).await.is_empty(), "{database:?}");
}

#[both_databases]
async fn settled_reports_expire_with_the_audit_log_and_open_ones_stay(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    report(&host, &ada).await;
    ada.device.end_cooldown().await;
    host.advance(1);
    report(&host, &ada).await;
    let [open, settled] = open_reports(&host).await.try_into().expect("two reports");
    let path = format!("/reports/{}/settlement", settled["id"].text());
    host.admin_ok(Method::POST, &path, json!({"note": "done"}))
        .await;
    let day = Duration::from_secs(86_400);
    let retention = Retention {
        logins: day,
        sessions: day,
        enrolments: day,
        admin_tokens: day,
        traces: day,
        receipts: day,
        audit: day,
        streams: &[],
        denials: day,
    };
    let store = &host.host.store;
    for (days, left) in [(0, 2), (2, 1)] {
        let now = host.host.now() + day * days;
        store
            .apply_retention(retention, now)
            .await
            .expect("deleted");
        let id = |report: &Value| report["id"].text().parse::<ReportId>().expect("an id");
        assert!(
            store.report(id(&open)).await.expect("read").is_some(),
            "{database:?} {days}"
        );
        let found = store.report(id(&settled)).await.expect("read");
        assert_eq!(
            usize::from(found.is_some()) + 1,
            left,
            "{database:?} {days}"
        );
    }
}

/// An erasure removes the place and the browser of the report.
#[both_databases]
async fn an_erasure_deletes_the_reports_of_the_user(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    report(&host, &ada).await;
    let user = format!("/users/{}", id(&ada.user));
    host.erase_user(&user).await;
    assert_eq!(
        open_reports(&host).await,
        Vec::<Value>::new(),
        "{database:?}"
    );
}

#[tokio::test]
async fn operators_have_a_metric_of_open_reports() {
    let host = TestHost::start_with_settings("[metrics]\nlisten = \"127.0.0.1:0\"\n").await;
    let ada = host.ada().await;
    report(&host, &ada).await;
    let text = http_client()
        .get(host.metrics_url())
        .response()
        .await
        .read_text()
        .await;
    assert!(text.contains("\nassent_reports_open 1.0\n"), "{text}");
    assert!(text.contains("\nassent_reports_oldest_seconds "), "{text}");
}
