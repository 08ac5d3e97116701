//! Invitations by email, delivered to a real SMTP server on loopback.

mod connection;
mod console;
mod invitations;
mod letters;
mod outbox;
mod replies;
mod server;

pub use server::{MailServer, Security};

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{TestHost, Text, id, in_time};

/// Sends the invitations of these users by email.
async fn invite(host: &TestHost, users: &[&Value]) -> Value {
    let users: Vec<&str> = users.iter().map(|user| id(user)).collect();
    let body = json!({"users": users, "delivery": "email"});
    host.admin_ok(Method::POST, "/invitations", body).await
}

/// Waits until the invitation of a user is in this state, and returns it.
async fn invitation_in(host: &TestHost, user: &Value, state: &str) -> Value {
    invitation_once(host, user, |invitation| invitation["state"] == state).await
}

/// Waits until the invitation of a user is as expected, and returns it. The requests follow each other without a delay.
async fn invitation_once(
    host: &TestHost,
    user: &Value,
    is_expected: impl Fn(&Value) -> bool,
) -> Value {
    in_time(async {
        loop {
            let list = host
                .admin_ok(Method::GET, "/invitations?limit=200", Value::Null)
                .await;
            let items = list["items"].as_array().expect("a list");
            let found = items.iter().find(|one| one["user_id"] == user["id"]);
            if let Some(found) = found.filter(|found| is_expected(found)) {
                return found.clone();
            }
        }
    })
    .await
}

/// Returns the link in a message.
fn link_in(message: &Value) -> String {
    let text = message["text"].text();
    text.lines()
        .find(|line| line.contains("/authenticator#enrol="))
        .unwrap_or_else(|| panic!("no link in {text}"))
        .trim()
        .to_owned()
}

/// Returns whether a link is still valid.
async fn is_open(host: &TestHost, link: &str) -> bool {
    let (_, token) = link.split_once("#enrol=").expect("a token");
    let response = crate::harness::http_client()
        .post(format!(
            "{}/authenticator/api/enrolments/preview",
            host.base
        ))
        .json(&json!({"token": token}))
        .send()
        .await
        .expect("a response");
    response.status().is_success()
}

/// Returns the events of the audit log about a user, the latest first.
async fn events(host: &TestHost, user: &Value) -> Vec<String> {
    let path = format!("/audit?user={}&limit=200", id(user));
    let list = host.admin_ok(Method::GET, &path, Value::Null).await;
    let items = list["items"].as_array().expect("a list").clone();
    items
        .iter()
        .map(|entry| entry["event"].text().to_owned())
        .collect()
}
