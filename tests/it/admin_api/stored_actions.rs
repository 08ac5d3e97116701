//! Protected actions in the database: types and digests, without names of users in prose. A stored action must still
//! have the summary that the administrator requested.

use assent::domain::audit::verify::verify;
use assent_model::audit::chain::Break;
use assent_store::sql;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::protected_actions::{number, owner, refused, requested, waiting};
use super::{Administrator, Caller, console_caller, service};
use crate::harness::{Database, Device, TestHost, Text, id};
use crate::lifecycle::erasure::database_dump;

async fn start(database: Database) -> TestHost {
    TestHost::start_on(database).await
}

async fn denied(device: &Device) {
    let outcome = device.decide(&waiting(device).await, None).await;
    assert_eq!(outcome.expect("an outcome"), "denied");
}

async fn approved(device: &Device, action: &Value) {
    let request = waiting(device).await;
    let outcome = device.decide(&request, number(action)).await;
    assert_eq!(outcome.expect("an outcome"), "approved");
}

/// Returns the number of stored approvals that match a condition.
async fn count(host: &TestHost, condition: &str) -> i64 {
    let statement = format!("SELECT COUNT(*) FROM action_approvals WHERE {condition}");
    let (count,): (i64,) = sql::query_as(statement)
        .fetch_one(&mut host.connection().await)
        .await
        .expect("counted");
    count
}

async fn execute(host: &TestHost, statement: &str, values: &[&str]) {
    let mut query = sql::query(statement.to_owned());
    for value in values {
        query = query.bind((*value).to_owned());
    }
    let mut connection = host.connection().await;
    query.execute(&mut connection).await.expect("executed");
}

async fn state(caller: &Caller, action: &Value) -> Value {
    let path = format!("/action-approvals/{}", id(action));
    caller.get(&path).await.success()["state"].clone()
}

/// The erasure of a user removes the user from all stored actions: pending, approved, denied, expired and used ones. It
/// also removes the user from actions that were requested before the user existed.
#[both_databases]
async fn stored_actions_do_not_name_erased_users(database: Database) {
    let host = start(database).await;
    let (console, grace) = owner(&host).await;
    let application = host.web_application().await;
    let deny = async |method: Method, path: &str, body: Value| {
        requested(&console, method, path, &body).await;
        denied(&grace.device).await;
        // A device receives only a few prompts in a short time.
        host.advance(30);
    };
    let auditor = json!({"name": "quillon.two", "console_role": "auditor"});
    deny(Method::POST, "/users", auditor.clone()).await;
    let user = console
        .call(Method::POST, "/users", auditor)
        .await
        .success();
    let path = format!("/users/{}", id(&user));
    console
        .call(Method::PATCH, &path, json!({"name": "quillon"}))
        .await
        .success();
    let used = "claimed_at IS NOT NULL";
    assert_eq!(count(&host, used).await, 2, "{database:?}");
    let used = format!("{used} AND (action IS NOT NULL OR summary_digest IS NOT NULL)");
    assert_eq!(count(&host, &used).await, 0, "{database:?}");
    deny(
        Method::PATCH,
        &path,
        json!({"email": "quillon@example.org"}),
    )
    .await;
    deny(Method::DELETE, &path, Value::Null).await;
    let account = host.account(&user, &application).await;
    console
        .call(
            Method::PATCH,
            &format!("/accounts/{}", id(&account)),
            json!({"name": "Quillon Q"}),
        )
        .await
        .success();
    host.authenticator(&user).await;
    let devices = host
        .admin_ok(Method::GET, &format!("{path}/devices"), Value::Null)
        .await;
    deny(
        Method::DELETE,
        &format!("/devices/{}", id(&devices["items"][0])),
        Value::Null,
    )
    .await;
    let expired = json!({"email": "quillon@expired.example"});
    requested(&console, Method::PATCH, &path, &expired).await;
    host.advance(600);
    // Actions about other users remain.
    let bob = host.user("bob").await;
    deny(Method::DELETE, &format!("/users/{}", id(&bob)), Value::Null).await;
    // One approved action, and pending actions. One of these is for a new user who could get the name.
    let unused = requested(
        &console,
        Method::PATCH,
        &path,
        &json!({"email": "quillon@unused.example"}),
    )
    .await;
    approved(&grace.device, &unused).await;
    let heidi = Administrator::new(&host, "heidi", "owner").await;
    let other = heidi.signed_in(&host).await;
    let later = json!({"name": "quillon.last", "console_role": "auditor"});
    let later = requested(&other, Method::POST, "/users", &later).await;
    for change in [
        json!({"name": "quillon.last"}),
        json!({"state": "terminated"}),
    ] {
        host.admin_ok(Method::PATCH, &path, change).await;
    }
    let open = requested(&console, Method::DELETE, &path, &Value::Null).await;

    assert!(count(&host, "action LIKE '%quillon%'").await >= 3);
    let before = database_dump(&host, database).await.to_lowercase();
    assert!(before.matches("quillon").count() > 15, "{before}");
    for text in [
        "delete the user",
        "email address of",
        "auditor in the console",
    ] {
        assert!(
            !before.contains(text),
            "{database:?}: a summary in {before}"
        );
    }
    host.admin_ok(Method::POST, &format!("{path}/erase"), Value::Null)
        .await;
    let left = database_dump(&host, database).await.to_lowercase();
    assert!(!left.contains("quillon"), "{database:?}: {left}");
    let of_bob = format!("\"target_user\":\"{}\"", id(&bob));
    assert!(left.contains(&of_bob), "{database:?}");
    for (caller, action) in [(&console, &open), (&console, &unused), (&other, &later)] {
        let gone = caller
            .get(&format!("/action-approvals/{}", id(action)))
            .await;
        assert_eq!(gone.status, StatusCode::NOT_FOUND, "{database:?}");
    }
    assert!(heidi.device.pending_requests(0).await.is_empty());
}

/// The deletion of a user removes only the user's own personal data, and the audit log detects other removals.
#[both_databases]
async fn a_deletion_keeps_the_personal_data_of_others(database: Database) {
    let host = start(database).await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let of_bob = format!("\"target_user\":\"{}\"", id(&bob));
    requested(
        &console,
        Method::DELETE,
        &format!("/users/{}", id(&bob)),
        &Value::Null,
    )
    .await;
    denied(&grace.device).await;
    let eve = host.user("eve").await;
    let addresses = async || {
        database_dump(&host, database)
            .await
            .matches("127.0.0.1")
            .count()
    };
    let before = addresses().await;
    host.admin_ok(Method::DELETE, &format!("/users/{}", id(&eve)), Value::Null)
        .await;
    // Her own entries lose their addresses. The entry of the deletion has one.
    assert!(addresses().await > before - 3, "{database:?}");
    // Verification detects any other removal.
    let broken = async || {
        verify(&host.host.store, None)
            .await
            .expect("verified")
            .broken
            .map(|broken| broken.what)
    };
    assert_eq!(broken().await, None, "{database:?}");
    let take =
        "UPDATE audit_entries SET personal = NULL, personal_salt = NULL WHERE detail LIKE $1";
    execute(&host, take, &[&format!("%{of_bob}%")]).await;
    assert!(
        matches!(broken().await, Some(Break::PersonalRemoved { .. })),
        "{database:?}"
    );
}

/// The device shows the current names. With another name it is another action.
#[both_databases]
async fn an_action_with_a_changed_summary_cannot_be_approved(database: Database) {
    let host = start(database).await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let path = format!("/users/{}", id(&bob));
    let rename = async |name: &str| {
        host.admin_ok(Method::PATCH, &path, json!({ "name": name }))
            .await;
    };
    let assert_ended = async |action: &Value| {
        assert_eq!(state(&console, action).await, "ended", "{database:?}");
        let waiting = grace.device.pending_requests(0).await;
        assert!(waiting.is_empty(), "{database:?}: {waiting:?}");
        let late = console
            .call_once(Method::DELETE, &path, &Value::Null, action["id"].as_str())
            .await;
        assert!(refused(&late), "{database:?}: {}", late.body);
    };
    let ask = async || requested(&console, Method::DELETE, &path, &Value::Null).await;

    // The device fetches the request before the change, and answers after it.
    let action = ask().await;
    let request = waiting(&grace.device).await;
    rename("robert").await;
    let signature = grace
        .device
        .signature(&grace.device.statement(&request, number(&action)).text());
    let answer = grace
        .device
        .submit_proof(&request, number(&action), &signature)
        .await;
    assert_eq!(answer.status, StatusCode::CONFLICT, "{database:?}");
    assert_ended(&action).await;

    // The device fetches the request after the change.
    host.advance(10);
    let action = ask().await;
    assert_eq!(action["summary"], "Delete the user “robert”");
    rename("bobby").await;
    assert!(grace.device.pending_requests(0).await.is_empty());
    assert_ended(&action).await;

    // The console fetches the request after the change.
    host.advance(10);
    let action = ask().await;
    rename("bob").await;
    assert_ended(&action).await;

    // A report needs no summary, because the attacker in the browser may have changed the name too.
    host.advance(10);
    let action = ask().await;
    let request = waiting(&grace.device).await;
    rename("rob").await;
    let outcome = grace.device.submit_report(&request).await;
    assert_eq!(outcome, "reported", "{database:?}");
    let path = format!("/action-approvals/{}", id(&action));
    let ended = console.get(&path).await;
    assert_eq!(ended.status, StatusCode::UNAUTHORIZED, "{}", ended.body);
}

/// The holder of a stolen device cannot end the requests to revoke it by renaming it.
#[both_databases]
async fn an_approved_revocation_applies_to_a_renamed_device(database: Database) {
    let host = start(database).await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let stolen = host.authenticator(&bob).await;
    host.admin_ok(
        Method::PATCH,
        &format!("/users/{}", id(&bob)),
        json!({"console_role": "admin"}),
    )
    .await;
    let path = format!("/devices/{}", stolen.device());
    let action = requested(&console, Method::DELETE, &path, &Value::Null).await;
    let device = stolen.device().to_string();
    let summary = action["summary"].text();
    assert!(
        summary.starts_with("Remove a device of “bob”, who has a role in the console: set up on ")
            && summary.ends_with(&device[device.len() - 8..]),
        "{database:?}: {summary}"
    );
    execute(
        &host,
        "UPDATE devices SET name = $1 WHERE id = $2",
        &["Another name", &device],
    )
    .await;
    approved(&grace.device, &action).await;
    assert_eq!(state(&console, &action).await, "approved", "{database:?}");
    console
        .call_once(Method::DELETE, &path, &Value::Null, action["id"].as_str())
        .await
        .success();
}

/// An attacker who changes the database gets no approval for another action.
#[both_databases]
async fn a_tampered_stored_action_is_neither_shown_nor_approved(database: Database) {
    let host = start(database).await;
    let (console, grace) = owner(&host).await;
    let (bob, eve) = (host.user("bob").await, host.user("eve").await);
    let path = format!("/users/{}", id(&bob));
    let to_eve = "UPDATE action_approvals SET action = REPLACE(action, $1, $2) WHERE id = $3";
    let to_nothing = "UPDATE action_approvals SET action = '{}' WHERE id = $1";
    let without = "UPDATE action_approvals SET action = NULL WHERE id = $1";
    for tamper in [to_eve, to_nothing, without] {
        for is_shown in [false, true] {
            host.advance(10);
            let action = requested(&console, Method::DELETE, &path, &Value::Null).await;
            let request = match is_shown {
                true => Some(waiting(&grace.device).await),
                false => None,
            };
            let values = [id(&bob), id(&eve), id(&action)];
            let values = if tamper == to_eve {
                &values
            } else {
                &values[2..]
            };
            execute(&host, tamper, values).await;
            if let Some(request) = request {
                let outcome = grace.device.decide(&request, number(&action)).await;
                assert!(outcome.is_err(), "{database:?} {tamper}: {outcome:?}");
            }
            let waiting = grace.device.pending_requests(0).await;
            assert!(waiting.is_empty(), "{database:?} {tamper}: {waiting:?}");
            assert_eq!(state(&console, &action).await, "ended", "{tamper}");
            let late = console
                .call_once(Method::DELETE, &path, &Value::Null, action["id"].as_str())
                .await;
            assert!(refused(&late), "{database:?} {tamper}: {}", late.body);
        }
    }
    // With the digest of its own summary, the device shows the changed action correctly. The approval permits nothing,
    // because the request was for another action.
    host.advance(10);
    let action = requested(&console, Method::DELETE, &path, &Value::Null).await;
    execute(&host, to_eve, &[id(&bob), id(&eve), id(&action)]).await;
    let digest = assent_model::secret::Digest::sha256("Delete the user “eve”".as_bytes()).to_text();
    let forge = "UPDATE action_approvals SET summary_digest = $1 WHERE id = $2";
    execute(&host, forge, &[&digest, id(&action)]).await;
    approved(&grace.device, &action).await;
    for user in [&bob, &eve] {
        let path = format!("/users/{}", id(user));
        let done = console
            .call_once(Method::DELETE, &path, &Value::Null, action["id"].as_str())
            .await;
        assert!(refused(&done), "{database:?}: {}", done.body);
    }
}

/// An administrator cannot end a request by the deletion of a user with the name of a keyword in stored actions.
#[both_databases]
async fn deletion_of_a_user_ends_only_requests_that_name_the_user(database: Database) {
    let host = start(database).await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let path = format!("/users/{}", id(&bob));
    let new_name = json!({"name": "zoe"});
    let rename = requested(&console, Method::PATCH, &path, &new_name).await;
    host.advance(10);
    for word in ["user", "changes", "update-user", "name"] {
        let user = host.user(word).await;
        host.admin_ok(
            Method::DELETE,
            &format!("/users/{}", id(&user)),
            Value::Null,
        )
        .await;
    }
    assert_eq!(state(&console, &rename).await, "pending", "{database:?}");
    approved(&grace.device, &rename).await;
    assert_eq!(state(&console, &rename).await, "approved", "{database:?}");
    // The deletion of a user with exactly that name ends the request.
    let zoe = host.user("zoe").await;
    host.admin_ok(Method::DELETE, &format!("/users/{}", id(&zoe)), Value::Null)
        .await;
    let ended = console
        .get(&format!("/action-approvals/{}", id(&rename)))
        .await;
    assert_eq!(ended.status, StatusCode::NOT_FOUND, "{database:?}");
}

/// The history of an administrator who lost the role shows the kinds of the actions and no current names.
#[both_databases]
async fn a_former_administrator_cannot_read_current_names(database: Database) {
    let host = start(database).await;
    let (console, grace) = owner(&host).await;
    let other = Administrator::new(&host, "ida", "owner").await;
    let bob = host.user("bob").await;
    let path = format!("/users/{}", id(&bob));
    requested(&console, Method::DELETE, &path, &Value::Null).await;
    denied(&grace.device).await;
    let past = async || {
        let history = grace.device.ask(Method::GET, "/history", None).await;
        history.expect("history")["items"][0]["protected_action"].clone()
    };
    let seen = json!({"kind": "delete-user", "target": "bob", "target_deleted": false});
    assert_eq!(past().await, seen, "{database:?}");
    host.admin_ok(
        Method::PATCH,
        &format!("/users/{}", id(&grace.user)),
        json!({"console_role": null}),
    )
    .await;
    let hidden = json!({"kind": "delete-user", "target": null, "target_deleted": false});
    assert_eq!(past().await, hidden, "{database:?}");
    drop(other);
}

/// A protected action of an administrator can concern any application. Support may read the activity of the
/// administrator, but no applications.
#[both_databases]
async fn support_sees_no_application_name_in_the_activity_of_an_administrator(database: Database) {
    let host = start(database).await;
    let (console, grace) = owner(&host).await;
    let application = host.web_application().await;
    let path = format!("/applications/{}", application.id);
    requested(&console, Method::DELETE, &path, &Value::Null).await;
    denied(&grace.device).await;
    let activity = format!("/users/{}/activity", id(&grace.user));
    let seen = async |caller: &Caller| {
        let found = caller.get(&activity).await.success();
        let items = found["items"].as_array().expect("items").clone();
        let entry = items
            .into_iter()
            .find(|entry| entry["detail"]["action"] == "delete-application")
            .expect("an entry");
        assert_eq!(
            entry["detail"]["target_application"], application.id,
            "{database:?}"
        );
        entry["target_application_name"].clone()
    };
    let named = seen(&Caller::machine(&host)).await;
    assert!(named.is_string(), "{database:?}: {named}");
    for caller in [
        console_caller(&host, "sam", "support").await,
        service(&host, &["admin:users"]).await,
    ] {
        assert_eq!(seen(&caller).await, Value::Null, "{database:?}");
    }
}
