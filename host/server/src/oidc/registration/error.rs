//! The errors of registrations (RFC 7591 section 3.2.2).

use crate::domain::InternalError;
use crate::domain::admin::AdminError;
use crate::domain::operations::traffic::rate_limits::limit::RateLimitError;
use crate::oidc::dpop::proof::ProofError;
use crate::oidc::error::Reason;

/// The reason why a registration was rejected.
#[derive(Debug, thiserror::Error)]
pub enum RegistrationError {
    /// The token is missing, unknown, expired or of another application. A caller cannot distinguish these cases.
    #[error("the token is missing, invalid, expired or revoked")]
    InvalidToken,
    /// A redirect URI is not permitted for the application type, or by the initial access token.
    #[error("{0}")]
    InvalidRedirectUri(String),
    /// Other metadata is not permitted. The description names the member.
    #[error("{0}")]
    InvalidMetadata(String),
    /// The signature, the audience or a time of the software statement is not valid.
    #[error("{0}")]
    InvalidSoftwareStatement(&'static str),
    /// The software statement has an issuer that the server does not trust.
    #[error("the server trusts no software statements of this issuer")]
    UnapprovedSoftwareStatement,
    /// The DPoP proof beside the token is not valid (RFC 9449 section 5).
    #[error("the DPoP proof is not valid: {0}")]
    InvalidProof(Reason),
    /// The DPoP proof lacks a current nonce.
    #[error("the DPoP proof must have the nonce of the header DPoP-Nonce")]
    UseNonce,
    /// The token is valid, and a quota is exhausted, or only administrators may change the application.
    #[error("{0}")]
    Forbidden(&'static str),
    /// Another request changed the application at the same time.
    #[error("{0}")]
    Conflict(&'static str),
    /// The application updates itself too often.
    #[error("there were too many updates; try again after the time in Retry-After")]
    TooManyUpdates(RateLimitError),
    /// An internal error.
    #[error("the server could not answer; try again")]
    Internal(#[from] InternalError),
}

impl RegistrationError {
    /// Returns the `error` code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidToken => "invalid_token",
            Self::InvalidRedirectUri(_) => "invalid_redirect_uri",
            Self::InvalidMetadata(_) => "invalid_client_metadata",
            Self::InvalidSoftwareStatement(_) => "invalid_software_statement",
            Self::UnapprovedSoftwareStatement => "unapproved_software_statement",
            Self::InvalidProof(_) => "invalid_dpop_proof",
            Self::UseNonce => "use_dpop_nonce",
            Self::Forbidden(_) => "access_denied",
            Self::Conflict(_) | Self::TooManyUpdates(_) => "temporarily_unavailable",
            Self::Internal(cause) if cause.is_outage() => "temporarily_unavailable",
            Self::Internal(_) => "server_error",
        }
    }

    /// Returns the error for a value of this metadata member.
    pub(super) fn of_member(member: &str, expected: &str) -> Self {
        let text = format!("{member}: {expected}");
        match member {
            "redirect_uris" => Self::InvalidRedirectUri(text),
            _ => Self::InvalidMetadata(text),
        }
    }
}

impl From<ProofError> for RegistrationError {
    fn from(error: ProofError) -> Self {
        match error {
            ProofError::Invalid(reason) => Self::InvalidProof(reason),
            ProofError::UseNonce => Self::UseNonce,
            ProofError::Internal(error) => Self::Internal(error),
        }
    }
}

impl From<AdminError> for RegistrationError {
    fn from(error: AdminError) -> Self {
        match error {
            AdminError::Invalid { field, expected } => {
                Self::of_member(metadata_member(field), &expected)
            }
            AdminError::Forbidden(why) => Self::Forbidden(why),
            AdminError::Conflict(why) => Self::Conflict(why),
            AdminError::NotFound(_) => Self::InvalidToken,
            AdminError::Internal(error) => Self::Internal(error),
            error => Self::InvalidMetadata(error.to_string()),
        }
    }
}

/// Returns the metadata member of a member of the admin API.
fn metadata_member(field: &str) -> &str {
    match field {
        "name" => "client_name",
        "scopes" => "scope",
        "sector_identifier" => "sector_identifier_uri",
        "certificate" => "jwks",
        field => field,
    }
}
