//! Discovery (OpenID Connect Discovery 1.0 section 3, RFC 8414 section 2) and the key set (RFC 7517 section 5).

use serde_json::{Value, json};

use crate::domain::{Host, keys};
use crate::model::scope::Scope;

/// The discovery document: what is served, and nothing else.
pub fn document(host: &Host) -> Value {
    let issuer = &host.issuer;
    let scopes: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/auth"),
        "token_endpoint": format!("{issuer}/token"),
        "userinfo_endpoint": format!("{issuer}/me"),
        "jwks_uri": format!("{issuer}/jwks"),
        "scopes_supported": scopes,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "none"],
        "code_challenge_methods_supported": ["S256"],
        "acr_values_supported": [crate::model::session::Authentication::ACR],
        "claim_types_supported": ["normal"],
        "claims_supported": [
            "iss", "sub", "aud", "exp", "iat", "auth_time", "sid", "nonce", "amr", "acr", "at_hash",
            "email", "email_verified",
            "name", "given_name", "family_name", "middle_name", "nickname", "preferred_username", "picture", "profile",
            "website", "gender", "birthdate", "zoneinfo", "locale", "updated_at",
            "upn", "user_did", "user_short_code", "account",
            "phone_number", "phone_number_verified",
        ],
        "claims_parameter_supported": false,
        "request_parameter_supported": false,
        "request_uri_parameter_supported": false,
        "authorization_response_iss_parameter_supported": true,
    })
}

/// The keys that verify ID tokens: those that sign, will sign and did sign.
pub async fn key_set(host: &Host) -> Value {
    keys::key_set(host).await
}
