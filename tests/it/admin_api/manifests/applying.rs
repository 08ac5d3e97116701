//! Applying manifests: all or nothing, exactly the plan, and the same result everywhere.

use assent_test_macros::both_databases;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::super::transfers::wait_for_locks;
use super::super::{Caller, console_caller, sent, service};
use super::{
    applied, apply, by_key, changes, count_applications, everything, export, plan, rename, web,
    web_manifest,
};
use crate::harness::{Database, Json, TestHost, Text, id};
use crate::lifecycle::entries;

async fn host_with_users(database: Database) -> TestHost {
    let host = TestHost::start_on(database).await;
    for name in ["ada", "bob"] {
        host.user(name).await;
    }
    host
}

#[both_databases]
async fn applying_is_idempotent_and_an_export_creates_the_same_elsewhere(database: Database) {
    let host = host_with_users(database).await;
    let manifest = everything();
    let first = applied(&host, &manifest, false).await;
    assert_eq!(changes(&first).len(), 11, "{database:?}: {first}");
    let again = applied(&host, &manifest, true).await;
    assert_eq!(again["changes"], json!([]), "{database:?}");

    let exported = export(&host, "platform-team").await;
    let same = applied(&host, &exported, true).await;
    assert_eq!(same["changes"], json!([]), "{database:?}: {exported}");

    let other = host_with_users(database).await;
    let elsewhere = applied(&other, &exported, false).await;
    assert_eq!(changes(&elsewhere).len(), 11);
    let again = export(&other, "platform-team").await;
    assert_eq!(exported.to_string(), again.to_string(), "{database:?}");

    let wiki = by_key(&other, "platform-team", "wiki").await;
    assert!(
        !exported.to_string().contains(id(&wiki)),
        "an export has no ids"
    );
    assert_eq!(wiki["backchannel_logout_session_required"], true);
    let crm = by_key(&other, "platform-team", "crm").await;
    assert_eq!(
        (&crm["acs"][0]["index"], &crm["clock_skew_seconds"]),
        (&json!(3), &json!(30))
    );
    let owners = host.admin_ok(Method::GET, "/manifests", Value::Null).await;
    assert_eq!(owners["items"], json!([{"owner": "platform-team"}]));
}

#[both_databases]
async fn a_member_that_the_manifest_does_not_name_has_its_default(database: Database) {
    let host = TestHost::start_on(database).await;
    let mut manifest = web_manifest("team", "wiki", "Wiki");
    manifest["applications"][0]["slim_id_token"] = json!(true);
    manifest["applications"][0]["consent"] = json!("implied");
    applied(&host, &manifest, false).await;
    let before = by_key(&host, "team", "wiki").await;
    let update = applied(&host, &web_manifest("team", "wiki", "Knowledge"), false).await;
    assert_eq!(
        update["changes"][0]["fields"],
        json!([
            {"name": "consent", "before": "implied", "after": "ask"},
            {"name": "name", "before": "Wiki", "after": "Knowledge"},
            {"name": "slim_id_token", "before": true, "after": false},
        ]),
        "{database:?}"
    );
    let after = by_key(&host, "team", "wiki").await;
    assert_eq!(
        (&after["id"], &after["name"], &after["slim_id_token"]),
        (&before["id"], &json!("Knowledge"), &json!(false))
    );
}

#[both_databases]
async fn only_the_plan_that_was_shown_is_applied(database: Database) {
    let host = TestHost::start_on(database).await;
    applied(&host, &web_manifest("team", "wiki", "Wiki"), false).await;
    let wiki = by_key(&host, "team", "wiki").await;
    let mut manifest = web_manifest("team", "wiki", "Knowledge");
    manifest["applications"]
        .as_array_mut()
        .expect("applications")
        .push(web("new", "New"));
    let shown = plan(&host, &manifest, false).await;
    rename(&host, &wiki, "Other").await;
    let (status, problem) = apply(&host, &manifest, false, &shown["digest"]).await;
    assert_eq!(
        (status, problem["type"].text()),
        (StatusCode::CONFLICT, "urn:assent:problem:plan-changed"),
        "{database:?}"
    );
    assert!(problem["detail"].text().contains("plan again"));
    assert_eq!(count_applications(&host).await, 1, "nothing is applied");
    assert_eq!(by_key(&host, "team", "wiki").await["name"], "Other");

    // The application has the first name again but another version, so the plan is outdated.
    rename(&host, &wiki, "Wiki").await;
    let (status, _) = apply(&host, &manifest, false, &shown["digest"]).await;
    assert_eq!(status, StatusCode::CONFLICT);
    for other in [json!("0".repeat(64)), json!(""), json!("x")] {
        let (status, _) = apply(&host, &manifest, false, &other).await;
        assert_eq!(status, StatusCode::CONFLICT, "{other}");
    }
    let renewed = plan(&host, &manifest, false).await;
    let (status, _) = apply(&host, &manifest, true, &renewed["digest"]).await;
    assert_eq!(
        status,
        StatusCode::CONFLICT,
        "the digest is for one value of prune"
    );
    applied(&host, &manifest, false).await;
    assert_eq!(count_applications(&host).await, 2);
}

#[both_databases]
async fn one_invalid_object_rejects_the_whole_manifest(database: Database) {
    let host = host_with_users(database).await;
    host.admin_ok(Method::POST, "/groups", json!({"name": "Taken"}))
        .await;
    let manifest = json!({
        "owner": "team",
        "applications": [
            web("fits", "Fits"),
            {"key": "wrong", "name": "Wrong", "application_type": "web", "redirect_uris": ["http://plain.example/"]},
            web("fits", "Twice"),
        ],
        "groups": [{"key": "taken", "name": "TAKEN", "members": ["ada", "nobody"]},
                   {"key": "staff", "name": "Staff", "members": ["nobody", "ada", "ada"]}],
        "assignments": [{"application": "unknown", "group": "staff"}, {"application": "fits", "group": "unknown"}],
        "accounts": [{"application": "fits", "user": "eve"}, {"application": "fits", "user": "ada@example.org"}],
    });
    let body = json!({"manifest": manifest});
    let (status, problem) = host.admin(Method::POST, "/plans", body).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    let found: Vec<(&str, &str)> = problem["errors"]
        .items()
        .iter()
        .map(|error| (error["pointer"].text(), error["detail"].text()))
        .collect();
    let pointers: Vec<&str> = found.iter().map(|(pointer, _)| *pointer).collect();
    assert_eq!(
        pointers,
        [
            "/manifest/applications/1/redirect_uris",
            "/manifest/applications/2/key",
            "/manifest/groups/0/name",
            "/manifest/groups/1/members/0",
            "/manifest/groups/1/members/2",
            "/manifest/assignments/0/application",
            "/manifest/assignments/1/group",
            "/manifest/accounts/0/user",
            "/manifest/accounts/1/user",
        ],
        "{database:?}: {found:?}"
    );
    assert!(found[0].1.starts_with("wrong: "), "{found:?}");
    assert!(
        found[3]
            .1
            .contains("staff: there is no user with the name \"nobody\""),
        "{found:?}"
    );
    let (status, _) = apply(&host, &manifest, false, &json!("0".repeat(64))).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(count_applications(&host).await, 0);
    for body in [
        json!({"manifest": {"owner": "Not An Owner"}}),
        json!({"manifest": {"owner": "team", "unknown": []}}),
        json!({"manifest": {"owner": "team", "applications": [{"key": "a", "nam": "x"}]}}),
        json!({"manifest": {"owner": "team", "applications": [{"name": "no key"}]}}),
        json!({"manifest": {"owner": "team", "applications": [{"key": "a", "client_secret": "x"}]}}),
    ] {
        let (status, problem) = host.admin(Method::POST, "/plans", body.clone()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}: {problem}");
    }
}

#[both_databases]
async fn prune_deletes_only_objects_of_the_same_owner(database: Database) {
    let host = host_with_users(database).await;
    applied(&host, &everything(), false).await;
    applied(&host, &web_manifest("others", "wiki", "Theirs"), false).await;
    let console = host.web_application().await;
    host.admin_ok(Method::POST, "/groups", json!({"name": "Console"}))
        .await;
    let crm = by_key(&host, "platform-team", "crm").await;
    let ada = host
        .admin_ok(Method::GET, "/users?q=ada", Value::Null)
        .await["items"][0]
        .clone();
    // An account that the console creates in a managed application.
    let path = format!("/applications/{}/accounts", id(&crm));
    host.admin_ok(Method::POST, &path, json!({"user_id": id(&ada)}))
        .await;

    let mut less = everything();
    less["applications"] = json!([
        everything()["applications"][0],
        everything()["applications"][3]
    ]);
    less["groups"] = json!([everything()["groups"][0]]);
    less["assignments"] = json!([]);
    less["accounts"] = json!([]);
    let planned = plan(&host, &less, false).await;
    assert_eq!(planned["changes"], json!([]), "{database:?}: {planned}");
    assert_eq!(planned["warnings"].items().len(), 8, "{planned}");

    let pruned = applied(&host, &less, true).await;
    assert_eq!(
        changes(&pruned),
        [
            "delete application app",
            "delete application robot",
            "delete group empty",
            "delete assignment wiki/everyone",
            "delete assignment wiki/staff",
            "delete account crm/bob",
            "delete account wiki/ada",
        ],
        "{database:?}"
    );
    assert_eq!(by_key(&host, "others", "wiki").await["name"], "Theirs");
    let path = format!("/applications/{}", console.id);
    host.admin_ok(Method::GET, &path, Value::Null).await;
    let groups = host.admin_ok(Method::GET, "/groups", Value::Null).await;
    let names: Vec<&str> = groups["items"]
        .items()
        .iter()
        .map(|one| one["name"].text())
        .collect();
    assert_eq!(names, ["Console", "Staff"]);
    let path = format!("/applications/{}/accounts", id(&crm));
    let accounts = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(
        accounts["items"].items().len(),
        1,
        "the group of the console"
    );
    assert_eq!(accounts["items"][0]["user_id"], ada["id"]);

    let nothing = json!({"owner": "platform-team"});
    applied(&host, &nothing, true).await;
    let (status, _) = host
        .admin(Method::GET, "/manifests/platform-team", Value::Null)
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(count_applications(&host).await, 2);
}

#[both_databases]
async fn objects_are_adopted_only_by_id_and_once(database: Database) {
    let host = TestHost::start_on(database).await;
    let body = json!({"name": "Console", "application_type": "web", "redirect_uris": ["https://a.example/cb"]});
    let application = host.admin_ok(Method::POST, "/applications", body).await;
    let group = host
        .admin_ok(Method::POST, "/groups", json!({"name": "Staff"}))
        .await;
    let mut manifest = web_manifest("team", "wiki", "Wiki");
    manifest["applications"][0]["adopt"] = application["id"].clone();
    manifest["groups"] = json!([{"key": "staff", "name": "Staff", "adopt": group["id"]}]);
    let adopted = applied(&host, &manifest, false).await;
    assert_eq!(
        changes(&adopted),
        ["adopt application wiki", "adopt group staff"],
        "{database:?}"
    );
    assert_eq!(by_key(&host, "team", "wiki").await["id"], application["id"]);
    let again = applied(&host, &manifest, true).await;
    assert_eq!(again["changes"], json!([]), "{database:?}");

    let mut theirs = web_manifest("others", "wiki", "Wiki");
    theirs["applications"][0]["adopt"] = application["id"].clone();
    theirs["groups"] = json!([{"key": "staff", "name": "Staff", "adopt": group["id"]}]);
    let (status, problem) = host
        .admin(Method::POST, "/plans", json!({"manifest": theirs}))
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let details = problem["errors"].to_string();
    assert!(
        details.contains("team manages the application already")
            && details.contains("manages the group already"),
        "{details}"
    );
    let mut unknown = web_manifest("others", "x", "X");
    unknown["applications"][0]["adopt"] =
        json!("did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK");
    let (_, problem) = host
        .admin(Method::POST, "/plans", json!({"manifest": unknown}))
        .await;
    assert!(
        problem["errors"]
            .to_string()
            .contains("there is no application with this id")
    );
}

#[both_databases]
async fn each_change_is_in_the_audit_log_with_the_plan(database: Database) {
    let host = host_with_users(database).await;
    let plan = applied(&host, &everything(), false).await;
    for (event, count) in [
        ("application.created", 4),
        ("group.created", 2),
        ("group.member-added", 2),
        ("application.access-assigned", 3),
        ("account.created", 2),
    ] {
        let noted = entries(&host, &format!("event={event}")).await;
        assert_eq!(noted.len(), count, "{database:?} {event}");
        for entry in &noted {
            assert_eq!(entry["detail"]["plan"], plan["digest"], "{event}: {entry}");
        }
    }
    let created = entries(&host, "event=application.created").await;
    let managed = |key: &str| {
        created.iter().any(|entry| {
            entry["detail"]["managed_by"] == "platform-team"
                && entry["detail"]["managed_key"] == key
        })
    };
    assert!(managed("wiki") && managed("crm"), "{created:?}");
    applied(&host, &json!({"owner": "platform-team"}), true).await;
    assert_eq!(entries(&host, "event=application.deleted").await.len(), 4);
    assert_eq!(entries(&host, "event=group.deleted").await.len(), 2);
}

/// The canary is a client secret. No plan and no export contains it.
#[both_databases]
async fn no_secret_is_in_a_plan_or_an_export(database: Database) {
    let host = TestHost::start_on(database).await;
    let manifest = web_manifest("team", "wiki", "Wiki");
    let planned = applied(&host, &manifest, false).await;
    assert!(
        planned["warnings"]
            .to_string()
            .contains("needs a client secret"),
        "{planned}"
    );
    let wiki = by_key(&host, "team", "wiki").await;
    let path = format!("/applications/{}/secret/rotate", id(&wiki));
    let secret = host.admin_ok(Method::POST, &path, Value::Null).await;
    let secret = secret["client_secret"].text();

    let again = applied(&host, &manifest, true).await;
    assert_eq!(again["changes"], json!([]), "a secret is not a difference");
    let mut other = web_manifest("team", "wiki", "Other");
    let renamed = applied(&host, &other, false).await;
    assert_eq!(by_key(&host, "team", "wiki").await["has_secret"], true);
    other["applications"][0]["token_endpoint_auth_method"] = json!("client_secret_jwt");
    let changed = applied(&host, &other, false).await;
    assert!(
        changed["warnings"]
            .to_string()
            .contains("loses client secrets")
    );
    assert_eq!(by_key(&host, "team", "wiki").await["has_secret"], false);
    let digest = assent_model::secret::Secret::new(secret).digest().to_text();
    for text in [
        planned,
        again,
        renamed,
        changed,
        export(&host, "team").await,
    ] {
        let text = text.to_string();
        assert!(!text.contains(secret) && !text.contains(&digest), "{text}");
        assert!(!text.contains("client_secret\""), "{text}");
    }
}

#[both_databases]
async fn a_logo_is_in_the_manifest(database: Database) {
    let host = TestHost::start_on(database).await;
    let image = |byte: u8| STANDARD.encode([b"\x89PNG\r\n\x1a\n".as_slice(), &[byte]].concat());
    let with = |logo: Value| {
        let mut manifest = web_manifest("team", "wiki", "Wiki");
        manifest["applications"][0]["logo"] = logo;
        manifest
    };
    let first = applied(&host, &with(json!(image(1))), false).await;
    assert_eq!(
        changes(&first),
        ["create application wiki", "create logo wiki"]
    );
    assert_eq!(
        export(&host, "team").await["applications"][0]["logo"],
        image(1)
    );
    let path = format!(
        "/applications/{}/logo",
        id(&by_key(&host, "team", "wiki").await)
    );
    assert_eq!(
        host.admin_ok(Method::GET, &path, Value::Null).await["bytes"],
        9
    );
    assert!(changes(&applied(&host, &with(json!(image(1))), false).await).is_empty());
    let without = plan(&host, &web_manifest("team", "wiki", "Wiki"), true).await;
    assert!(changes(&without).is_empty(), "not named, not changed");

    let second = with(json!(image(2)));
    let shown = plan(&host, &second, false).await;
    assert_eq!(changes(&shown), ["update logo wiki"]);
    let field = &shown["changes"][0]["fields"][0];
    assert!(field["before"].text().starts_with("sha256:") && field["before"] != field["after"]);
    // Another logo is applied meanwhile, so the plan is outdated.
    applied(&host, &with(json!(image(3))), false).await;
    let (status, problem) = apply(&host, &second, false, &shown["digest"]).await;
    assert_eq!(status, StatusCode::CONFLICT, "{problem}");
    let last = applied(&host, &with(json!("")), false).await;
    assert_eq!(changes(&last), ["delete logo wiki"]);
    let (status, _) = host.admin(Method::GET, &path, Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{database:?}");
    let words = entries(&host, "event=application.logo-removed").await;
    assert_eq!(words[0]["detail"]["plan"], last["digest"], "{words:?}");

    for (logo, expected) in [
        ("?", "wiki: expected an image in base64"),
        (
            "c2VjcmV0",
            "wiki: expected an image in PNG, JPEG or WebP format",
        ),
    ] {
        let body = json!({"manifest": with(json!(logo))});
        let (status, problem) = host.admin(Method::POST, "/plans", body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
        let error = &problem["errors"][0];
        assert_eq!(error["pointer"], "/manifest/applications/0/logo");
        assert_eq!(error["detail"], expected);
    }
}

#[both_databases]
async fn an_object_shows_the_manifest_that_manages_it(database: Database) {
    let host = TestHost::start_on(database).await;
    let body = json!({"name": "Console", "application_type": "web", "redirect_uris": ["https://a.example/cb"]});
    let application = host.admin_ok(Method::POST, "/applications", body).await;
    let path = format!("/applications/{}", id(&application));
    let caller = Caller::machine(&host);
    let before = caller.get(&path).await;
    assert!(before.body["managed_by"].is_null());
    let mut manifest = web_manifest("team", "wiki", "Wiki");
    manifest["applications"][0]["adopt"] = json!(id(&application));
    manifest["groups"] = json!([{"key": "staff", "name": "Staff"}]);
    let plan = applied(&host, &manifest, false).await;
    assert!(changes(&plan).contains(&"adopt application wiki".to_owned()));
    let after = caller.get(&path).await;
    assert_eq!(
        after.body["managed_by"],
        json!({"owner": "team", "key": "wiki"})
    );
    assert_ne!(
        before.etag(),
        after.etag(),
        "{database:?}: what the API shows changed"
    );
    let groups = host.admin_ok(Method::GET, "/groups", Value::Null).await;
    let path = format!("/groups/{}", id(&groups["items"][0]));
    let support = console_caller(&host, "sue", "support").await;
    let without = support.get(&path).await.success();
    assert!(
        without["managed_by"].is_null(),
        "manifests name applications, which this role may not read: {without}"
    );
    let group = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(
        group["managed_by"],
        json!({"owner": "team", "key": "staff"})
    );
}

#[tokio::test]
async fn plans_are_limited_for_each_caller_and_together() {
    let host = TestHost::start().await;
    let limits = &host.host.rate_limits;
    let body = json!({"manifest": web_manifest("team", "wiki", "Wiki")});
    let first = service(&host, &["admin:applications"]).await;
    let second = service(&host, &["admin:applications"]).await;
    let ask = async |caller: &Caller, path: &str, body: &Value| {
        caller.call_once(Method::POST, path, body, None).await
    };
    let held: Vec<_> = (0..4).map(|_| limits.plans.hold(())).collect();
    assert!(held.iter().all(Option::is_some));
    assert!(limits.plans.hold(()).is_none(), "four at a time");
    let apply = json!({"manifest": body["manifest"], "digest": ""});
    for (path, body) in [("/plans", &body), ("/plans/apply", &apply)] {
        let rejected = ask(&first, path, body).await;
        assert_eq!(rejected.status, StatusCode::TOO_MANY_REQUESTS, "{path}");
        assert_eq!(rejected.problem(), "too-many-requests", "{path}");
    }
    drop(held);
    // The client is still sending the body of this request.
    let (rest, receiver) = tokio::sync::oneshot::channel::<Result<String, std::io::Error>>();
    let stream = futures_util::stream::once(async { receiver.await.expect("a body") });
    let request = first
        .request(Method::POST, "/plans")
        .header("content-type", "application/json")
        .body(reqwest::Body::wrap_stream(stream));
    let slow = tokio::spawn(sent(request));
    wait_for_locks(&limits.plans, 1).await;
    assert_eq!(
        ask(&first, "/plans", &body).await.status,
        StatusCode::TOO_MANY_REQUESTS
    );
    assert_eq!(ask(&second, "/plans", &body).await.status, StatusCode::OK);
    rest.send(Ok(body.to_string())).expect("sent");
    assert_eq!(slow.await.expect("an answer").status, StatusCode::OK);
    assert_eq!(ask(&first, "/plans", &body).await.status, StatusCode::OK);
}
