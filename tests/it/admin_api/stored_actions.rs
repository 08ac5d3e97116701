//! Protected actions in the database: types and digests, without names of users in prose. What is stored must still have the summary
//! that was requested.

use assent::authenticator::Authenticator;
use assent::domain::audit::verify;
use assent_model::audit::chain::Break;
use assent_store::sql;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::protected_actions::{asked, number, owner, refused, waiting};
use super::{Administrator, Caller};
use crate::harness::{Database, HostOptions, TestHost, id};
use crate::life::erasure::everything;

async fn start(database: Database) -> TestHost {
    TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await
}

async fn denied(phone: &Authenticator) {
    let outcome = phone.decide(&waiting(phone).await, None).await;
    assert_eq!(outcome.expect("an outcome"), "denied");
}

async fn approved(phone: &Authenticator, action: &Value) {
    let request = waiting(phone).await;
    let outcome = phone.decide(&request, number(action)).await;
    assert_eq!(outcome.expect("an outcome"), "approved");
}

/// How many stored approvals fit a condition.
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
    caller.get(&path).await.good()["state"].clone()
}

/// Whoever is erased goes from what administrators were asked about them: pending, approved, denied, expired or used, and before they
/// were there too.
#[both_databases]
async fn nobody_who_was_erased_is_named_in_stored_actions(database: Database) {
    let host = start(database).await;
    let (console, grace) = owner(&host).await;
    let application = host.web_application().await;
    let deny = async |method: Method, path: &str, body: Value| {
        asked(&console, method, path, &body).await;
        denied(&grace.phone).await;
        // A phone is not asked about everything at once.
        host.advance(30);
    };
    let auditor = json!({"name": "quillon.two", "console_role": "auditor"});
    deny(Method::POST, "/users", auditor.clone()).await;
    let user = console.call(Method::POST, "/users", auditor).await.good();
    let path = format!("/users/{}", id(&user));
    console
        .call(Method::PATCH, &path, json!({"name": "quillon"}))
        .await
        .good();
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
        .good();
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
    asked(&console, Method::PATCH, &path, &expired).await;
    host.advance(600);
    // What is about others stays.
    let bob = host.user("bob").await;
    deny(Method::DELETE, &format!("/users/{}", id(&bob)), Value::Null).await;
    // One that is approved, and others that are open, one of them for a user who could get the name.
    let unused = asked(
        &console,
        Method::PATCH,
        &path,
        &json!({"email": "quillon@unused.example"}),
    )
    .await;
    approved(&grace.phone, &unused).await;
    let heidi = Administrator::new(&host, "heidi", "owner").await;
    let other = heidi.signed_in(&host).await;
    let later = json!({"name": "quillon.last", "console_role": "auditor"});
    let later = asked(&other, Method::POST, "/users", &later).await;
    for change in [
        json!({"name": "quillon.last"}),
        json!({"state": "terminated"}),
    ] {
        host.admin_ok(Method::PATCH, &path, change).await;
    }
    let open = asked(&console, Method::DELETE, &path, &Value::Null).await;

    assert!(count(&host, "action LIKE '%quillon%'").await >= 3);
    let before = everything(&host, database).await.to_lowercase();
    assert!(before.matches("quillon").count() > 15, "{before}");
    for text in ["delete the user", "e-mail address of", "the role auditor"] {
        assert!(
            !before.contains(text),
            "{database:?}: a summary in {before}"
        );
    }
    host.admin_ok(Method::POST, &format!("{path}/erase"), Value::Null)
        .await;
    let left = everything(&host, database).await.to_lowercase();
    assert!(!left.contains("quillon"), "{database:?}: {left}");
    let of_bob = format!("\"target_user\":\"{}\"", id(&bob));
    assert!(left.contains(&of_bob), "{database:?}");
    for (caller, action) in [(&console, &open), (&console, &unused), (&other, &later)] {
        let gone = caller
            .get(&format!("/action-approvals/{}", id(action)))
            .await;
        assert_eq!(gone.status, StatusCode::NOT_FOUND, "{database:?}");
    }
    assert!(heidi.phone.waiting(0).await.expect("requests").is_empty());
    // Who is erased takes nothing of others with them.
    let eve = host.user("eve").await;
    let addresses = async || {
        everything(&host, database)
            .await
            .matches("127.0.0.1")
            .count()
    };
    let before = addresses().await;
    host.admin_ok(Method::DELETE, &format!("/users/{}", id(&eve)), Value::Null)
        .await;
    // Those about herself go, and the entry about that comes.
    assert!(addresses().await > before - 3, "{database:?}");
    // What was taken away besides is found.
    let broken = async || {
        verify(&host.host.store, None)
            .await
            .expect("looked at")
            .broken
    };
    assert_eq!(broken().await, None, "{database:?}");
    let take =
        "UPDATE audit_entries SET personal = NULL, personal_salt = NULL WHERE detail LIKE $1";
    execute(&host, take, &[&format!("%{of_bob}%")]).await;
    assert!(
        matches!(broken().await, Some(Break::PersonalTaken { .. })),
        "{database:?}"
    );
}

/// What the device shows has the names of this moment. With another name it is another action.
#[both_databases]
async fn nobody_approves_an_action_whose_summary_changed(database: Database) {
    let host = start(database).await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let path = format!("/users/{}", id(&bob));
    let rename = async |name: &str| {
        host.admin_ok(Method::PATCH, &path, json!({ "name": name }))
            .await;
    };
    let is_over = async |action: &Value| {
        assert_eq!(state(&console, action).await, "ended", "{database:?}");
        let waiting = grace.phone.waiting(0).await.expect("requests");
        assert!(waiting.is_empty(), "{database:?}: {waiting:?}");
        let late = console
            .call_once(Method::DELETE, &path, &Value::Null, action["id"].as_str())
            .await;
        assert!(refused(&late), "{database:?}: {}", late.body);
    };
    let ask = async || asked(&console, Method::DELETE, &path, &Value::Null).await;

    // The device has the request, and answers after the change.
    let action = ask().await;
    let request = waiting(&grace.phone).await;
    rename("robert").await;
    let signature = grace
        .phone
        .sign(&grace.phone.statement(&request, number(&action)).text())
        .expect("signed");
    let answer = grace
        .phone
        .send_proof(request.id, number(&action), &signature)
        .await
        .expect("an answer");
    assert_eq!(answer.status, StatusCode::CONFLICT, "{database:?}");
    is_over(&action).await;

    // The device asks after the change.
    host.advance(10);
    let action = ask().await;
    assert_eq!(action["summary"], "Delete the user “robert”");
    rename("bobby").await;
    assert!(grace.phone.waiting(0).await.expect("requests").is_empty());
    is_over(&action).await;

    // The console asks after the change.
    host.advance(10);
    let action = ask().await;
    rename("bob").await;
    is_over(&action).await;

    // A report needs no summary: whoever has the browser may have changed the name too.
    host.advance(10);
    let action = ask().await;
    let request = waiting(&grace.phone).await;
    rename("rob").await;
    let outcome = grace.phone.not_me(&request).await.expect("an outcome");
    assert_eq!(outcome, "reported", "{database:?}");
    let path = format!("/action-approvals/{}", id(&action));
    let ended = console.get(&path).await;
    assert_eq!(ended.status, StatusCode::UNAUTHORIZED, "{}", ended.body);
}

/// The holder of a stolen device cannot end the requests to revoke it by renaming it.
#[both_databases]
async fn a_renamed_device_is_revoked_all_the_same(database: Database) {
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
    let action = asked(&console, Method::DELETE, &path, &Value::Null).await;
    let device = stolen.device().to_string();
    let summary = action["summary"].as_str().expect("a summary");
    assert!(
        summary
            .starts_with("Remove a device of “bob”, who has a role in the console: enrolled on ")
            && summary.ends_with(&device[device.len() - 8..]),
        "{database:?}: {summary}"
    );
    execute(
        &host,
        "UPDATE devices SET name = $1 WHERE id = $2",
        &["Another name", &device],
    )
    .await;
    approved(&grace.phone, &action).await;
    assert_eq!(state(&console, &action).await, "approved", "{database:?}");
    console
        .call_once(Method::DELETE, &path, &Value::Null, action["id"].as_str())
        .await
        .good();
}

/// Whoever changes the database gets no approval for another action.
#[both_databases]
async fn a_changed_action_in_the_database_is_neither_shown_nor_approved(database: Database) {
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
            let action = asked(&console, Method::DELETE, &path, &Value::Null).await;
            let request = match is_shown {
                true => Some(waiting(&grace.phone).await),
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
                let outcome = grace.phone.decide(&request, number(&action)).await;
                assert!(outcome.is_err(), "{database:?} {tamper}: {outcome:?}");
            }
            let waiting = grace.phone.waiting(0).await.expect("requests");
            assert!(waiting.is_empty(), "{database:?} {tamper}: {waiting:?}");
            assert_eq!(state(&console, &action).await, "ended", "{tamper}");
            let late = console
                .call_once(Method::DELETE, &path, &Value::Null, action["id"].as_str())
                .await;
            assert!(refused(&late), "{database:?} {tamper}: {}", late.body);
        }
    }
    // With the digest of its own summary it is shown as what it is, and permits nothing: the request was for another action.
    host.advance(10);
    let action = asked(&console, Method::DELETE, &path, &Value::Null).await;
    execute(&host, to_eve, &[id(&bob), id(&eve), id(&action)]).await;
    let digest = assent_model::secret::Digest::of("Delete the user “eve”".as_bytes()).to_text();
    let forge = "UPDATE action_approvals SET summary_digest = $1 WHERE id = $2";
    execute(&host, forge, &[&digest, id(&action)]).await;
    approved(&grace.phone, &action).await;
    for user in [&bob, &eve] {
        let path = format!("/users/{}", id(user));
        let done = console
            .call_once(Method::DELETE, &path, &Value::Null, action["id"].as_str())
            .await;
        assert!(refused(&done), "{database:?}: {}", done.body);
    }
}

/// Whoever may delete users ends no request by the name of a user who is called like a word of the stored actions.
#[both_databases]
async fn the_deletion_of_a_user_ends_only_requests_with_the_users_name(database: Database) {
    let host = start(database).await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let path = format!("/users/{}", id(&bob));
    let new_name = json!({"name": "zoe"});
    let rename = asked(&console, Method::PATCH, &path, &new_name).await;
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
    approved(&grace.phone, &rename).await;
    assert_eq!(state(&console, &rename).await, "approved", "{database:?}");
    // A user with the very name takes it along.
    let zoe = host.user("zoe").await;
    host.admin_ok(Method::DELETE, &format!("/users/{}", id(&zoe)), Value::Null)
        .await;
    let ended = console
        .get(&format!("/action-approvals/{}", id(&rename)))
        .await;
    assert_eq!(ended.status, StatusCode::NOT_FOUND, "{database:?}");
}

/// The history of an administrator who lost the role has the kinds of the actions and no current names.
#[both_databases]
async fn a_former_administrator_sees_no_current_names(database: Database) {
    let host = start(database).await;
    let (console, grace) = owner(&host).await;
    let other = Administrator::new(&host, "ida", "owner").await;
    let bob = host.user("bob").await;
    let path = format!("/users/{}", id(&bob));
    asked(&console, Method::DELETE, &path, &Value::Null).await;
    denied(&grace.phone).await;
    let past = async || {
        let history = grace.phone.ask(Method::GET, "/history", None).await;
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
