//! The errors of the protocol, in their wire form. The public text is for the application's developer. Details that
//! only the operator may know go to the log at the place of the error.

use crate::domain::InternalError;
use crate::domain::operations::traffic::rate_limits::limit::RateLimitError;

/// An error of the token endpoint (RFC 6749 section 5.2).
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// A required parameter is missing or malformed.
    #[error("{0}")]
    InvalidRequest(String),
    /// Client authentication failed. The response has `WWW-Authenticate` only if the client used the `Authorization`
    /// header.
    #[error("client authentication failed: {reason}")]
    InvalidClient {
        /// Whether the client used the `Authorization` header.
        by_header: bool,
        /// The reason.
        reason: &'static str,
    },
    /// The code is invalid, expired or already used, or was issued for something else.
    #[error("{0}")]
    InvalidGrant(&'static str),
    /// The DPoP proof is not valid (RFC 9449 section 5).
    #[error("the DPoP proof is not valid: {0}")]
    InvalidProof(&'static str),
    /// The DPoP proof lacks a current nonce (RFC 9449 section 8).
    #[error("the DPoP proof must have the nonce of the header DPoP-Nonce")]
    UseNonce,
    /// A pushed request has an error of the authorization endpoint (RFC 9126 section 2.3).
    #[error("{description}")]
    Pushed {
        /// The error.
        code: AuthorizeErrorCode,
        /// The reason.
        description: String,
    },
    /// A scope is unknown, or not for this client.
    #[error("{0}")]
    InvalidScope(&'static str),
    /// The authorization details are not those of the grant (RFC 9396 section 6).
    #[error("{0}")]
    InvalidAuthorizationDetails(String),
    /// The client may not use the grant type.
    #[error("the application may not use this grant type")]
    UnauthorizedClient,
    /// An administrator disabled the application.
    #[error("the application is disabled")]
    ApplicationDisabled,
    /// The user has not answered the back-channel request (OpenID CIBA Core 1.0 section 11).
    #[error("the user has not answered yet")]
    AuthorizationPending,
    /// The same, and the client polls too fast.
    #[error("the user has not answered yet; wait five seconds longer between two requests")]
    SlowDown,
    /// The back-channel request expired without an approval.
    #[error("the request expired; send a new one")]
    ExpiredToken,
    /// The user denied the back-channel request, or may not use the application.
    #[error("{0}")]
    AccessDenied(&'static str),
    /// No user with access to the application has the hint of a back-channel request (OpenID CIBA Core 1.0 section 13).
    #[error("no user of the application has this hint")]
    UnknownUser,
    /// The `login_hint_token` of a back-channel request has expired (OpenID CIBA Core 1.0 section 13).
    #[error("the login_hint_token has expired")]
    ExpiredLoginHintToken,
    /// The application has no receipt with this identifier.
    #[error("the application has no receipt with this id")]
    UnknownReceipt,
    /// The message of a back-channel request is not acceptable.
    #[error("{0}")]
    InvalidBindingMessage(String),
    /// The client sent too many back-channel requests.
    #[error("there were too many back-channel requests; try again later")]
    TooMany(RateLimitError),
    /// The grant type is unknown.
    #[error(
        "the grant type is not supported; expected authorization_code, refresh_token, client_credentials or \
         urn:openid:params:grant-type:ciba, urn:ietf:params:oauth:grant-type:device_code"
    )]
    UnsupportedGrantType,
    /// The client failed to authenticate too often.
    #[error("client authentication failed too often; try again later")]
    TooManyFailures(RateLimitError),
    /// Too many calls already wait for the plugins.
    #[error("too many requests at once; try again after the time in Retry-After")]
    Busy,
    /// An internal error.
    #[error("the server could not answer; try again")]
    Internal(#[from] InternalError),
}

impl TokenError {
    /// The user or the account was suspended or terminated since the grant.
    pub(super) const ACCOUNT_CLOSED: Self =
        Self::InvalidGrant("the user may no longer use the application");

    /// The DPoP proof was used before.
    pub(in crate::oidc) const PROOF_REPLAYED: Self = Self::InvalidProof(PROOF_REUSED);

    /// The `error` code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidRequest(_) => "invalid_request",
            Self::InvalidClient { .. } => "invalid_client",
            Self::InvalidGrant(_) => "invalid_grant",
            Self::InvalidProof(_) => "invalid_dpop_proof",
            Self::UseNonce => "use_dpop_nonce",
            Self::Pushed { code, .. } => code.as_str(),
            Self::InvalidScope(_) => "invalid_scope",
            Self::InvalidAuthorizationDetails(_) => "invalid_authorization_details",
            Self::UnauthorizedClient | Self::ApplicationDisabled => "unauthorized_client",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::AuthorizationPending => "authorization_pending",
            Self::SlowDown => "slow_down",
            Self::ExpiredToken => "expired_token",
            Self::AccessDenied(_) => "access_denied",
            Self::UnknownUser => "unknown_user_id",
            Self::ExpiredLoginHintToken => "expired_login_hint_token",
            Self::UnknownReceipt => "not_found",
            Self::InvalidBindingMessage(_) => "invalid_binding_message",
            Self::TooManyFailures(_) | Self::TooMany(_) | Self::Busy => "temporarily_unavailable",
            Self::Internal(cause) if cause.is_outage() => "temporarily_unavailable",
            Self::Internal(_) => "server_error",
        }
    }
}

/// An error that the browser's redirect takes to the application (RFC 6749 section 4.1.2.1, OpenID Connect Core section
/// 3.1.2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum AuthorizeErrorCode {
    /// A parameter is missing, malformed or repeated.
    InvalidRequest,
    /// The scope has no `openid`.
    InvalidScope,
    /// The authorization details have a mistake, or the application may not use their type (RFC 9396 section 5).
    InvalidAuthorizationDetails,
    /// The response type is not `code`.
    UnsupportedResponseType,
    /// The application may not use the authorization code grant.
    UnauthorizedClient,
    /// `prompt=none` without a sufficient session, or with the session of another user than the requested one.
    LoginRequired,
    /// `prompt=none`, and the user must consent first.
    ConsentRequired,
    /// `prompt=none` of a native application, which gets no code without a page, or with authorization details.
    InteractionRequired,
    /// The sign-in has none of the essential `acr` values (OpenID Connect Unmet Authentication Requirements).
    UnmetAuthenticationRequirements,
    /// The user denied, did not respond, or may not use the application.
    AccessDenied,
    /// The request object is not valid (RFC 9101 section 7).
    InvalidRequestObject,
    /// The request object at `request_uri` could not be fetched, or the address is not registered.
    InvalidRequestUri,
    /// The application has no keys for request objects.
    RequestNotSupported,
    /// The application has no addresses of request objects.
    RequestUriNotSupported,
    /// `registration` is not supported.
    RegistrationNotSupported,
    /// The server or a plugin failed.
    ServerError,
}
assent_model::enum_texts!(AuthorizeErrorCode);

/// The reason of a failed client authentication, for the client's developer. It contains only facts that every client
/// with knowledge of the client ID may know.
pub(crate) type Reason = &'static str;

/// The reason for which a proof that was used before is rejected.
pub(in crate::oidc) const PROOF_REUSED: Reason =
    "it was used before: its jti must be new each time";
