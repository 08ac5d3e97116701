//! The lists of the admin API: the grants, their start, the last use, and denials in spite of a grant.

use assent_model::clock::Timestamp;
use assent_model::entropy::SystemEntropy;
use assent_model::id::UserId;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::super::groups::{assign, group};
use super::super::{Caller, console_caller};
use crate::harness::{Application, Browser, Database, Respond, TestHost, TestUser, Text, id};
use crate::lifecycle::entries;

async fn get(host: &TestHost, path: &str) -> Value {
    host.admin_ok(Method::GET, path, Value::Null).await
}

async fn access_to(host: &TestHost, application: &Application, query: &str) -> Vec<Value> {
    let path = format!("/applications/{}/access{query}", application.id);
    let list = get(host, &path).await;
    list["items"].as_array().expect("a list").clone()
}

async fn access_of(host: &TestHost, user: &Value) -> Vec<Value> {
    let list = get(host, &format!("/users/{}/access", id(user))).await;
    list["items"].as_array().expect("a list").clone()
}

/// Returns the number of users in the list of applications.
async fn counted(host: &TestHost, application: &Application) -> Value {
    let path = format!("/applications?q={}", application.id);
    get(host, &path).await["items"][0]["usage"]["users"].clone()
}

async fn member(host: &TestHost, name: &str, application: &Application) -> TestUser {
    let user = host.user(name).await;
    TestUser {
        device: host.authenticator(&user).await,
        user,
        application: application.clone(),
        account: Value::Null,
    }
}

/// A group gives two members access. They never opened the application, and nevertheless have access.
#[both_databases]
async fn members_who_never_opened_an_application_have_access(database: Database) {
    let host = TestHost::start_on(database).await;
    let grafana = host.web_application().await;
    let ada = member(&host, "ada", &grafana).await;
    host.advance(1);
    let maryam = member(&host, "maryam", &grafana).await;
    let engineering = group(&host, "Engineering", &[&ada.user, &maryam.user]).await;
    assert_eq!(counted(&host, &grafana).await, 0);
    host.advance(60);
    assign(&host, &grafana, &engineering, &["editor"]).await;

    let rows = access_to(&host, &grafana, "").await;
    let names: Vec<&str> = rows.iter().map(|row| row["user_name"].text()).collect();
    assert_eq!(names, ["ada", "maryam"], "{database:?}");
    let row = &rows[0];
    assert_eq!(row["granted"], true);
    assert_eq!(row["denied"], Value::Null);
    assert_eq!(row["roles"], json!(["editor"]));
    assert_eq!(row.get("used"), None, "{row}");
    assert_eq!(row["account"], Value::Null);
    let [via] = row["via"].as_array().expect("grants").as_slice() else {
        panic!("one grant: {row}");
    };
    assert_eq!(
        (&via["kind"], &via["name"], &via["id"], &via["roles"]),
        (
            &json!("group"),
            &json!("Engineering"),
            &engineering["id"],
            &json!(["editor"])
        )
    );
    // The membership is older than the assignment.
    let assigned = get(&host, &format!("/applications/{}", grafana.id)).await["updated_at"].clone();
    assert_eq!((&via["since"], &row["since"]), (&assigned, &assigned));
    assert_eq!(counted(&host, &grafana).await, 2);
    let of_ada = access_of(&host, &ada.user).await;
    assert_eq!(&of_ada[0], row, "both lists have the same rows");

    let csv = csv(
        &host,
        &format!("/applications/{}/access/export", grafana.id),
    )
    .await;
    let line = csv.lines().nth(1).expect("a row");
    assert!(
        line.contains(",ada,") && line.contains(",granted,,Engineering,editor,"),
        "{database:?}: {csv}"
    );
    assert_eq!(csv.lines().count(), 3, "{csv}");

    // The sign-in records the use, and creates the account, which grants no access itself.
    ada.sign_in(&Browser::new(&host.base)).await;
    let rows = access_to(&host, &grafana, "").await;
    assert!(
        rows[0]["used"].is_string() && rows[0]["account"]["id"].is_string(),
        "{rows:?}"
    );
    assert_eq!(rows[1].get("used"), None);
    assert_eq!(rows[0]["via"].as_array().map(Vec::len), Some(1));
    assert_eq!(counted(&host, &grafana).await, 2);
    // A suspended member is denied, although a member.
    let account = rows[0]["account"]["id"].text().to_owned();
    let suspended = json!({"state": "suspended"});
    host.admin_ok(
        Method::PATCH,
        &format!("/accounts/{account}"),
        suspended.clone(),
    )
    .await;
    let rows = access_to(&host, &grafana, "?denied=true").await;
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (
            &rows[0]["granted"],
            &rows[0]["denied"],
            &rows[0]["via"][0]["name"]
        ),
        (
            &json!(false),
            &json!("account_suspended"),
            &json!("Engineering")
        )
    );
    assert_eq!(counted(&host, &grafana).await, 1);
    let path = format!("/users/{}", id(&maryam.user));
    host.admin_ok(Method::PATCH, &path, suspended).await;
    let of_maryam = &access_of(&host, &maryam.user).await[0];
    assert_eq!(of_maryam["denied"], "user_suspended", "{database:?}");
    assert_eq!(counted(&host, &grafana).await, 0);
}

async fn csv(host: &TestHost, path: &str) -> String {
    let request = crate::harness::http_client()
        .get(format!("{}/admin/api/v1{path}", host.base))
        .bearer_auth(&host.token);
    crate::harness::Body::read_text(request.response().await).await
}

#[both_databases]
async fn an_own_account_a_group_and_everyone_are_named(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let staff = group(&host, "Staff; \"all\"", &[&ada.user]).await;
    assign(&host, &ada.application, &staff, &["editor"]).await;
    let path = format!("/applications/{}/everyone", ada.application.id);
    host.admin_ok(Method::PUT, &path, json!({"roles": ["guest"]}))
        .await;
    let rows = access_to(&host, &ada.application, "?q=ada").await;
    let kinds: Vec<&str> = rows[0]["via"]
        .as_array()
        .expect("grants")
        .iter()
        .map(|grant| grant["kind"].text())
        .collect();
    assert_eq!(kinds, ["account", "group", "everyone"], "{database:?}");
    // Everyone includes the bootstrap administrator and users who are invited.
    host.user("bob").await;
    let all = access_to(&host, &ada.application, "").await;
    let bob = all
        .iter()
        .find(|row| row["user_name"] == "bob")
        .expect("bob");
    assert_eq!(
        (&bob["granted"], &bob["user_state"]),
        (&json!(true), &json!("invited"))
    );
    assert_eq!(counted(&host, &ada.application).await, all.len());
    // One page at a time has the same rows.
    let (mut paged, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/applications/{}/access?limit=1{after}", ada.application.id);
        let page = get(&host, &path).await;
        paged.push(page["items"][0].clone());
        let Some(next) = page["next"].as_str() else {
            break;
        };
        after = format!("&after={next}");
    }
    assert_eq!(paged, all);
    let exported = csv(&host, &format!("/users/{}/access/export", id(&ada.user))).await;
    assert!(
        exported.contains(r#""[""account"",""Staff; \""all\"""",""everyone""]""#),
        "{exported}"
    );
    let found = entries(&host, "event=access.exported").await;
    assert_eq!(found[0]["user_id"], ada.user["id"], "{found:?}");
    // The end of an assignment ends the access by it.
    let path = format!("/applications/{}/everyone", ada.application.id);
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
    assert_eq!(access_to(&host, &ada.application, "").await.len(), 1);
}

#[both_databases]
async fn roles_that_read_accounts_read_access(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    for role in ["support", "auditor"] {
        let caller: Caller = console_caller(&host, role, role).await;
        for path in [
            format!("/applications/{}/access", ada.application.id),
            format!("/users/{}/access", id(&ada.user)),
        ] {
            let answer = caller.get(&path).await;
            assert_eq!(answer.status, StatusCode::OK, "{database:?} {role} {path}");
        }
    }
    let missing = format!("/applications/{}/access?after=x", ada.application.id);
    let (status, _) = host.admin(Method::GET, &missing, Value::Null).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

/// The members of a very large group are not looked at one by one, unless many are closed.
#[both_databases]
async fn the_users_of_a_large_group_are_counted_without_the_closed_ones(database: Database) {
    const MEMBERS: usize = 2200;
    const CLOSED: usize = 1250;
    let host = TestHost::start_on(database).await;
    let grafana = host.web_application().await;
    let staff = group(&host, "Staff", &[]).await;
    assign(&host, &grafana, &staff, &[]).await;
    let ids: Vec<String> = (0..MEMBERS)
        .map(|_| UserId::new(Timestamp::from_millis(1), &SystemEntropy).to_string())
        .collect();
    let rows = |ids: &[String], row: &dyn Fn(&String) -> String| {
        ids.iter().map(row).collect::<Vec<_>>().join(", ")
    };
    let mut connection = host.connection().await;
    let users = rows(&ids, &|id| {
        format!("('{id}', '{id}', '{id}', '{id}', '{id}', '{{}}', 'invited', 1, 1, 1)")
    });
    let members = rows(&ids, &|user| format!("('{}', '{user}', 1)", id(&staff)));
    connection
        .batch(&format!(
            "INSERT INTO users (id, did, subject, name, search_key, profile, state, version, created_at, updated_at)
                VALUES {users};
             INSERT INTO user_counts (state, change) VALUES ('invited', {MEMBERS});
             INSERT INTO group_members (group_id, user_id, added_at) VALUES {members};"
        ))
        .await
        .expect("inserted");
    assert_eq!(counted(&host, &grafana).await, 1000, "{database:?}");

    for closed in [10, CLOSED] {
        let accounts = rows(&ids[..closed], &|user| {
            let application = &grafana.id;
            format!(
                "('{user}', '{user}', '{application}', '{user}', '[]', '{user}', 'suspended', 0, 1, 1, 1)"
            )
        });
        connection
            .batch(&format!(
                "DELETE FROM accounts;
                 INSERT INTO accounts (id, user_id, application_id, name, roles, short_code, state, individual,
                                       version, created_at, updated_at) VALUES {accounts};"
            ))
            .await
            .expect("inserted");
        let expected = (MEMBERS - closed).min(1000);
        assert_eq!(counted(&host, &grafana).await, expected, "{database:?}");
    }

    let ids = rows(&ids[..CLOSED], &|id| format!("'{id}'"));
    connection
        .batch(&format!(
            "DELETE FROM accounts;
             UPDATE users SET state = 'suspended' WHERE id IN ({ids});
             INSERT INTO user_counts (state, change) VALUES ('invited', -{CLOSED}), ('suspended', {CLOSED});"
        ))
        .await
        .expect("changed");
    let expected = MEMBERS - CLOSED;
    assert_eq!(counted(&host, &grafana).await, expected, "{database:?}");
}
