//! Bearer tokens (RFC 6750).

use crate::domain::{InternalError, Services};
use crate::oidc::tokens::{Presented, PresentedText, ValidAccess};
use assent_model::scope::Scope;
use assent_model::secret::Digest;

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
            Self::InsufficientScope(_) => Some("insufficient_scope"),
            Self::Busy => Some("temporarily_unavailable"),
            Self::Internal(cause) if cause.is_outage() => Some("temporarily_unavailable"),
            Self::Internal(_) => Some("server_error"),
        }
    }
}

/// Reads the `Authorization` header.
///
/// # Errors
/// [`BearerError`] if the header is missing, has another scheme or is malformed.
pub fn token_of(authorization: Option<&str>) -> Result<&str, BearerError> {
    let header = authorization.ok_or(BearerError::Missing)?;
    let (scheme, token) = header.split_once(' ').unwrap_or((header, ""));
    // Another authentication scheme counts as no token (section 3.1).
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(BearerError::Missing);
    }
    if token.is_empty() {
        return Err(BearerError::InvalidRequest);
    }
    Ok(token.trim())
}

/// A token that a client presented at a protected endpoint.
#[derive(Clone, Copy, Debug)]
pub struct BearerToken<'a> {
    /// The token.
    pub token: &'a str,
    /// The certificate of the connection, DER.
    pub certificate: Option<&'a [u8]>,
}

/// Returns the grant of an access token, if the token is valid and the caller presents the certificate to which it is
/// bound (RFC 8705 section 3). It does not check whether the user may still use the application.
///
/// # Errors
/// [`BearerError`] if the token is not valid or the database fails.
pub async fn accept(
    services: &Services,
    shown: BearerToken<'_>,
) -> Result<ValidAccess, BearerError> {
    let text = PresentedText::access(services, shown.token).ok_or(BearerError::InvalidToken)?;
    let presented = Presented::read(services, text).await?;
    let found = presented.into_valid_access(services).await?;
    let found = found.ok_or(BearerError::InvalidToken)?;
    let bound_to = found.grant.certificate;
    if bound_to.is_some() && bound_to != shown.certificate.map(Digest::sha256) {
        return Err(BearerError::InvalidToken);
    }
    Ok(found)
}
