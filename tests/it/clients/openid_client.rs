//! npm's `openid-client`.

use serde_json::json;

use super::journey::{Journey, as_itself, full_flow, full_flow_with, full_protected_flow};
use super::registration::Authentication;
use super::relying_party::Library::OpenidClient;

#[tokio::test]
async fn openid_client_with_client_secret_basic() {
    full_flow(OpenidClient, Authentication::SecretBasic).await;
}

#[tokio::test]
async fn openid_client_with_client_secret_post() {
    full_flow(OpenidClient, Authentication::SecretPost).await;
}

#[tokio::test]
async fn openid_client_with_client_secret_jwt() {
    full_flow(OpenidClient, Authentication::SecretJwt).await;
}

#[tokio::test]
async fn openid_client_with_private_key_jwt_of_a_registered_jwk() {
    full_flow(OpenidClient, Authentication::PrivateKeyJwk).await;
}

#[tokio::test]
async fn openid_client_with_tls_client_certificate() {
    full_flow(OpenidClient, Authentication::TlsCertificate).await;
}

#[tokio::test]
async fn openid_client_with_none() {
    full_flow(OpenidClient, Authentication::None).await;
}

#[tokio::test]
async fn openid_client_accepts_id_tokens_with_ps256() {
    let settings = json!({"id_token_signed_response_alg": "PS256"});
    full_flow_with(OpenidClient, Authentication::SecretBasic, settings).await;
}

#[tokio::test]
async fn openid_client_obtains_client_credentials_tokens() {
    for authentication in [Authentication::SecretBasic, Authentication::PrivateKeyJwk] {
        as_itself(OpenidClient, authentication).await;
    }
}

#[tokio::test]
async fn openid_client_receives_its_response_by_form_post() {
    let mut journey = Journey::new(OpenidClient, Authentication::SecretBasic, json!({})).await;
    let page = journey
        .visit(json!({"scope": "openid profile email", "response_mode": "form_post"}))
        .await;
    let (action, form) = page.form();
    let known = journey
        .relying_party
        .call("sign_in", json!({"url": action, "form": form}))
        .await;
    assert_eq!(known["claims"]["sub"], journey.ada.user["sub"], "{known}");
}

#[tokio::test]
async fn openid_client_with_a_wrong_secret_is_rejected() {
    let mut journey = Journey::new(OpenidClient, Authentication::SecretPost, json!({})).await;
    let back = journey
        .visit(json!({"scope": "openid profile email"}))
        .await;
    journey.new_secret().await;
    let refused = journey
        .relying_party
        .attempt("sign_in", json!({"url": back.location().as_str()}))
        .await;
    assert_eq!(refused["error"], "invalid_client", "{refused}");
}

/// The settings of an application that pushes its requests, with tokens that are bound to a DPoP key.
fn bound_to_a_key() -> serde_json::Value {
    json!({"require_pushed_authorization_requests": true, "dpop_bound_access_tokens": true})
}

#[tokio::test]
async fn openid_client_with_pushed_requests_and_proofs() {
    for authentication in [
        Authentication::PrivateKeyJwk,
        Authentication::TlsCertificate,
        Authentication::SecretBasic,
        Authentication::None,
    ] {
        let protection = ["par", "dpop"];
        full_protected_flow(OpenidClient, authentication, bound_to_a_key(), &protection).await;
    }
}

#[tokio::test]
async fn openid_client_with_signed_responses() {
    let protection = ["par", "dpop", "jarm"];
    let authentication = Authentication::PrivateKeyJwk;
    full_protected_flow(OpenidClient, authentication, bound_to_a_key(), &protection).await;
    let settings = json!({"require_pushed_authorization_requests": true});
    let authentication = Authentication::TlsCertificate;
    full_protected_flow(OpenidClient, authentication, settings, &["par", "jarm"]).await;
}
