//! Access tokens that a client presents at a protected endpoint: bearer tokens (RFC 6750), and those that are bound to
//! a key of the client (RFC 8705 section 3, RFC 9449 section 7).

use crate::domain::{InternalError, Services};
use crate::oidc::dpop::proof;
use crate::oidc::dpop::proof::{ProofError, ProofHeader, ProvenRequest};
use crate::oidc::error::{PROOF_REUSED, Reason};
use crate::oidc::tokens::{Presented, PresentedText, ValidAccess};
use assent_model::saml::MessageClaim;
use assent_model::scope::Scope;
use assent_model::secret::Digest;
use assent_model::token_binding::TokenBinding;
use assent_store::ReplayCheck;

/// The reason why a bearer token was rejected (RFC 6750 section 3.1).
#[derive(Debug, thiserror::Error)]
pub enum BearerError {
    /// The request has no token.
    #[error("an access token is required")]
    Missing,
    /// The request sent the token in two ways, or it is malformed.
    #[error("send the access token once, in the Authorization header")]
    InvalidRequest,
    /// The token is unknown, expired or revoked, or the user may no longer use the application.
    #[error("the access token is invalid, expired or revoked")]
    InvalidToken,
    /// The DPoP proof is missing or not valid (RFC 9449 section 7.1).
    #[error("the DPoP proof is not valid: {0}")]
    InvalidProof(Reason),
    /// The DPoP proof lacks a current nonce.
    #[error("the DPoP proof must have the nonce of the header DPoP-Nonce")]
    UseNonce,
    /// The token lacks this scope.
    #[error("the access token lacks the scope {}", .0.as_str())]
    InsufficientScope(Scope),
    /// Too many calls with this token, or in total, already wait for the plugins.
    #[error("too many requests at once; try again after the time in Retry-After")]
    Busy,
    /// An internal error.
    #[error("the server could not answer; try again")]
    Internal(#[from] InternalError),
}

impl BearerError {
    /// The `error` code; `None` if the request has no token at all.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::Missing => None,
            Self::InvalidRequest => Some("invalid_request"),
            Self::InvalidToken => Some("invalid_token"),
            Self::InvalidProof(_) => Some("invalid_dpop_proof"),
            Self::UseNonce => Some("use_dpop_nonce"),
            Self::InsufficientScope(_) => Some("insufficient_scope"),
            Self::Busy => Some("temporarily_unavailable"),
            Self::Internal(cause) if cause.is_outage() => Some("temporarily_unavailable"),
            Self::Internal(_) => Some("server_error"),
        }
    }
}

impl From<ProofError> for BearerError {
    fn from(error: ProofError) -> Self {
        match error {
            ProofError::Invalid(reason) => Self::InvalidProof(reason),
            ProofError::UseNonce => Self::UseNonce,
            ProofError::Internal(error) => Self::Internal(error),
        }
    }
}

/// The authentication scheme of an access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenScheme {
    /// RFC 6750.
    Bearer,
    /// RFC 9449 section 7.1.
    Dpop,
}

/// Reads the `Authorization` header.
///
/// # Errors
/// [`BearerError`] if the header is missing, has another scheme or is malformed.
pub fn token_of(authorization: Option<&str>) -> Result<(TokenScheme, &str), BearerError> {
    let header = authorization.ok_or(BearerError::Missing)?;
    let (name, token) = header.split_once(' ').unwrap_or((header, ""));
    let scheme = if name.eq_ignore_ascii_case("bearer") {
        TokenScheme::Bearer
    } else if name.eq_ignore_ascii_case("dpop") {
        TokenScheme::Dpop
    } else {
        // Another authentication scheme counts as no token (RFC 6750 section 3.1).
        return Err(BearerError::Missing);
    };
    if token.is_empty() {
        return Err(BearerError::InvalidRequest);
    }
    Ok((scheme, token.trim()))
}

/// A token that a client presented at a protected endpoint.
#[derive(Clone, Copy, Debug)]
pub struct BearerToken<'a> {
    /// The token.
    pub token: &'a str,
    /// Its scheme. A form has the scheme of bearer tokens.
    pub scheme: TokenScheme,
    /// The certificate of the connection, DER.
    pub certificate: Option<&'a [u8]>,
    /// The DPoP headers.
    pub proof: ProofHeader<'a>,
    /// The method of the request.
    pub method: &'a str,
    /// The path of the request.
    pub path: &'a str,
    /// Where the proof is used once.
    pub proof_use: ProofUse,
}

/// Where a proof is used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofUse {
    /// At this instance, in its memory: at UserInfo, which changes nothing.
    OnThisInstance,
    /// On every instance, by a write to the database.
    OnEveryInstance,
}

/// Returns the grant of an access token, if the token is valid and the caller proves to hold the key to which it is
/// bound. It does not check whether the user may still use the application.
///
/// # Errors
/// [`BearerError`] if the token is not valid or the database fails.
pub async fn accept(
    services: &Services,
    shown: BearerToken<'_>,
) -> Result<ValidAccess, BearerError> {
    let text = PresentedText::access(services, shown.token).ok_or(BearerError::InvalidToken)?;
    if let PresentedText::Access(token) = &text {
        check_binding(services, shown, token.grant.binding).await?;
    }
    let presented = Presented::read(services, text).await?;
    let found = presented.into_valid_access(services).await?;
    found.ok_or(BearerError::InvalidToken)
}

/// Checks that the caller holds the key of the token. A token that is bound to a DPoP key is no bearer token.
async fn check_binding(
    services: &Services,
    shown: BearerToken<'_>,
    binding: Option<TokenBinding>,
) -> Result<(), BearerError> {
    match (binding, shown.scheme) {
        (None, TokenScheme::Bearer) => Ok(()),
        (Some(TokenBinding::Certificate(digest)), TokenScheme::Bearer)
            if shown.certificate.map(Digest::sha256) == Some(digest) =>
        {
            Ok(())
        }
        (Some(TokenBinding::DpopKey(key)), TokenScheme::Dpop) => {
            let header = shown.proof.proof()?;
            let header = header.ok_or(BearerError::InvalidProof("the request has none"))?;
            let request = ProvenRequest {
                method: shown.method,
                path: shown.path,
                access_token: Some(shown.token),
            };
            let proof = proof::verify(services, header, request)?;
            if proof.key != key {
                return Err(BearerError::InvalidProof(
                    "the token is bound to another key",
                ));
            }
            use_proof(services, shown.proof_use, &proof.claim).await
        }
        (None | Some(_), _) => Err(BearerError::InvalidToken),
    }
}

/// Uses a proof, once.
async fn use_proof(
    services: &Services,
    proof_use: ProofUse,
    claim: &MessageClaim,
) -> Result<(), BearerError> {
    let outcome = match proof_use {
        ProofUse::OnThisInstance => services
            .used_proofs
            .use_once(claim, services.now())
            .ok_or(BearerError::Busy)?,
        ProofUse::OnEveryInstance => {
            let claimed = services.store.claim_message(*claim).await;
            claimed.map_err(InternalError::from)?
        }
    };
    match outcome {
        ReplayCheck::FirstUse => Ok(()),
        ReplayCheck::Replayed => Err(BearerError::InvalidProof(PROOF_REUSED)),
    }
}
