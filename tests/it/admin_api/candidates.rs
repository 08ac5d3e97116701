//! Components that an administrator uploads for a test. The server compiles and runs them, so each needs an approval.

use assent_model::secret::Digest;
use assent_test_macros::both_databases;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::protected_actions::{number, owner, refused, requested, waiting};
use super::service;
use crate::harness::{Database, TestHost, Text, component, id, read_bytes};

fn wasm(name: &str) -> Vec<u8> {
    read_bytes(component(name))
}

fn candidate(account: &Value, plugin: &str, bytes: Option<&[u8]>, config: Value) -> Value {
    let mut body = json!({"account": id(account), "sinks": ["id-token"], "candidate": {"plugin": plugin,
        "config": config}});
    if let Some(bytes) = bytes {
        body["candidate"]["component"] = json!(STANDARD.encode(bytes));
    }
    body
}

#[both_databases]
async fn an_unloaded_component_runs_only_after_approval_of_its_digest(database: Database) {
    let host = TestHost::start_on(database).await;
    let (console, grace) = owner(&host).await;
    let ada = host.ada().await;
    let path = format!("/applications/{}/claims-preview", ada.application.id);
    let set = |value: &str| json!({"behaviour": "set", "claim": "note", "value": value});
    let new = wasm("hostile-mapper");
    let body = candidate(&ada.account, "another", Some(&new), set("1"));

    let action = requested(&console, Method::POST, &path, &body).await;
    let words = action["summary"].text();
    let digest = Digest::sha256(&new).to_text();
    assert!(
        words.contains("“another”") && words.contains(&digest),
        "{database:?}: {words}"
    );
    let early = console
        .call_once(Method::POST, &path, &body, action["id"].as_str())
        .await;
    assert!(refused(&early), "{database:?}: {}", early.body);
    assert_eq!(
        crate::lifecycle::entries(&host, "event=claims.compared")
            .await
            .len(),
        0,
        "nothing ran"
    );

    let request = waiting(&grace.device).await;
    assert_eq!(
        grace
            .device
            .submit_decision(&request, number(&action))
            .await,
        "approved"
    );
    let done = console
        .call_once(Method::POST, &path, &body, action["id"].as_str())
        .await;
    assert_eq!(done.status, StatusCode::OK, "{database:?}: {}", done.body);

    // The same component with other settings, or in place of another plugin, needs no second approval in this session.
    let again = candidate(&ada.account, "another", Some(&new), set("2"));
    let done = console.call_once(Method::POST, &path, &again, None).await;
    assert_eq!(done.status, StatusCode::OK, "{database:?}: {}", done.body);
    // Another component needs an approval. So does the same component in another session.
    let other = candidate(
        &ada.account,
        "another",
        Some(&wasm("claim-map")),
        json!({"rules": []}),
    );
    requested(&console, Method::POST, &path, &other).await;
    host.advance(60);
    let elsewhere = grace.signed_in(&host).await;
    requested(&elsewhere, Method::POST, &path, &again).await;
}

/// A component runs with the grants of the plugin that it replaces in the test, so the approval names that plugin.
#[both_databases]
async fn an_approval_of_a_component_names_one_plugin_only(database: Database) {
    let host = TestHost::start_on(database).await;
    let (console, grace) = owner(&host).await;
    let ada = host.ada().await;
    let path = format!("/applications/{}/claims-preview", ada.application.id);
    let new = wasm("hostile-mapper");
    let as_plugin = |plugin: &str| {
        candidate(
            &ada.account,
            plugin,
            Some(&new),
            json!({"behaviour": "set", "claim": "note", "value": "1"}),
        )
    };
    let first = as_plugin("another");
    let action = requested(&console, Method::POST, &path, &first).await;
    assert_eq!(
        grace
            .device
            .submit_decision(&waiting(&grace.device).await, number(&action))
            .await,
        "approved"
    );
    let done = console
        .call_once(Method::POST, &path, &first, action["id"].as_str())
        .await;
    assert_eq!(done.status, StatusCode::OK, "{database:?}: {}", done.body);

    let second = as_plugin("account-roles");
    // The approval is for the first request, so the server rejects it for this one.
    let other = console
        .call_once(Method::POST, &path, &second, action["id"].as_str())
        .await;
    assert!(refused(&other), "{database:?}: {}", other.body);
    let compared = async || {
        crate::lifecycle::entries(&host, "event=claims.compared")
            .await
            .len()
    };
    assert_eq!(compared().await, 1, "{database:?}");
    let action = requested(&console, Method::POST, &path, &second).await;
    let words = action["summary"].text();
    assert!(
        words.contains("“account-roles”") && words.contains(&Digest::sha256(&new).to_text()),
        "{words}"
    );
    assert_eq!(
        compared().await,
        1,
        "{database:?}: nothing ran as the other plugin"
    );
    // The approved candidate still needs no further approval.
    let again = console.call_once(Method::POST, &path, &first, None).await;
    assert_eq!(again.status, StatusCode::OK, "{database:?}: {}", again.body);
}

#[tokio::test]
async fn loaded_components_with_other_settings_need_no_approval() {
    let host = TestHost::start().await;
    let (console, _) = owner(&host).await;
    let ada = host.ada().await;
    let path = format!("/applications/{}/claims-preview", ada.application.id);
    let loaded = wasm("account-roles");
    for bytes in [None, Some(loaded.as_slice())] {
        let body = candidate(&ada.account, "account-roles", bytes, json!({"include": []}));
        let done = console.call_once(Method::POST, &path, &body, None).await;
        assert_eq!(done.status, StatusCode::OK, "{}", done.body);
    }
}

#[tokio::test]
async fn no_body_format_hides_a_component_from_the_approval() {
    let host = TestHost::start().await;
    let (console, _) = owner(&host).await;
    let ada = host.ada().await;
    let path = format!("/applications/{}/claims-preview", ada.application.id);
    let new = STANDARD.encode(wasm("hostile-mapper"));
    let as_list = json!({"account": id(&ada.account), "candidate": ["another", new, {}]});
    let answer = console.call_once(Method::POST, &path, &as_list, None).await;
    assert_ne!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(
        crate::lifecycle::entries(&host, "event=claims.compared")
            .await
            .len(),
        0,
        "nothing ran"
    );
    let broken =
        json!({"account": id(&ada.account), "candidate": {"plugin": "another", "component": "?"}});
    let answer = console.call_once(Method::POST, &path, &broken, None).await;
    assert_eq!(
        answer.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn service_applications_cannot_upload_components_but_the_server_token_can() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!("/applications/{}/claims-preview", ada.application.id);
    let service = service(&host, &["admin:operate", "admin:applications"]).await;
    for name in ["hostile-mapper", "account-roles"] {
        let body = candidate(&ada.account, "another", Some(&wasm(name)), json!({}));
        let answer = service.call_once(Method::POST, &path, &body, None).await;
        assert_eq!(
            answer.status,
            StatusCode::FORBIDDEN,
            "{name}: {}",
            answer.body
        );
        assert!(
            answer.body["detail"]
                .as_str()
                .is_some_and(|why| why.contains("service account")),
            "{}",
            answer.body
        );
    }
    let settings = candidate(&ada.account, "account-roles", None, json!({"include": []}));
    let answer = service
        .call_once(Method::POST, &path, &settings, None)
        .await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let body = candidate(
        &ada.account,
        "another",
        Some(&wasm("hostile-mapper")),
        json!({"behaviour": "remove", "claim": "x"}),
    );
    let (status, answer) = host.admin(Method::POST, &path, body).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}
