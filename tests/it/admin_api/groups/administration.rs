//! The administration of groups: the API, approvals, the audit log, and erasure.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::super::protected_actions::{number, owner, requested, waiting};
use super::super::{Administrator, Answer};
use super::{add, assign, assign_everyone, group, remove};
use crate::harness::{Database, TestHost, Text, id};
use crate::lifecycle::entries;

#[both_databases]
async fn groups_are_created_found_renamed_and_deleted(database: Database) {
    let host = TestHost::start_on(database).await;
    let bob = host.user("bob").await;
    let staff = group(&host, "Staff", &[&bob]).await;
    let editors = group(&host, "Éditeurs", &[]).await;
    let names = async |query: &str| {
        let list = host
            .admin_ok(Method::GET, &format!("/groups{query}"), Value::Null)
            .await;
        let items = list["items"].as_array().expect("groups").clone();
        let names: Vec<String> = items
            .iter()
            .map(|one| one["name"].text().to_owned())
            .collect();
        (names, list["next"].clone())
    };
    assert_eq!(names("").await.0, ["Éditeurs", "Staff"], "{database:?}");
    let (first, next) = names("?limit=1").await;
    assert_eq!(first, ["Éditeurs"]);
    let next: String = url::form_urlencoded::byte_serialize(next.text().as_bytes()).collect();
    assert_eq!(names(&format!("?after={next}")).await.0, ["Staff"]);
    assert_eq!(names("?q=%C3%A9DIT").await.0, ["Éditeurs"]);
    assert!(names("?q=x").await.0.is_empty());
    for (name, pointer) in [
        ("STAFF", "another group has the name"),
        ("", "use 1 to 128 characters"),
        ("a\nb", "without control characters"),
    ] {
        let (status, answer) = host
            .admin(Method::POST, "/groups", json!({"name": name}))
            .await;
        assert!(status.is_client_error(), "{name:?}");
        assert!(answer.to_string().contains(pointer), "{answer}");
    }
    let path = format!("/groups/{}", id(&staff));
    let shown = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(
        (&shown["members"], &shown["applications"]),
        (&json!(1), &json!(0))
    );
    let change = json!({"name": "Team", "description": "Everybody here"});
    let changed = host.admin_ok(Method::PATCH, &path, change).await;
    assert_eq!(
        (&changed["id"], &changed["name"], &changed["description"]),
        (&staff["id"], &json!("Team"), &json!("Everybody here"))
    );
    let of_bob = format!("/users/{}/groups", id(&bob));
    let groups = host.admin_ok(Method::GET, &of_bob, Value::Null).await;
    assert_eq!(groups["items"][0]["name"], "Team");
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
    let (status, _) = host.admin(Method::GET, &path, Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(names("").await.0, [editors["name"].text()]);
}

#[both_databases]
async fn members_are_added_replaced_and_removed(database: Database) {
    let host = TestHost::start_on(database).await;
    let (ada, bob, eve) = (
        host.user("ada").await,
        host.user("bob").await,
        host.user("eve").await,
    );
    let staff = group(&host, "Staff", &[]).await;
    assert_eq!(
        add(&host, &staff, &[&ada, &bob]).await,
        json!({"added": 2, "removed": 0})
    );
    assert_eq!(
        add(&host, &staff, &[&ada, &eve]).await,
        json!({"added": 1, "removed": 0})
    );
    remove(&host, &staff, &ada).await;
    let path = format!("/groups/{}/members", id(&staff));
    let members = async || {
        let list = host.admin_ok(Method::GET, &path, Value::Null).await;
        let items = list["items"].as_array().expect("members").clone();
        items
            .iter()
            .map(|one| one["user_name"].text().to_owned())
            .collect::<std::collections::BTreeSet<_>>()
    };
    // Members that are added at the same time have no order.
    let set = |names: [&str; 2]| names.map(str::to_owned).into();
    assert_eq!(members().await, set(["bob", "eve"]), "{database:?}");
    let users = json!({"users": [id(&ada), id(&bob)]});
    let changed = host.admin_ok(Method::PUT, &path, users).await;
    assert_eq!(changed, json!({"added": 1, "removed": 1}));
    assert_eq!(members().await, set(["ada", "bob"]));
    let unknown = json!({"users": ["0".repeat(32)]});
    let (status, answer) = host.admin(Method::POST, &path, unknown).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    let (status, _) = host
        .admin(Method::DELETE, &format!("{path}/{}", id(&eve)), Value::Null)
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);

    let noted = entries(&host, "event=group.member-added").await;
    assert_eq!(noted.len(), 4);
    assert_eq!(noted[0]["detail"]["group_name"], "Staff");
    assert!(noted.iter().any(|entry| entry["user_id"] == ada["id"]));
    assert_eq!(entries(&host, "event=group.member-removed").await.len(), 2);
}

/// Adding a member needs no approval. Changes to the access of many users need one, as do changes to a name that
/// applications receive.
#[both_databases]
async fn changes_that_affect_many_users_are_protected(database: Database) {
    let host = TestHost::start_on(database).await;
    let (console, grace) = owner(&host).await;
    let application = host.web_application().await;
    let (bob, eve) = (host.user("bob").await, host.user("eve").await);
    let staff = console
        .call_once(Method::POST, "/groups", &json!({"name": "Staff"}), None)
        .await
        .success();
    let path = format!("/groups/{}", id(&staff));
    let members = format!("{path}/members");
    let harmless = async |method: Method, path: &str, body: Value| {
        let answer: Answer = console.call_once(method, path, &body, None).await;
        assert!(answer.status.is_success(), "{path}: {}", answer.body);
    };
    harmless(Method::POST, &members, json!({"users": [id(&bob)]})).await;
    harmless(Method::PATCH, &path, json!({"description": "All of us"})).await;
    harmless(
        Method::DELETE,
        &format!("{members}/{}", id(&bob)),
        Value::Null,
    )
    .await;
    harmless(Method::POST, &members, json!({"users": [id(&bob)]})).await;

    let assignment = format!("/applications/{}/groups/{}", application.id, id(&staff));
    let everyone = format!("/applications/{}/everyone", application.id);
    let roles = json!({"roles": ["reader", "editor"]});
    // Another application may have the same name.
    let its_id = format!("The id of the application is {}", application.id);
    let protected = [
        (
            Method::PATCH,
            path.clone(),
            json!({"name": "Team"}),
            "Rename the group “Staff” to “Team”, which applications receive".to_owned(),
        ),
        (
            Method::PUT,
            members.clone(),
            json!({"users": [id(&eve)]}),
            "Change the members of the group “Team”: 1 added, 1 removed".to_owned(),
        ),
        (
            Method::PUT,
            assignment.clone(),
            roles,
            format!(
                "Give the members of the group “Team” access to the application “Books & <Co>”. They have the roles \
                 there: “reader”, “editor”. {its_id}"
            ),
        ),
        (
            Method::DELETE,
            assignment,
            Value::Null,
            format!(
                "Remove the access of the group “Team” to the application “Books & <Co>”. {its_id}"
            ),
        ),
        (
            Method::PUT,
            everyone.clone(),
            json!({"roles": []}),
            format!(
                "Give everyone access to the application “Books & <Co>”. They have no roles there. {its_id}"
            ),
        ),
        (
            Method::DELETE,
            everyone,
            Value::Null,
            format!(
                "Remove the access to the application “Books & <Co>” that users have neither by an account nor by a \
                 group. {its_id}"
            ),
        ),
        (
            Method::DELETE,
            path,
            Value::Null,
            "Delete the group “Team”; its members lose the access that it grants".to_owned(),
        ),
    ];
    for (method, path, body, summary) in protected {
        let action = requested(&console, method.clone(), &path, &body).await;
        assert_eq!(action["summary"], summary, "{database:?}");
        let request = waiting(&grace.device).await;
        assert_eq!(request.action.as_deref(), Some(summary.as_str()));
        let outcome = grace
            .device
            .submit_decision(&request, number(&action))
            .await;
        assert_eq!(outcome, "approved");
        let done = console
            .call_once(method, &path, &body, action["id"].as_str())
            .await;
        assert!(done.status.is_success(), "{path}: {}", done.body);
    }
    for event in ["application.access-assigned", "application.access-removed"] {
        let noted = entries(&host, &format!("event={event}")).await;
        assert_eq!(noted.len(), 2, "{event}");
        assert!(!noted[0]["approval_id"].is_null());
    }
}

/// No number of long roles hides another one, and no role imitates the text of the server.
#[tokio::test]
async fn each_role_of_an_assignment_is_shown_in_quotes() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let application = host.web_application().await;
    let everyone = format!("/applications/{}/everyone", application.id);
    let mut roles: Vec<String> = (0..6)
        .map(|number| format!("{number}{}", "x".repeat(120)))
        .collect();
    roles.push("admin”. Before they had: “admin".to_owned());
    let body = json!({"roles": roles});
    let action = requested(&console, Method::PUT, &everyone, &body).await;
    let summary = action["summary"].text();
    for role in &roles[..6] {
        assert!(summary.contains(&format!("“{role}”, ")), "{summary}");
    }
    assert!(
        summary.contains(", “admin. Before they had: admin”. The id of"),
        "{summary}"
    );
    let request = waiting(&grace.device).await;
    assert_eq!(request.action.as_deref(), Some(summary));
    // A list that no administrator can read on a device is rejected.
    let many: Vec<String> = (0..100)
        .map(|number| format!("{number} {}", "x".repeat(60)))
        .collect();
    let body = json!({"roles": many});
    let answer = console.call_once(Method::PUT, &everyone, &body, None).await;
    assert_eq!(answer.status, StatusCode::CONFLICT, "{}", answer.body);
    assert!(
        answer.body.to_string().contains("divide the request"),
        "{}",
        answer.body
    );
}

/// Support may not change groups. Administrators act only on users on whom they have permission to act.
#[tokio::test]
async fn groups_need_the_permission_to_give_access() {
    let host = TestHost::start().await;
    let support = Administrator::new(&host, "sue", "support")
        .await
        .signed_in(&host)
        .await;
    let admin = Administrator::new(&host, "adam", "admin")
        .await
        .signed_in(&host)
        .await;
    let owner = Administrator::new(&host, "olga", "owner").await;
    let staff = group(&host, "Staff", &[]).await;
    let path = format!("/groups/{}/members", id(&staff));
    let users = json!({"users": [id(&owner.user)]});
    for caller in [&support, &admin] {
        let answer = caller.call_once(Method::POST, &path, &users, None).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.body);
    }
    let answer = support
        .call_once(Method::GET, "/groups", &Value::Null, None)
        .await;
    assert_eq!(answer.status, StatusCode::OK);
}

#[both_databases]
async fn known_roles_and_assignments_are_listed(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let staff = group(&host, "Staff", &[&ada.user]).await;
    assign(&host, &ada.application, &staff, &["approver", "reader"]).await;
    assign_everyone(&host, &ada.application, &["guest"]).await;
    let path = format!("/applications/{}", ada.application.id);
    let roles = host
        .admin_ok(Method::GET, &format!("{path}/roles"), Value::Null)
        .await;
    assert_eq!(
        roles["items"],
        json!(["approver", "editor", "guest", "reader"]),
        "{database:?}"
    );
    let list = host
        .admin_ok(Method::GET, &format!("{path}/groups"), Value::Null)
        .await;
    assert_eq!(list["everyone"], json!(["guest"]));
    assert_eq!(
        (
            &list["items"][0]["group"]["name"],
            &list["items"][0]["roles"]
        ),
        (&json!("Staff"), &json!(["approver", "reader"]))
    );
    let of_group = format!("/groups/{}/applications", id(&staff));
    let list = host.admin_ok(Method::GET, &of_group, Value::Null).await;
    assert_eq!(list["items"][0]["application_id"], ada.application.id);
}

#[both_databases]
async fn an_erased_user_is_in_no_group(database: Database) {
    let host = TestHost::start_on(database).await;
    let bob = host.user("bob").await;
    let staff = group(&host, "Staff", &[&bob]).await;
    let path = format!("/users/{}", id(&bob));
    host.erase_user(&path).await;
    let members = format!("/groups/{}/members", id(&staff));
    let list = host.admin_ok(Method::GET, &members, Value::Null).await;
    assert_eq!(list["items"], json!([]), "{database:?}");
    let (status, _) = host
        .admin(Method::POST, &members, json!({"users": [id(&bob)]}))
        .await;
    assert_eq!(
        status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "a terminated user"
    );
}
