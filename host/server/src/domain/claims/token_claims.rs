//! The claims of an ID token that tell of the token and the sign-in rather than of the person (OpenID Connect Core 1.0
//! section 2).
//!
//! Whatever makes ID tokens takes their names and values from here, so that a preview can say what else will be in one.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::Services;
use assent_model::application::Application;
use assent_model::id::Did;

/// What is the same in each ID token of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerClaims {
    /// `iss`: what this server calls itself.
    pub iss: String,
    /// `aud`: the application's client ID.
    pub aud: Did,
}

impl IssuerClaims {
    /// That of the ID tokens of this application.
    pub fn new(services: &Services, application: &Application) -> Self {
        Self {
            iss: services.issuer.clone(),
            aud: application.id.clone(),
        }
    }
}

/// A claim whose value only a sign-in determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SignInClaim)]
pub enum AtSignIn {
    /// When the token expires.
    Exp,
    /// The time of creation.
    Iat,
    /// When the person approved.
    AuthTime,
    /// What the request had as `nonce`; there is none where it had none.
    Nonce,
    /// How much the approval is to be trusted.
    Acr,
    /// What it was made with.
    Amr,
    /// The session.
    Sid,
    /// What the token is known by.
    Jti,
    /// The digest of the access token beside it.
    AtHash,
}

impl AtSignIn {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Exp,
        Self::Iat,
        Self::AuthTime,
        Self::Nonce,
        Self::Acr,
        Self::Amr,
        Self::Sid,
        Self::Jti,
        Self::AtHash,
    ];

    /// The claim's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exp => "exp",
            Self::Iat => "iat",
            Self::AuthTime => "auth_time",
            Self::Nonce => "nonce",
            Self::Acr => "acr",
            Self::Amr => "amr",
            Self::Sid => "sid",
            Self::Jti => "jti",
            Self::AtHash => "at_hash",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_claim_is_told_by_the_name_that_tokens_have_it_under() {
        for claim in AtSignIn::ALL {
            assert_eq!(json!(claim), json!(claim.name()));
        }
    }
}
