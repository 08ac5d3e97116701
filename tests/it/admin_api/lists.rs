//! The lists of users and applications: their orders, and the values beside each name.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::Caller;
use crate::harness::{Browser, Database, Json, TestHost, Text, id};

/// Returns the names of all pages of a list, with two entries a page.
async fn names(host: &TestHost, path: &str) -> String {
    let (mut names, mut after) = (Vec::new(), String::new());
    loop {
        let page = host
            .admin_ok(Method::GET, &format!("{path}&limit=2{after}"), Value::Null)
            .await;
        let items = page["items"].items().iter();
        names.extend(items.map(|item| item["name"].text().to_owned()));
        let Some(next) = page["next"].as_str() else {
            return names.join(" ");
        };
        let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
        after = format!("&after={next}");
    }
}

/// Creates a user with a full name, or with none.
async fn user(host: &TestHost, name: &str, full: Option<&str>) -> Value {
    let mut body = json!({ "name": name });
    if let Some(full) = full {
        body["profile"] = json!({ "name": full });
    }
    host.admin_ok(Method::POST, "/users", body).await
}

#[both_databases]
async fn users_are_listed_in_an_order(database: Database) {
    let host = TestHost::start_on(database).await;
    // Neither the user names nor the bytes of the full names have this order.
    for (name, full) in [
        ("grace", Some("Émile Hopper")),
        ("öner", None),
        ("ada", Some("Zoe")),
        ("zoe", Some("ADAM")),
        ("bob", None),
    ] {
        host.advance(1);
        let user = user(&host, name, full).await;
        if name != "bob" {
            let path = format!("/users/{}", id(&user));
            let change =
                json!({"state": "active", "console_role": (name != "ada").then_some("auditor")});
            host.admin_ok(Method::PATCH, &path, change).await;
        }
    }
    for (query, expected) in [
        ("?order=created", "grace öner ada zoe bob"),
        ("?order=-created", "bob zoe ada öner grace"),
        ("?order=name", "zoe bob grace öner ada"),
        ("?order=-name", "ada öner grace bob zoe"),
        ("?order=name&state=active", "zoe grace öner ada"),
        ("?order=-name&state=active", "ada öner grace zoe"),
        ("?order=-created&state=active", "zoe ada öner grace"),
        ("?order=name&role=auditor", "zoe grace öner"),
        ("?order=-name&role=auditor&state=active", "öner grace zoe"),
        ("?order=-created&role=auditor", "zoe öner grace"),
        ("?order=-name&q=bo", "bob"),
    ] {
        assert_eq!(
            names(&host, &format!("/users{query}")).await,
            expected,
            "{database:?} {query}"
        );
    }
    let total = async |query: &str| {
        let list = host
            .admin_ok(Method::GET, &format!("/users{query}"), Value::Null)
            .await;
        list["total"].clone()
    };
    assert_eq!(total("?limit=1").await, 5);
    assert_eq!(total("?state=invited").await, 1);
    assert_eq!(total("?q=a").await, Value::Null);
    let answer = Caller::machine(&host).get("/users?order=email").await;
    assert_eq!(
        (answer.status, answer.problem()),
        (StatusCode::BAD_REQUEST, "malformed")
    );
}

/// A list follows each change of a name, and contains users with the same name.
#[both_databases]
async fn a_user_with_another_name_has_another_place(database: Database) {
    let host = TestHost::start_on(database).await;
    for name in ["eve", "dan", "fay"] {
        host.advance(1);
        user(&host, name, Some("Élise")).await;
    }
    let bob = user(&host, "bob", Some("Zoe")).await;
    let path = format!("/users/{}", id(&bob));
    let listed = async |expected: &str| {
        let descending: Vec<&str> = expected.split(' ').rev().collect();
        let descending = descending.join(" ");
        for (order, expected) in [("name", expected), ("-name", descending.as_str())] {
            let names = names(&host, &format!("/users?order={order}")).await;
            assert_eq!(names, expected, "{database:?} {order}");
        }
    };
    listed("eve dan fay bob").await;
    let invited = host
        .admin_ok(Method::GET, "/invitations", Value::Null)
        .await;
    let invited: Vec<&str> = invited["items"]
        .items()
        .iter()
        .map(|one| one["name"].text())
        .collect();
    assert_eq!(invited, ["eve", "dan", "fay", "bob"], "{database:?}");
    for (change, expected) in [
        (json!({"profile": {"name": "Adam"}}), "bob eve dan fay"),
        (
            json!({"name": "zed", "profile": {"name": null}}),
            "eve dan fay zed",
        ),
        (json!({"name": "bob"}), "bob eve dan fay"),
        (
            json!({"profile": {"name": "Zoe"}, "state": "terminated"}),
            "eve dan fay bob",
        ),
    ] {
        host.admin_ok(Method::PATCH, &path, change).await;
        listed(expected).await;
    }
    host.admin_ok(Method::POST, &format!("{path}/erase"), Value::Null)
        .await;
    // The name is `erased-`, and the id of the user.
    listed(&format!("eve dan fay erased-{}", id(&bob))).await;
    user(&host, "fred", None).await;
    listed(&format!("eve dan fay erased-{} fred", id(&bob))).await;
}

#[both_databases]
async fn lists_show_the_last_sign_in(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    user(&host, "bob", None).await;
    let first = async |path: &str| {
        let list = host.admin_ok(Method::GET, path, Value::Null).await;
        list["items"][0].clone()
    };
    assert_eq!(
        first("/users?order=name").await["last_sign_in_at"],
        Value::Null
    );
    let usage = first("/applications?order=name").await["usage"].clone();
    assert_eq!(
        usage,
        json!({"logo_url": null, "users": 1, "more_users": false, "last_sign_in_at": null})
    );
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let signed_in = first("/users?order=name").await["last_sign_in_at"].clone();
    assert!(signed_in.is_string(), "{database:?}");
    let used = first("/applications?order=name").await["usage"]["last_sign_in_at"].clone();
    assert_eq!(used, signed_in);
    // The session signs in to the application again. The server records this at most every ten minutes, and does not
    // count it as a sign-in of the user.
    let silent = ada.application.request(&[("prompt", Some("none"))]);
    for (seconds, is_recorded) in [(300, false), (300, true)] {
        host.advance(seconds);
        browser.get(&silent).await.parameter("code");
        let now = first("/applications?order=name").await["usage"]["last_sign_in_at"].clone();
        assert_eq!(now != used, is_recorded, "{database:?}: {seconds} s");
    }
    assert_eq!(
        first("/users?order=name").await["last_sign_in_at"],
        signed_in
    );
    // The time of a sign-in is personal data, so an erasure removes it.
    let path = format!("/users/{}", id(&ada.user));
    host.erase_user(&path).await;
    assert_eq!(
        first("/users?state=terminated").await["last_sign_in_at"],
        Value::Null
    );
}

#[both_databases]
async fn applications_are_listed_by_name(database: Database) {
    let host = TestHost::start_on(database).await;
    for name in ["wiki", "Öl", "Books", "archive", "Cars", "books"] {
        let application = json!({"name": name, "application_type": "native",
            "redirect_uris": ["com.example.books://callback"]});
        host.admin_ok(Method::POST, "/applications", application)
            .await;
    }
    let ascending = names(&host, "/applications?order=name").await;
    assert_eq!(
        ascending.to_lowercase(),
        "archive books books cars öl wiki",
        "{database:?}"
    );
    let mut descending: Vec<&str> = ascending.split(' ').collect();
    descending.reverse();
    assert_eq!(
        names(&host, "/applications?order=-name").await,
        descending.join(" "),
        "{database:?}"
    );
    assert_eq!(
        names(&host, "/applications?order=-name&q=b")
            .await
            .to_lowercase(),
        "books books"
    );
}

#[both_databases]
async fn groups_are_listed_by_name(database: Database) {
    let host = TestHost::start_on(database).await;
    for name in ["wiki", "Öl", "archive", "Cars", "books"] {
        let group = json!({ "name": name });
        host.admin_ok(Method::POST, "/groups", group).await;
    }
    for (query, expected) in [
        ("?order=name", "archive books Cars Öl wiki"),
        ("?order=-name", "wiki Öl Cars books archive"),
        ("?order=-name&q=ö", "Öl"),
    ] {
        assert_eq!(
            names(&host, &format!("/groups{query}")).await,
            expected,
            "{database:?} {query}"
        );
    }
    for (query, expected) in [("?limit=1", json!(5)), ("?q=b", Value::Null)] {
        let path = format!("/groups{query}");
        let list = host.admin_ok(Method::GET, &path, Value::Null).await;
        assert_eq!(list["total"], expected, "{database:?} {query}");
    }
}

/// The next page begins after the last row of the previous page, even if that row was deleted in between.
#[both_databases]
async fn a_list_continues_after_a_deleted_row(database: Database) {
    let host = TestHost::start_on(database).await;
    for name in ["a b", "b c", "c d", "d e"] {
        let application = json!({"name": name, "application_type": "native",
            "redirect_uris": ["com.example.books://callback"]});
        host.admin_ok(Method::POST, "/applications", application)
            .await;
        host.admin_ok(Method::POST, "/groups", json!({ "name": name }))
            .await;
    }
    for list in ["/applications", "/groups"] {
        let page = async |query: String| {
            let path = format!("{list}?limit=2{query}");
            host.admin_ok(Method::GET, &path, Value::Null).await
        };
        let first = page("&order=-name".to_owned()).await;
        let last = &first["items"][1];
        assert_eq!(last["name"], "c d", "{database:?} {list}");
        host.admin_ok(Method::DELETE, &format!("{list}/{}", id(last)), Value::Null)
            .await;
        let next: String =
            url::form_urlencoded::byte_serialize(first["next"].text().as_bytes()).collect();
        let second = page(format!("&order=-name&after={next}")).await;
        let names: Vec<&str> = second["items"]
            .items()
            .iter()
            .map(|item| item["name"].text())
            .collect();
        assert_eq!(names, ["b c", "a b"], "{database:?} {list}");
    }
}

/// The groups of a user have the order of the list of groups: an accent does not put a name after all others.
#[both_databases]
async fn the_groups_of_a_user_have_the_order_of_all_groups(database: Database) {
    let host = TestHost::start_on(database).await;
    let ada = host.user("ada").await;
    for name in ["zoology", "Ärzte", "archive", "Office"] {
        let group = host
            .admin_ok(Method::POST, "/groups", json!({ "name": name }))
            .await;
        let members = format!("/groups/{}/members", id(&group));
        host.admin_ok(Method::POST, &members, json!({"users": [id(&ada)]}))
            .await;
    }
    for list in ["/groups".to_owned(), format!("/users/{}/groups", id(&ada))] {
        let page = host.admin_ok(Method::GET, &list, Value::Null).await;
        let items = page["items"].items().iter();
        let names: Vec<&str> = items.map(|item| item["name"].text()).collect();
        assert_eq!(
            names,
            ["archive", "Ärzte", "Office", "zoology"],
            "{database:?} {list}"
        );
    }
}
