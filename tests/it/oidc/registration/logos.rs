//! The logos of applications that register themselves.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{ENABLED, Fixture, fixture_with, metadata};
use crate::harness::{Database, LogoServer, Respond, Text, http_client, png};

async fn fixture_of_logos(database: Database, values: Value) -> (Fixture, LogoServer) {
    let settings = format!("{ENABLED}[egress]\nallow_private_addresses = true\n");
    let it = fixture_with(database, &settings, values).await;
    (it, LogoServer::start().await)
}

/// Returns the status and the body of the logo of an application.
async fn logo(it: &Fixture, client: &Value) -> (StatusCode, Value) {
    let path = format!("/applications/{}/logo", client["client_id"].text());
    it.host.admin(Method::GET, &path, Value::Null).await
}

/// Returns an update with this address, or without one.
fn update(client: &Value, logo: Option<&str>) -> Value {
    metadata(&json!({"client_id": client["client_id"], "logo_uri": logo}))
}

#[both_databases]
async fn a_registration_has_the_logo_of_its_address(database: Database) {
    let (it, logos) = fixture_of_logos(database, json!({})).await;
    let (address, other) = (logos.address("first"), logos.address("second"));
    let client = it.registered(json!({"logo_uri": address})).await;
    assert_eq!(client["logo_uri"], json!(address), "{database:?}");
    let (status, known) = logo(&it, &client).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {known}");
    // An update fetches only a new address, and keeps the logo without one.
    for (logo_uri, requests) in [
        (Some(address.as_str()), 1),
        (None, 1),
        (Some(other.as_str()), 2),
    ] {
        let (status, updated) = it
            .call(Method::PUT, &client, update(&client, logo_uri))
            .await;
        assert_eq!(status, StatusCode::OK, "{updated}");
        assert_eq!(logos.requests(), requests, "{database:?}: {updated}");
    }
    let (_, changed) = logo(&it, &client).await;
    assert_ne!(changed["url"], known["url"], "{database:?}");
}

/// Without its logo nothing is registered, and the quota counts only what is.
#[tokio::test]
async fn a_registration_without_its_logo_is_refused() {
    let (it, logos) = fixture_of_logos(Database::Sqlite, json!({"quota": 1})).await;
    for name in ["missing", "redirect", "large", "svg", "page"] {
        let error = it.refusal(json!({"logo_uri": logos.address(name)})).await;
        assert_eq!(error, "invalid_client_metadata", "{name}");
    }
    assert_eq!(logos.requests(), 5);
    it.registered(json!({"logo_uri": logos.address("first")}))
        .await;
    // A token without a quota lets the server fetch nothing.
    let (status, _) = it
        .register(json!({"logo_uri": logos.address("first")}))
        .await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(logos.requests(), 6);
}

/// The hosts of the token are those of the logo as well.
#[tokio::test]
async fn a_logo_of_another_host_than_that_of_the_token_is_refused() {
    let values = json!({"redirect_hosts": ["rp.example"]});
    let (it, logos) = fixture_of_logos(Database::Sqlite, values).await;
    let changes = json!({"logo_uri": logos.address("first")});
    assert_eq!(it.refusal(changes).await, "invalid_client_metadata");
    assert_eq!(logos.requests(), 0);
}

/// An application does not replace the logo that an administrator uploaded.
#[tokio::test]
async fn the_logo_of_an_administrator_stays() {
    let (it, logos) = fixture_of_logos(Database::Sqlite, json!({})).await;
    let client = it.registered(json!({})).await;
    let path = format!("applications/{}/logo", client["client_id"].text());
    let request = http_client()
        .put(format!("{}/admin/api/v1/{path}", it.host.base))
        .bearer_auth(&it.host.token)
        .header("content-type", "image/png")
        .body(png(7));
    let status = request.response().await.status();
    assert!(status.is_success(), "{status}");
    let changed = update(&client, Some(&logos.address("first")));
    let (status, answer) = it.call(Method::PUT, &client, changed).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    assert_eq!(answer["error"], "invalid_client_metadata");
    assert_eq!(logos.requests(), 0);
}
