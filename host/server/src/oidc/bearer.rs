//! Bearer tokens (RFC 6750).

use crate::domain::{InternalError, Services};
use crate::oidc::tokens::{self, ValidAccess};
use assent_model::scope::Scope;
use assent_model::secret::Digest;

/// Why a bearer token was not accepted (RFC 6750 section 3.1).
#[derive(Debug, thiserror::Error)]
pub enum BearerError {
    /// There is none.
    #[error("an access token is required")]
    Missing,
    /// It was sent in two ways, or malformed.
    #[error("send the access token once, in the Authorization header")]
    InvalidRequest,
    /// It is unknown, expired or revoked, or the person may no longer use the application.
    #[error("the access token is invalid, expired or revoked")]
    InvalidToken,
    /// It lacks this scope.
    #[error("the access token lacks the scope {}", .0.as_str())]
    InsufficientScope(Scope),
    /// Too many calls wait for the plugins already, of this token or in all.
    #[error("too many requests at once; try again after the time in Retry-After")]
    Busy,
    /// An internal error.
    #[error("the server could not answer; try again")]
    Internal(#[from] InternalError),
}

impl BearerError {
    /// The `error` code; none where the request has no token at all.
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
pub fn token_of(authorization: Option<&str>) -> Result<&str, BearerError> {
    let header = authorization.ok_or(BearerError::Missing)?;
    let (scheme, token) = header.split_once(' ').unwrap_or((header, ""));
    // Section 3.1: another way to authenticate is none.
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(BearerError::Missing);
    }
    if token.is_empty() {
        return Err(BearerError::InvalidRequest);
    }
    Ok(token.trim())
}

/// A token as a protected endpoint was shown it.
#[derive(Clone, Copy, Debug)]
pub struct BearerToken<'a> {
    /// The token.
    pub token: &'a str,
    /// The certificate of the connection, DER.
    pub certificate: Option<&'a [u8]>,
}

/// What an access token stands for, if it is valid, and if the caller presents the certificate that it is bound to (RFC
/// 8705 section 3). Whether its user may still use the application is not checked.
pub async fn accept(
    services: &Services,
    shown: BearerToken<'_>,
) -> Result<ValidAccess, BearerError> {
    let found = tokens::valid_access(services, shown.token)
        .await?
        .ok_or(BearerError::InvalidToken)?;
    let bound_to = found.grant.certificate;
    if bound_to.is_some() && bound_to != shown.certificate.map(Digest::sha256) {
        return Err(BearerError::InvalidToken);
    }
    Ok(found)
}
