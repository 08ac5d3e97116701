//! The modules about the signed request (OpenID CIBA Core 1.0 section 7.1.1, FAPI-CIBA section 5.2.2).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::StatusCode;
use serde_json::json;

use super::fixture;
use crate::harness::proof_key::ProofKey;
use crate::harness::{Json, Text};

const MINUTE: i64 = 60;

#[tokio::test]
async fn ensure_request_object_missing_aud_fails() {
    fixture().await.refuses_with(json!({"aud": null})).await;
}

#[tokio::test]
async fn ensure_request_object_bad_aud_fails() {
    let changes = json!({"aud": "https://other.example"});
    fixture().await.refuses_with(changes).await;
}

#[tokio::test]
async fn ensure_request_object_missing_iss_fails() {
    fixture().await.refuses_with(json!({"iss": null})).await;
}

#[tokio::test]
async fn ensure_request_object_bad_iss_fails() {
    let changes = json!({"iss": "did:key:zOther"});
    fixture().await.refuses_with(changes).await;
}

#[tokio::test]
async fn ensure_request_object_missing_exp_fails() {
    fixture().await.refuses_with(json!({"exp": null})).await;
}

#[tokio::test]
async fn ensure_request_object_expired_exp_fails() {
    let it = fixture().await;
    it.refuses_with(json!({"exp": it.now() - 5 * MINUTE})).await;
}

#[tokio::test]
async fn ensure_request_object_exp_is_70_minutes_in_future_fails() {
    let it = fixture().await;
    it.refuses_with(json!({"exp": it.now() + 70 * MINUTE}))
        .await;
}

#[tokio::test]
async fn ensure_request_object_missing_iat_fails() {
    fixture().await.refuses_with(json!({"iat": null})).await;
}

#[tokio::test]
async fn ensure_request_object_missing_nbf_fails() {
    fixture().await.refuses_with(json!({"nbf": null})).await;
}

#[tokio::test]
async fn ensure_request_object_nbf_is_10_minutes_in_future_fails() {
    let it = fixture().await;
    it.refuses_with(json!({"nbf": it.now() + 10 * MINUTE}))
        .await;
}

#[tokio::test]
async fn ensure_request_object_nbf_is_70_minutes_in_past_fails() {
    let it = fixture().await;
    it.refuses_with(json!({"nbf": it.now() - 70 * MINUTE}))
        .await;
}

#[tokio::test]
async fn ensure_request_object_missing_jti_fails() {
    fixture().await.refuses_with(json!({"jti": null})).await;
}

#[tokio::test]
async fn ensure_request_object_signature_algorithm_is_none_fails() {
    let it = fixture().await;
    let part = |text: String| URL_SAFE_NO_PAD.encode(text);
    let claims = it.request(&json!({})).to_string();
    let header = json!({"alg": "none"}).to_string();
    it.refuses(&format!("{}.{}.", part(header), part(claims)))
        .await;
}

#[tokio::test]
async fn ensure_request_object_signature_algorithm_is_bad_fails() {
    let it = fixture().await;
    let object = it.object(&json!({}));
    let (signed, signature) = object.rsplit_once('.').expect("a signature");
    let other = if signature.starts_with('A') { "B" } else { "A" };
    it.refuses(&format!("{signed}.{other}{}", &signature[1..]))
        .await;
}

#[tokio::test]
async fn ensure_request_object_signature_algorithm_is_rs256_fails() {
    let it = fixture().await;
    let claims = it.request(&json!({}));
    it.refuses(&it.sign("RS256", &claims)).await;
    // Nor is any algorithm of the profile accepted but the registered one.
    it.refuses(&it.sign("PS256", &claims)).await;
}

#[tokio::test]
async fn ensure_request_object_signed_by_other_client_fails() {
    let it = fixture().await;
    let claims = it.request(&json!({}));
    let other = ProofKey::generate();
    let object = other.proof_with(&json!({"alg": "ES256"}), claims.members().clone());
    it.refuses(&object).await;
}

#[tokio::test]
async fn ensure_authorization_request_with_multiple_hints_fails() {
    let it = fixture().await;
    it.refuses_with(json!({"id_token_hint": "x.y.z"})).await;
    it.refuses_with(json!({"login_hint_token": "x.y.z"})).await;
    it.refuses_with(json!({"login_hint": null})).await;
}

/// The profile requires a signed request, whether or not the application fixes an algorithm.
#[tokio::test]
async fn ensure_unsigned_backchannel_authorization_request_fails() {
    let it = fixture().await;
    let path = format!("/applications/{}", it.client());
    for algorithm in [json!("ES256"), json!(null)] {
        let change = json!({"backchannel_authentication_request_signing_alg": algorithm});
        it.host
            .admin_ok(reqwest::Method::PATCH, &path, change)
            .await;
        let form = [("scope", "openid"), ("login_hint", "ada")];
        let (status, answer) = it.post("/oidc/backchannel", &form).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        assert_eq!(answer["error"], "invalid_request");
        assert!(answer["error_description"].text().contains("signed"));
    }
}

/// Of an application with the profile, neither RS256 nor a missing key is permitted.
#[tokio::test]
async fn the_profile_permits_only_settings_that_its_requests_need() {
    let it = fixture().await;
    let path = format!("/applications/{}", it.client());
    for algorithm in ["RS256", "EdDSA", "ES384"] {
        let change = json!({"backchannel_authentication_request_signing_alg": algorithm});
        let (status, problem) = it.host.admin(reqwest::Method::PATCH, &path, change).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
        assert!(problem.to_string().contains("PS256"), "{problem}");
    }
}
