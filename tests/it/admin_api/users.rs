//! The permissions of administrators on other users, and the search for users.

use assent::authenticator::enrolled::Authenticator;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Administrator, Caller, console_caller, service};
use crate::harness::{Browser, Database, Json, TestHost, Text, id};

/// Returns every action of support on a user, as method, path below the API, and body.
fn support_actions(user: &Value, account: &Value, device: &str) -> Vec<(Method, String, Value)> {
    let user = format!("/users/{}", id(user));
    vec![
        (
            Method::PATCH,
            user.clone(),
            json!({"profile": {"nickname": "x"}}),
        ),
        (Method::PATCH, user.clone(), json!({"state": "suspended"})),
        (Method::POST, format!("{user}/enrolments"), Value::Null),
        (
            Method::PUT,
            format!("{user}/external-authenticators/vendor"),
            json!({"identifier": "mallory"}),
        ),
        (
            Method::DELETE,
            format!("{user}/external-authenticators/vendor"),
            Value::Null,
        ),
        (Method::DELETE, format!("{user}/sessions"), Value::Null),
        (
            Method::DELETE,
            format!("{user}/sessions/00000000000000000000000000000000"),
            Value::Null,
        ),
        (
            Method::DELETE,
            format!("{user}/consents/did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"),
            Value::Null,
        ),
        (Method::DELETE, format!("/devices/{device}"), Value::Null),
        (
            Method::PATCH,
            format!("/accounts/{}", id(account)),
            json!({"state": "suspended"}),
        ),
    ]
}

/// Returns the actions that need more permissions than support has.
fn admin_actions(user: &Value, account: &Value) -> Vec<(Method, String, Value)> {
    let user = format!("/users/{}", id(user));
    vec![
        (Method::PATCH, user.clone(), json!({"name": "renamed"})),
        (Method::DELETE, user.clone(), Value::Null),
        (Method::POST, format!("{user}/erase"), Value::Null),
        (
            Method::PATCH,
            format!("/accounts/{}", id(account)),
            json!({"roles": ["root"]}),
        ),
        (
            Method::PATCH,
            format!("/accounts/{}", id(account)),
            json!({"state": "terminated"}),
        ),
        (
            Method::DELETE,
            format!("/accounts/{}", id(account)),
            Value::Null,
        ),
    ]
}

#[tokio::test]
async fn administrators_cannot_act_on_users_with_greater_roles() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let callers = [
        ("admin", console_caller(&host, "grace", "admin").await),
        ("support", console_caller(&host, "sam", "support").await),
        ("auditor", console_caller(&host, "kay", "auditor").await),
        (
            "service",
            service(&host, &["admin:users", "admin:applications", "admin:read"]).await,
        ),
    ];
    for role in ["owner", "admin", "support", "auditor"] {
        let target = Administrator::new(&host, &format!("target-{role}"), role)
            .await
            .user;
        let account = host.account(&target, &application).await;
        let read = async || {
            host.admin_ok(Method::GET, &format!("/users/{}", id(&target)), Value::Null)
                .await
        };
        let before = read().await;
        let devices = host
            .admin_ok(
                Method::GET,
                &format!("/users/{}/devices", id(&target)),
                Value::Null,
            )
            .await;
        let device = devices["items"][0]["id"].text().to_owned();
        for (who, caller) in &callers {
            if *who == "admin" && role != "owner" {
                continue;
            }
            for (method, path, body) in support_actions(&target, &account, &device)
                .into_iter()
                .chain(admin_actions(&target, &account))
            {
                let answer = caller.call(method.clone(), &path, body.clone()).await;
                let what = format!(
                    "{who} upon {role}: {method} {path} {body}: {} {}",
                    answer.status, answer.body
                );
                assert_eq!(answer.status, StatusCode::FORBIDDEN, "{what}");
            }
            let created = json!({"user_id": id(&target)});
            let path = format!("/applications/{}/accounts", application.id);
            assert_eq!(
                caller.call(Method::POST, &path, created).await.status,
                StatusCode::FORBIDDEN,
                "{who} on {role}"
            );
        }
        assert_eq!(read().await, before, "nothing was done");
    }
}

#[tokio::test]
async fn support_helps_users_without_roles_but_cannot_verify_claims() {
    let host = TestHost::start().await;
    let support = console_caller(&host, "sam", "support").await;
    let ada = host.ada().await;
    let devices = support
        .get(&format!("/users/{}/devices", id(&ada.user)))
        .await
        .success();
    let device = devices["items"][0]["id"].text().to_owned();
    let path = format!("/users/{}", id(&ada.user));
    let refused = [
        (path.clone(), json!({"profile": {"email_verified": true}})),
        (
            path.clone(),
            json!({"profile": {"phone_number_verified": true}}),
        ),
        (path.clone(), json!({"email": "boss@example.org"})),
        (path, json!({"console_role": "support"})),
        (
            format!("/accounts/{}", id(&ada.account)),
            json!({"roles": ["root"]}),
        ),
        (
            format!("/accounts/{}", id(&ada.account)),
            json!({"name": "root", "state": "active"}),
        ),
    ];
    for (path, body) in refused {
        let answer = support.call(Method::PATCH, &path, body.clone()).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (StatusCode::FORBIDDEN, "forbidden"),
            "{path} {body}"
        );
    }
    for (method, path, body) in support_actions(&ada.user, &ada.account, &device) {
        let answer = support.call(method.clone(), &path, body.clone()).await;
        assert_ne!(
            answer.status,
            StatusCode::FORBIDDEN,
            "{method} {path} {body}: {}",
            answer.body
        );
    }
    let now = support
        .get(&format!("/users/{}", id(&ada.user)))
        .await
        .success();
    assert_eq!(
        (&now["email"], &now["state"]),
        (&json!("ada@example.org"), &json!("suspended"))
    );
    let left = support
        .get(&format!("/users/{}/devices", id(&ada.user)))
        .await
        .success();
    assert_eq!(left["items"], json!([]));
}

#[tokio::test]
async fn a_link_from_support_is_revoked_when_its_user_gets_a_role() {
    let host = TestHost::start().await;
    let support = console_caller(&host, "sam", "support").await;
    let user = host.user("eve").await;
    host.authenticator(&user).await;
    let link = support
        .call(
            Method::POST,
            &format!("/users/{}/enrolments", id(&user)),
            Value::Null,
        )
        .await
        .success();
    host.set_console_role(&user, "admin").await;
    let enrolled = Authenticator::enrol(link["link"].text(), "Mine", None).await;
    assert!(enrolled.is_err(), "support is an admin now");
}

#[both_databases]
async fn the_last_owner_cannot_be_removed(database: Database) {
    let host = TestHost::start_on(database).await;
    let first = Administrator::new(&host, "first", "owner").await.user;
    let second = Administrator::new(&host, "second", "owner").await.user;
    let path = |user: &Value| format!("/users/{}", id(user));
    // One owner remains, whatever change removes the two at the same moment.
    let ends = [
        (Method::PATCH, json!({"console_role": "admin"})),
        (Method::PATCH, json!({"console_role": null})),
        (Method::PATCH, json!({"state": "suspended"})),
    ];
    for (method, body) in ends {
        for user in [&first, &second] {
            host.admin_ok(
                Method::PATCH,
                &path(user),
                json!({"console_role": "owner", "state": "active"}),
            )
            .await;
        }
        let (paths, end) = ((path(&first), path(&second)), |path| {
            host.admin(method.clone(), path, body.clone())
        });
        let (one, other) = tokio::join!(end(&paths.0), end(&paths.1));
        let mut got = [one.0.as_u16(), other.0.as_u16()];
        got.sort_unstable();
        assert_eq!(
            got,
            [200, 409],
            "{database:?} {body}: {} {}",
            one.1,
            other.1
        );
    }
    host.admin_ok(
        Method::PATCH,
        &path(&second),
        json!({"console_role": "owner", "state": "active"}),
    )
    .await;
    host.admin_ok(
        Method::PATCH,
        &path(&first),
        json!({"state": "active", "console_role": null}),
    )
    .await;
    for (method, body) in [
        (Method::PATCH, json!({"console_role": "support"})),
        (Method::PATCH, json!({"state": "terminated"})),
        (Method::DELETE, Value::Null),
    ] {
        let (status, problem) = host.admin(method, &path(&second), body).await;
        assert_eq!(status, StatusCode::CONFLICT, "{database:?} {problem}");
        assert!(
            problem["detail"].text().contains("the last owner"),
            "{problem}"
        );
    }
}

#[tokio::test]
async fn read_only_members_are_rejected_and_listings_contain_no_secret() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let (user, account) = (
        format!("/users/{}", id(&ada.user)),
        format!("/accounts/{}", id(&ada.account)),
    );
    let application = format!("/applications/{}", ada.application.id);
    for (path, member) in [
        (&user, "id"),
        (&user, "did"),
        (&user, "sub"),
        (&user, "version"),
        (&user, "created_at"),
        (&account, "id"),
        (&account, "user_id"),
        (&account, "application_id"),
        (&account, "short_code"),
        (&application, "id"),
        (&application, "has_secret"),
        (&application, "client_secret"),
        (&application, "secret_digest"),
        (&application, "settings"),
        (&application, "version"),
    ] {
        let (status, problem) = host.admin(Method::PATCH, path, json!({member: "x"})).await;
        assert_eq!(
            status,
            StatusCode::BAD_REQUEST,
            "{path} {member}: {problem}"
        );
        assert!(
            problem["detail"]
                .text()
                .contains(&format!("unknown field `{member}`")),
            "{problem}"
        );
        assert_eq!(problem["errors"][0]["pointer"], format!("/{member}"));
    }
    let secret = ada.application.secret.clone().expect("a secret");
    for path in [
        "/applications",
        application.as_str(),
        "/users",
        user.as_str(),
        "/audit?limit=200",
    ] {
        let shown = host
            .admin_ok(Method::GET, path, Value::Null)
            .await
            .to_string();
        for word in [secret.as_str(), "secret_digest", "sealed", "public_key\""] {
            assert!(!shown.contains(word), "{path} has {word}: {shown}");
        }
    }
}

#[both_databases]
async fn users_are_found_by_search(database: Database) {
    let host = TestHost::start_on(database).await;
    let mut users = Vec::new();
    for name in ["anna", "annabel", "berta", "bert.o"] {
        users.push(host.user(name).await);
        host.advance(1);
    }
    let one = json!({"name": "carla", "email": "zoe@example.org", "state": "suspended", "console_role": "auditor"});
    users.push(host.admin_ok(Method::POST, "/users", one).await);
    let names = async |query: &str| {
        let found = host
            .admin_ok(Method::GET, &format!("/users?{query}"), Value::Null)
            .await;
        let items = found["items"].items();
        let names: Vec<_> = items
            .iter()
            .map(|user| user["name"].text().to_owned())
            .collect();
        (names.join(" "), found["next"].as_str().map(str::to_owned))
    };
    for (query, expected) in [
        ("q=ann", "anna annabel"),
        ("q=ANNA", "anna annabel"),
        ("q=anna%40", "anna"),
        ("q=bert.", "bert.o"),
        ("q=zoe", "carla"),
        ("q=nn", ""),
        ("q=%25", ""),
        ("q=a_", ""),
        ("state=suspended", "carla"),
        ("state=invited&q=b", "bert.o berta"),
        ("role=auditor", "carla"),
        ("role=auditor&state=invited", ""),
        ("role=owner&q=c", ""),
    ] {
        assert_eq!(names(query).await.0, expected, "{database:?} {query}");
    }
    for member in ["id", "did", "sub"] {
        let query = format!("q={}", users[2][member].text());
        assert_eq!(names(&query).await.0, "berta", "{database:?} {member}");
    }
    // Each page begins after the end of the previous one, without gap or repetition.
    for query in ["q=", "q=b", "state=invited"] {
        let (all, _) = names(query).await;
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let (page, next) = names(&format!("{query}&limit=1{after}")).await;
            found.push(page);
            let Some(next) = next else { break };
            after = format!("&after={next}");
        }
        assert_eq!(found.join(" "), all, "{database:?} {query}");
    }
}

#[tokio::test]
async fn sessions_and_consents_of_a_user_are_listed_and_ended() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!("/users/{}", id(&ada.user));
    let browsers = [Browser::new(&host.base), Browser::new(&host.base)];
    for browser in &browsers {
        ada.sign_in(browser).await;
        host.advance(1);
    }
    let items = async |list: &str| {
        let mut found = host
            .admin_ok(Method::GET, &format!("{path}/{list}"), Value::Null)
            .await;
        found["items"]
            .as_array_mut()
            .map(std::mem::take)
            .expect("items")
    };
    let open = items("sessions").await;
    assert_eq!(open.len(), 2);
    assert_eq!(open[0]["applications"], json!(["Books & <Co>"]));
    let remove = async |list: &str| {
        host.admin(Method::DELETE, &format!("{path}/{list}"), Value::Null)
            .await
            .0
    };
    let second = format!("sessions/{}", id(&open[0]));
    assert_eq!(remove(&second).await, StatusCode::NO_CONTENT);
    assert_eq!(
        remove(&second).await,
        StatusCode::NOT_FOUND,
        "the session has ended"
    );
    assert_eq!(items("sessions").await.len(), 1);
    assert_eq!(remove("sessions").await, StatusCode::NO_CONTENT);
    assert_eq!(items("sessions").await, Vec::<Value>::new());

    let consents = items("consents").await;
    assert_eq!(consents[0]["application_id"], ada.application.id.as_str());
    let consent = format!("consents/{}", ada.application.id);
    assert_eq!(remove(&consent).await, StatusCode::NO_CONTENT);
    assert_eq!(remove(&consent).await, StatusCode::NOT_FOUND);
    assert_eq!(items("consents").await, Vec::<Value>::new());

    assert_eq!(
        items("accounts").await,
        [host
            .admin_ok(
                Method::GET,
                &format!("/accounts/{}", id(&ada.account)),
                Value::Null
            )
            .await]
    );
    let events: Vec<Value> = items("activity")
        .await
        .into_iter()
        .map(|entry| entry["event"].clone())
        .collect();
    assert!(
        events.contains(&json!("sign-in.completed"))
            && events.contains(&json!("consent.withdrawn")),
        "{events:?}"
    );
    let devices = items("devices").await;
    assert!(
        devices[0]["used_at"].is_string() && devices[0]["has_passkey"] == json!(false),
        "{devices:?}"
    );
    let codes = host
        .admin_ok(Method::GET, &format!("{path}/recovery-codes"), Value::Null)
        .await;
    assert_eq!(codes, json!({"unused": 0}));
    let unknown = Caller::machine(&host).get("/users/nobody/sessions").await;
    assert_eq!(
        (unknown.status, unknown.problem()),
        (StatusCode::NOT_FOUND, "not-found")
    );
}
