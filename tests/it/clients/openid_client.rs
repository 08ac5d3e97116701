//! npm's `openid-client`.

use serde_json::json;

use super::journey::{Journey, as_itself, whole, whole_with};
use super::registration::Authentication;
use super::relying_party::Library::OpenidClient;

#[tokio::test]
async fn openid_client_with_client_secret_basic() {
    whole(OpenidClient, Authentication::SecretBasic).await;
}

#[tokio::test]
async fn openid_client_with_client_secret_post() {
    whole(OpenidClient, Authentication::SecretPost).await;
}

#[tokio::test]
async fn openid_client_with_client_secret_jwt() {
    whole(OpenidClient, Authentication::SecretJwt).await;
}

#[tokio::test]
async fn openid_client_with_private_key_jwt_of_a_registered_jwk() {
    whole(OpenidClient, Authentication::PrivateKeyJwk).await;
}

#[tokio::test]
async fn openid_client_with_tls_client_certificate() {
    whole(OpenidClient, Authentication::TlsCertificate).await;
}

#[tokio::test]
async fn openid_client_with_none() {
    whole(OpenidClient, Authentication::None).await;
}

#[tokio::test]
async fn openid_client_accepts_id_tokens_with_ps256() {
    let settings = json!({"id_token_signed_response_alg": "PS256"});
    whole_with(OpenidClient, Authentication::SecretBasic, settings).await;
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
        .party
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
        .party
        .attempt("sign_in", json!({"url": back.location().as_str()}))
        .await;
    assert_eq!(refused["error"], "invalid_client", "{refused}");
}
