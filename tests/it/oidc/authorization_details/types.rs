//! Types in the admin API.

use std::collections::BTreeMap;
use std::time::Duration;

use assent::domain::Services;
use assent_model::authorization_details::type_definition::{DetailsType, TypeSource};
use assent_model::clock::Timestamp;
use assent_model::language::Language;
use assent_store::{AdminWrite, AdminWrites, RegisteredDetailsType, StoreError};
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
        (
            "/schema/properties/creditor",
            json!({"type": "object", "properties": {}}),
            "expected properties with one member at least",
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

/// A type as the store has it.
fn stored(services: &Services, template: &str) -> RegisteredDetailsType {
    let source = TypeSource {
        name: "payment".parse().expect("a name"),
        schema: payment_type()["schema"].clone(),
        templates: BTreeMap::from(Language::ALL.map(|language| (language, template.to_owned()))),
        second_approver_group: None,
    };
    RegisteredDetailsType {
        definition: DetailsType::new(source).expect("a type"),
        created_at: services.now(),
        updated_at: services.now(),
    }
}

#[both_databases]
async fn a_write_expects_the_version_that_was_read(database: Database) {
    let host = TestHost::start_on(database).await;
    let services = &host.host;
    let write = async |after: &RegisteredDetailsType, before: Option<Timestamp>| {
        let write = AdminWrite::PutDetailsType {
            after: Box::new(after.clone()),
            before,
        };
        let plan = AdminWrites {
            writes: vec![(write, Vec::new())],
            ..AdminWrites::default()
        };
        services.store.execute(plan, services.now()).await
    };
    let first = stored(services, "Pay {amount} {currency} {creditor.name}");
    let name = first.definition.name();
    let early = first.updated_at;
    // Nothing to replace.
    assert!(matches!(
        write(&first, Some(early)).await,
        Err(StoreError::Stale)
    ));
    write(&first, None).await.expect("added");
    // Another request added it.
    assert!(matches!(write(&first, None).await, Err(StoreError::Stale)));
    let second = RegisteredDetailsType {
        updated_at: early + Duration::from_millis(1),
        ..stored(services, "Send {amount} {currency} {creditor.name}")
    };
    write(&second, Some(early)).await.expect("replaced");
    // Another request replaced it.
    assert!(matches!(
        write(&first, Some(early)).await,
        Err(StoreError::Stale)
    ));
    let found = services.store.details_type(name).await.expect("read");
    assert_eq!(found.expect("a type").definition, second.definition);
}

#[tokio::test]
async fn replacements_at_the_same_time_have_different_versions() {
    let host = TestHost::start().await;
    let mut times = Vec::new();
    for _ in 0..3 {
        let replaced = host.admin_ok(Method::PUT, TYPE, payment_type()).await;
        let (_, read) = host.admin(Method::GET, TYPE, Value::Null).await;
        assert_eq!(replaced, read);
        let name = "payment".parse().expect("a name");
        let found = host.host.store.details_type(&name).await.expect("read");
        times.push(found.expect("a type").updated_at);
    }
    assert!(times.is_sorted_by(|one, next| one < next), "{times:?}");
}

#[both_databases]
async fn there_are_a_hundred_types_at_most(database: Database) {
    let host = TestHost::start_on(database).await;
    host.admin_ok(Method::PUT, TYPE, payment_type()).await;
    let mut connection = host.connection().await;
    for number in 1..100 {
        let copy = format!(
            "INSERT INTO authorization_details_types (name, definition, created_at, updated_at)
             SELECT 'copy{number}', definition, created_at, updated_at FROM authorization_details_types
             WHERE name = 'payment'"
        );
        connection.batch(&copy).await.expect("copied");
    }
    drop(connection);
    let more = "/authorization-details-types/more";
    let (status, problem) = host.admin(Method::PUT, more, payment_type()).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    let services = &host.host;
    let mut source =
        TypeSource::from(stored(services, "{amount}{currency}{creditor.name}").definition);
    source.name = "more".parse().expect("a name");
    let write = AdminWrite::PutDetailsType {
        after: Box::new(RegisteredDetailsType {
            definition: DetailsType::new(source).expect("a type"),
            created_at: services.now(),
            updated_at: services.now(),
        }),
        before: None,
    };
    let plan = AdminWrites {
        writes: vec![(write, Vec::new())],
        ..AdminWrites::default()
    };
    let written = services.store.execute(plan, services.now()).await;
    assert!(matches!(written, Err(StoreError::Stale)));
    // A replacement adds none.
    host.admin_ok(Method::PUT, TYPE, payment_type()).await;
}
