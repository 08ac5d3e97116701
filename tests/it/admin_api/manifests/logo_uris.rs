//! Logos that the server fetches when it applies a manifest.

use assent_test_macros::both_databases;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::super::protected_actions::{owner, requested};
use super::{applied, apply, by_key, changes, export, plan, web_manifest};
use crate::harness::{Database, LogoServer, TestHost, Text, id, png};

const PRIVATE: &str = "[egress]\nallow_private_addresses = true";

fn with(logo_uri: &str) -> Value {
    let mut manifest = web_manifest("team", "wiki", "Wiki");
    manifest["applications"][0]["logo_uri"] = json!(logo_uri);
    manifest
}

#[both_databases]
async fn a_manifest_fetches_a_logo_when_it_is_applied(database: Database) {
    let host = TestHost::start_on_with(database, PRIVATE).await;
    let logos = LogoServer::start().await;
    let manifest = with(&logos.address("first"));
    let shown = plan(&host, &manifest, false).await;
    assert_eq!(changes(&shown), ["create application wiki"]);
    assert_eq!(logos.requests(), 0, "a plan calls no other server");
    applied(&host, &manifest, false).await;
    assert_eq!(logos.requests(), 1, "{database:?}");
    let path = format!(
        "/applications/{}/logo",
        id(&by_key(&host, "team", "wiki").await)
    );
    let logo = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(logo["bytes"], 9);

    // Another server fetches the logo itself.
    let exported = export(&host, "team").await;
    let application = &exported["applications"][0];
    assert_eq!(application["logo_uri"], logos.address("first"));
    assert!(application.get("logo").is_none(), "{exported}");
    assert!(changes(&applied(&host, &exported, false).await).is_empty());
    assert_eq!(logos.requests(), 1, "an unchanged address is not fetched");

    applied(&host, &with(&logos.address("second")), false).await;
    let second = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_ne!(second["url"], logo["url"]);

    let without = web_manifest("team", "wiki", "Wiki");
    let last = applied(&host, &without, false).await;
    assert_eq!(
        changes(&last),
        ["update application wiki", "delete logo wiki"]
    );
    let (status, _) = host.admin(Method::GET, &path, Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_image_in_the_manifest_replaces_the_address() {
    let host = TestHost::start_with_settings(PRIVATE).await;
    let logos = LogoServer::start().await;
    applied(&host, &with(&logos.address("first")), false).await;
    for byte in [1, 2] {
        // The first image is the one that the server fetched.
        let mut manifest = web_manifest("team", "wiki", "Wiki");
        manifest["applications"][0]["logo"] = json!(STANDARD.encode(png(byte)));
        applied(&host, &manifest, false).await;
        let exported = export(&host, "team").await;
        assert_eq!(
            exported["applications"][0]["logo"],
            STANDARD.encode(png(byte))
        );
    }
    for logo in [STANDARD.encode(png(1)), String::new()] {
        let mut both = with(&logos.address("first"));
        both["applications"][0]["logo"] = json!(logo);
        let body = json!({"manifest": both});
        let (status, problem) = host.admin(Method::POST, "/plans", body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
        let error = &problem["errors"][0];
        assert_eq!(error["pointer"], "/manifest/applications/0/logo");
        assert_eq!(error["detail"], "wiki: expected this or logo_uri, not both");
    }
}

#[tokio::test]
async fn a_manifest_with_a_logo_that_cannot_be_fetched_changes_nothing() {
    let host = TestHost::start_with_settings(PRIVATE).await;
    let logos = LogoServer::start().await;
    let manifest = with(&logos.address("svg"));
    let shown = plan(&host, &manifest, false).await;
    let (status, problem) = apply(&host, &manifest, false, &shown["digest"]).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    let error = &problem["errors"][0];
    assert_eq!(error["pointer"], "/manifest/applications/0/logo_uri");
    assert_eq!(
        error["detail"],
        "wiki: expected an image in PNG, JPEG or WebP format"
    );
    let (status, _) = host
        .admin(Method::GET, "/manifests/team", Value::Null)
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);

    let body = json!({"name": "Wiki", "application_type": "web", "redirect_uris": ["https://wiki.example/cb"],
                      "logo_uri": logos.address("redirect")});
    let path = "/applications/by-key/team/wiki";
    let (status, problem) = host.admin(Method::PUT, path, body).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    assert_eq!(problem["errors"][0]["pointer"], "/logo_uri");
}

/// An administrator cannot make the server call an address without the approval that the change needs.
#[tokio::test]
async fn no_logo_is_fetched_before_the_approval() {
    let host = TestHost::start_with_settings(PRIVATE).await;
    let logos = LogoServer::start().await;
    let (console, _) = owner(&host).await;
    let path = format!("/applications/{}", host.web_application().await.id);
    let change = json!({"logo_uri": logos.address("first")});
    let action = requested(&console, Method::PATCH, &path, &change).await;
    let words = format!("logo_uri “{}”", logos.address("first"));
    assert!(action["summary"].text().contains(&words), "{action}");
    assert_eq!(logos.requests(), 0);
}
