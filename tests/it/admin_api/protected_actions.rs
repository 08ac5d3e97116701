//! Protected actions in the console: each needs a fresh approval on the device, for exactly that action.

mod rejections;

use assent_test_macros::both_databases;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use assent::authenticator::enrolled::PendingRequest;
use assent::domain::admin::{AdminCommand, AdminContext, EnrolDevice};
use assent::domain::protected_actions::ProtectedAction;
use assent_model::id::UserId;
use assent_model::statement::{ApprovalStatement, Decision, StatementSubject};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Administrator, Answer, Caller, console_caller, sent};
use crate::harness::{Browser, Database, Device, Parsed, TestHost, Text, id};
use crate::lifecycle::entries;
use crate::same_device::Installed;

pub(super) async fn owner(host: &TestHost) -> (Caller, Administrator) {
    let owner = Administrator::new(host, "grace", "owner").await;
    (owner.signed_in(host).await, owner)
}

/// Requests a protected action. Returns the action approval from the response.
pub(super) async fn requested(caller: &Caller, method: Method, path: &str, body: &Value) -> Value {
    let answer = caller.call_once(method, path, body, None).await;
    assert_eq!(
        (answer.status, answer.problem()),
        (StatusCode::FORBIDDEN, "approval-required"),
        "{}",
        answer.body
    );
    answer.body["action_approval"].clone()
}

pub(super) async fn waiting(device: &Device) -> PendingRequest {
    device.pending_requests(5).await.remove(0)
}

async fn state(caller: &Caller, action: &Value) -> Value {
    caller
        .get(&format!("/action-approvals/{}", id(action)))
        .await
        .success()["state"]
        .clone()
}

pub(super) fn number(action: &Value) -> Option<&str> {
    action["number"].as_str()
}

pub(super) fn refused(answer: &Answer) -> bool {
    answer.status == StatusCode::FORBIDDEN && answer.problem() == "forbidden"
}

#[both_databases]
async fn a_protected_action_is_shown_signed_executed_once_and_audited(database: Database) {
    let host = TestHost::start_on(database).await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let path = format!("/users/{}", id(&bob));
    let action = requested(&console, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(action["summary"], "Delete the user “bob”");
    assert_eq!(state(&console, &action).await, "pending", "{database:?}");
    let request = waiting(&grace.device).await;
    assert_eq!(
        (request.action.as_deref(), request.application.name.as_str()),
        (Some("Delete the user “bob”"), "Assent")
    );
    let early = console
        .call_once(Method::DELETE, &path, &Value::Null, action["id"].as_str())
        .await;
    assert!(refused(&early), "{}", early.body);

    assert_eq!(
        grace
            .device
            .submit_decision(&request, number(&action))
            .await,
        "approved"
    );
    assert_eq!(state(&console, &action).await, "approved", "{database:?}");
    let about_grace = format!("event=sign-in.approved&user={}", id(&grace.user));
    let approved = async || {
        let all = entries(&host, &about_grace).await;
        all.iter()
            .find(|entry| entry["detail"]["action"] == "delete-user")
            .expect("recorded")
            .clone()
    };
    let audited = approved().await;
    assert_eq!(
        (
            &audited["detail"]["target_user"],
            &audited["target_user_name"]
        ),
        (&bob["id"], &json!("bob")),
        "{database:?}: {audited}"
    );
    let past =
        async || grace.device.call_ok(Method::GET, "/history", None).await["items"][0].clone();
    assert_eq!(
        past().await["protected_action"],
        json!({"kind": "delete-user", "target": "bob", "target_deleted": false})
    );
    let done = console
        .call_once(Method::DELETE, &path, &Value::Null, action["id"].as_str())
        .await;
    assert_eq!(
        done.status,
        StatusCode::NO_CONTENT,
        "{database:?}: {}",
        done.body
    );
    let again = console
        .call_once(Method::DELETE, &path, &Value::Null, action["id"].as_str())
        .await;
    assert_eq!(
        again.status,
        StatusCode::NOT_FOUND,
        "the user was already deleted"
    );
    // The action about the deleted user does not exist either.
    let action = console
        .get(&format!("/action-approvals/{}", id(&action)))
        .await;
    assert_eq!(action.status, StatusCode::NOT_FOUND, "{database:?}");

    let returned = &entries(&host, "event=user.deleted").await[0];
    assert_eq!(
        returned["approval_id"],
        request.id.to_string(),
        "{database:?}: {returned}"
    );
    assert_eq!(
        returned["actor"],
        json!({"kind": "user", "id": id(&grace.user), "name": "grace"})
    );
    // No table contains the name of the deleted user any more.
    assert_eq!(
        approved().await["target_user_name"],
        Value::Null,
        "{database:?}"
    );
    assert_eq!(
        past().await["protected_action"],
        json!({"kind": "delete-user", "target": null, "target_deleted": true}),
        "{database:?}"
    );
}

/// Requests an action and approves it on the device. Returns the action approval.
async fn approve_action(
    console: &Caller,
    administrator: &Administrator,
    method: Method,
    path: &str,
    body: &Value,
) -> Value {
    let action = requested(console, method, path, body).await;
    let request = waiting(&administrator.device).await;
    let outcome = administrator
        .device
        .submit_decision(&request, number(&action))
        .await;
    assert_eq!(outcome, "approved");
    action
}

#[tokio::test]
async fn an_action_approval_is_valid_for_one_request_and_one_session() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let other = grace.signed_in(&host).await;
    let heidi = console_caller(&host, "heidi", "owner").await;
    let (bob, eve) = (host.user("bob").await, host.user("eve").await);
    let of = |user: &Value| format!("/users/{}", id(user));
    let role = |role: &str| json!({"console_role": role});
    let action = approve_action(&console, &grace, Method::PATCH, &of(&bob), &role("auditor")).await;
    let named = action["id"].as_str();
    // The summary of the larger change is the same.
    let more = json!({"console_role": "auditor", "profile": {"nickname": "Bobby"}});
    let wrong = [
        console
            .call_once(Method::PATCH, &of(&bob), &more, named)
            .await,
        console
            .call_once(Method::PATCH, &of(&eve), &role("auditor"), named)
            .await,
        console
            .call_once(Method::PATCH, &of(&bob), &role("owner"), named)
            .await,
        console
            .call_once(Method::DELETE, &of(&bob), &Value::Null, named)
            .await,
        console
            .call_once(Method::POST, "/keys/rotate", &json!({}), named)
            .await,
        other
            .call_once(Method::PATCH, &of(&bob), &role("auditor"), named)
            .await,
        heidi
            .call_once(Method::PATCH, &of(&bob), &role("auditor"), named)
            .await,
        console
            .call_once(Method::PATCH, &of(&bob), &role("auditor"), Some("nonsense"))
            .await,
    ];
    for answer in &wrong {
        assert!(refused(answer), "{}", answer.body);
    }
    for attacker in [&other, &heidi, &Caller::machine(&host)] {
        let answer = attacker
            .get(&format!("/action-approvals/{}", id(&action)))
            .await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", answer.body);
    }
    console
        .call_once(Method::PATCH, &of(&bob), &role("auditor"), named)
        .await
        .success();
    let bob = host.admin_ok(Method::GET, &of(&bob), Value::Null).await;
    assert_eq!(bob["console_role"], "auditor");
}

#[tokio::test]
async fn an_action_approval_expires_after_two_minutes_and_with_its_device() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let bob = format!("/users/{}", id(&host.user("bob").await));
    let admin = json!({"console_role": "admin"});
    let late = approve_action(&console, &grace, Method::PATCH, &bob, &admin).await;
    host.advance(121);
    let answer = console
        .call_once(Method::PATCH, &bob, &admin, late["id"].as_str())
        .await;
    assert!(refused(&answer), "{}", answer.body);

    let gone = approve_action(&console, &grace, Method::PATCH, &bob, &admin).await;
    host.admin_ok(
        Method::DELETE,
        &format!("/devices/{}", grace.device.device()),
        Value::Null,
    )
    .await;
    let answer = console
        .call_once(Method::PATCH, &bob, &admin, gone["id"].as_str())
        .await;
    assert_eq!(
        answer.status,
        StatusCode::UNAUTHORIZED,
        "the session ended with its device: {}",
        answer.body
    );
    let bob = host.admin_ok(Method::GET, &bob, Value::Null).await;
    assert_eq!(bob["console_role"], Value::Null);
}

#[tokio::test]
async fn denied_and_reported_actions_and_sign_in_proofs_execute_nothing() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let path = format!("/users/{}", id(&bob));
    let action = requested(&console, Method::DELETE, &path, &Value::Null).await;
    let request = waiting(&grace.device).await;
    // A device that does not show the action signs this text.
    let blind = ApprovalStatement {
        subject: StatementSubject::SignIn,
        ..grace.device.statement(&request, number(&action))
    }
    .text();
    let signature = grace.device.signature(&blind);
    let number_of = number(&action).expect("a number");
    let reply = grace
        .device
        .send(request.id, Decision::Approve, number_of, &signature)
        .await
        .expect("an answer");
    assert_eq!(
        reply.status,
        StatusCode::FORBIDDEN,
        "approval proof rejected"
    );
    assert_eq!(grace.device.deny(&request).await, "denied");
    assert_eq!(state(&console, &action).await, "denied");
    let answer = console
        .call_once(Method::DELETE, &path, &Value::Null, action["id"].as_str())
        .await;
    assert!(refused(&answer), "{}", answer.body);
    assert_eq!(
        host.admin(Method::GET, &path, Value::Null).await.0,
        StatusCode::OK,
        "bob still exists"
    );
}

/// Repeated sign-ins with the administrator's name neither delay a protected action nor get one approved.
#[tokio::test]
async fn another_user_can_neither_delay_nor_continue_a_protected_action() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let path = format!("/users/{}", id(&bob));
    let action = requested(&console, Method::DELETE, &path, &Value::Null).await;
    let attacker = Browser::new(&host.base);
    let login = attacker.get("/admin").await.followed().await;
    login.submit(&login.path(), &[("name", "grace")]).await;
    // Both requests are pending on the device, and arrived at the same moment.
    let pending = grace.device.pending_requests(5).await;
    assert_eq!(pending.len(), 2);
    let request = pending
        .into_iter()
        .find(|request| request.action.is_some())
        .expect("the action's request");
    assert_eq!(request.action.as_deref(), Some("Delete the user “bob”"));
    // A protected action has no pages, not even in its own browser.
    let Caller::Console { browser, .. } = &console else {
        unreachable!()
    };
    for browser in [browser, &attacker] {
        let page = browser.get(&format!("/login/{}", id(&action))).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(
        grace
            .device
            .submit_decision(&request, number(&action))
            .await,
        "approved"
    );
    for browser in [browser, &attacker] {
        assert_eq!(
            browser.get(&format!("/login/{}", id(&action))).await.status,
            StatusCode::NOT_FOUND
        );
    }
    let done = console
        .call_once(Method::DELETE, &path, &Value::Null, action["id"].as_str())
        .await;
    assert_eq!(done.status, StatusCode::NO_CONTENT);
}

/// The console runs in the browser that holds the key. A page there must not be able to get its own action approved.
#[tokio::test]
async fn a_protected_action_needs_its_number_in_its_own_browser_too() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let path = format!("/users/{}", id(&bob));
    let action = requested(&console, Method::DELETE, &path, &Value::Null).await;
    let Caller::Console { browser, .. } = &console else {
        unreachable!()
    };
    let installed = Installed {
        device: &grace.device,
        browser,
    };
    let (request, is_here) = installed.pending().await;
    assert_eq!(request.action.as_deref(), Some("Delete the user “bob”"));
    assert!(!is_here);
    let (status, error) = installed.approve(&request).await;
    assert_eq!(
        (status, error["error"].text()),
        (StatusCode::FORBIDDEN, "other_browser")
    );
    let early = console
        .call_once(Method::DELETE, &path, &Value::Null, action["id"].as_str())
        .await;
    assert!(refused(&early), "{}", early.body);
}

#[tokio::test]
async fn harmless_and_invalid_requests_need_no_approval() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let path = format!("/users/{}", id(&bob));
    console
        .call_once(
            Method::PATCH,
            &path,
            &json!({"email": "bob@example.org"}),
            None,
        )
        .await
        .success();
    console
        .call_once(
            Method::PATCH,
            &path,
            &json!({"email": "BOB@example.org"}),
            None,
        )
        .await
        .success();
    let unread = console
        .call_once(Method::PATCH, &path, &json!({"email": "no address"}), None)
        .await;
    assert_eq!(
        unread.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{}",
        unread.body
    );
    let created = json!({"name": "eve", "email": "eve@example.org"});
    console
        .call_once(Method::POST, "/users", &created, None)
        .await
        .success();
    let of_bob = host.authenticator(&bob).await;
    console
        .call_once(
            Method::DELETE,
            &format!("/devices/{}", of_bob.device()),
            &Value::Null,
            None,
        )
        .await;
    let missing = console
        .call_once(
            Method::DELETE,
            "/users/01a1fedd54ab7d72a67895d39f91c13f",
            &Value::Null,
            None,
        )
        .await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND, "{}", missing.body);
    for unread in [
        "[null,null,null,\"owner\",null]",
        " [\"owner\"]",
        "\"owner\"",
        "{\"console_role\": \"owner\"",
        "{\"console_role\": \"owner\"} {}",
        "\u{feff}\u{feff}{\"console_role\": \"owner\"}",
    ] {
        let request = console
            .request(Method::PATCH, &path)
            .header("content-type", "application/json")
            .body(unread);
        let answer = sent(request).await;
        assert_eq!(
            answer.status,
            StatusCode::BAD_REQUEST,
            "{unread}: {}",
            answer.body
        );
    }
    assert!(grace.device.pending_requests(0).await.is_empty());
    // An administrator without a device cannot approve either.
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
}

/// A link needs an approval before and after the user enrolled a device. The first device belongs to another plan.
#[tokio::test]
async fn new_authenticators_need_approval() {
    let host = TestHost::start().await;
    let bob = host.user("bob").await;
    let user: UserId = id(&bob).parsed();
    let operator = AdminContext::of_operator(Arc::clone(&host.host));
    let planned = async || EnrolDevice(user).plan(&operator).await.expect("planned");
    let before = planned().await;
    assert_eq!(before.action(), Some(&ProtectedAction::EnrolDevice(user)));
    let plans = AtomicU32::new(0);
    operator
        .run_with(&EnrolDevice(user), async || {
            if plans.fetch_add(1, Ordering::Relaxed) == 0 {
                host.authenticator(&bob).await;
            }
        })
        .await
        .expect("a link");
    assert_eq!(plans.into_inner(), 2, "the first plan was not executed");
    assert_eq!(
        planned().await.action(),
        Some(&ProtectedAction::EnrolDevice(user))
    );
}

#[tokio::test]
async fn requests_that_would_fail_are_rejected_before_approval() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let bob = format!("/users/{}", id(&host.user("bob").await));
    let application = host.web_application().await;
    let client = format!("/applications/{}", application.id);
    let new = json!({"name": "Robot", "application_type": "web", "admin_scopes": ["admin:read"]});
    let with = |member: &str, value: Value| {
        let mut body = new.clone();
        body[member] = value;
        body
    };
    for (method, path, body, field) in [
        (
            Method::PATCH,
            &client,
            json!({"redirect_uris": ["http://plain.example.org/"]}),
            "redirect_uris",
        ),
        (
            Method::PATCH,
            &client,
            json!({"redirect_uris": ["https://a.example.org/"], "name": ""}),
            "name",
        ),
        (
            Method::PATCH,
            &client,
            json!({"scopes": ["openid"], "application_type": "spa"}),
            "application_type",
        ),
        (
            Method::PATCH,
            &bob,
            json!({"console_role": "admin", "name": ""}),
            "name",
        ),
        (
            Method::PATCH,
            &bob,
            json!({"console_role": "admin", "profile": {"birthdate": "yesterday"}}),
            "profile",
        ),
        (
            Method::POST,
            &"/users".to_owned(),
            json!({"name": " ", "console_role": "admin"}),
            "name",
        ),
        (
            Method::POST,
            &"/applications".to_owned(),
            with("redirect_uris", json!(["http://x.example/"])),
            "redirect_uris",
        ),
        (
            Method::POST,
            &"/applications".to_owned(),
            json!({"name": "", "application_type": "web", "admin_scopes": ["admin:read"]}),
            "name",
        ),
    ] {
        let answer = console.call_once(method, path, &body, None).await;
        assert_eq!(
            answer.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{body}: {}",
            answer.body
        );
        let pointer = answer.body["errors"][0]["pointer"]
            .as_str()
            .unwrap_or_default();
        assert!(
            pointer.starts_with(&format!("/{field}")),
            "{body}: {}",
            answer.body
        );
    }
    let (eve, third) = (host.user("eve").await, host.user("ivan").await);
    host.account(&eve, &application).await;
    let of_bob = host.admin_ok(Method::GET, &bob, Value::Null).await;
    let account = format!(
        "/accounts/{}",
        id(&host.account(&of_bob, &application).await)
    );
    let accounts = format!("{client}/accounts");
    for (method, path, body) in [
        (
            Method::POST,
            "/users",
            json!({"name": "Eve", "console_role": "admin"}),
        ),
        (Method::PATCH, bob.as_str(), json!({"name": "eve"})),
        (
            Method::PATCH,
            bob.as_str(),
            json!({"email": "eve@example.org"}),
        ),
        (Method::PATCH, account.as_str(), json!({"name": "eve"})),
        (
            Method::POST,
            accounts.as_str(),
            json!({"user_id": id(&third), "name": "eve"}),
        ),
    ] {
        let answer = console.call_once(method, path, &body, None).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (StatusCode::CONFLICT, "conflict"),
            "{body}: {}",
            answer.body
        );
        let pointer = answer.body["errors"][0]["pointer"].text();
        assert_eq!(
            pointer,
            if body.get("email").is_some() {
                "/email"
            } else {
                "/name"
            }
        );
    }
    assert!(grace.device.pending_requests(0).await.is_empty());
}

#[tokio::test]
async fn stale_and_last_owner_requests_are_rejected_before_approval() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let bob = format!("/users/{}", id(&host.user("bob").await));
    let client = format!("/applications/{}", host.web_application().await.id);
    for path in [&bob, &client] {
        let body = json!({"console_role": "admin"});
        let body = if path == &client {
            json!({"scopes": ["openid"]})
        } else {
            body
        };
        let request = console
            .request(Method::PATCH, path)
            .header("if-match", "\"99\"")
            .json(&body);
        let answer = sent(request).await;
        assert_eq!(
            answer.status,
            StatusCode::PRECONDITION_FAILED,
            "{path}: {}",
            answer.body
        );
    }
    // The last owner cannot be removed.
    let own = format!("/users/{}", id(&grace.user));
    for (method, body) in [
        (Method::PATCH, json!({"console_role": null})),
        (Method::PATCH, json!({"state": "terminated"})),
        (Method::DELETE, Value::Null),
    ] {
        let answer = console.call_once(method, &own, &body, None).await;
        assert_eq!(answer.status, StatusCode::CONFLICT, "{}", answer.body);
    }
    assert!(grace.device.pending_requests(0).await.is_empty());
}

#[tokio::test]
async fn action_approvals_have_a_rate_limit_per_administrator() {
    let settings = "[rate_limits]\nactions_per_device = { per_minute = 1, burst = 3 }\n";
    let host = TestHost::start_with_settings(settings).await;
    let (console, _) = owner(&host).await;
    let path = format!("/users/{}", id(&host.user("bob").await));
    for _ in 0..3 {
        requested(&console, Method::DELETE, &path, &Value::Null).await;
    }
    let answer = console
        .call_once(Method::DELETE, &path, &Value::Null, None)
        .await;
    assert!(refused(&answer), "{}", answer.body);
    host.advance(61);
    requested(&console, Method::DELETE, &path, &Value::Null).await;
}
