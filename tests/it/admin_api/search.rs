//! Search for users by name, among all users and in an application.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::Caller;
use crate::harness::{Application, Browser, Database, Json, TestHost, Text, get, id};

async fn created(host: &TestHost, name: &str, full: &str) -> Value {
    let body =
        json!({"name": name, "email": format!("{name}@example.org"), "profile": {"name": full}});
    host.advance(1);
    host.admin_ok(Method::POST, "/users", body).await
}

/// Returns the names of all entries of a list. The result is the same page by page and as one page.
async fn names(host: &TestHost, path: &str) -> String {
    let joined = |list: &Value| {
        let items = list["items"].items().iter();
        items
            .map(|item| item["name"].text().to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let all = joined(&host.admin_ok(Method::GET, path, Value::Null).await);
    let (mut pages, mut after) = (Vec::new(), String::new());
    loop {
        let page = host
            .admin_ok(Method::GET, &format!("{path}&limit=1{after}"), Value::Null)
            .await;
        pages.extend(Some(joined(&page)).filter(|names| !names.is_empty()));
        let Some(next) = page["next"].as_str() else {
            break;
        };
        let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
        after = format!("&after={next}");
    }
    assert_eq!(
        pages.join(" "),
        all,
        "{path}: a page continues where the previous page ended"
    );
    all
}

#[both_databases]
async fn users_are_found_by_each_word_of_their_name(database: Database) {
    let host = TestHost::start_on(database).await;
    created(&host, "al", "Ada King Lovelace").await;
    created(&host, "gh", "Grace Hopper").await;
    let asa = created(&host, "ol", "Åsa Öberg").await;
    created(&host, "king", "Adam").await;
    for (q, expected) in [
        ("love", "al"),
        ("ada", "al king"),
        ("ADA+King", "al"),
        ("lovelace,+ada", "al"),
        ("king", "king al"),
        ("king+l", "al"),
        ("king+a", ""),
        ("ce+ada", ""),
        ("%C3%A5SA", "ol"),
        ("%C3%B6", "ol"),
        ("asa", "ol"),
        ("hopper+grace", "gh"),
        ("a", "al king ol"),
    ] {
        assert_eq!(
            names(&host, &format!("/users?q={q}")).await,
            expected,
            "{database:?} {q}"
        );
    }
    // A former name finds no user. A filter by state uses the current state.
    let path = format!("/users/{}", id(&asa));
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"profile": {"name": "Eva Berg"}, "state": "suspended"}),
    )
    .await;
    assert_eq!(names(&host, "/users?q=%C3%B6berg").await, "");
    assert_eq!(names(&host, "/users?q=berg&state=invited").await, "");
    assert_eq!(names(&host, "/users?q=berg&state=suspended").await, "ol");
    host.admin_ok(Method::PATCH, &path, json!({"console_role": "auditor"}))
        .await;
    assert_eq!(
        names(&host, "/users?q=e&role=auditor&state=suspended").await,
        "ol"
    );
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
    assert_eq!(names(&host, "/users?q=e").await, "");
    let answer = Caller::machine(&host)
        .get("/users?q=a&after=nonsense")
        .await;
    assert_eq!(
        (answer.status, answer.problem()),
        (StatusCode::BAD_REQUEST, "malformed")
    );
}

/// Names that differ only in accents stay different names.
#[both_databases]
async fn a_search_ignores_case_accents_and_width(database: Database) {
    let host = TestHost::start_on(database).await;
    let erna = created(&host, "erna", "Erna Ärmel").await;
    created(&host, "zoe", "Zoë Weiße").await;
    for name in ["Ärmel", "Armel", "Zug"] {
        host.admin_ok(Method::POST, "/groups", json!({ "name": name }))
            .await;
    }
    let client = json!({"name": "Ärmel", "application_type": "native",
        "redirect_uris": ["com.example.books://callback"]});
    let application = host.admin_ok(Method::POST, "/applications", client).await;
    let application = format!("/applications/{}", id(&application));
    let everyone = format!("{application}/everyone");
    host.admin_ok(Method::PUT, &everyone, json!({"roles": ["guest"]}))
        .await;
    let accounts = format!("{application}/accounts");
    host.admin_ok(Method::POST, &accounts, json!({"user_id": id(&erna)}))
        .await;
    let query = |q: &str| -> String {
        let q: String = url::form_urlencoded::byte_serialize(q.as_bytes()).collect();
        format!("?q={q}")
    };
    for (q, expected) in [
        ("armel", "erna"),
        ("ARMEL", "erna"),
        ("ärmel", "erna"),
        ("A\u{308}rmel", "erna"),
        ("ａｒｍｅｌ", "erna"),
        // She has access without an account.
        ("weisse", "zoe"),
        ("WEISSE, ZOE", "zoe"),
        ("zoë weiße", "zoe"),
    ] {
        let found = names(&host, &format!("/users{}", query(q))).await;
        assert_eq!(found, expected, "{database:?} {q}");
        let access = format!("{application}/access{}", query(q));
        let access = host.admin_ok(Method::GET, &access, Value::Null).await;
        let [row] = access["items"].items().as_slice() else {
            panic!("{database:?} {q}: {access}");
        };
        assert_eq!(row["user_name"], expected, "{database:?} {q}");
        let is_erna = expected == "erna";
        for (list, found) in [
            ("/groups", "Armel Ärmel"),
            ("/applications", "Ärmel"),
            (accounts.as_str(), "erna"),
        ] {
            let found = if is_erna { found } else { "" };
            let path = format!("{list}{}", query(q));
            assert_eq!(names(&host, &path).await, found, "{database:?} {path}");
        }
    }
}

#[both_databases]
async fn accounts_are_found_by_account_and_user_names(database: Database) {
    let host = TestHost::start_on(database).await;
    let (application, other) = (
        host.web_application().await,
        host.native_application().await,
    );
    let of = |application: &Application| format!("/applications/{}/accounts", application.id);
    let list = of(&application);
    let mut accounts = Vec::new();
    for (name, full) in [
        ("al", "Ada Lovelace"),
        ("gh", "Grace Hopper"),
        ("ak", "Ada Kern"),
    ] {
        let user = created(&host, name, full).await;
        let body = json!({"user_id": id(&user), "name": format!("x-{name}")});
        accounts.push((user, host.admin_ok(Method::POST, &list, body).await));
    }
    // A user who has an account only in another application is not found here.
    let attacker = created(&host, "ad", "Ada Stranger").await;
    host.admin_ok(Method::POST, &of(&other), json!({"user_id": id(&attacker)}))
        .await;
    let (user, account) = &accounts[0];
    let path = format!("/accounts/{}", id(account));
    for (query, expected) in [
        ("q=ada", "x-ak x-al"),
        ("q=x-", "x-ak x-al x-gh"),
        ("q=gh%40example", "x-gh"),
        ("q=hopper", "x-gh"),
        ("q=stranger", ""),
        ("q=ada&state=active", "x-ak x-al"),
        ("q=ada&state=suspended", ""),
        ("state=active", "x-al x-gh x-ak"),
        ("state=suspended", ""),
        ("q=", "x-al x-gh x-ak"),
    ] {
        assert_eq!(
            names(&host, &format!("{list}?{query}")).await,
            expected,
            "{database:?} {query}"
        );
    }
    for whole in [id(user), id(account)] {
        assert_eq!(
            names(&host, &format!("{list}?q={whole}")).await,
            "x-al",
            "{database:?}"
        );
        assert_eq!(
            names(&host, &format!("{}?q={whole}", of(&other))).await,
            "",
            "{database:?}"
        );
    }
    // The search finds a changed account or user at once.
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"name": "Countess", "state": "suspended"}),
    )
    .await;
    assert_eq!(
        names(&host, &format!("{list}?q=count&state=suspended")).await,
        "Countess"
    );
    assert_eq!(names(&host, &format!("{list}?q=x-al")).await, "");
    assert_eq!(
        names(&host, &format!("{list}?state=suspended")).await,
        "Countess"
    );
    let user_path = format!("/users/{}", id(user));
    host.admin_ok(
        Method::PATCH,
        &user_path,
        json!({"email": "byron@example.org"}),
    )
    .await;
    assert_eq!(names(&host, &format!("{list}?q=byron")).await, "Countess");
    assert_eq!(names(&host, &format!("{list}?q=al%40")).await, "");
    host.erase_user(&user_path).await;
    for q in ["byron", "lovelace", "count", "erased"] {
        assert_eq!(
            names(&host, &format!("{list}?q={q}")).await,
            "",
            "{database:?} {q}"
        );
    }
    host.admin_ok(
        Method::DELETE,
        &format!("/accounts/{}", id(&accounts[1].1)),
        Value::Null,
    )
    .await;
    assert_eq!(names(&host, &format!("{list}?q=hopper")).await, "");
}

#[both_databases]
async fn activated_users_are_found_and_counted_as_active(database: Database) {
    let host = TestHost::start_on(database).await;
    let application = host.web_application().await;
    let user = host.user("ada").await;
    let list = format!("/applications/{}/accounts", application.id);
    host.admin_ok(
        Method::POST,
        &list,
        json!({"user_id": id(&user), "state": "invited"}),
    )
    .await;
    let counts =
        async || host.admin_ok(Method::GET, "/overview", Value::Null).await["users"].clone();
    assert_eq!(
        counts().await,
        json!({"invited": 1, "active": 0, "suspended": 0, "terminated": 0})
    );
    let device = host.authenticator(&user).await;
    assert_eq!(
        names(&host, "/users?q=love&state=active").await,
        "ada",
        "{database:?}"
    );
    assert_eq!(
        names(&host, &format!("{list}?q=love&state=invited")).await,
        "ada",
        "{database:?}"
    );
    let ada = crate::harness::TestUser {
        user: user.clone(),
        device,
        application,
        account: Value::Null,
    };
    ada.sign_in(&Browser::new(&host.base)).await;
    assert_eq!(
        names(&host, &format!("{list}?q=love&state=active")).await,
        "ada",
        "{database:?}"
    );
    assert_eq!(
        names(&host, &format!("{list}?q=love&state=invited")).await,
        "",
        "{database:?}"
    );
    let path = format!("/users/{}", id(&user));
    for (state, expected) in [
        ("suspended", [0, 1, 0]),
        ("active", [1, 0, 0]),
        ("terminated", [0, 0, 1]),
    ] {
        host.admin_ok(Method::PATCH, &path, json!({"state": state}))
            .await;
        let [active, suspended, terminated] = expected;
        let expected = json!({"invited": 0, "active": active, "suspended": suspended, "terminated": terminated});
        assert_eq!(counts().await, expected, "{database:?} {state}");
    }
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
    assert_eq!(
        counts().await,
        json!({"invited": 0, "active": 0, "suspended": 0, "terminated": 0}),
        "{database:?}"
    );
}

/// The API rejects NUL in every text, because PostgreSQL cannot store it.
#[both_databases]
async fn texts_with_nul_are_rejected(database: Database) {
    let host = TestHost::start_on(database).await;
    let caller = Caller::machine(&host);
    let application = host.web_application().await;
    for path in [
        "/users?q=a%00",
        "/users?q=a&after=00000000000000000000000000000000%00",
        "/users/%00",
        "/audit?actor=%00",
        "/audit?event=%00",
        "/applications?q=%00",
        &format!("/applications/{}/accounts?q=%00", application.id),
        "/claim-traces/%00",
        "/claim-traces?user=%00",
        "/keys?x=%00",
    ] {
        let answer = caller.get(path).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (StatusCode::BAD_REQUEST, "malformed"),
            "{database:?} {path}"
        );
    }
    let user = format!("/users/{}", id(&host.user("ada").await));
    for (method, path, body) in [
        (Method::POST, "/users", json!({"name": "a\0"})),
        (
            Method::PATCH,
            &*user,
            json!({"profile": {"nickname": "\0"}}),
        ),
        (Method::PATCH, &user, json!({"profile": {"\0": "x"}})),
        (Method::PATCH, &user, json!({"email": "\\\0@example.org"})),
    ] {
        let answer = caller.call(method, path, body.clone()).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (StatusCode::BAD_REQUEST, "malformed"),
            "{database:?} {body}"
        );
    }
    // With a backslash before it, the text contains no NUL, so the API accepts it.
    caller
        .call(
            Method::PATCH,
            &user,
            json!({"profile": {"nickname": "\\u0000"}}),
        )
        .await
        .success();
    let outside = get(format!("{}/oidc/auth?client_id=%00", host.base)).await;
    assert_eq!(outside.status(), StatusCode::BAD_REQUEST);
}
