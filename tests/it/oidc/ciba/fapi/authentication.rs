//! The modules about the authentication of the application, for `private_key_jwt` and for `mtls`.

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{GRANT, fixture, fixture_by};

/// Whether the answer is one of those that the suite permits without a valid authentication.
fn is_refused((status, answer): &(StatusCode, Value)) -> bool {
    let is_status = [StatusCode::BAD_REQUEST, StatusCode::UNAUTHORIZED].contains(status);
    is_status && answer["error"] == "invalid_client"
}

#[tokio::test]
async fn ensure_without_client_assertion_in_token_endpoint_request() {
    let it = fixture().await;
    let auth_req_id = it.asked(json!({})).await;
    it.approve().await;
    let form = [
        ("grant_type", GRANT),
        ("auth_req_id", auth_req_id.as_str()),
        ("client_id", it.client()),
    ];
    let answer = it.post_with(&it.with, "/oidc/token", &form, None).await;
    assert!(is_refused(&answer), "{answer:?}");
    assert_eq!(it.poll(&auth_req_id).await.0, StatusCode::OK);
}

#[tokio::test]
async fn ensure_without_client_assertion_in_backchannel_authorization_request() {
    let it = fixture().await;
    let object = it.object(&json!({}));
    let form = [("request", object.as_str()), ("client_id", it.client())];
    let answer = it
        .post_with(&it.with, "/oidc/backchannel", &form, None)
        .await;
    assert!(is_refused(&answer), "{answer:?}");
}

#[tokio::test]
async fn ensure_client_assertion_signature_algorithm_in_backchannel_authorization_request_is_rs256_fails()
 {
    let it = fixture().await;
    let object = it.object(&json!({}));
    let form = [("request", object.as_str())];
    let assertion = it.assertion("RS256", &json!({}));
    let answer = it
        .post_with(&it.with, "/oidc/backchannel", &form, Some(&assertion))
        .await;
    assert!(is_refused(&answer), "{answer:?}");
}

#[tokio::test]
async fn ensure_client_assertion_signature_algorithm_in_token_endpoint_request_is_rs256_fails() {
    let it = fixture().await;
    let auth_req_id = it.asked(json!({})).await;
    it.approve().await;
    let form = [("grant_type", GRANT), ("auth_req_id", auth_req_id.as_str())];
    let assertion = it.assertion("RS256", &json!({}));
    let answer = it
        .post_with(&it.with, "/oidc/token", &form, Some(&assertion))
        .await;
    assert!(is_refused(&answer), "{answer:?}");
}

/// The issuer, the token endpoint and the back-channel endpoint are audiences of an assertion there.
#[tokio::test]
async fn ensure_client_assertion_with_iss_aud_to_token_endpoint_succeeds() {
    let it = fixture().await;
    let issuer = it.host.issuer();
    for audience in [
        issuer.clone(),
        format!("{issuer}/token"),
        format!("{issuer}/backchannel"),
    ] {
        let object = it.object(&json!({}));
        let assertion = it.assertion("ES256", &json!({"aud": audience}));
        let form = [("request", object.as_str())];
        let (status, answer) = it
            .post_with(&it.with, "/oidc/backchannel", &form, Some(&assertion))
            .await;
        assert_eq!(status, StatusCode::OK, "{audience}: {answer}");
    }
    let auth_req_id = "br_x";
    for audience in [issuer.clone(), format!("{issuer}/token")] {
        let assertion = it.assertion("ES256", &json!({"aud": audience}));
        let form = [("grant_type", GRANT), ("auth_req_id", auth_req_id)];
        let (_, answer) = it
            .post_with(&it.with, "/oidc/token", &form, Some(&assertion))
            .await;
        assert_eq!(answer["error"], "invalid_grant", "{audience}: {answer}");
    }
}

/// The application authenticates with its certificate, and signs its requests with a key.
#[tokio::test]
async fn ensure_different_client_id_and_issuer_in_backchannel_authorization_request() {
    let it = fixture_by("tls_client_certificate").await;
    let by_certificate = async |object: &str| {
        let form = [("request", object), ("client_id", it.client())];
        it.post_with(&it.with, "/oidc/backchannel", &form, None)
            .await
    };
    let (status, answer) = by_certificate(&it.object(&json!({}))).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let other = it.host.web_application().await;
    let object = it.object(&json!({"iss": other.id}));
    let (status, answer) = by_certificate(&object).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    assert_eq!(answer["error"], "invalid_request");
}

#[tokio::test]
async fn ensure_wrong_client_id_in_token_endpoint_request() {
    let it = fixture_by("tls_client_certificate").await;
    let other = it.host.web_application().await;
    for client in [other.id.as_str(), "did:key:zOther"] {
        let form = [
            ("grant_type", GRANT),
            ("auth_req_id", "br_x"),
            ("client_id", client),
        ];
        let answer = it.post_with(&it.with, "/oidc/token", &form, None).await;
        assert!(is_refused(&answer), "{client}: {answer:?}");
    }
}

#[tokio::test]
async fn ensure_wrong_client_id_in_backchannel_authorization_request() {
    let it = fixture_by("tls_client_certificate").await;
    let other = it.host.web_application().await;
    let object = it.object(&json!({}));
    for client in [other.id.as_str(), "did:key:zOther"] {
        let form = [("request", object.as_str()), ("client_id", client)];
        let answer = it
            .post_with(&it.with, "/oidc/backchannel", &form, None)
            .await;
        assert!(is_refused(&answer), "{client}: {answer:?}");
    }
}
