//! Software statements (RFC 7591 section 2.3), and the sector of an application.

use std::time::Duration;

use assent_model::clock::Clock;
use axum::http::header::LOCATION;
use axum::routing::get;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{Fixture, fixture_with};
use crate::harness::proof_key::ProofKey;
use crate::harness::{Database, Json, Text};

const ISSUER: &str = "https://software.example";

/// Returns a host that trusts the key for this issuer.
async fn trusting(key: &ProofKey) -> (Fixture, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("keys.json");
    let set = json!({"keys": [key.public()]});
    std::fs::write(&file, set.to_string()).expect("a file");
    let settings = format!(
        "[oidc.registration]\nenabled = true\n\
         software_statement_keys = [{{ issuer = \"{ISSUER}\", jwks_file = '{}' }}]\n",
        file.display()
    );
    let it = fixture_with(Database::Sqlite, &settings, json!({})).await;
    (it, folder)
}

/// Returns a statement with these claims.
fn statement(key: &ProofKey, claims: Value) -> String {
    let header = json!({"alg": "ES256", "typ": "JWT"});
    let mut all = json!({"iss": ISSUER});
    all.members_mut().extend(claims.members().clone());
    key.proof_with(&header, all.members().clone())
}

#[tokio::test]
async fn a_software_statement_takes_precedence() {
    let key = ProofKey::generate();
    let (it, _folder) = trusting(&key).await;
    let statement = statement(&key, json!({"client_name": "Signed name", "iat": 1}));
    let client = it
        .registered(json!({"client_name": "Other name", "software_statement": statement}))
        .await;
    assert_eq!(client["client_name"], "Signed name");
    assert_eq!(client["software_statement"], json!(statement));
}

#[tokio::test]
async fn invalid_software_statements_are_rejected() {
    let key = ProofKey::generate();
    let (it, _folder) = trusting(&key).await;
    let now = it.host.clock.now();
    let (past, future) = (now.seconds() - 1, (now + Duration::from_secs(60)).seconds());
    let damaged = format!("{}x", statement(&key, json!({})));
    for (sent, error) in [
        (json!(7), "invalid_software_statement"),
        (json!("no.jwt"), "invalid_software_statement"),
        (json!(damaged), "invalid_software_statement"),
        (
            json!(statement(&ProofKey::generate(), json!({}))),
            "invalid_software_statement",
        ),
        (
            json!(statement(&key, json!({"exp": past}))),
            "invalid_software_statement",
        ),
        (
            json!(statement(&key, json!({"nbf": future}))),
            "invalid_software_statement",
        ),
        (
            json!(statement(&key, json!({"iss": "https://other.example"}))),
            "unapproved_software_statement",
        ),
    ] {
        let changes = json!({"software_statement": sent});
        assert_eq!(it.refusal(changes).await, error, "{sent}");
    }
    // A statement raises no right.
    let rights = statement(
        &key,
        json!({"admin_scopes": ["admin:read"], "enabled": false}),
    );
    let client = it.registered(json!({"software_statement": rights})).await;
    let own = it.application(&client).await;
    assert_eq!(own["admin_scopes"], json!([]));
    assert_eq!(own["enabled"], json!(true));
}

/// Serves documents of sectors. Returns the address of the server.
async fn sectors() -> String {
    let list = |uris: &'static [&'static str]| get(move || async move { axum::Json(uris) });
    let router = axum::Router::new()
        .route(
            "/both",
            list(&["https://rp.example/cb", "https://other.example/cb"]),
        )
        .route("/one", list(&["https://rp.example/cb"]))
        .route("/object", get(|| async { axum::Json(json!({"a": 1})) }))
        .route(
            "/large",
            get(|| async { format!("[\"{}\"]", "x".repeat(70_000)) }),
        )
        .route(
            "/moved",
            get(|| async { (StatusCode::FOUND, [(LOCATION, "/both")]) }),
        )
        .route(
            "/slow",
            get(|| async {
                tokio::time::sleep(Duration::from_secs(60)).await;
                axum::Json(["https://rp.example/cb", "https://other.example/cb"])
            }),
        );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

/// `oidcc-registration-sector-bad` and `oidcc-registration-sector-uri`.
#[tokio::test]
async fn oidcc_registration_sector_bad() {
    let settings =
        "[oidc.registration]\nenabled = true\n[egress]\nallow_private_addresses = true\n";
    let it = fixture_with(Database::Sqlite, settings, json!({})).await;
    let base = sectors().await;
    let with = |path: &str| {
        json!({
            "subject_type": "pairwise",
            "redirect_uris": ["https://rp.example/cb", "https://other.example/cb"],
            "sector_identifier_uri": format!("{base}/{path}"),
        })
    };
    for path in ["one", "object", "large", "moved", "slow", "missing"] {
        let error = it.refusal(with(path)).await;
        assert_eq!(error, "invalid_client_metadata", "{path}");
    }
    // Without the document, two hosts have no common sector.
    let mut without = with("both");
    without["sector_identifier_uri"] = json!(null);
    assert_eq!(it.refusal(without).await, "invalid_client_metadata");
    let client = it.registered(with("both")).await;
    assert_eq!(client["subject_type"], "pairwise");
    let own = it.application(&client).await;
    assert_eq!(own["sector_identifier"], "127.0.0.1");
    // The sector of the application does not change, and proves each new redirect URI.
    let mut update = with("both");
    update["client_id"] = client["client_id"].clone();
    let put = async |update: &Value| it.call(reqwest::Method::PUT, &client, update.clone()).await;
    let (status, answer) = put(&update).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    update["redirect_uris"] = json!(["https://evil.example/cb"]);
    for uri in [update["sector_identifier_uri"].clone(), json!(null)] {
        update["sector_identifier_uri"] = uri;
        let (status, answer) = put(&update).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        assert_eq!(answer["error"].text(), "invalid_client_metadata");
    }
}
