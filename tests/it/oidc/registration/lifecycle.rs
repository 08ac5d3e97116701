//! The approval of an administrator, and the deletion of unused applications.

use assent::domain::admin::delete_unused_registrations;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{ENABLED, Fixture, fixture_on, fixture_with};
use crate::harness::{Application, Browser, Database, Text};

const DAY: u64 = 86_400;

/// Returns the web application with these credentials.
fn application_of(client: &Value) -> Application {
    Application {
        id: client["client_id"].text().to_owned(),
        secret: Some(client["client_secret"].text().to_owned()),
        redirect_uri: "https://rp.example/cb".to_owned(),
    }
}

async fn exists(it: &Fixture, client: &Value) -> bool {
    let id = client["client_id"].text().parse().expect("a DID");
    let found = it.host.host.store.application(&id).await;
    found.expect("an answer").is_some()
}

/// With the setting, an application is disabled until an administrator enables it.
#[both_databases]
async fn an_application_waits_for_its_approval(database: Database) {
    let settings = format!("{ENABLED}approval_required = true\n");
    let it = fixture_with(database, &settings, json!({})).await;
    let client = it.registered(json!({})).await;
    let own = it.application(&client).await;
    assert_eq!(own["enabled"], json!(false), "{database:?}");
    assert_eq!(own["awaits_approval"], json!(true), "{database:?}");
    let browser = Browser::new(&it.host.base);
    let application = application_of(&client);
    let page = browser.get(&application.request(&[])).await;
    assert_ne!(page.status, StatusCode::SEE_OTHER, "{database:?}");
    // It does not enable itself.
    let update = json!({
        "client_id": client["client_id"], "redirect_uris": client["redirect_uris"],
        "scope": client["scope"], "enabled": true,
    });
    let (status, _) = it.call(Method::PUT, &client, update).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(it.application(&client).await["enabled"], json!(false));
    let path = format!("/applications/{}", application.id);
    let enabled = json!({"enabled": true});
    let approved = it.host.admin_ok(Method::PATCH, &path, enabled).await;
    assert_eq!(approved.get("awaits_approval"), None, "{approved}");
    let ada = it.host.user_with_account("ada", application).await;
    let code = ada.sign_in(&browser).await;
    assert!(!code.is_empty(), "{database:?}");
    // Its own changes need an approval again.
    for (name, expected) in [(client["client_name"].text(), true), ("Payroll", false)] {
        let update = json!({
            "client_id": client["client_id"], "redirect_uris": client["redirect_uris"],
            "scope": client["scope"], "client_name": name,
        });
        let (status, answer) = it.call(Method::PUT, &client, update).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        let own = it.application(&client).await;
        assert_eq!(own["enabled"], json!(expected), "{database:?} {name}");
        let awaits = own.get("awaits_approval").is_some();
        assert_eq!(awaits, !expected, "{database:?} {name}");
    }
    // One that an administrator disabled is not approved by mistake after a change of its own.
    let disabled = json!({"enabled": false});
    let own = it.host.admin_ok(Method::PATCH, &path, disabled).await;
    assert_eq!(own.get("awaits_approval"), None, "{database:?}");
    let update = json!({
        "client_id": client["client_id"], "redirect_uris": client["redirect_uris"],
        "scope": client["scope"], "client_name": "Wages",
    });
    let (status, answer) = it.call(Method::PUT, &client, update).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let own = it.application(&client).await;
    assert_eq!(own.get("awaits_approval"), None, "{database:?}");
    assert_eq!(own["enabled"], json!(false), "{database:?}");
}

/// A user without access cannot open an application that registered itself.
#[tokio::test]
async fn a_registration_grants_no_user_access() {
    let it = fixture_on(Database::Sqlite).await;
    let client = it.registered(json!({})).await;
    let application = application_of(&client);
    let stranger = it.host.ada().await;
    let path = format!("/applications/{}/access", application.id);
    let access = it.host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(access["items"], json!([]), "{access}");
    let browser = Browser::new(&it.host.base);
    let own = crate::harness::TestUser {
        application,
        ..stranger
    };
    let waiting = own.begin_sign_in(&browser, &[]).await;
    own.approve(&waiting).await;
    let end = browser.get(&waiting.url).await;
    assert!(!end.body.contains("code="), "{}", end.body);
}

/// An application that no user signed in to, and that has no account and has not authenticated, is deleted.
#[both_databases]
async fn an_unused_registration_expires(database: Database) {
    let it = fixture_on(database).await;
    let [unused, with_account, authenticated, adopted] = [
        it.registered(json!({})).await,
        it.registered(json!({})).await,
        it.registered(json!({})).await,
        it.registered(json!({})).await,
    ];
    let administered = it.host.web_application().await;
    it.host
        .user_with_account("ada", application_of(&with_account))
        .await;
    let (_, answer) = application_of(&authenticated)
        .exchange(&it.host.base, "unknown", &[])
        .await;
    assert_eq!(answer["error"], "invalid_grant", "{answer}");
    let store = &it.host.host.store;
    store.write_client_secret_uses().await.expect("written");
    let mut db = it.host.connection().await;
    assent_store::sql::query(
        "UPDATE applications SET managed_by = 'ops', managed_key = 'books' WHERE id = $1",
    )
    .bind(adopted["client_id"].text().to_owned())
    .execute(&mut db)
    .await
    .expect("an adoption");
    drop(db);
    it.host.advance(29 * DAY);
    let deleted = delete_unused_registrations(&it.host.host).await;
    assert_eq!(deleted.expect("a number"), 0, "{database:?}");
    it.host.advance(2 * DAY);
    let deleted = delete_unused_registrations(&it.host.host).await;
    assert_eq!(deleted.expect("a number"), 1, "{database:?}");
    assert!(!exists(&it, &unused).await, "{database:?}");
    for kept in [&with_account, &authenticated, &adopted] {
        assert!(exists(&it, kept).await, "{database:?}: {kept}");
    }
    let id = administered.id.parse().expect("a DID");
    let found = it.host.host.store.application(&id).await;
    assert!(found.expect("an answer").is_some(), "{database:?}");
    let mut it = it;
    it.host.renew_token().await;
    let path = "/audit?event=application.deleted";
    let events = it.host.admin_ok(Method::GET, path, Value::Null).await;
    let entry = &events["items"][0];
    assert_eq!(entry["detail"]["reason"], "unused_registration", "{events}");
}
