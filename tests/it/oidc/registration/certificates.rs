//! Registrations with a client certificate (RFC 8705 section 2), as for the dynamic client of the CIBA plan.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

use super::{ENABLED, Fixture, new_token};
use crate::harness::proof_key::ProofKey;
use crate::harness::tls::{certificate_of, client, mtls_settings};
use crate::harness::{EncodedCertificate, HostOptions, Json, Respond, TestHost, Text};

#[tokio::test]
async fn a_certificate_in_the_key_set_authenticates() {
    let folder = tempfile::tempdir().expect("a folder");
    let [own, another] = ["own", "other"].map(certificate_of);
    let (settings, server) = mtls_settings(folder.path(), "");
    let settings = format!("{settings}\n{ENABLED}");
    let host = TestHost::start_with(HostOptions {
        settings: &settings,
        ..HostOptions::default()
    })
    .await;
    let token = new_token(&host, json!({})).await["token"].text().to_owned();
    let it = Fixture { host, token };
    let base = it.host.host.settings.http.mtls_url.clone();
    let base = base.expect("an address");

    let mut key = ProofKey::generate().public();
    let der = own.0.der();
    key.members_mut()
        .insert("x5c".to_owned(), json!([STANDARD.encode(der)]));
    let method = "self_signed_tls_client_auth";
    let without = json!({"token_endpoint_auth_method": method});
    assert_eq!(it.refusal(without).await, "invalid_client_metadata");
    let registered = it
        .registered(json!({
            "token_endpoint_auth_method": method,
            "jwks": {"keys": [key]},
            "tls_client_certificate_bound_access_tokens": true,
        }))
        .await;
    assert_eq!(registered["token_endpoint_auth_method"], method);
    assert!(registered.get("client_secret").is_none(), "{registered}");
    let flag = &registered["tls_client_certificate_bound_access_tokens"];
    assert_eq!(flag, &json!(true));
    let error = async |by: Client| {
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", registered["client_id"].text()),
            ("code", "unknown"),
            ("redirect_uri", "https://rp.example/cb"),
            ("code_verifier", crate::harness::VERIFIER),
        ];
        let url = format!("{base}oidc/token");
        let response = by.post(url).form(&form).response().await;
        let status = response.status();
        let answer: Value = response.json().await.expect("JSON");
        (status, answer["error"].text().to_owned())
    };
    let expected = (StatusCode::BAD_REQUEST, "invalid_grant".to_owned());
    assert_eq!(error(client(&server, Some(&own))).await, expected);
    for other in [None, Some(&another)] {
        let (status, error) = error(client(&server, other)).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{error}");
        assert_eq!(error, "invalid_client");
    }
}
