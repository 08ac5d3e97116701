//! External authenticators of users, as administrators enter them.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::channel;
use super::vendor::Vendor;
use crate::harness::{Database, TestHost, Text, id, plugins};

/// Starts an instance with two vendors and push. Returns it with a user and the path of the user's external
/// authenticators.
async fn start(database: Database) -> (Vendor, TestHost, Value, String) {
    let vendor = Vendor::start(500).await;
    let entries = vendor.channel("vendor", "")
        + &vendor.channel("other", "")
        + &channel("web-push", "web-push", "");
    let settings = plugins(&entries);
    let host = TestHost::start_on_with_plugins(database, &settings).await;
    let ada = host.user("ada").await;
    let path = format!("/users/{}/external-authenticators", id(&ada));
    (vendor, host, ada, path)
}

#[both_databases]
async fn an_administrator_sets_the_external_authenticator_of_a_user(database: Database) {
    let (_vendor, host, _, path) = start(database).await;
    let put = async |channel: &str, body: Value| {
        host.admin(Method::PUT, &format!("{path}/{channel}"), body)
            .await
    };
    let list = async || host.admin_ok(Method::GET, &path, Value::Null).await["items"].clone();
    assert_eq!(list().await, json!([]));
    let set = put("vendor", json!({"identifier": " ada@vendor "})).await;
    assert_eq!(
        set,
        (
            StatusCode::OK,
            json!({"channel": "vendor", "identifier": "ada@vendor"})
        )
    );
    assert_eq!(
        put("vendor", json!({"identifier": "ä".repeat(512)}))
            .await
            .0,
        StatusCode::OK
    );
    assert_eq!(
        put("other", json!({"identifier": "ada"})).await.0,
        StatusCode::OK
    );
    let both = json!([{"channel": "other", "identifier": "ada"}, {"channel": "vendor", "identifier": "ä".repeat(512)}]);
    assert_eq!(list().await, both);
    for (channel, body, status, message) in [
        (
            "web-push",
            json!({"identifier": "ada"}),
            422,
            "trust = \"delegated\"",
        ),
        (
            "nothing",
            json!({"identifier": "ada"}),
            422,
            "trust = \"delegated\"",
        ),
        (
            "vendor",
            json!({"identifier": ""}),
            422,
            "1 to 512 characters",
        ),
        (
            "vendor",
            json!({"identifier": "x".repeat(513)}),
            422,
            "1 to 512 characters",
        ),
        (
            "vendor",
            json!({"identifier": "a\nb"}),
            422,
            "control characters",
        ),
        ("vendor", json!({}), 400, "identifier"),
        (
            "vendor",
            json!({"identifier": "ada", "trust": true}),
            400,
            "trust",
        ),
    ] {
        let (found, problem) = put(channel, body.clone()).await;
        assert_eq!(found.as_u16(), status, "{channel} {body} {problem}");
        assert!(
            problem["detail"].text().contains(message),
            "{body} {problem}"
        );
    }
    assert_eq!(list().await, both);
}

#[both_databases]
async fn external_authenticators_are_removed_and_deleted_with_their_user(database: Database) {
    let (_vendor, host, ada, path) = start(database).await;
    let put = async |channel: &str, body: Value| {
        host.admin(Method::PUT, &format!("{path}/{channel}"), body)
            .await
    };
    let list = async || host.admin_ok(Method::GET, &path, Value::Null).await["items"].clone();
    for channel in ["vendor", "other"] {
        let set = put(channel, json!({"identifier": "ada"})).await;
        assert_eq!(set.0, StatusCode::OK);
    }
    let remove = async || {
        host.admin(Method::DELETE, &format!("{path}/vendor"), Value::Null)
            .await
            .0
    };
    assert_eq!(
        (remove().await, remove().await),
        (StatusCode::NO_CONTENT, StatusCode::NOT_FOUND)
    );
    assert_eq!(
        list().await,
        json!([{"channel": "other", "identifier": "ada"}])
    );
    // The deletion of the user deletes the user's external authenticators.
    host.admin_ok(Method::DELETE, &format!("/users/{}", id(&ada)), Value::Null)
        .await;
    assert_eq!(
        host.admin(Method::GET, &path, Value::Null).await.0,
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        put("vendor", json!({"identifier": "ada"})).await.0,
        StatusCode::NOT_FOUND
    );
}
