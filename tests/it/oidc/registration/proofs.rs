//! Registrations with a DPoP proof (RFC 9449), which is optional.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Fixture, fixture_on, fixture_with, metadata, own_url};
use crate::harness::proof_key::ProofKey;
use crate::harness::{Database, HostOptions, Respond, Text, http_client};

const NONCES: &str = "[oidc]\ndpop_nonces = true\n[oidc.registration]\nenabled = true\n";

/// Registers an application at this instance with these proofs. Returns the status, the error and the nonce.
async fn register(base: &str, token: &str, proofs: &[&str]) -> (StatusCode, Value, String) {
    let mut request = http_client()
        .post(format!("{base}/oidc/register"))
        .bearer_auth(token)
        .json(&metadata(&json!({})));
    for proof in proofs {
        request = request.header("DPoP", *proof);
    }
    let response = request.response().await;
    let nonce = response.headers().get("dpop-nonce");
    let nonce = nonce
        .and_then(|text| text.to_str().ok())
        .unwrap_or_default();
    let (status, nonce) = (response.status(), nonce.to_owned());
    (status, response.json().await.unwrap_or_default(), nonce)
}

fn proof(it: &Fixture, key: &ProofKey, changes: Value) -> String {
    let address = format!("{}/register", it.host.issuer());
    key.proof(&it.host, "POST", &address, changes)
}

/// A proof is valid once, for the registration only, and a wrong one registers nothing.
#[both_databases]
async fn a_proof_of_a_registration_is_valid_once(database: Database) {
    let it = fixture_on(database).await;
    let key = ProofKey::generate();
    let own = proof(&it, &key, json!({}));
    let (status, client, _) = register(&it.host.base, &it.token, &[&own]).await;
    assert_eq!(status, StatusCode::CREATED, "{database:?}: {client}");
    let token_endpoint = format!("{}/token", it.host.issuer());
    let elsewhere = key.proof(&it.host, "POST", &token_endpoint, json!({}));
    let (one, other) = (
        proof(&it, &key, json!({})),
        proof(&it, &ProofKey::generate(), json!({})),
    );
    let by_get = proof(&it, &key, json!({"htm": "GET"}));
    for proofs in [
        vec![own.as_str()],
        vec![elsewhere.as_str()],
        vec![by_get.as_str()],
        vec!["eyJ"],
        vec![one.as_str(), other.as_str()],
    ] {
        let (status, error, _) = register(&it.host.base, &it.token, &proofs).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{database:?}: {error}");
        assert_eq!(error["error"], "invalid_dpop_proof", "{database:?}");
    }
    // Without a valid token, the proof does not count.
    let (status, error, _) = register(&it.host.base, "ia_unknown", &["eyJ"]).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "{error}");
    let path = "/registration-tokens";
    let listed = it.host.admin_ok(Method::GET, path, Value::Null).await;
    assert_eq!(listed["items"][0]["registered"], json!(1), "{listed}");
}

/// An application may prove the requests about its registration, too.
#[tokio::test]
async fn a_proof_of_an_update_names_its_address() {
    let it = fixture_on(Database::Sqlite).await;
    let client = it.registered(json!({})).await;
    let key = ProofKey::generate();
    let address = client["registration_client_uri"].text();
    let read = async |proof: &str| {
        let request = http_client()
            .get(own_url(&it.host, &client))
            .bearer_auth(client["registration_access_token"].text())
            .header("DPoP", proof);
        request.response().await.status()
    };
    let own = key.proof(&it.host, "GET", address, json!({}));
    assert_eq!(read(&own).await, StatusCode::OK);
    assert_eq!(read(&own).await, StatusCode::BAD_REQUEST);
    let of_registration = proof(&it, &key, json!({"htm": "GET"}));
    assert_eq!(read(&of_registration).await, StatusCode::BAD_REQUEST);
}

/// Where nonces are required, a response has the next one.
#[tokio::test]
async fn a_registration_with_a_proof_needs_a_nonce_by_setting() {
    let it = fixture_with(Database::Sqlite, NONCES, json!({})).await;
    let key = ProofKey::generate();
    let without = proof(&it, &key, json!({}));
    let (status, error, nonce) = register(&it.host.base, &it.token, &[&without]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{error}");
    assert_eq!(error["error"], "use_dpop_nonce");
    let with = proof(&it, &key, json!({"nonce": nonce}));
    let (status, client, _) = register(&it.host.base, &it.token, &[&with]).await;
    assert_eq!(status, StatusCode::CREATED, "{client}");
    // Without a proof there is nothing to prove.
    let (status, _, nonce) = register(&it.host.base, &it.token, &[]).await;
    assert_eq!((status, nonce.as_str()), (StatusCode::CREATED, ""));
}

/// Another instance refuses a used proof as well.
#[tokio::test]
async fn a_proof_of_a_registration_is_valid_at_one_instance() {
    let it = fixture_on(Database::Postgres).await;
    let options = HostOptions {
        base_url: &it.host.base,
        settings: super::ENABLED,
        ..HostOptions::default()
    };
    let (_second, _running, other) = it.host.second(options).await;
    let own = proof(&it, &ProofKey::generate(), json!({}));
    let (status, client, _) = register(&other, &it.token, &[&own]).await;
    assert_eq!(status, StatusCode::CREATED, "{client}");
    let (status, error, _) = register(&it.host.base, &it.token, &[&own]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{error}");
    assert_eq!(error["error"], "invalid_dpop_proof");
}
