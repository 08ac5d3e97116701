//! The outbox: retries, failures, several instances, restarts.

use std::collections::BTreeSet;
use std::time::Duration;

use assent::domain::operations::wakeups::Wakeup;
use assent_test_macros::both_databases;
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    MailServer, Security, events, invitation_in, invitation_once, invite, is_open, link_in,
};
use crate::harness::{Admin, Database, Device, HostOptions, Log, TestHost, Text, free_port, id};

async fn host_on(database: Database, settings: &str) -> TestHost {
    TestHost::start_on_with(database, settings).await
}

#[both_databases]
async fn an_invitation_arrives_by_email_and_its_link_enrols_a_device(database: Database) {
    let log = Log::capture();
    let mut server = MailServer::start(Security::StartTls).await;
    let host = host_on(database, &server.settings()).await;
    let ada = host.user("ada").await;
    invite(&host, &[&ada]).await;
    let message = &server.messages(1).await[0];
    assert_eq!(
        (&message["is_encrypted"], &message["is_authenticated"]),
        (&json!(true), &json!(true))
    );
    let shown = invitation_in(&host, &ada, "sent").await;
    assert_eq!(
        (&shown["inviter_kind"], &shown["delivery_error"]),
        (&json!("admin_token"), &Value::Null)
    );
    assert!(shown["sent_at"].is_string() && shown["expires_at"].is_string());
    let link = link_in(message);
    let mut db = host.connection().await;
    let rows: Vec<(String,)> =
        assent_store::sql::query_as("SELECT sealed_link FROM invitation_mails")
            .fetch_all(&mut db)
            .await
            .expect("rows");
    assert!(rows.is_empty(), "a sent email leaves the outbox");
    Device::enrol(&link, "Test phone").await;
    let path = format!("/users/{}", id(&ada));
    let user = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(user["state"], "active");
    let events = events(&host, &ada).await;
    assert!(events.contains(&"invitation.sent".to_owned()), "{events:?}");
    let (_, token) = link.split_once("#enrol=").expect("a token");
    let leaked: Vec<String> = log
        .lines()
        .into_iter()
        .filter(|line| line.contains(token))
        .collect();
    assert_eq!(leaked, Vec::<String>::new(), "no link is logged");
}

#[both_databases]
async fn a_transient_rejection_is_retried_after_a_pause(database: Database) {
    let mut server = MailServer::start(Security::None).await;
    let host = host_on(database, &server.settings()).await;
    server.answer(Some("451 4.3.0 try again later")).await;
    let ada = host.user("ada").await;
    invite(&host, &[&ada]).await;
    server.attempts(1).await;
    let shown = invitation_once(&host, &ada, |invitation| {
        invitation["delivery_error"].is_string()
    })
    .await;
    assert_eq!(shown["state"], "queued");
    assert!(
        shown["delivery_error"].text().contains("try again later"),
        "{shown}"
    );
    let mut db = host.connection().await;
    let rows: Vec<(String,)> =
        assent_store::sql::query_as("SELECT sealed_link FROM invitation_mails")
            .fetch_all(&mut db)
            .await
            .expect("rows");
    assert!(
        rows.len() == 1 && !rows[0].0.contains("enrol"),
        "the link is sealed"
    );
    server.answer(None).await;
    later(&host, 61);
    server.messages(1).await;
    let shown = invitation_in(&host, &ada, "sent").await;
    assert_eq!(shown["delivery_error"], Value::Null);
    assert_eq!(server.attempts(2).await, 2);
}

#[tokio::test]
async fn a_permanent_rejection_is_given_up_and_shown_until_it_is_sent_again() {
    let mut server = MailServer::start(Security::None).await;
    let host = TestHost::start_with_settings(&server.settings()).await;
    server.answer(Some("550 5.1.1 no such user")).await;
    let ada = host.user("ada").await;
    invite(&host, &[&ada]).await;
    let shown = invitation_in(&host, &ada, "failed").await;
    assert!(
        shown["delivery_error"].text().contains("no such user"),
        "{shown}"
    );
    let path = "/invitations?state=failed";
    let failed = host.admin_ok(Method::GET, path, Value::Null).await;
    assert_eq!(failed["items"].as_array().map(Vec::len), Some(1));
    assert!(
        events(&host, &ada)
            .await
            .contains(&"invitation.failed".to_owned())
    );
    later(&host, 600);
    server.answer(None).await;
    invite(&host, &[&ada]).await;
    server.messages(1).await;
    invitation_in(&host, &ada, "sent").await;
    assert_eq!(
        server.attempts(2).await,
        2,
        "the rejected message is not repeated"
    );
}

#[tokio::test]
async fn attempts_end_if_the_server_stays_away() {
    let settings = format!(
        "[mail]\nserver = \"localhost:{}\"\nsecurity = \"none\"\nfrom = \"id@example.org\"\n[lifetimes]\n\
         admin_token = \"1d\"\n",
        free_port()
    );
    let host = TestHost::start_with_settings(&settings).await;
    let ada = host.user("ada").await;
    invite(&host, &[&ada]).await;
    let mut since = String::new();
    for pause in [60, 120, 300, 900, 1800, 3600, 7200, 14_400, 28_800] {
        let shown = invitation_once(&host, &ada, |invitation| {
            invitation["delivery_error"].is_string() && attempted(invitation) != since
        })
        .await;
        assert_eq!(shown["state"], "queued");
        since = attempted(&shown);
        later(&host, pause + 1);
    }
    let shown = invitation_in(&host, &ada, "failed").await;
    assert!(
        shown["delivery_error"].text().contains("connection failed"),
        "{shown}"
    );
}

/// Advances the clock, and lets the instance look for work at once.
fn later(host: &TestHost, seconds: u64) {
    host.advance(seconds);
    host.host.wakeups.send(Wakeup::MailQueued);
}

/// Returns the time of the last attempt.
fn attempted(invitation: &Value) -> String {
    invitation["delivery_at"].text().to_owned()
}

#[tokio::test]
async fn an_invitation_waits_for_a_server_that_is_down() {
    let port = free_port();
    let settings = format!(
        "[mail]\nserver = \"localhost:{port}\"\nsecurity = \"none\"\nfrom = \"id@example.org\"\n"
    );
    let host = TestHost::start_with_settings(&settings).await;
    let ada = host.user("ada").await;
    invite(&host, &[&ada]).await;
    invitation_once(&host, &ada, |invitation| {
        invitation["delivery_error"].is_string()
    })
    .await;
    let mut server = MailServer::start_at(Security::None, Some(u64::from(port))).await;
    later(&host, 61);
    server.messages(1).await;
    invitation_in(&host, &ada, "sent").await;
}

#[both_databases]
async fn two_instances_send_each_invitation_once(database: Database) {
    let mut server = MailServer::start(Security::None).await;
    let settings = server.settings();
    let host = host_on(database, &settings).await;
    let options = HostOptions {
        database,
        settings: &settings,
        ..HostOptions::default()
    };
    let (_, second, _) = host.second(options).await;
    let mut users = Vec::new();
    for number in 0..12 {
        users.push(host.user(&format!("user{number}")).await);
    }
    invite(&host, &users.iter().collect::<Vec<_>>()).await;
    for user in &users {
        invitation_in(&host, user, "sent").await;
    }
    let messages = server.messages(12).await;
    let recipients: BTreeSet<&str> = messages.iter().map(|one| one["to"][0].text()).collect();
    assert_eq!((messages.len(), recipients.len()), (12, 12));
    second.stop().await;
}

#[both_databases]
async fn another_instance_sends_emails_leased_by_a_stopped_instance(database: Database) {
    let mut server = MailServer::start(Security::None).await;
    let settings = server.settings();
    // Without the table `[mail]`, an instance sends nothing.
    let host = host_on(database, "").await;
    let with_mail = HostOptions {
        database,
        settings: &settings,
        ..HostOptions::default()
    };
    let (_, first, base) = host.second(with_mail).await;
    let sender = Admin {
        base,
        token: host.token.clone(),
    };
    server.answer(Some("451 4.3.0 later")).await;
    let ada = host.user("ada").await;
    let body = json!({"users": [id(&ada)], "delivery": "email"});
    sender.admin_ok(Method::POST, "/invitations", body).await;
    invitation_once(&host, &ada, |one| one["delivery_error"].is_string()).await;
    first.stop().await;
    server.answer(None).await;
    later(&host, 61);
    let lease = Duration::from_secs(60);
    let store = &host.host.store;
    let leased = store.lease_invitation_mail(lease, host.host.now()).await;
    let leased = leased.expect("a lease").expect("an email");
    assert_eq!(leased.attempt, 2);
    let again = store.lease_invitation_mail(lease, host.host.now()).await;
    assert!(
        again.expect("no error").is_none(),
        "one instance has the lease"
    );
    // The instance with the lease stopped, and the next one starts.
    let (_, second, _) = host.second(with_mail).await;
    later(&host, 61);
    let message = &server.messages(1).await[0];
    invitation_in(&host, &ada, "sent").await;
    assert!(is_open(&host, &link_in(message)).await);
    second.stop().await;
}
