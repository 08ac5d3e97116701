//! The claims of an ID token that describe the token and the sign-in, not the user (OpenID Connect Core 1.0 section 2).
//!
//! All code that creates ID tokens takes the names and values of these claims from here. A preview can therefore list
//! them completely.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::Services;
use assent_model::application::Application;
use assent_model::id::Did;

/// The claims with the same value in each ID token of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerClaims {
    /// `iss`: the issuer.
    pub iss: String,
    /// `aud`: the application's client ID.
    pub aud: Did,
}

impl IssuerClaims {
    /// Returns the claims for the ID tokens of this application.
    pub fn new(services: &Services, application: &Application) -> Self {
        Self {
            iss: services.issuer.clone(),
            aud: application.id.clone(),
        }
    }
}

/// A claim with a value that only a sign-in determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SignInClaim)]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum AtSignIn {
    /// `exp`: the time at which the token expires.
    Exp,
    /// `iat`: the time of creation.
    Iat,
    /// `auth_time`: the time of the user's approval.
    AuthTime,
    /// `nonce`: the value of the request, if it has one.
    Nonce,
    /// `acr`: the level of trust in the approval.
    Acr,
    /// `amr`: the methods of the approval.
    Amr,
    /// `sid`: the session.
    Sid,
    /// `jti`: the identifier of the token.
    Jti,
    /// `at_hash`: the digest of the access token that is issued with it.
    AtHash,
}
assent_model::enum_texts!(AtSignIn);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn claims_are_serialized_with_their_names_in_tokens() {
        for claim in AtSignIn::ALL {
            assert_eq!(json!(claim), json!(claim.as_str()));
        }
    }
}
