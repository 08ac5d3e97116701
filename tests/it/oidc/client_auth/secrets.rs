//! Two client secrets of an application: both are valid, each with its last use, until one is deleted.

use assent::domain::keys::sealing_keys;
use assent_test_macros::both_databases;
use josekit::jws::HS256;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{accepted, application, ask_with, by_basic, claims, refused, sign};
use crate::harness::{Admin, Database, HostOptions, Json, TestHost, Text, connect, id};
use crate::keys::master_key::{previous_is, replace_master_key};

/// Creates a secret. Returns its id and the secret.
async fn create(host: &TestHost, application: &Value) -> (String, String) {
    let path = format!("/applications/{}/secrets", id(application));
    let made = host.admin_ok(Method::POST, &path, Value::Null).await;
    (
        id(&made).to_owned(),
        made["client_secret"].text().to_owned(),
    )
}

/// Returns the secrets of an application: the id and the last use of each.
async fn secrets_of(admin: &Admin, application: &Value) -> Vec<(String, Value)> {
    let path = format!("/applications/{}/secrets", id(application));
    let list = admin.admin_ok(Method::GET, &path, Value::Null).await;
    let items = list["items"].as_array().expect("a list").iter();
    items
        .map(|secret| {
            assert!(
                secret["created_at"].is_string() && secret["client_secret"].is_null(),
                "{secret}"
            );
            (id(secret).to_owned(), secret["last_used_at"].clone())
        })
        .collect()
}

/// Requests a token with this secret.
async fn ask(host: &TestHost, application: &Value, secret: &str) -> (u16, String) {
    let form = [("grant_type", "client_credentials")];
    let (status, answer) = by_basic(host, "/token", id(application), secret, &form).await;
    let error = answer["error"].as_str().unwrap_or_default();
    (status, error.to_owned())
}

#[both_databases]
async fn two_secrets_are_valid_until_one_is_deleted_and_a_third_is_rejected(database: Database) {
    let host = TestHost::start_on(database).await;
    let web = application(&host, json!({})).await;
    let (first, one) = create(&host, &web).await;
    let (second, two) = create(&host, &web).await;
    assert_ne!(one, two);
    let path = format!("/applications/{}/secrets", id(&web));
    let (status, third) = host.admin(Method::POST, &path, Value::Null).await;
    assert_eq!(status, StatusCode::CONFLICT, "{third}");
    assert!(third["detail"].text().contains("delete the one"), "{third}");
    for secret in [&one, &two] {
        assert_eq!(ask(&host, &web, secret).await, accepted(), "{database:?}");
    }
    assert_eq!(ask(&host, &web, "another").await, refused());

    host.admin_ok(Method::DELETE, &format!("{path}/{first}"), Value::Null)
        .await;
    let (again, _) = host
        .admin(Method::DELETE, &format!("{path}/{first}"), Value::Null)
        .await;
    assert_eq!(again, StatusCode::NOT_FOUND);
    assert_eq!(ask(&host, &web, &one).await, refused(), "{database:?}");
    assert_eq!(ask(&host, &web, &two).await, accepted(), "{database:?}");
    let left: Vec<String> = secrets_of(&host, &web)
        .await
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    assert_eq!(left, [second]);

    // A rotation replaces all of them.
    create(&host, &web).await;
    let rotate = format!("/applications/{}/secret/rotate", id(&web));
    let rotated = host.admin_ok(Method::POST, &rotate, Value::Null).await;
    assert_eq!(ask(&host, &web, &two).await, refused());
    let newest = rotated["client_secret"].text();
    assert_eq!(ask(&host, &web, newest).await, accepted());
    assert_eq!(secrets_of(&host, &web).await.len(), 1);
}

#[both_databases]
async fn the_last_use_of_each_secret_is_written_outside_the_request(database: Database) {
    let host = TestHost::start_on(database).await;
    let (services, running, base) = host.second(HostOptions::default()).await;
    let other = Admin {
        base,
        token: host.token.clone(),
    };
    let web = application(&host, json!({})).await;
    let (first, one) = create(&host, &web).await;
    let (second, two) = create(&host, &web).await;
    let unused = [(first.clone(), Value::Null), (second.clone(), Value::Null)];
    assert_eq!(secrets_of(&host, &web).await, unused);
    assert_eq!(ask(&host, &web, &one).await, accepted());
    // A rejected secret does not count as a use.
    assert_eq!(ask(&host, &web, "wrong").await, refused());

    // This instance shows the use at once. The other one reads the database, where it is not stored yet.
    let noted = secrets_of(&host, &web).await;
    assert!(noted[0].1.is_string() && noted[1].1.is_null(), "{noted:?}");
    assert_eq!(secrets_of(&other, &web).await, unused, "{database:?}");
    let written = async || {
        host.host
            .store
            .write_client_secret_uses()
            .await
            .expect("written")
    };
    written().await;
    assert_eq!(secrets_of(&other, &web).await, noted, "{database:?}");

    // An earlier use does not replace a later one, whichever instance writes first.
    host.advance(120);
    let later = host.host.now();
    assert_eq!(ask(&host, &web, &one).await, accepted());
    assert_eq!(ask(&host, &web, &two).await, accepted());
    written().await;
    let application_id = id(&web).parse().expect("an id");
    let secret_id = first.parse().expect("an id");
    services.store.note_client_secret_use(
        &application_id,
        secret_id,
        later - std::time::Duration::from_secs(60),
    );
    services
        .store
        .write_client_secret_uses()
        .await
        .expect("written");
    let uses = services
        .store
        .client_secret_uses(&application_id)
        .await
        .expect("read");
    assert_eq!(uses.len(), 2);
    assert!(
        uses.values().all(|at| *at == later),
        "{database:?}: {uses:?}"
    );

    // The uses of a deleted secret and of a deleted application are deleted.
    let path = format!("/applications/{}", id(&web));
    host.admin_ok(
        Method::DELETE,
        &format!("{path}/secrets/{first}"),
        Value::Null,
    )
    .await;
    let uses = services
        .store
        .client_secret_uses(&application_id)
        .await
        .expect("read");
    assert_eq!(uses.len(), 1, "{database:?}");
    assert_eq!(ask(&host, &web, &two).await, accepted());
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
    written().await;
    let uses = services
        .store
        .client_secret_uses(&application_id)
        .await
        .expect("read");
    assert!(uses.is_empty(), "{database:?}: {uses:?}");
    running.stop().await;
}

#[tokio::test]
async fn an_assertion_may_be_made_with_either_secret() {
    let host = TestHost::start().await;
    let method = json!({"token_endpoint_auth_method": "client_secret_jwt"});
    let web = application(&host, method).await;
    let (first, one) = create(&host, &web).await;
    let (_, two) = create(&host, &web).await;
    let by = |n, secret: &str| {
        let signer = HS256.signer_from_bytes(secret).expect("a signer");
        sign(&claims(&host, id(&web), n), json!({}), &signer)
    };
    assert_eq!(ask_with(&host, &by(1, &two)).await, accepted());
    let used = secrets_of(&host, &web).await;
    assert!(used[0].1.is_null() && used[1].1.is_string(), "{used:?}");
    assert_eq!(ask_with(&host, &by(2, &one)).await, accepted());
    let path = format!("/applications/{}/secrets/{first}", id(&web));
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
    assert_eq!(ask_with(&host, &by(3, &one)).await, refused());
    assert_eq!(ask_with(&host, &by(4, &two)).await, accepted());
}

#[tokio::test]
async fn only_applications_with_a_secret_method_have_secrets() {
    let host = TestHost::start().await;
    let spa = json!({"name": "Page", "application_type": "spa", "redirect_uris": ["https://spa.example/cb"]});
    let spa = host.admin_ok(Method::POST, "/applications", spa).await;
    let path = format!("/applications/{}/secrets", id(&spa));
    let (status, answer) = host.admin(Method::POST, &path, Value::Null).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    assert_eq!(secrets_of(&host, &spa).await, []);
    let web = application(&host, json!({})).await;
    create(&host, &web).await;
    let key = json!({"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://rp.example/keys"});
    host.admin_ok(Method::PATCH, &format!("/applications/{}", id(&web)), key)
        .await;
    assert_eq!(secrets_of(&host, &web).await, []);
    assert!(web.members().contains_key("has_secret"));
}

#[both_databases]
async fn a_shared_secret_survives_a_new_master_key(database: Database) {
    let on = |keys| HostOptions {
        database,
        keys,
        ..HostOptions::default()
    };
    let host = TestHost::start_on(database).await;
    let method = json!({"token_endpoint_auth_method": "client_secret_jwt"});
    let web = application(&host, method).await;
    let (_, secret) = create(&host, &web).await;
    let previous = previous_is(&replace_master_key(host.folder()));
    let host = host.restart_with(on(&previous)).await;
    let by = |n| {
        let signer = HS256.signer_from_bytes(&secret).expect("a signer");
        sign(&claims(&host, id(&web), n), json!({}), &signer)
    };
    // From now on, the instance has the application in its cache.
    assert_eq!(ask_with(&host, &by(1)).await, accepted());
    let services = &host.host;
    for _ in 0..2 {
        let done = sealing_keys::maintain_at(services, services.now()).await;
        done.expect("maintained");
        host.clock.advance(sealing_keys::AHEAD);
    }
    let mut connection = connect(host.database_url()).await;
    let deleted = "DELETE FROM wrapped_keys WHERE purpose = 'sealing' AND generation = 1";
    connection.batch(deleted).await.expect("deleted");
    connection.close().await;
    sealing_keys::reload(services).await.expect("read");
    assert_eq!(ask_with(&host, &by(2)).await, accepted());
}
