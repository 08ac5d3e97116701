//! The conditions, the totals and the files of lists of access, the use by the members of a group, and who gave access.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::super::groups::{assign, group};
use super::super::transfers::exported;
use super::super::{Caller, console_caller};
use crate::harness::{Application, Database, TestHost, Text, id};
use crate::lifecycle::entries;

const DAY: i64 = 24 * 60 * 60;

async fn get(host: &TestHost, path: &str) -> Value {
    host.admin_ok(Method::GET, path, Value::Null).await
}

/// Returns the names of the users on a page.
fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().expect("a list");
    items.iter().map(|row| row["user_name"].text()).collect()
}

/// Stores that a user last used an application so many days ago.
async fn used(host: &TestHost, user: &Value, application: &Application, days: i64) {
    let at = host.host.now().millis() - days * DAY * 1000;
    let (user, application) = (id(user), &application.id);
    let mut connection = host.connection().await;
    connection
        .batch(&format!(
            "INSERT INTO account_use (user_id, application_id, signed_in_at)
                VALUES ('{user}', '{application}', {at});"
        ))
        .await
        .expect("inserted");
}

/// An application with three users: one signed in yesterday, one 100 days ago, one never.
struct Payroll {
    host: TestHost,
    application: Application,
    group: Value,
    users: Vec<Value>,
}

impl Payroll {
    async fn start(database: Database) -> Self {
        let host = TestHost::start_on(database).await;
        let application = host.web_application().await;
        let mut users = Vec::new();
        for name in ["ada", "bob", "eve"] {
            users.push(host.user(name).await);
            host.advance(1);
        }
        let group = group(&host, "Staff", &[&users[0], &users[1]]).await;
        assign(&host, &application, &group, &["reader"]).await;
        let path = format!("/applications/{}/accounts", application.id);
        let account = json!({"user_id": users[2]["id"], "roles": ["writer"]});
        host.admin_ok(Method::POST, &path, account).await;
        used(&host, &users[0], &application, 1).await;
        used(&host, &users[1], &application, 100).await;
        Self {
            host,
            application,
            group,
            users,
        }
    }

    async fn list(&self, query: &str) -> Value {
        let path = format!("/applications/{}/access?{query}", self.application.id);
        get(&self.host, &path).await
    }
}

#[both_databases]
async fn access_is_found_by_its_use_and_its_roles(database: Database) {
    let payroll = Payroll::start(database).await;
    for (query, expected) in [
        ("", &["ada", "bob", "eve"][..]),
        ("unused=never", &["eve"]),
        ("unused=90-days", &["bob", "eve"]),
        ("role=reader", &["ada", "bob"]),
        ("role=writer", &["eve"]),
        ("role=read", &[]),
        ("role=reader&unused=90-days", &["bob"]),
        ("q=bob&unused=90-days", &["bob"]),
        ("q=bob&unused=never", &[]),
        ("denied=true&role=reader", &[]),
    ] {
        let list = payroll.list(query).await;
        assert_eq!(names(&list), expected, "{database:?}: {query}");
        assert_eq!(list.get("next"), None, "{query}");
    }
    // Pages with a condition have the same rows.
    let first = payroll.list("unused=90-days&limit=1").await;
    assert_eq!(names(&first), ["bob"]);
    let next = first["next"].text();
    let second = payroll
        .list(&format!("unused=90-days&limit=1&after={next}"))
        .await;
    assert_eq!((names(&second), second.get("next")), (vec!["eve"], None));
    let path = format!("/applications/{}/access?unused=1", payroll.application.id);
    let (status, _) = payroll.host.admin(Method::GET, &path, Value::Null).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    // For a user the same the other way round.
    let of =
        |user: usize, query: &str| format!("/users/{}/access?{query}", id(&payroll.users[user]));
    for (user, query, expected) in [
        (1, "unused=90-days", 1),
        (1, "unused=never", 0),
        (0, "unused=90-days", 0),
        (2, "role=writer", 1),
        (2, "role=reader", 0),
        (2, "denied=true", 0),
    ] {
        let list = get(&payroll.host, &of(user, query)).await;
        let found = list["items"].as_array().map(Vec::len);
        assert_eq!(found, Some(expected), "{database:?}: {query}");
    }
}

#[both_databases]
async fn the_first_page_has_the_totals_of_the_list(database: Database) {
    let payroll = Payroll::start(database).await;
    let host = &payroll.host;
    let path = format!("/users/{}", id(&payroll.users[2]));
    host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    let totals = |[entries, denied, never, unused]: [u32; 4]| {
        json!({
            "entries": entries,
            "denied": denied,
            "never_used": never,
            "unused_90_days": unused,
            "more": false,
        })
    };
    for query in ["", "unused=never", "limit=1", "role=nothing"] {
        let list = payroll.list(query).await;
        assert_eq!(
            list["totals"],
            totals([3, 1, 1, 2]),
            "{database:?}: {query}"
        );
    }
    let first = payroll.list("limit=1").await;
    let second = payroll
        .list(&format!("limit=1&after={}", first["next"].text()))
        .await;
    assert_eq!(second.get("totals"), None, "only the first page counts");
    let of_eve = get(host, &format!("/users/{}/access", id(&payroll.users[2]))).await;
    assert_eq!(of_eve["totals"], totals([1, 1, 1, 1]), "{database:?}");
    let of_group = get(host, &format!("/groups/{}/access", id(&payroll.group))).await;
    assert_eq!(of_group["totals"], totals([2, 0, 0, 1]), "{database:?}");
}

#[both_databases]
async fn a_group_has_its_members_with_their_last_use(database: Database) {
    let payroll = Payroll::start(database).await;
    let host = &payroll.host;
    let path = format!("/groups/{}/access", id(&payroll.group));
    let list = get(host, &path).await;
    assert_eq!(names(&list), ["ada", "bob"], "{database:?}");
    let of_ada = payroll.list("q=ada").await;
    assert_eq!(list["items"][0]["used"], of_ada["items"][0]["used"]);
    // An application of another group does not count, and the newest use does.
    let wiki = host.web_application().await;
    used(host, &payroll.users[1], &wiki, 2).await;
    let list = get(host, &format!("{path}?unused=90-days")).await;
    assert_eq!(names(&list), ["bob"], "{database:?}");
    assign(host, &wiki, &payroll.group, &[]).await;
    let list = get(host, &format!("{path}?unused=90-days")).await;
    assert!(names(&list).is_empty(), "{database:?}: {list}");
    let path = format!("/groups/{}/applications", id(&payroll.group));
    let applications = get(host, &path).await;
    let one = applications["items"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|row| row["application_id"] == payroll.application.id.as_str())
        .expect("the application");
    assert_eq!(
        (
            &one["roles"],
            &one["application_enabled"],
            &one["by"]["kind"]
        ),
        (&json!(["reader"]), &json!(true), &json!("admin_token")),
        "{database:?}"
    );
    assert!(one["since"].is_string(), "{one}");
    let missing = "/groups/01a1fedd54ab7d72a67895d39f91c13f/access";
    let (status, _) = host.admin(Method::GET, missing, Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

/// The actor is that of the beginning of the access: the later of the membership and the assignment, or the account.
#[both_databases]
async fn each_grant_names_who_gave_it(database: Database) {
    let host = TestHost::start_on(database).await;
    let boss: Caller = console_caller(&host, "boss", "admin").await;
    let application = host.web_application().await;
    let ada = host.user("ada").await;
    // The list is in the order of the times.
    host.advance(1);
    let bob = host.user("bob").await;
    let staff = group(&host, "Staff", &[&ada]).await;
    assign(&host, &application, &staff, &["reader"]).await;
    host.advance(60);
    let accounts = format!("/applications/{}/accounts", application.id);
    boss.call(Method::POST, &accounts, json!({"user_id": ada["id"]}))
        .await
        .success();
    let members = format!("/groups/{}/members", id(&staff));
    boss.call(Method::POST, &members, json!({"users": [bob["id"]]}))
        .await
        .success();
    // Another change of the roles does not change who gave the access.
    assign(&host, &application, &staff, &["editor"]).await;

    let path = format!("/applications/{}/access", application.id);
    let list = get(&host, &path).await;
    let [of_ada, of_bob] = list["items"].as_array().expect("a list").as_slice() else {
        panic!("two users: {list}");
    };
    let by = |row: &Value, grant: usize| row["via"][grant]["by"].clone();
    let name = |actor: &Value| (actor["kind"].clone(), actor["name"].clone());
    let boss_name = (json!("user"), json!("boss"));
    assert_eq!(name(&by(of_ada, 0)), boss_name, "{database:?}: {of_ada}");
    assert_eq!(by(of_ada, 1)["kind"], "admin_token", "{database:?}");
    assert_eq!(name(&by(of_bob, 0)), boss_name, "{database:?}: {of_bob}");
    let group_path = format!("/groups/{}/access", id(&staff));
    let members = get(&host, &group_path).await;
    assert_eq!(members["items"][0]["by"]["kind"], "admin_token");
    assert_eq!(name(&members["items"][1]["by"]), boss_name);

    // Who gives the own access again gave it, from then on.
    let account = format!("/accounts/{}", of_ada["account"]["id"].text());
    for individual in [false, true] {
        host.advance(60);
        host.admin_ok(Method::PATCH, &account, json!({"individual": individual}))
            .await;
    }
    let again = get(&host, &format!("{path}?q=ada")).await;
    let grant = &again["items"][0]["via"][0];
    assert_eq!(
        (&grant["kind"], &grant["by"]["kind"]),
        (&json!("account"), &json!("admin_token")),
        "{database:?}"
    );
    let changed = get(&host, &account).await;
    assert_ne!(grant["since"], changed["created_at"], "{database:?}");

    let everyone = format!("/applications/{}/everyone", application.id);
    boss.call(Method::PUT, &everyone, json!({"roles": []}))
        .await;
    let list = get(&host, &format!("{path}?q=bob")).await;
    assert_eq!(
        name(&by(&list["items"][0], 1)),
        boss_name,
        "{database:?}: {list}"
    );
    // A deleted actor stays known by the id.
    let id_of_boss = by(&list["items"][0], 1)["id"].clone();
    assert!(id_of_boss.is_string(), "{list}");
}

#[both_databases]
async fn files_have_the_rows_of_the_list_in_both_formats(database: Database) {
    let payroll = Payroll::start(database).await;
    let host = &payroll.host;
    let caller = Caller::machine(host);
    let path = format!("/applications/{}/access", payroll.application.id);
    for query in ["", "unused=never", "role=nothing"] {
        let list = payroll.list(query).await;
        let json_path = format!("{path}/export?format=json&{query}");
        let file = caller.get(&json_path).await;
        assert_eq!(file.status, StatusCode::OK);
        assert_eq!(file.body, list["items"], "{database:?}: {query}");
        let csv = exported(&caller, &format!("{path}/export?{query}")).await;
        let rows = list["items"].as_array().map_or(0, Vec::len);
        assert_eq!(csv.lines().count(), rows + 1, "{csv}");
    }
    let csv = exported(&caller, &format!("{path}/export?role=writer")).await;
    let mut lines = csv.lines();
    let head = lines.next().expect("a head");
    assert!(head.ends_with(",since,granted_by,used,account"), "{head}");
    let row = lines.next().expect("a row");
    assert!(
        row.contains(",admin_token:") && row.ends_with(",,eve"),
        "{row}"
    );

    let group = format!("/groups/{}/access", id(&payroll.group));
    let list = get(host, &group).await;
    let file = caller.get(&format!("{group}/export?format=json")).await;
    assert_eq!(file.body, list["items"], "{database:?}");
    let csv = exported(&caller, &format!("{group}/export")).await;
    assert!(
        csv.lines().nth(1).expect("a row").starts_with("Staff,ada,"),
        "{csv}"
    );
    let of_user = format!("/users/{}/access", id(&payroll.users[0]));
    let file = caller.get(&format!("{of_user}/export?format=json")).await;
    assert_eq!(file.body, get(host, &of_user).await["items"]);

    let found = entries(host, "event=access.exported").await;
    let of_group = found
        .iter()
        .find(|entry| entry["detail"]["group"] == payroll.group["id"])
        .expect("an entry");
    assert_eq!(of_group["detail"]["group_name"], "Staff");
    let by_role = found
        .iter()
        .any(|entry| entry["detail"]["by_role"] == true && !entry.to_string().contains("nothing"));
    assert!(by_role, "{found:?}");
}
