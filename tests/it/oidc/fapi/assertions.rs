//! The modules of the OpenID suite for applications that authenticate with a key, and for signed request objects.

use assent_model::clock::Clock;
use josekit::jws::{JwsHeader, JwsSigner, PS256, RS256};
use josekit::jwt::{JwtPayload, encode_with_signer};
use openssl::pkey::{PKey, Private};
use reqwest::StatusCode;
use serde_json::{Map, Value, json};

use super::{Fixture, fixture, fixture_on};
use crate::harness::{Database, EncodedKey, Json, Text, rsa_key};

impl Fixture {
    fn now(&self) -> i64 {
        self.host.clock.now().seconds()
    }

    /// Pushes a request with an assertion that has these changes, without a proof.
    async fn push_by(&self, changes: &Value) -> (StatusCode, Value) {
        let form = Self::parameters(&[]);
        let assertion = self.assertion(changes);
        self.post_with("/oidc/par", &form, &assertion, None).await
    }

    /// Checks that no endpoint accepts an assertion with these changes, and that a valid one is accepted afterwards.
    async fn refuses_assertion(&self, changes: Value) {
        let (status, error) = self.push_by(&changes).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{changes}: {error}");
        assert_eq!(error["error"], "invalid_client", "{changes}");
        let assertion = self.assertion(&changes);
        let (status, error) = self
            .exchange_with("ac_unknown", &[], &assertion, Some(&self.proofs))
            .await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{changes}: {error}");
        assert_eq!(error["error"], "invalid_client", "{changes}");
        let (status, answer) = self.push_by(&json!({})).await;
        assert_eq!(status, StatusCode::CREATED, "{answer}");
    }
}

/// Signs these claims with RS256 or PS256. The key is the same.
fn sign(key: &PKey<Private>, algorithm: &str, claims: Map<String, Value>) -> String {
    let der = key.pkcs8_der();
    let signer: Box<dyn JwsSigner> = match algorithm {
        "RS256" => Box::new(RS256.signer_from_der(der).expect("a signer")),
        _ => Box::new(PS256.signer_from_der(der).expect("a signer")),
    };
    let payload = JwtPayload::from_map(claims).expect("claims");
    encode_with_signer(&payload, &JwsHeader::new(), &*signer).expect("signed")
}

#[tokio::test]
async fn par_test_array_as_audience_fails() {
    let it = fixture().await;
    let aud = json!([it.host.issuer()]);
    it.refuses_assertion(json!({"aud": aud})).await;
}

#[tokio::test]
async fn par_test_par_endpoint_url_as_audience_fails() {
    let it = fixture().await;
    let aud = format!("{}/par", it.host.issuer());
    it.refuses_assertion(json!({"aud": aud})).await;
}

#[tokio::test]
async fn par_test_token_endpoint_url_as_audience_fails() {
    let it = fixture().await;
    let aud = format!("{}/token", it.host.issuer());
    it.refuses_assertion(json!({"aud": aud})).await;
}

#[tokio::test]
async fn ensure_client_assertion_with_wrong_aud_fails() {
    let it = fixture().await;
    it.refuses_assertion(json!({"aud": "https://other.example"}))
        .await;
}

#[tokio::test]
async fn ensure_client_assertion_with_no_sub_fails() {
    let it = fixture().await;
    it.refuses_assertion(json!({"sub": null})).await;
}

#[tokio::test]
async fn ensure_client_assertion_with_exp_is_5_minutes_in_past_fails() {
    let it = fixture().await;
    let exp = it.now() - 300;
    it.refuses_assertion(json!({"exp": exp})).await;
}

#[tokio::test]
async fn par_ensure_jwt_client_assertions_nbf_over_60_seconds_in_the_future_fails() {
    let it = fixture().await;
    let now = it.now();
    it.refuses_assertion(json!({"nbf": now + 62, "iat": now + 62, "exp": now + 122}))
        .await;
    // The skew of a profile is shorter.
    it.refuses_assertion(json!({"nbf": now + 31})).await;
}

#[tokio::test]
async fn par_ensure_jwt_client_assertions_nbf_8_seconds_in_the_future_is_accepted() {
    let it = fixture().await;
    let now = it.now();
    let ahead = json!({"nbf": now + 8, "iat": now + 8});
    let (status, answer) = it.push_by(&ahead).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
    let code = it.sign_in().await.parameter("code");
    let assertion = it.assertion(&ahead);
    let (status, tokens) = it
        .exchange_with(&code, &[], &assertion, Some(&it.proofs))
        .await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
}

/// Without an assertion, neither a request nor a code is accepted. The refused request does not use the code up.
#[tokio::test]
async fn ensure_client_assertion_in_token_endpoint() {
    let it = fixture().await;
    let client = it.ada.application.id.clone();
    let code = it.sign_in().await.parameter("code");
    for named in ["", client.as_str()] {
        let (status, error) = it
            .exchange_with(&code, &[("client_id", named)], "", Some(&it.proofs))
            .await;
        let error = error["error"].text();
        assert!(status == 400 || status == 401, "{status} {error}");
        assert!(["invalid_client", "invalid_request"].contains(&error));
        let form = Fixture::parameters(&[("client_id", named)]);
        let (status, error) = it.post_with("/oidc/par", &form, "", None).await;
        assert!(status == 400 || status == 401, "{status} {error}");
    }
    let (status, tokens) = it.exchange(&code).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
}

#[tokio::test]
async fn ensure_signed_client_assertion_with_rs256_fails() {
    let key = rsa_key();
    let changes = json!({"jwks": null, "public_key": key.public_pem()});
    let it = fixture_on(Database::Sqlite, changes).await;
    let assertion = |algorithm| sign(&key, algorithm, it.assertion_claims(&json!({})));
    let push = async |algorithm| {
        let form = Fixture::parameters(&[]);
        it.post_with("/oidc/par", &form, &assertion(algorithm), None)
            .await
    };
    let (status, error) = push("RS256").await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert_eq!(error["error"], "invalid_client");
    assert!(error.to_string().contains("algorithm"), "{error}");
    let by_rs256 = assertion("RS256");
    let (status, error) = it
        .exchange_with("ac_unknown", &[], &by_rs256, Some(&it.proofs))
        .await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "{error}");
    let (status, answer) = push("PS256").await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
}

/// The form has only the request object and the assertion, and names no client.
#[tokio::test]
async fn ensure_signed_request_object_with_rs256_fails() {
    let key = rsa_key();
    let changes = json!({
        "jwks": null, "public_key": key.public_pem(), "security_profile": "fapi2-message-signing",
        "require_signed_request_object": true,
    });
    let it = fixture_on(Database::Sqlite, changes).await;
    let client = &it.ada.application.id;
    let push = async |algorithm: &str| {
        let mut claims = json!({
            "iss": client, "client_id": client, "aud": it.host.issuer(), "nbf": it.now(),
            "exp": it.now() + 300,
        });
        for (name, value) in Fixture::parameters(&[]) {
            claims[name] = json!(value);
        }
        let object = sign(&key, algorithm, claims.members().clone());
        let assertion = sign(&key, "PS256", it.assertion_claims(&json!({})));
        it.post_with("/oidc/par", &[("request", &object)], &assertion, None)
            .await
    };
    let (status, error) = push("RS256").await;
    assert_eq!(
        (status, error["error"].text()),
        (StatusCode::BAD_REQUEST, "invalid_request_object")
    );
    let (status, answer) = push("PS256").await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
}
