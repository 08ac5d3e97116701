//! Names in the admin API: new users, changes, search, imports, groups and approvers.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Caller, transfers};
use crate::harness::{Database, Json, TestHost, Text, id};
use crate::names::{ADDRESS, ADDRESSES, COMPOSED, DECOMPOSED, NAMES};

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

async fn jose(host: &TestHost) -> Value {
    let body = json!({"name": DECOMPOSED, "email": ADDRESSES[0], "profile": {"name": "Jose\u{301} Gómez"}});
    host.admin_ok(Method::POST, "/users", body).await
}

#[both_databases]
async fn a_second_user_with_the_same_look_is_rejected(database: Database) {
    let host = TestHost::start_on(database).await;
    let jose = jose(&host).await;
    assert_eq!(
        (jose["name"].text(), jose["email"].text()),
        (COMPOSED, ADDRESS),
        "{database:?}: the domain is written in A-labels"
    );
    let adam = host.user("adam").await;
    let path = format!("/users/{}", id(&adam));
    // A name is never another user's address, and the other way round.
    for (member, spellings) in [
        ("name", &NAMES),
        ("name", &ADDRESSES),
        ("email", &ADDRESSES),
    ] {
        for spelling in spellings {
            let mut body = json!({"name": "eve"});
            body[member] = json!(spelling);
            for (method, path, body) in [
                (Method::POST, "/users", body),
                (Method::PATCH, path.as_str(), json!({member: spelling})),
            ] {
                let (status, problem) = host.admin(method, path, body).await;
                assert_eq!(status, StatusCode::CONFLICT, "{spelling:?} {problem}");
                assert_eq!(problem["errors"][0]["pointer"], format!("/{member}"));
            }
        }
    }
    // The user's own name in another spelling changes nothing.
    let path = format!("/users/{}", id(&jose));
    for spelling in NAMES {
        let same = host
            .admin_ok(Method::PATCH, &path, json!({"name": spelling}))
            .await;
        assert_eq!(same["name"], COMPOSED);
    }
}

#[tokio::test]
async fn an_error_names_the_rejected_character() {
    let host = TestHost::start().await;
    for (member, text, expected) in [
        ("name", "ada\u{200b}x", "character 4 is U+200B"),
        ("name", "x²", "character 2 is ² (U+00B2)"),
        ("name", "a b", "without spaces; character 2 is U+0020"),
        ("name", "אבגabc", "RFC 5893"),
        ("email", "a\u{200d}da@example.org", "character 2 is U+200D"),
        ("email", "ada@exa\u{2060}mple.org", "character 8 is U+2060"),
        ("email", "ada@xn--zzzzzz99.org", "RFC 5890"),
        ("email", "ada@exam_ple.org", "such as ada@example.org"),
        ("email", "ada@a..b", "such as ada@example.org"),
    ] {
        let mut body = json!({"name": "ada"});
        body[member] = json!(text);
        let (status, problem) = host.admin(Method::POST, "/users", body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{text:?}");
        let error = &problem["errors"][0];
        assert_eq!(error["pointer"], format!("/{member}"), "{problem}");
        assert!(
            error["detail"].text().contains(expected),
            "{text:?}: {problem}"
        );
    }
}

#[both_databases]
async fn each_spelling_finds_the_user_in_a_search(database: Database) {
    let host = TestHost::start_on(database).await;
    let jose = jose(&host).await;
    host.user("josua").await;
    let full = ["Gómez, José", "GO\u{301}MEZ", "ｇómez"];
    for text in NAMES.iter().chain(&ADDRESSES).chain(&full) {
        let path = format!("/users?q={}", encoded(text));
        let found = host.admin_ok(Method::GET, &path, Value::Null).await;
        let ids: Vec<&str> = found["items"].items().iter().map(id).collect();
        assert_eq!(ids, [id(&jose)], "{database:?} {text:?}");
    }
}

#[both_databases]
async fn an_import_reports_names_with_the_same_look(database: Database) {
    let host = TestHost::start_on(database).await;
    let caller = Caller::machine(&host);
    let refused = async |table: String, line: u64, column: &str, words: &str| {
        let report = transfers::import(&caller, "/users/import", table.clone())
            .await
            .success();
        let error = &report["errors"][0];
        assert_eq!(
            (error["line"].unsigned(), error["column"].text()),
            (line, column),
            "{database:?} {table:?} {report}"
        );
        assert!(error["detail"].text().contains(words), "{report}");
    };
    // Rows collide with each other.
    for spelling in &NAMES[1..] {
        let table = format!("name\n{COMPOSED}\n{spelling}\n");
        refused(table, 3, "name", "line 2 has the same value").await;
    }
    for spelling in &ADDRESSES[1..] {
        let table = format!("name,email\nx,{}\ny,{spelling}\n", ADDRESSES[0]);
        refused(table, 3, "email", "line 2 has the same value").await;
        let table = format!("name,email\nx,{}\n{spelling},\n", ADDRESSES[0]);
        refused(table, 3, "name", "line 2 has the same value").await;
    }
    // Rows collide with known users, or are about them.
    jose(&host).await;
    for spelling in ADDRESSES {
        refused(format!("name,email\neve,{spelling}\n"), 2, "email", "taken").await;
        refused(
            format!("name\n{spelling}\n"),
            2,
            "name",
            "the email address of another user",
        )
        .await;
    }
    for (name, address) in NAMES.iter().zip(ADDRESSES) {
        let table = format!("name,email\n{name},{address}\n");
        let report = transfers::import(&caller, "/users/import", table)
            .await
            .success();
        assert_eq!(report["unchanged"], 1, "{name:?} {address:?}: {report}");
    }
    refused("name\nada\u{200b}x\n".to_owned(), 2, "name", "U+200B").await;
}

#[both_databases]
async fn groups_accounts_and_approvers_take_each_spelling(database: Database) {
    let host = TestHost::start_on(database).await;
    let jose = jose(&host).await;
    let caller = Caller::machine(&host);
    let application = host.web_application().await;
    for (position, spelling) in NAMES.iter().chain(&ADDRESSES).enumerate() {
        let group = json!({"name": format!("Group {position}")});
        let group = host.admin_ok(Method::POST, "/groups", group).await;
        let path = format!("/groups/{}/members/import", id(&group));
        let report = transfers::import(&caller, &path, format!("user\n{spelling}\n"))
            .await
            .success();
        assert_eq!(report["created"], 1, "{database:?} {spelling:?} {report}");
        let path = format!(
            "/applications/{}/accounts/import?dry_run=true",
            application.id
        );
        let report = transfers::import(&caller, &path, format!("user\n{spelling}\n"))
            .await
            .success();
        assert_eq!(report["created"], 1, "{database:?} {spelling:?} {report}");
    }
    // Groups and accounts with the same look.
    let named = |name: &str| json!({"name": name});
    host.admin_ok(Method::POST, "/groups", named("Équipe Straße"))
        .await;
    for twin in [
        "E\u{301}quipe Straße",
        "ÉQUIPE STRASSE",
        "\u{feff}Équipe Straße\u{200b}",
    ] {
        let (status, problem) = host.admin(Method::POST, "/groups", named(twin)).await;
        assert_eq!(status, StatusCode::CONFLICT, "{twin:?} {problem}");
    }
    let path = format!("/applications/{}/accounts", application.id);
    let account = |user: &Value, name: &str| json!({"user_id": id(user), "name": name});
    host.admin_ok(Method::POST, &path, account(&jose, "José 1"))
        .await;
    let adam = host.user("adam").await;
    let (status, problem) = host
        .admin(Method::POST, &path, account(&adam, "Jose\u{301} 1"))
        .await;
    assert_eq!(status, StatusCode::CONFLICT, "{problem}");
}
