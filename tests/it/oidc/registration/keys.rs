//! What the dynamic plan of the OpenID suite demands of registered applications with keys.

use std::sync::{Arc, Mutex};

use axum::routing::get;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Fixture, fixture, fixture_with};
use crate::harness::{
    Application, Body, Browser, Database, Json, ProofKey, Respond, TestUser, Text, VERIFIER,
    http_client, jwt_claims, jwt_header, listen, locked,
};

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

impl Fixture {
    /// Returns a user with an account in a registered application.
    async fn user_of(&self, client: &Value) -> TestUser {
        let application = Application {
            id: client["client_id"].text().to_owned(),
            secret: client["client_secret"].as_str().map(str::to_owned),
            redirect_uri: "https://rp.example/cb".to_owned(),
        };
        self.host.user_with_account("ada", application).await
    }

    /// Sends a request for tokens with an assertion by this key.
    async fn ask(
        &self,
        client: &str,
        key: &ProofKey,
        form: &[(&str, &str)],
    ) -> (StatusCode, Value) {
        let now = assent_model::clock::Clock::now(&*self.host.clock).seconds();
        let claims = json!({
            "iss": client, "sub": client, "aud": self.host.issuer(), "exp": now + 60, "iat": now,
            "jti": ProofKey::generate().thumbprint(),
        });
        let assertion = key.proof_with(&json!({"alg": "ES256"}), claims.members().clone());
        let mut form = form.to_vec();
        form.extend([
            ("client_assertion_type", ASSERTION),
            ("client_assertion", assertion.as_str()),
        ]);
        let request = http_client().post(format!("{}/oidc/token", self.host.base));
        let response = request.form(&form).response().await;
        (response.status(), response.read_json().await)
    }
}

/// Returns the parameters that exchange a code.
fn exchange_of(code: &str) -> [(&str, &str); 4] {
    [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", "https://rp.example/cb"),
        ("code_verifier", VERIFIER),
    ]
}

/// Signed UserInfo in RS256.
#[tokio::test]
async fn oidcc_userinfo_rs256() {
    let it = fixture().await;
    let client = it
        .registered(json!({"userinfo_signed_response_alg": "RS256"}))
        .await;
    assert_eq!(client["userinfo_signed_response_alg"], "RS256");
    let ada = it.user_of(&client).await;
    let tokens = ada.tokens(&it.host, &Browser::new(&it.host.base)).await;
    let response = http_client()
        .get(format!("{}/oidc/me", it.host.base))
        .bearer_auth(tokens["access_token"].text())
        .response()
        .await;
    assert_eq!(response.headers()["content-type"], "application/jwt");
    let signed = response.read_text().await;
    assert_eq!(jwt_header(&signed)["alg"], "RS256");
    let claims = jwt_claims(&signed);
    assert_eq!(claims["aud"], client["client_id"]);
    assert_eq!(claims["sub"], jwt_claims(tokens["id_token"].text())["sub"]);
}

/// Refresh tokens of an application that authenticates with a key.
#[tokio::test]
async fn oidcc_refresh_token() {
    let it = fixture().await;
    let key = ProofKey::generate();
    let client = it
        .registered(json!({
            "token_endpoint_auth_method": "private_key_jwt",
            "jwks": {"keys": [key.public()]},
            "grant_types": ["authorization_code", "refresh_token"],
            "scope": "openid offline_access",
        }))
        .await;
    let id = client["client_id"].text();
    let ada = it.user_of(&client).await;
    let browser = Browser::new(&it.host.base);
    let offline = [
        ("scope", Some("openid offline_access")),
        ("prompt", Some("consent")),
    ];
    let code = ada.sign_in_with(&browser, &offline).await;
    let (status, tokens) = it.ask(id, &key, &exchange_of(&code)).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let refresh = [
        ("grant_type", "refresh_token"),
        ("refresh_token", tokens["refresh_token"].text()),
    ];
    let (status, error) = it.ask(id, &ProofKey::generate(), &refresh).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "{error}");
    let (status, fresh) = it.ask(id, &key, &refresh).await;
    assert_eq!(status, StatusCode::OK, "{fresh}");
    assert!(fresh["access_token"].is_string());
    let claims = jwt_claims(fresh["id_token"].text());
    assert_eq!(claims["sub"], jwt_claims(tokens["id_token"].text())["sub"]);
}

/// A registered application replaces the key at its `jwks_uri`. Within a minute, the server uses the new one only.
#[tokio::test]
async fn oidcc_refresh_token_rp_key_rotation() {
    let settings = "allow_insecure_redirect_uris = true\n[oidc.registration]\nenabled = true\n\
                    [egress]\nallow_private_addresses = true\n";
    let it = fixture_with(Database::Sqlite, settings, json!({})).await;
    let [old, new] = [ProofKey::generate(), ProofKey::generate()];
    let set = |key: &ProofKey| json!({"keys": [key.public()]}).to_string();
    let served = Arc::new(Mutex::new(set(&old)));
    let router = axum::Router::new().route(
        "/jwks",
        get({
            let served = Arc::clone(&served);
            move || std::future::ready(locked(&served).clone())
        }),
    );
    let (listener, port) = listen().await;
    tokio::spawn(async move { axum::serve(listener, router).await });
    let client = it
        .registered(json!({
            "token_endpoint_auth_method": "private_key_jwt",
            "jwks_uri": format!("http://localhost:{port}/jwks"),
            "grant_types": ["authorization_code", "refresh_token"],
            "scope": "openid offline_access",
        }))
        .await;
    let id = client["client_id"].text();
    let ada = it.user_of(&client).await;
    let browser = Browser::new(&it.host.base);
    let offline = [
        ("scope", Some("openid offline_access")),
        ("prompt", Some("consent")),
    ];
    let code = ada.sign_in_with(&browser, &offline).await;
    let (status, tokens) = it.ask(id, &old, &exchange_of(&code)).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    *locked(&served) = set(&new);
    it.host.advance(60);
    let refresh = [
        ("grant_type", "refresh_token"),
        ("refresh_token", tokens["refresh_token"].text()),
    ];
    let (status, fresh) = it.ask(id, &new, &refresh).await;
    assert_eq!(status, StatusCode::OK, "{fresh}");
    let (status, error) = it.ask(id, &old, &refresh).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "{error}");
    // The registration itself has no key, so its own endpoint needs none.
    let (status, _) = it.call(Method::GET, &client, Value::Null).await;
    assert_eq!(status, StatusCode::OK);
}
