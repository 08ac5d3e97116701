//! Types in the admin API.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{TYPE, payment_type};
use crate::harness::{Database, TestHost, Text};

#[both_databases]
async fn a_type_is_registered_replaced_listed_and_deleted(database: Database) {
    let host = TestHost::start_on(database).await;
    let registered = host.admin_ok(Method::PUT, TYPE, payment_type()).await;
    assert_eq!(registered["type"], "payment");
    assert_eq!(registered["schema"], payment_type()["schema"]);
    let mut changed = payment_type();
    changed["templates"]["en"] = json!("Send {amount} {currency} to {creditor.name}");
    host.advance(60);
    let replaced = host.admin_ok(Method::PUT, TYPE, changed.clone()).await;
    assert_eq!(replaced["templates"], changed["templates"]);
    assert_eq!(replaced["created_at"], registered["created_at"]);
    assert_ne!(replaced["updated_at"], registered["updated_at"]);
    // A URL is a name.
    let named = "/authorization-details-types/https%3A%2F%2Fexample.com%2Fpayment";
    host.admin_ok(Method::PUT, named, payment_type()).await;
    let path = "/authorization-details-types";
    let list = host.admin_ok(Method::GET, path, Value::Null).await;
    let names: Vec<&str> = list["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|one| one["type"].text())
        .collect();
    assert_eq!(names, ["https://example.com/payment", "payment"]);
    host.admin_ok(Method::DELETE, named, Value::Null).await;
    let (status, _) = host.admin(Method::GET, named, Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, _) = host.admin(Method::DELETE, named, Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_type_with_a_member_that_no_device_shows_is_rejected() {
    let host = TestHost::start().await;
    for (pointer, value, words) in [
        (
            "/templates/de",
            json!("{amount} {currency} zahlen"),
            "templates.de: does not show {creditor.name}",
        ),
        (
            "/templates/en",
            json!("Pay {amount} {currency} to {creditor.name} at {place}"),
            "shows a member that the schema does not have",
        ),
        (
            "/schema/properties/amount",
            json!({"type": "string"}),
            "expected maxLength of 1 to 500",
        ),
        (
            "/schema/properties/amount",
            json!({"$ref": "https://example.com/amount"}),
            "expected the type string or integer",
        ),
    ] {
        let mut body = payment_type();
        *body.pointer_mut(pointer).expect("a member") = value;
        let (status, problem) = host.admin(Method::PUT, TYPE, body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
        assert!(problem.to_string().contains(words), "{problem}");
    }
    let path = "/authorization-details-types/a%20b";
    let (status, _) = host.admin(Method::PUT, path, payment_type()).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
}
