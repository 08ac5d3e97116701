//! Addresses that are not confirmed. An assertion has no sign of that, so it contains only confirmed ones.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use assent_test_macros::both_databases;
use reqwest::Method;
use serde_json::{Value, json};

use super::service_provider::{RESPONDER, Response, TestServiceProvider};
use crate::admin_api::users_of_support;
use crate::harness::{
    Browser, Database, Json, Log, TestHost, TestUser, Text, http_client, id, shipped,
};

/// Returns a user whom support created with an address of choice, with a device and an account.
async fn ghost(host: &TestHost, provider: &TestServiceProvider, name: &str) -> TestUser {
    let body = json!({"name": name, "email": "ceo@corp.example"});
    let user = users_of_support(host, &[body]).await.remove(0);
    let application = provider.application();
    TestUser {
        device: host.authenticator(&user).await,
        account: host.account(&user, &application).await,
        user,
        application,
    }
}

async fn confirm(host: &TestHost, user: &Value) {
    let body = json!({"users": [id(user)]});
    host.admin_ok(Method::POST, "/users/confirm-emails", body)
        .await;
}

#[both_databases]
async fn an_unconfirmed_address_is_no_name_id(database: Database) {
    let log = Log::capture();
    let host = TestHost::start_on(database).await;
    let provider = TestServiceProvider::register(&host, json!({})).await;
    let ghost = ghost(&host, &provider, "ghost").await;
    let browser = Browser::new(&host.base);
    let page = provider
        .sign_in(&ghost, &browser, &provider.request(&host))
        .await;
    assert!(
        page.body
            .contains("Your email address is not confirmed yet"),
        "{database:?}: {}",
        page.body
    );
    assert!(!page.body.contains("ceo@corp.example"));
    let response = Response::from_page(&page.leave().await);
    assert_eq!(response.status().first(), Some(&RESPONDER));
    assert!(!response.xml.contains("ceo@corp.example"));
    assert!(log.has(&[
        "WARN",
        "SAML sign-on rejected: the address for the NameID is not confirmed"
    ]));
    // The page of the service provider lists the user, and the preview says what to do.
    let path = format!("/users/unconfirmed-emails?application={}", provider.id);
    let listed = async || {
        let list = host.admin_ok(Method::GET, &path, Value::Null).await;
        let names = list["items"].items().iter();
        names
            .map(|user| user["name"].text().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(listed().await, ["ghost"], "{database:?}");
    confirm(&host, &ghost.user).await;
    assert!(listed().await.is_empty(), "{database:?}");
    let page = provider
        .sign_in(&ghost, &Browser::new(&host.base), &provider.request(&host))
        .await;
    assert_eq!(
        Response::from_page(&page).text("NameID"),
        "ceo@corp.example"
    );
}

/// Imports a table with the rights of the command line.
async fn import(host: &TestHost, path: &str, table: String) {
    let request = http_client()
        .post(format!("{}/admin/api/v1{path}", host.base))
        .bearer_auth(&host.token)
        .header("content-type", "text/csv")
        .body(table);
    let report: Value = request
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("a report");
    assert_eq!(report["created"], 1000, "{report}");
}

/// Support chose the name. An administrator who changes the email address does not confirm the name.
#[both_databases]
async fn a_new_email_address_does_not_confirm_the_name(database: Database) {
    let host = TestHost::start_on(database).await;
    let settings = json!({"name_id_source": "account_name"});
    let provider = TestServiceProvider::register(&host, settings).await;
    let ghost = ghost(&host, &provider, "ceo@corp.example").await;
    let path = format!("/users/{}", id(&ghost.user));
    let sign_in = async || {
        let browser = Browser::new(&host.base);
        provider
            .sign_in(&ghost, &browser, &provider.request(&host))
            .await
    };
    for email in ["mallory@corp.example", ""] {
        host.admin_ok(Method::PATCH, &path, json!({"email": email}))
            .await;
        let page = sign_in().await;
        assert!(
            page.body
                .contains("Your email address is not confirmed yet"),
            "{database:?} {email}: {}",
            page.body
        );
    }
    let confirmed = json!({"email_confirmed": true});
    host.admin_ok(Method::PATCH, &path, confirmed).await;
    assert_eq!(
        Response::from_page(&sign_in().await).text("NameID"),
        "ceo@corp.example",
        "{database:?}"
    );
}

/// An account keeps the name that its user had when it was created. If that was an unconfirmed address, it must not
/// survive the correction of the user: the application would take the user for its owner.
#[both_databases]
async fn a_corrected_user_keeps_no_unconfirmed_address_as_account_name(database: Database) {
    let host = TestHost::start_on(database).await;
    let settings = json!({"name_id_source": "account_name"});
    let provider = TestServiceProvider::register(&host, settings).await;
    let name = |n: usize| json!({"name": format!("mallory{n}")});
    let email = |n: usize| json!({"email": format!("mallory{n}@corp.example")});
    let both = |n: usize| json!({"name": name(n)["name"], "email": email(n)["email"]});
    let cases = [
        vec![both(0)],
        vec![name(1), email(1)],
        vec![email(2), name(2)],
        vec![both(3)],
        // A user whose own name is no address.
        vec![name(4)],
    ];
    let body = |n: usize| match n {
        4 => json!({"name": "ghost", "email": "ceo@corp.example"}),
        n => {
            json!({"name": format!("ceo{n}@corp.example"), "email": format!("ceo{n}@corp.example")})
        }
    };
    let bodies: Vec<Value> = (0..cases.len()).map(body).collect();
    let users = users_of_support(&host, &bodies).await;
    for (n, (user, changes)) in users.into_iter().zip(cases).enumerate() {
        let application = provider.application();
        let account = host.account(&user, &application).await;
        let path = format!("/accounts/{}", id(&account));
        // An administrator who wrote the same address otherwise did not confirm it. Another name was chosen.
        let chosen = [
            None,
            None,
            None,
            Some("CEO3@Corp.Example"),
            Some("old@corp.example"),
        ][n];
        if let Some(name) = chosen {
            host.admin_ok(Method::PATCH, &path, json!({"name": name}))
                .await;
        }
        let mut ghost = TestUser {
            device: host.authenticator(&user).await,
            account,
            user,
            application,
        };
        let user = format!("/users/{}", id(&ghost.user));
        for change in &changes {
            ghost.user = host.admin_ok(Method::PATCH, &user, change.clone()).await;
        }
        let expected = if n == 4 {
            "old@corp.example".to_owned()
        } else {
            format!("mallory{n}")
        };
        let account = host.admin_ok(Method::GET, &path, Value::Null).await;
        assert_eq!(account["name"], expected, "{database:?} {changes:?}");
        let found = format!("/applications/{}/accounts?q=mallory{n}", provider.id);
        let found = host.admin_ok(Method::GET, &found, Value::Null).await;
        assert_eq!(found["items"].items().len(), 1, "{found}");
        let entries = format!("/audit?event=user.updated&user={}", id(&ghost.user));
        let entries = host.admin_ok(Method::GET, &entries, Value::Null).await;
        let noted = entries["items"]
            .items()
            .iter()
            .filter(|entry| entry["detail"]["renamed_accounts"] == json!([provider.id]));
        assert_eq!(noted.count(), usize::from(n < 4), "{entries}");
        if n < 4 {
            let page = provider
                .sign_in(&ghost, &Browser::new(&host.base), &provider.request(&host))
                .await;
            let response = Response::from_page(&page);
            assert_eq!(response.text("NameID"), expected);
            assert!(
                !response.xml.to_lowercase().contains("ceo"),
                "{}",
                response.xml
            );
        }
    }
}

#[both_databases]
async fn an_unconfirmed_address_is_in_no_attribute(database: Database) {
    let host = TestHost::start_on_with_plugins(database, &shipped()).await;
    let values: Vec<String> = [
        "email",
        "email_verified",
        "upn",
        "preferred_username",
        "name",
        "given_name",
        "nickname",
    ]
    .map(|claim| format!("{{{claim}}}"))
    .into();
    let settings = json!({
        "name_id_format": "persistent",
        "custom_attributes": [{"name": "all", "values": values}, {"name": "mailto", "values": ["mailto:{email}"]}],
    });
    let provider = TestServiceProvider::register(&host, settings).await;
    // The user name may be the same address.
    let body = json!({
        "name": "ceo@corp.example", "email": "ceo@corp.example",
        "profile": {"name": "ceo@corp.example", "given_name": "Mallory", "nickname": "ＣＥＯ＠corp.example"},
    });
    let user = users_of_support(&host, &[body]).await.remove(0);
    let application = provider.application();
    let ghost = TestUser {
        device: host.authenticator(&user).await,
        account: host.account(&user, &application).await,
        user,
        application,
    };
    let sign_in = async || {
        let browser = Browser::new(&host.base);
        let page = provider
            .sign_in(&ghost, &browser, &provider.request(&host))
            .await;
        Response::from_page(&page)
    };
    let response = sign_in().await;
    assert!(response.is_success(), "{}", response.xml);
    assert!(response.xml.contains("Mallory"), "{}", response.xml);
    for address in ["ceo@corp.example", "ＣＥＯ", "mailto"] {
        assert!(
            !response.xml.contains(address),
            "{database:?}: {}",
            response.xml
        );
    }
    // The service provider's own setting permits it.
    let path = format!("/applications/{}", provider.id);
    let permitted = json!({"unconfirmed_email": true});
    host.admin_ok(Method::PATCH, &path, permitted).await;
    let response = sign_in().await;
    assert!(
        response.xml.contains("mailto:ceo@corp.example"),
        "{}",
        response.xml
    );
}

/// The list contains each user with access, by an own account, a group or everyone, and no other.
#[both_databases]
async fn the_users_without_a_confirmed_address_are_listed_by_application(database: Database) {
    let host = TestHost::start_on(database).await;
    let provider = TestServiceProvider::register(&host, json!({})).await;
    let body = |name: &str| json!({"name": name, "email": format!("{name}@corp.example")});
    let users = users_of_support(&host, &["account", "member", "closed", "other"].map(body)).await;
    let confirmed = host.user("confirmed").await;
    let application = provider.application();
    host.account(&users[0], &application).await;
    host.account(&confirmed, &application).await;
    let group = host
        .admin_ok(Method::POST, "/groups", json!({"name": "Staff"}))
        .await;
    let members = json!({"users": [id(&users[1]), id(&users[2])]});
    let path = format!("/groups/{}/members", id(&group));
    host.admin_ok(Method::POST, &path, members).await;
    let path = format!("/applications/{}/groups/{}", provider.id, id(&group));
    host.admin_ok(Method::PUT, &path, json!({"roles": []}))
        .await;
    let closed = host.account(&users[2], &application).await;
    let path = format!("/accounts/{}", id(&closed));
    host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    let path = format!("/users/unconfirmed-emails?application={}", provider.id);
    let listed = async || {
        let list = host.admin_ok(Method::GET, &path, Value::Null).await;
        let names = list["items"].items().iter();
        names
            .map(|user| user["name"].text().to_owned())
            .filter(|name| name != "sue")
            .collect::<BTreeSet<_>>()
    };
    // Ids of the same millisecond have no order.
    let set = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned());
        names.collect::<BTreeSet<String>>()
    };
    assert_eq!(listed().await, set(&["account", "member"]), "{database:?}");
    // Among many users with access they are found in another way.
    let (mut many, mut accounts) = (
        String::from("name,email,email_verified\n"),
        String::from("user\n"),
    );
    for number in 0..1000 {
        writeln!(many, "user{number},user{number}@example.org,true").expect("written");
        writeln!(accounts, "user{number}").expect("written");
    }
    import(&host, "/users/import", many).await;
    let path = format!("/applications/{}/accounts/import", provider.id);
    import(&host, &path, accounts).await;
    assert_eq!(listed().await, set(&["account", "member"]), "{database:?}");
    let everyone = format!("/applications/{}/everyone", provider.id);
    host.admin_ok(Method::PUT, &everyone, json!({"roles": []}))
        .await;
    assert_eq!(
        listed().await,
        set(&["account", "member", "other"]),
        "{database:?}"
    );
}
