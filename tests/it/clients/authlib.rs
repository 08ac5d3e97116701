//! Python's `Authlib`.

use serde_json::json;

use super::journey::{Journey, as_itself, full_flow, full_flow_with};
use super::registration::Authentication;
use super::relying_party::Library::Authlib;

#[tokio::test]
async fn authlib_with_client_secret_basic() {
    full_flow(Authlib, Authentication::SecretBasic).await;
}

#[tokio::test]
async fn authlib_with_client_secret_post() {
    full_flow(Authlib, Authentication::SecretPost).await;
}

#[tokio::test]
async fn authlib_with_client_secret_jwt() {
    full_flow(Authlib, Authentication::SecretJwt).await;
}

#[tokio::test]
async fn authlib_with_private_key_jwt_of_a_registered_pem_key() {
    full_flow(Authlib, Authentication::PrivateKeyPem).await;
}

#[tokio::test]
async fn authlib_with_tls_client_certificate() {
    full_flow(Authlib, Authentication::TlsCertificate).await;
}

#[tokio::test]
async fn authlib_with_none() {
    full_flow(Authlib, Authentication::None).await;
}

#[tokio::test]
async fn authlib_accepts_id_tokens_with_ps256() {
    full_flow_with(
        Authlib,
        Authentication::SecretBasic,
        json!({"id_token_signed_response_alg": "PS256"}),
    )
    .await;
}

#[tokio::test]
async fn authlib_obtains_client_credentials_tokens() {
    for authentication in [Authentication::SecretBasic, Authentication::SecretJwt] {
        as_itself(Authlib, authentication).await;
    }
}

#[tokio::test]
async fn authlib_with_a_wrong_secret_is_rejected() {
    let mut journey = Journey::new(Authlib, Authentication::SecretBasic, json!({})).await;
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
