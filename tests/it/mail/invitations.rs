//! Links of invited users: several at once, sent again, withdrawn, and after a suspension.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{MailServer, Security, events, invitation_in, invite, is_open, link_in};
use crate::harness::{Database, Device, TestHost, Text, id};

async fn create_links(host: &TestHost, users: &[&Value]) -> Vec<Value> {
    let users: Vec<&str> = users.iter().map(|user| id(user)).collect();
    let body = json!({"users": users, "delivery": "link"});
    let created = host.admin_ok(Method::POST, "/invitations", body).await;
    created["items"].as_array().expect("a list").clone()
}

async fn set_state(host: &TestHost, user: &Value, state: &str) -> Value {
    let path = format!("/users/{}", id(user));
    host.admin_ok(Method::PATCH, &path, json!({"state": state}))
        .await
}

#[both_databases]
async fn links_of_many_users_are_created_listed_and_withdrawn_at_once(database: Database) {
    let host = TestHost::start_on(database).await;
    let (ada, grace, linus) = (
        host.user("ada").await,
        host.user("grace").await,
        host.user("linus").await,
    );
    let active = host.user("active").await;
    host.authenticator(&active).await;
    let items = create_links(&host, &[&ada, &grace, &active]).await;
    let of = |user: &Value| {
        let found = items.iter().find(|item| item["user_id"] == user["id"]);
        found.cloned().expect("an item")
    };
    assert!(of(&active)["skipped"].text().contains("not invited"));
    assert_eq!(of(&active)["link"], Value::Null);
    let link = of(&ada)["link"].text().to_owned();
    assert!(of(&ada)["qr_code"].text().contains("<svg"));
    assert!(is_open(&host, &link).await);

    invitation_in(&host, &ada, "link").await;
    invitation_in(&host, &linus, "no_link").await;
    let path = "/invitations?state=no_link";
    let without = host.admin_ok(Method::GET, path, Value::Null).await;
    assert_eq!(without["items"].as_array().map(Vec::len), Some(1));
    let first = host
        .admin_ok(Method::GET, "/invitations?limit=2", Value::Null)
        .await;
    let next = format!("/invitations?limit=2&after={}", first["next"].text());
    let second = host.admin_ok(Method::GET, &next, Value::Null).await;
    assert_eq!(second["items"].as_array().map(Vec::len), Some(1));

    let body = json!({"users": [id(&ada), id(&grace), id(&linus)]});
    let withdrawn = host
        .admin_ok(Method::POST, "/invitations/withdraw", body)
        .await;
    assert_eq!(withdrawn, json!({"withdrawn": 2}));
    assert!(!is_open(&host, &link).await);
    invitation_in(&host, &ada, "no_link").await;
    assert!(
        events(&host, &ada)
            .await
            .contains(&"invitation.withdrawn".to_owned())
    );
    assert!(
        !events(&host, &linus)
            .await
            .contains(&"invitation.withdrawn".to_owned())
    );
}

#[both_databases]
async fn a_new_link_ends_the_older_one(database: Database) {
    let mut server = MailServer::start(Security::None).await;
    let settings = server.settings();
    let host = TestHost::start_with(crate::harness::HostOptions {
        database,
        settings: &settings,
        ..crate::harness::HostOptions::default()
    })
    .await;
    let ada = host.user("ada").await;
    invite(&host, &[&ada]).await;
    let first = link_in(&server.messages(1).await[0]);
    invitation_in(&host, &ada, "sent").await;
    assert!(
        !events(&host, &ada)
            .await
            .contains(&"invitation.resent".to_owned())
    );
    invite(&host, &[&ada]).await;
    let second = link_in(&server.messages(2).await[1]);
    assert_eq!(
        (is_open(&host, &first).await, is_open(&host, &second).await),
        (false, true)
    );
    assert!(
        events(&host, &ada)
            .await
            .contains(&"invitation.resent".to_owned())
    );
    Device::enrol(&second, "Test phone").await;
    let list = host
        .admin_ok(Method::GET, "/invitations", Value::Null)
        .await;
    assert_eq!(
        list["items"],
        json!([]),
        "an active user is not invited any more"
    );
}

#[tokio::test]
async fn a_withdrawn_invitation_is_not_sent() {
    let mut server = MailServer::start(Security::None).await;
    let host = TestHost::start_with_settings(&server.settings()).await;
    server.answer(Some("451 4.3.0 later")).await;
    let ada = host.user("ada").await;
    invite(&host, &[&ada]).await;
    super::invitation_once(&host, &ada, |one| one["delivery_error"].is_string()).await;
    let body = json!({"users": [id(&ada)]});
    host.admin_ok(Method::POST, "/invitations/withdraw", body)
        .await;
    let next = host
        .host
        .store
        .next_invitation_mail()
        .await
        .expect("no error");
    assert_eq!(next, None);
}

#[tokio::test]
async fn users_who_cannot_be_invited_by_email_are_skipped_with_the_reason() {
    let server = MailServer::start(Security::None).await;
    let host = TestHost::start_with_settings(&server.settings()).await;
    let plain = host
        .admin_ok(Method::POST, "/users", json!({"name": "plain"}))
        .await;
    let admin = host.user("boss").await;
    let path = format!("/users/{}", id(&admin));
    host.admin_ok(Method::PATCH, &path, json!({"console_role": "support"}))
        .await;
    let created = invite(&host, &[&plain, &admin]).await;
    for item in created["items"].as_array().expect("a list") {
        let expected = match item["name"].text() {
            "plain" => "no email address",
            _ => "role in the console",
        };
        assert!(item["skipped"].text().contains(expected), "{item}");
    }
    let body = json!({"users": [], "delivery": "link"});
    let (status, _) = host.admin(Method::POST, "/invitations", body).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[both_databases]
async fn an_invited_user_is_invited_again_after_a_suspension(database: Database) {
    let host = TestHost::start_on(database).await;
    let ada = host.user("ada").await;
    let link = host.enrolment_link(&ada).await;
    assert_eq!(
        set_state(&host, &ada, "suspended").await["state"],
        "suspended"
    );
    assert!(!is_open(&host, &link).await, "the link of a suspended user");
    assert_eq!(set_state(&host, &ada, "active").await["state"], "invited");
    assert!(
        !is_open(&host, &link).await,
        "the link ended with the suspension"
    );
    set_state(&host, &ada, "suspended").await;
    assert_eq!(set_state(&host, &ada, "invited").await["state"], "invited");
    let link = host.enrolment_link(&ada).await;
    Device::enrol(&link, "Test phone").await;
    set_state(&host, &ada, "suspended").await;
    assert_eq!(set_state(&host, &ada, "active").await["state"], "active");
    set_state(&host, &ada, "suspended").await;
    let path = format!("/users/{}", id(&ada));
    let (status, _) = host
        .admin(Method::PATCH, &path, json!({"state": "invited"}))
        .await;
    assert_eq!(
        status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "no user is invited twice"
    );
}

#[tokio::test]
async fn a_link_for_an_invited_user_comes_with_a_code_and_a_message() {
    let host = TestHost::start().await;
    let ada = host.user("ada").await;
    let path = format!("/users/{}/enrolments", id(&ada));
    let created = host.admin_ok(Method::POST, &path, Value::Null).await;
    assert!(created["qr_code"].text().contains("<svg"));
    let message = &created["message"];
    assert!(
        message["text"].text().contains(created["link"].text()),
        "{message}"
    );
    Device::enrol(created["link"].text(), "Test phone").await;
    let another = host.admin_ok(Method::POST, &path, Value::Null).await;
    assert_eq!(
        another["message"],
        Value::Null,
        "an active user is not invited"
    );
}
