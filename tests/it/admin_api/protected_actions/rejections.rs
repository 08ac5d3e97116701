//! Protected actions that are rejected or reported.

use super::*;
use assent_test_macros::both_databases;

use crate::harness::{Json, Text};

/// No administrator types a number for a request that the server would reject afterwards.
#[tokio::test]
async fn forbidden_actions_are_rejected_before_approval() {
    let host = TestHost::start().await;
    let olga = Administrator::new(&host, "olga", "owner").await;
    let owner = format!("/users/{}", id(&olga.user));
    let bob = host.user("bob").await;
    host.authenticator(&bob).await;
    let bob = format!("/users/{}", id(&bob));
    let application = format!("/applications/{}", host.web_application().await.id);
    let trusted = format!(
        "/applications/{}",
        crate::admin_api::service_application(&host, &["admin:read"])
            .await
            .id
    );
    let support = [
        (
            Method::PATCH,
            bob.clone(),
            json!({"email": "eve@example.org"}),
        ),
        (Method::PATCH, bob.clone(), json!({"state": "terminated"})),
        (
            Method::PATCH,
            bob.clone(),
            json!({"console_role": "support"}),
        ),
        (
            Method::POST,
            "/users".to_owned(),
            json!({"name": "eve", "console_role": "owner"}),
        ),
        (Method::POST, format!("{owner}/enrolments"), Value::Null),
        (
            Method::PUT,
            format!("{owner}/external-authenticators/vendor"),
            json!({"identifier": "eve"}),
        ),
        (
            Method::DELETE,
            format!("/devices/{}", olga.device.device()),
            Value::Null,
        ),
    ];
    let admin = [
        (Method::PATCH, bob, json!({"console_role": "owner"})),
        (
            Method::PATCH,
            owner.clone(),
            json!({"email": "eve@example.org"}),
        ),
        (Method::PATCH, owner.clone(), json!({"state": "terminated"})),
        (Method::DELETE, owner.clone(), Value::Null),
        (Method::POST, format!("{owner}/erase"), Value::Null),
        (Method::POST, format!("{owner}/enrolments"), Value::Null),
        (
            Method::DELETE,
            format!("/devices/{}", olga.device.device()),
            Value::Null,
        ),
        (
            Method::PATCH,
            application,
            json!({"admin_scopes": ["admin:users"]}),
        ),
        (
            Method::POST,
            "/applications".to_owned(),
            json!({"name": "x", "application_type": "web", "redirect_uris": ["https://a.example"], "admin_scopes": []}),
        ),
        (
            Method::PATCH,
            trusted.clone(),
            json!({"redirect_uris": ["https://evil.example/cb"]}),
        ),
        (
            Method::POST,
            format!("{trusted}/secret/rotate"),
            Value::Null,
        ),
        (Method::DELETE, trusted, Value::Null),
    ];
    for (role, actions) in [("support", support.as_slice()), ("admin", &admin)] {
        let who = Administrator::new(&host, role, role).await;
        let console = who.signed_in(&host).await;
        for (method, path, body) in actions {
            let answer = console.call_once(method.clone(), path, body, None).await;
            assert!(
                refused(&answer),
                "{role}: {method} {path} {body}: {}",
                answer.body
            );
        }
        assert!(who.device.pending_requests(0).await.is_empty(), "{role}");
    }
}

/// A reported action was requested with the user's session, so the session is revoked.
#[both_databases]
async fn a_report_of_an_action_ends_the_console_session(database: Database) {
    let host = TestHost::start_on(database).await;
    let (stolen, grace) = owner(&host).await;
    let own = grace.signed_in(&host).await;
    let path = format!("/users/{}", id(&host.user("bob").await));
    requested(&stolen, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(
        grace
            .device
            .submit_report(&waiting(&grace.device).await)
            .await,
        "reported"
    );
    assert_eq!(
        stolen.get("/me").await.status,
        StatusCode::UNAUTHORIZED,
        "{database:?}"
    );
    own.get("/me").await.success();
    assert_eq!(
        entries(&host, "event=session.ended").await.len(),
        1,
        "{database:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_plugins_in_the_summary_are_restored() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let path = "/plugins/rollback";
    let reload = async || {
        host.admin_ok(Method::POST, "/plugins/reload", Value::Null)
            .await
    };
    let returned = reload().await;
    let plugins = returned["previous"]["plugins"].items();
    assert!(!plugins.is_empty(), "{returned}");
    let unnamed = console
        .call_once(Method::POST, path, &Value::Null, None)
        .await;
    assert_eq!(
        unnamed.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{}",
        unnamed.body
    );

    let body = json!({"previous": returned["previous"]["digest"]});
    let action = requested(&console, Method::POST, path, &body).await;
    let words = action["summary"].text();
    for plugin in plugins {
        let text = |name: &str| plugin[name].text();
        let named = format!(
            "{} {} ({})",
            text("plugin"),
            text("version"),
            &text("sha256")[..12]
        );
        assert!(words.contains(&named), "{named}: {words}");
    }
    let request = waiting(&grace.device).await;
    assert_eq!(
        grace
            .device
            .submit_decision(&request, number(&action))
            .await,
        "approved"
    );
    // The same components again, but another exchange: the rollback would not restore the approved components.
    let returned = reload().await;
    let late = console
        .call_once(Method::POST, path, &body, action["id"].as_str())
        .await;
    assert_eq!(
        (late.status, late.problem()),
        (StatusCode::CONFLICT, "conflict"),
        "{}",
        late.body
    );
    assert_eq!(
        host.admin(Method::POST, path, body).await.0,
        StatusCode::CONFLICT,
        "nor for the machine"
    );
    assert_eq!(
        console.get("/plugins").await.success()["previous"],
        returned["previous"]
    );

    let done = console
        .call(
            Method::POST,
            path,
            json!({"previous": returned["previous"]["digest"]}),
        )
        .await;
    assert_eq!(done.status, StatusCode::OK, "{}", done.body);
}
