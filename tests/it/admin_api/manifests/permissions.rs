//! The permissions to plan and apply manifests.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::super::protected_actions::{number, owner, requested, waiting};
use super::super::{Administrator, Caller, console_caller, service};
use super::{by_key, count_applications, plan, web_manifest};
use crate::harness::{Database, Json, TestHost, Text, id};
use crate::lifecycle::entries;
use crate::names::{DECOMPOSED, NAMES};

async fn planned(caller: &Caller, manifest: &Value) -> (StatusCode, Value) {
    let body = json!({"manifest": manifest});
    let answer = caller.call_once(Method::POST, "/plans", &body, None).await;
    (answer.status, answer.body)
}

#[both_databases]
async fn each_change_needs_the_permission_of_its_own_request(database: Database) {
    let host = TestHost::start_on(database).await;
    host.user("ada").await;
    let applications = service(&host, &["admin:applications"]).await;
    let reader = service(&host, &["admin:read"]).await;
    let admin = console_caller(&host, "alan", "admin").await;
    let support = console_caller(&host, "sue", "support").await;

    let client = web_manifest("team", "wiki", "Wiki");
    let mut robot = web_manifest("team", "robot", "Robot");
    robot["applications"][0]["grant_types"] = json!(["client_credentials"]);
    robot["applications"][0]["redirect_uris"] = json!([]);
    robot["applications"][0]["admin_scopes"] = json!(["admin:read"]);
    let group =
        json!({"owner": "team", "groups": [{"key": "staff", "name": "Staff", "members": ["ada"]}]});
    let of_owner = json!({"owner": "team", "groups": [{"key": "staff", "name": "Staff", "members": ["grace"]}]});
    let (_, _grace) = owner(&host).await;
    let table = [
        (&reader, &client, false),
        (&reader, &group, false),
        (&applications, &client, true),
        (&applications, &robot, false),
        (&applications, &group, false),
        (&admin, &client, true),
        (&admin, &robot, false),
        (&admin, &group, true),
        (&admin, &of_owner, false),
        (&support, &client, false),
    ];
    for (at, (caller, manifest, may)) in table.into_iter().enumerate() {
        let (status, answer) = planned(caller, manifest).await;
        let expected = if may {
            StatusCode::OK
        } else {
            StatusCode::FORBIDDEN
        };
        assert_eq!(status, expected, "{database:?} {at}: {answer}");
        if !may {
            // The digest of an operator's plan does not help another caller.
            let digest = plan(&host, manifest, false).await["digest"].clone();
            let body = json!({"manifest": manifest, "digest": digest});
            let refused = caller
                .call_once(Method::POST, "/plans/apply", &body, None)
                .await;
            assert_eq!(
                refused.status,
                StatusCode::FORBIDDEN,
                "{at}: {}",
                refused.body
            );
            assert_eq!(refused.problem(), "forbidden", "{at}");
        }
    }

    // An export with names of users needs the permission to read them.
    super::applied(&host, &group, false).await;
    let export = applications.get("/manifests/team").await;
    assert_eq!(export.status, StatusCode::FORBIDDEN, "{}", export.body);
    assert_eq!(reader.get("/manifests/team").await.status, StatusCode::OK);
}

#[both_databases]
async fn an_application_by_its_key_needs_no_permission_for_groups(database: Database) {
    let host = TestHost::start_on(database).await;
    host.user("ada").await;
    let mut manifest = web_manifest("team", "wiki", "Wiki");
    manifest["groups"] = json!([{"key": "staff", "name": "Staff", "members": ["ada"]}]);
    super::applied(&host, &manifest, false).await;
    let caller = service(&host, &["admin:applications"]).await;
    let (status, answer) = planned(&caller, &web_manifest("team", "wiki", "Wiki")).await;
    assert_eq!(
        status,
        StatusCode::FORBIDDEN,
        "the warnings of a plan name groups: {answer}"
    );
    let body = json!({"name": "Renamed", "application_type": "web",
                      "redirect_uris": ["https://wiki.example.org/cb"]});
    let path = "/applications/by-key/team/wiki";
    let replaced = caller.call_once(Method::PUT, path, &body, None).await;
    assert_eq!(replaced.status, StatusCode::OK, "{}", replaced.body);
    assert_eq!(by_key(&host, "team", "wiki").await["name"], "Renamed");
    let exported = super::export(&host, "team").await;
    assert_eq!(exported["groups"], manifest["groups"], "{database:?}");
}

#[both_databases]
async fn in_the_console_the_device_approves_exactly_this_plan(database: Database) {
    let host = TestHost::start_on(database).await;
    let (console, grace) = owner(&host).await;
    let manifest = web_manifest("team", "wiki", "Wiki");
    let (status, shown) = planned(&console, &manifest).await;
    assert_eq!(status, StatusCode::OK, "a plan needs no approval");
    let body = json!({"manifest": manifest, "digest": shown["digest"]});
    let action = requested(&console, Method::POST, "/plans/apply", &body).await;
    let digest: String = shown["digest"].text().chars().take(32).collect();
    let summary = action["summary"].text().to_owned();
    let expected = format!(
        "Apply the manifest of team: 1 new, 0 updated, 0 deleted. Changes: Create the application “Wiki”. Addresses \
         for responses, new: https://wiki.example.org/cb. Plan {digest}"
    );
    assert_eq!(summary, expected, "{database:?}");
    let request = waiting(&grace.device).await;
    assert_eq!(request.action.as_deref(), Some(summary.as_str()));
    assert_eq!(
        grace
            .device
            .submit_decision(&request, number(&action))
            .await,
        "approved"
    );
    let other = web_manifest("team", "wiki", "Other");
    let (_, other_plan) = planned(&console, &other).await;
    let other = json!({"manifest": other, "digest": other_plan["digest"]});
    let approval = action["id"].as_str();
    let refused = console
        .call_once(Method::POST, "/plans/apply", &other, approval)
        .await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.body);
    assert_eq!(count_applications(&host).await, 0);
    console
        .call_once(Method::POST, "/plans/apply", &body, approval)
        .await
        .success();
    assert_eq!(count_applications(&host).await, 1);
    let noted = entries(&host, "event=application.created").await;
    assert!(noted[0]["approval_id"].is_string(), "{}", noted[0]);

    let (_, nothing) = planned(&console, &manifest).await;
    assert_eq!(nothing["changes"].items().len(), 0);
    let body = json!({"manifest": manifest, "digest": nothing["digest"]});
    let again = console
        .call_once(Method::POST, "/plans/apply", &body, None)
        .await;
    assert_eq!(
        again.status,
        StatusCode::OK,
        "an empty plan needs no approval"
    );

    let body = json!({"name": "Wiki", "application_type": "web", "redirect_uris": ["https://other.example/cb"]});
    let path = "/applications/by-key/team/wiki";
    let action = requested(&console, Method::PUT, path, &body).await;
    assert!(
        action["summary"]
            .text()
            .starts_with("Apply the manifest of team: 0 new, 1 updated")
    );
}

#[both_databases]
async fn a_named_administrator_approves_exactly_this_plan(database: Database) {
    let host = TestHost::start_on(database).await;
    let grace = Administrator::new(&host, "grace", "admin").await;
    Administrator::new(&host, "sue", "support").await;
    host.user("bob").await;
    let machine = Caller::machine(&host);
    let manifest = web_manifest("team", "wiki", "Wiki");
    let digest = plan(&host, &manifest, false).await["digest"].clone();
    let body = |name: &str| json!({"manifest": manifest, "digest": digest, "approve_by": name});
    for (name, why) in [
        ("bob", "active administrator"),
        ("nobody", "active administrator"),
        ("", "active administrator"),
        ("sue", "may not make the changes"),
        ("\u{ff33}UE\u{200b}", "may not make the changes"),
    ] {
        let refused = machine
            .call_once(Method::POST, "/plans/apply", &body(name), None)
            .await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{name}");
        assert!(refused.body.to_string().contains(why), "{}", refused.body);
    }
    let action = requested(&machine, Method::POST, "/plans/apply", &body("grace")).await;
    let path = format!("/action-approvals/{}", id(&action));
    assert_eq!(machine.get(&path).await.success()["state"], "pending");
    let service = service(&host, &["admin:applications"]).await;
    assert_eq!(
        service.get(&path).await.status,
        StatusCode::NOT_FOUND,
        "{database:?}: the approval belongs to another caller"
    );
    let request = waiting(&grace.device).await;
    assert!(
        request
            .action
            .as_deref()
            .is_some_and(|action| action.starts_with("Apply the manifest of team: 1 new")),
        "{:?}",
        request.action
    );
    let approval = action["id"].as_str();
    let early = machine
        .call_once(Method::POST, "/plans/apply", &body("grace"), approval)
        .await;
    assert_eq!(early.status, StatusCode::FORBIDDEN, "{}", early.body);
    assert_eq!(
        grace
            .device
            .submit_decision(&request, number(&action))
            .await,
        "approved"
    );
    assert_eq!(machine.get(&path).await.success()["state"], "approved");

    // No other caller, plan or administrator can use the approval.
    let theirs = service
        .call_once(Method::POST, "/plans/apply", &body("grace"), approval)
        .await;
    assert_eq!(theirs.status, StatusCode::FORBIDDEN, "{}", theirs.body);
    let other = web_manifest("team", "wiki", "Other");
    let other_digest = plan(&host, &other, false).await["digest"].clone();
    let other = json!({"manifest": other, "digest": other_digest, "approve_by": "grace"});
    let refused = machine
        .call_once(Method::POST, "/plans/apply", &other, approval)
        .await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.body);
    let alan = Administrator::new(&host, "alan", "admin").await;
    let refused = machine
        .call_once(Method::POST, "/plans/apply", &body("alan"), approval)
        .await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.body);
    assert!(alan.device.pending_requests(0).await.is_empty());
    assert_eq!(
        count_applications(&host).await,
        1,
        "only the service account"
    );

    machine
        .call_once(Method::POST, "/plans/apply", &body("grace"), approval)
        .await
        .success();
    assert_eq!(by_key(&host, "team", "wiki").await["name"], "Wiki");
    let noted = entries(&host, "event=application.created").await;
    assert!(
        noted.iter().any(|entry| entry["approval_id"].is_string()),
        "{noted:?}"
    );
    let again = machine
        .call_once(Method::POST, "/plans/apply", &body("grace"), approval)
        .await;
    assert_eq!(again.problem(), "plan-changed", "{}", again.body);
}

/// The request may spell the approver in another way than the directory.
#[both_databases]
async fn each_spelling_names_the_approver(database: Database) {
    let host = TestHost::start_on(database).await;
    let jose = Administrator::new(&host, DECOMPOSED, "admin").await;
    let machine = Caller::machine(&host);
    for (position, spelling) in NAMES.iter().enumerate() {
        // The pause keeps the requests below the rate limits.
        host.advance(120);
        let key = format!("wiki-{position}");
        let manifest = web_manifest("team", &key, &key);
        let digest = plan(&host, &manifest, false).await["digest"].clone();
        let body = json!({"manifest": manifest, "digest": digest, "approve_by": spelling});
        let action = requested(&machine, Method::POST, "/plans/apply", &body).await;
        let request = waiting(&jose.device).await;
        let outcome = jose.device.submit_decision(&request, number(&action)).await;
        assert_eq!(outcome, "approved", "{database:?} {spelling:?}");
        let approval = action["id"].as_str();
        machine
            .call_once(Method::POST, "/plans/apply", &body, approval)
            .await
            .success();
    }
    assert_eq!(count_applications(&host).await, NAMES.len(), "{database:?}");
}

/// The caller has no session that a report could revoke. The report ends the request.
#[both_databases]
async fn a_reported_plan_is_not_applied(database: Database) {
    let host = TestHost::start_on(database).await;
    let grace = Administrator::new(&host, "grace", "admin").await;
    let machine = Caller::machine(&host);
    let manifest = web_manifest("team", "wiki", "Wiki");
    let digest = plan(&host, &manifest, false).await["digest"].clone();
    let body = json!({"manifest": manifest, "digest": digest, "approve_by": "grace"});
    let action = requested(&machine, Method::POST, "/plans/apply", &body).await;
    grace
        .device
        .submit_report(&waiting(&grace.device).await)
        .await;
    let refused = machine
        .call_once(Method::POST, "/plans/apply", &body, action["id"].as_str())
        .await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{database:?}");
    // The cooldown applies to requests of other callers, so no caller can flood the device.
    let again = machine
        .call_once(Method::POST, "/plans/apply", &body, None)
        .await;
    assert_eq!(again.problem(), "forbidden", "{}", again.body);
    assert_eq!(count_applications(&host).await, 0);
}
