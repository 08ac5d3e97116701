//! Groups, assignments and accounts of manifests.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{applied, by_key, changes, export, plan, web, web_manifest};
use crate::harness::{Database, Json, TestHost, Text, id};
use crate::names::{ADDRESSES, COMPOSED, DECOMPOSED, NAMES};

fn manifest(members: &[&str], roles: &[&str], accounts: &Value) -> Value {
    json!({
        "owner": "team",
        "applications": [web("wiki", "Wiki")],
        "groups": [{"key": "staff", "name": "Staff", "members": members}],
        "assignments": [{"application": "wiki", "group": "staff", "roles": roles}],
        "accounts": accounts,
    })
}

async fn members(host: &TestHost) -> Vec<String> {
    let groups = host.admin_ok(Method::GET, "/groups", Value::Null).await;
    let path = format!("/groups/{}/members", id(&groups["items"][0]));
    let list = host.admin_ok(Method::GET, &path, Value::Null).await;
    let mut names: Vec<String> = list["items"]
        .items()
        .iter()
        .map(|one| one["user_name"].text().to_owned())
        .collect();
    names.sort();
    names
}

#[both_databases]
async fn members_roles_and_accounts_match_the_manifest(database: Database) {
    let host = TestHost::start_on(database).await;
    for name in ["ada", "bob", "eve"] {
        host.user(name).await;
    }
    let accounts = json!([{"application": "wiki", "user": "ada", "roles": ["admin"]}]);
    applied(
        &host,
        &manifest(&["ada", "bob"], &["reader"], &accounts),
        false,
    )
    .await;
    let wiki = by_key(&host, "team", "wiki").await;
    assert_eq!(members(&host).await, ["ada", "bob"], "{database:?}");

    // One transaction adds the same users to two groups and creates their accounts.
    let accounts = json!([
        {"application": "wiki", "user": "ada", "roles": ["owner"]},
        {"application": "wiki", "user": "eve"},
    ]);
    let mut next = manifest(&["eve", "bob"], &["author"], &accounts);
    next["groups"]
        .as_array_mut()
        .expect("groups")
        .push(json!({"key": "second", "name": "Second", "members": ["ada", "eve"]}));
    let changed = applied(&host, &next, true).await;
    assert_eq!(
        changes(&changed),
        [
            "update group staff",
            "create group second",
            "update assignment wiki/staff",
            "update account wiki/ada",
            "create account wiki/eve",
        ],
        "{database:?}"
    );
    assert_eq!(
        changed["changes"][0]["fields"],
        json!([{"name": "members", "before": ["ada"], "after": ["eve"]}])
    );
    let path = format!("/applications/{}/groups", id(&wiki));
    let assigned = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(assigned["items"][0]["roles"], json!(["author"]));
    let path = format!("/applications/{}/accounts", id(&wiki));
    let accounts = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(accounts["items"].items().len(), 2);
    assert_eq!(
        plan(&host, &next, true).await["changes"],
        json!([]),
        "{database:?}"
    );
}

/// A manifest may spell a user in another way than the directory.
#[both_databases]
async fn members_and_accounts_are_found_by_each_spelling(database: Database) {
    let host = TestHost::start_on(database).await;
    let jose = json!({"name": DECOMPOSED, "email": ADDRESSES[0]});
    host.admin_ok(Method::POST, "/users", jose).await;
    let naming = |names: &[&str]| {
        let accounts: Value = names
            .iter()
            .map(|name| json!({"application": "wiki", "user": name, "roles": ["admin"]}))
            .collect();
        manifest(names, &["reader"], &accounts)
    };
    applied(&host, &naming(&[DECOMPOSED]), false).await;
    assert_eq!(members(&host).await, [COMPOSED], "{database:?}");
    for spelling in NAMES {
        let same = plan(&host, &naming(&[spelling]), true).await;
        assert_eq!(same["changes"], json!([]), "{database:?} {spelling:?}");
        // Two spellings are one user.
        let twice = json!({"manifest": naming(&[COMPOSED, spelling])});
        let (status, problem) = host.admin(Method::POST, "/plans", twice).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
        let text = problem.to_string();
        for reason in ["expected each user once", "expected each account once"] {
            assert!(text.contains(reason), "{spelling:?} {problem}");
        }
    }
    // An address is another name of the same user, so a manifest does not use it.
    for address in ADDRESSES {
        let named = json!({"manifest": naming(&[address])});
        let (status, problem) = host.admin(Method::POST, "/plans", named).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
        assert!(
            problem.to_string().contains("there is no user"),
            "{problem}"
        );
    }
}

#[both_databases]
async fn a_manifest_adopts_access_of_the_console_by_naming_it(database: Database) {
    let host = TestHost::start_on(database).await;
    let (ada, _) = (host.user("ada").await, host.user("bob").await);
    let base = json!({
        "owner": "team",
        "applications": [web("wiki", "Wiki")],
        "groups": [{"key": "staff", "name": "Staff"}],
    });
    applied(&host, &base, false).await;
    let wiki = by_key(&host, "team", "wiki").await;
    let groups = host.admin_ok(Method::GET, "/groups", Value::Null).await;
    let staff = groups["items"][0].clone();
    let body = json!({"users": [id(&ada)]});
    host.admin_ok(
        Method::POST,
        &format!("/groups/{}/members", id(&staff)),
        body,
    )
    .await;
    let path = format!("/applications/{}/groups/{}", id(&wiki), id(&staff));
    host.admin_ok(Method::PUT, &path, json!({"roles": ["reader"]}))
        .await;
    let path = format!("/applications/{}/accounts", id(&wiki));
    let body = json!({"user_id": id(&ada), "roles": ["author"]});
    host.admin_ok(Method::POST, &path, body).await;

    let left = plan(&host, &base, true).await;
    assert_eq!(
        left["changes"],
        json!([]),
        "{database:?}: no manifest manages the access"
    );
    assert_eq!(export(&host, "team").await["accounts"], Value::Null);

    let mut named = base.clone();
    named["assignments"] = json!([{"application": "wiki", "group": "staff", "roles": ["reader"]}]);
    named["accounts"] = json!([{"application": "wiki", "user": "ada", "roles": ["owner"]}]);
    let adopted = applied(&host, &named, false).await;
    assert_eq!(
        changes(&adopted),
        ["adopt assignment wiki/staff", "adopt account wiki/ada"],
        "{database:?}"
    );
    assert_eq!(
        members_of(&host, &staff).await,
        1,
        "without `members` the members stay"
    );
    assert_eq!(export(&host, "team").await["accounts"], named["accounts"]);
    let pruned = applied(&host, &base, true).await;
    assert_eq!(
        changes(&pruned),
        ["delete assignment wiki/staff", "delete account wiki/ada"]
    );

    // The owner of the manifest does not manage an assignment that the console removed and created again.
    named["accounts"] = json!([]);
    named["assignments"] = json!([{"application": "wiki", "roles": ["guest"]}]);
    applied(&host, &named, false).await;
    let path = format!("/applications/{}/everyone", id(&wiki));
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
    host.admin_ok(Method::PUT, &path, json!({"roles": ["guest"]}))
        .await;
    let plan = plan(&host, &base, true).await;
    assert_eq!(plan["changes"], json!([]), "{database:?}: {plan}");
}

async fn members_of(host: &TestHost, group: &Value) -> u64 {
    let path = format!("/groups/{}", id(group));
    let group = host.admin_ok(Method::GET, &path, Value::Null).await;
    group["members"].unsigned()
}

#[both_databases]
async fn a_change_of_a_user_between_plan_and_apply_rejects_the_plan(database: Database) {
    let host = TestHost::start_on(database).await;
    for name in ["ada", "bob"] {
        host.user(name).await;
    }
    let accounts = json!([{"application": "wiki", "user": "ada"}]);
    let wanted = manifest(&["bob"], &[], &accounts);
    let shown = plan(&host, &wanted, false).await;
    // Another user has the name now.
    let users = host
        .admin_ok(Method::GET, "/users?q=ada", Value::Null)
        .await;
    let path = format!("/users/{}", id(&users["items"][0]));
    host.admin_ok(Method::PATCH, &path, json!({"name": "former"}))
        .await;
    host.admin_ok(Method::POST, "/users", json!({"name": "ada"}))
        .await;
    let (status, problem) = super::apply(&host, &wanted, false, &shown["digest"]).await;
    assert_eq!(status, StatusCode::CONFLICT, "{database:?}: {problem}");
    assert_eq!(super::count_applications(&host).await, 0);
}

#[both_databases]
async fn one_mistake_causes_one_error(database: Database) {
    let host = TestHost::start_on(database).await;
    let ada = id(&host.user("ada").await).to_owned();
    let terminated = json!({"state": "terminated"});
    host.admin_ok(Method::PATCH, &format!("/users/{ada}"), terminated)
        .await;
    let mut manifest = web_manifest("team", "wiki", "Wiki");
    manifest["groups"] = json!([{"key": "staff", "name": "Staff", "members": ["ada"]}]);
    manifest["assignments"] = json!([{"application": "wiki", "group": "staff"}]);
    let expected = json!([{"pointer": "/manifest/groups/0/members", "detail": "staff: the user ada is terminated"}]);
    assert_eq!(errors(&host, &manifest).await, expected, "{database:?}");
    manifest["groups"] = json!([]);
    let expected = json!([{"pointer": "/manifest/assignments/0/group",
                           "detail": "wiki/staff: there is no group with the key staff"}]);
    assert_eq!(errors(&host, &manifest).await, expected, "{database:?}");
}

async fn errors(host: &TestHost, manifest: &Value) -> Value {
    let body = json!({"manifest": manifest});
    let (status, problem) = host.admin(Method::POST, "/plans", body).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    problem["errors"].clone()
}
