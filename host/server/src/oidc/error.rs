//! The errors of the protocol, in their wire form. The public text is for the application's developer; what only the
//! operator may know goes to the log where it happens.

use crate::domain::InternalError;
use crate::domain::operations::rate_limits::RateLimitError;

/// An error of the token endpoint (RFC 6749 section 5.2).
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// A required parameter is missing or malformed.
    #[error("{0}")]
    InvalidRequest(String),
    /// Client authentication failed. Whether the `Authorization` header was used decides about `WWW-Authenticate`.
    #[error("client authentication failed: {reason}")]
    InvalidClient {
        /// Whether the client used the `Authorization` header.
        by_header: bool,
        /// The reason, if it is not valid.
        reason: &'static str,
    },
    /// The code is invalid, expired or already used, or was issued for something else.
    #[error("{0}")]
    InvalidGrant(&'static str),
    /// A scope is unknown, or not for this client.
    #[error("{0}")]
    InvalidScope(&'static str),
    /// The client may not use the grant type.
    #[error("the application may not use this grant type")]
    UnauthorizedClient,
    /// An administrator disabled the application.
    #[error("the application is disabled")]
    ApplicationDisabled,
    /// The grant type is unknown.
    #[error(
        "the grant type is not supported; expected authorization_code, refresh_token or client_credentials"
    )]
    UnsupportedGrantType,
    /// The client failed to authenticate too often.
    #[error("client authentication failed too often; try again later")]
    TooManyFailures(RateLimitError),
    /// Too many calls wait for the plugins already.
    #[error("too many requests at once; try again after the time in Retry-After")]
    Busy,
    /// An internal error.
    #[error("the server could not answer; try again")]
    Internal(#[from] InternalError),
}

impl TokenError {
    /// The `error` code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidRequest(_) => "invalid_request",
            Self::InvalidClient { .. } => "invalid_client",
            Self::InvalidGrant(_) => "invalid_grant",
            Self::InvalidScope(_) => "invalid_scope",
            Self::UnauthorizedClient | Self::ApplicationDisabled => "unauthorized_client",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::TooManyFailures(_) | Self::Busy => "temporarily_unavailable",
            Self::Internal(cause) if cause.is_outage() => "temporarily_unavailable",
            Self::Internal(_) => "server_error",
        }
    }
}

/// An error that goes back to the application by redirect (RFC 6749 section 4.1.2.1, OpenID Connect Core section
/// 3.1.2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorizeErrorCode {
    /// A parameter is missing, malformed or repeated.
    InvalidRequest,
    /// The scope has no `openid`.
    InvalidScope,
    /// Not `code`.
    UnsupportedResponseType,
    /// The application may not use the authorization code grant.
    UnauthorizedClient,
    /// `prompt=none`, and nobody is signed in; or somebody else is than the one who was meant.
    LoginRequired,
    /// `prompt=none`, and the person has to agree first.
    ConsentRequired,
    /// None of the `acr` values will do that the application can't do without (OpenID Connect Unmet Authentication
    /// Requirements).
    UnmetAuthenticationRequirements,
    /// The person denied, or did not answer, or may not use the application.
    AccessDenied,
    /// `request` is not supported.
    RequestNotSupported,
    /// `request_uri` is not supported.
    RequestUriNotSupported,
    /// `registration` is not supported.
    RegistrationNotSupported,
    /// The server, or a plugin, broke.
    ServerError,
}

impl AuthorizeErrorCode {
    /// The `error` code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidScope => "invalid_scope",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::LoginRequired => "login_required",
            Self::ConsentRequired => "consent_required",
            Self::UnmetAuthenticationRequirements => "unmet_authentication_requirements",
            Self::AccessDenied => "access_denied",
            Self::RequestNotSupported => "request_not_supported",
            Self::RequestUriNotSupported => "request_uri_not_supported",
            Self::RegistrationNotSupported => "registration_not_supported",
            Self::ServerError => "server_error",
        }
    }
}
