//! Refreshing the metadata of a service provider from its URL, and its differences.

use assent_test_macros::both_databases;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::http::StatusCode as Status;
use axum::routing::get;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::metadata_import::{Certificates, MELLON, import_ok, pem};
use crate::harness::{Database, Respond, TestHost, Text, http_client, id};

/// The web server of a service provider. The test can change its response.
struct MetadataServer {
    url: String,
    answer: Arc<Mutex<(Status, String)>>,
}

impl MetadataServer {
    async fn start(metadata: &str) -> Self {
        let answer = Arc::new(Mutex::new((Status::OK, metadata.to_owned())));
        let current = Arc::clone(&answer);
        let answers = async move || {
            current
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone()
        };
        let router = Router::new().route("/metadata", get(answers));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let url = format!(
            "http://{}/metadata",
            listener.local_addr().expect("an address")
        );
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, answer }
    }

    fn now_says(&self, status: Status, text: &str) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = (status, text.to_owned());
    }
}

#[both_databases]
async fn refreshed_metadata_is_previewed_before_it_applies(database: Database) {
    let settings = "[egress]\nallow_private_addresses = true";
    let host = TestHost::start_on_with(database, settings).await;
    let certificates = Certificates::new();
    let before = certificates.in_text(MELLON);
    let published = MetadataServer::start(&before).await;
    let body = json!({"protocol": "saml", "name": "Wiki", "metadata_url": published.url});
    let mut created = host.admin_ok(Method::POST, "/applications", body).await;
    let notes = created
        .as_object_mut()
        .and_then(|members| members.remove("notes"))
        .unwrap_or_default();
    assert!(
        notes
            .to_string()
            .contains("AssertionConsumerService was omitted"),
        "{notes}"
    );
    assert_eq!(created["metadata_url"], published.url);
    let own = format!("/applications/{}", id(&created));
    let path = format!("{own}/metadata");
    let again = async |body: Value| host.admin(Method::POST, &path, body).await;

    let (_, same) = again(json!({"apply": true})).await;
    assert_eq!(
        (&same["changes"], &same["application"]),
        (&json!([]), &created),
        "unchanged metadata causes no changes"
    );

    let next = before
        .replace("mellon/postResponse", "mellon/consume")
        .replace(
            "</KeyDescriptor>",
            &certificates.in_text(
                "</KeyDescriptor><KeyDescriptor><ds:KeyInfo><ds:X509Data><ds:X509Certificate>SECOND\
             </ds:X509Certificate></ds:X509Data></ds:KeyInfo></KeyDescriptor>",
            ),
        );
    published.now_says(Status::OK, &next);
    let (_, seen) = again(json!({})).await;
    let (first, second) = (pem(&certificates.first), pem(&certificates.second));
    let acs = |url: &str| json!([{"url": format!("https://mellon.example/mellon/{url}"), "index": 0, "default": true}]);
    let changes = json!([
        {"field": "acs", "from": acs("postResponse"), "to": acs("consume")},
        {"field": "certificates", "from": [first], "to": [first, second]},
    ]);
    assert_eq!(
        (&seen["changes"], &seen["applied"]),
        (&changes, &json!(false))
    );
    assert_eq!(seen["application"], created, "the changes were only shown");
    assert_eq!(host.admin_ok(Method::GET, &own, Value::Null).await, created);

    // The server applies the shown changes only if neither the metadata nor the application has changed since.
    let digest = &seen["digest"];
    published.now_says(Status::OK, &next.replace("mellon/consume", "mellon/stolen"));
    let (status, problem) = again(json!({"apply": true, "digest": digest})).await;
    assert_eq!(status, StatusCode::CONFLICT, "{problem}");
    published.now_says(Status::OK, &next);
    let (_, applied) = again(json!({"apply": true, "digest": digest})).await;
    assert_eq!(
        (&applied["changes"], &applied["applied"]),
        (&changes, &json!(true))
    );
    assert_eq!(applied["application"]["acs"], acs("consume"));
    assert_eq!(
        host.admin_ok(Method::GET, &own, Value::Null).await,
        applied["application"]
    );

    for (status, text, why) in [
        (Status::NOT_FOUND, "", "status 404"),
        (Status::FOUND, "", "another address"),
        (Status::OK, &" ".repeat(1024 * 1024 + 1), "too large"),
        (
            Status::OK,
            &next.replace("mellon/metadata", "mellon/other"),
            "create another application for another service provider",
        ),
    ] {
        published.now_says(status, text);
        let (status, problem) = again(json!({"apply": true})).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(problem["detail"].text().contains(why), "{why}: {problem}");
    }
    assert_eq!(
        host.admin_ok(Method::GET, &own, Value::Null).await,
        applied["application"]
    );
}

/// The server fetches the metadata after it read the application, and before it writes.
#[tokio::test]
async fn changes_during_a_metadata_fetch_are_kept() {
    let settings = "[egress]\nallow_private_addresses = true";
    let host = TestHost::start_with_settings(settings).await;
    let metadata = Certificates::new().in_text(MELLON);
    let created = import_ok(&host, &metadata, json!({"name": "Wiki"})).await;
    let own = format!("/applications/{}", id(&created));
    let (url, token) = (
        format!("{}/admin/api/v1{own}", host.base),
        host.token.clone(),
    );
    let next = metadata.replace("mellon/postResponse", "mellon/consume");
    let requested = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requested);
    let answer = async move || {
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            let patch = http_client()
                .patch(url)
                .bearer_auth(token)
                .json(&json!({"name": "Handbook"}));
            assert_eq!(patch.response().await.status(), StatusCode::OK);
        }
        next
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let metadata_url = format!(
        "http://{}/metadata",
        listener.local_addr().expect("an address")
    );
    let router = Router::new().route("/metadata", get(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let body = json!({"metadata_url": metadata_url, "apply": true});
    let applied = host
        .admin_ok(Method::POST, &format!("{own}/metadata"), body)
        .await;
    let now = &applied["application"];
    assert_eq!(
        (&now["name"], &now["acs"][0]["url"]),
        (
            &json!("Handbook"),
            &json!("https://mellon.example/mellon/consume")
        )
    );
    assert_eq!(&host.admin_ok(Method::GET, &own, Value::Null).await, now);
    assert_eq!(
        requested.load(Ordering::SeqCst),
        2,
        "the metadata was compared with the current settings"
    );
}

#[tokio::test]
async fn metadata_at_private_addresses_is_not_fetched() {
    let host = TestHost::start().await;
    let certificates = Certificates::new();
    let published = MetadataServer::start(&certificates.in_text(MELLON)).await;
    let created = import_ok(
        &host,
        &certificates.in_text(MELLON),
        json!({"name": "Wiki"}),
    )
    .await;
    let refresh = format!("/applications/{}/metadata", id(&created));
    for url in [
        published.url.as_str(),
        "https://169.254.169.254/metadata",
        "file:///etc/passwd",
        "metadata.xml",
    ] {
        let body = json!({"protocol": "saml", "name": "x", "metadata_url": url});
        for (path, body) in [
            ("/applications", body),
            (refresh.as_str(), json!({"metadata_url": url})),
        ] {
            let (status, problem) = host.admin(Method::POST, path, body).await;
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{url}");
            assert!(
                problem["detail"].text().starts_with("metadata_url: "),
                "{problem}"
            );
        }
    }
    let (status, problem) = host.admin(Method::POST, &refresh, json!({})).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        problem["detail"]
            .text()
            .contains("no address is registered"),
        "{problem}"
    );
    let web = host.web_application().await;
    let (status, _) = host
        .admin(
            Method::POST,
            &format!("/applications/{}/metadata", web.id),
            json!({}),
        )
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}
