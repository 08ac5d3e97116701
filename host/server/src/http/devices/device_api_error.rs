//! The error responses of the authenticator API.

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use webauthn_rs::prelude::RequestChallengeResponse;

use crate::domain::InternalError;
use crate::domain::devices::passkey_schemas::{self, PasskeyRequestOptions};
use crate::domain::operations::traffic::rate_limits::limit::RateLimitError;
use crate::http::devices::error_code::ErrorCode;
use crate::http::devices::request_view::OtherRequest;
use crate::http::reply::unavailable;
use assent_model::clock::Timestamp;
use assent_model::text::bytes_without_mark;

/// An error. Which of the optional members there are depends on the code.
#[derive(Serialize, ToSchema)]
#[schema(as = Error)]
pub(super) struct ErrorView {
    error: ErrorCode,
    /// An English sentence for a client that has no words of its own for the code.
    message: &'static str,
    /// With `clock_difference`: the server's time, in seconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    now: Option<i64>,
    /// With `too_many_calls` and `too_many_sign_ins`: when to try again, in seconds from now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    retry_after: Option<u64>,
    /// With `number_mismatch`: how often a number can still be typed. 0 if the request has ended by that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    attempts_left: Option<u32>,
    /// With `number_mismatch`: the unexpired request of the same user that has the typed number, if one has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    other_request: Option<OtherRequest>,
    /// With `passkey_required`: the options of the passkey request.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "passkey_schemas::request_options"
    )]
    #[schema(value_type = Option<PasskeyRequestOptions>, nullable = false)]
    options: Option<Box<RequestChallengeResponse>>,
}

/// A rejected call.
pub(crate) struct DeviceApiError(Box<ErrorView>);

/// Marks a response to a caller without a valid link or signature.
#[derive(Clone, Copy)]
pub(super) struct UnauthenticatedCaller;

impl DeviceApiError {
    /// Adds the server's time.
    pub(super) fn with_server_time(mut self, now: Timestamp) -> Self {
        self.0.now = Some(now.seconds());
        self
    }

    /// Adds the time until the next attempt.
    pub(crate) fn retry_after(mut self, exhausted: RateLimitError) -> Self {
        self.0.retry_after = Some(exhausted.seconds());
        self
    }

    /// Creates the error for a typed number that differs from the request's.
    pub(super) fn number_mismatch(attempts_left: u32, other: Option<OtherRequest>) -> Self {
        let mut failure = Self::from(ErrorCode::NumberMismatch);
        failure.0.attempts_left = Some(attempts_left);
        failure.0.other_request = other;
        failure
    }

    /// Creates the error for a call that the passkey must confirm, with these options.
    pub(super) fn passkey_required(options: Box<RequestChallengeResponse>) -> Self {
        let mut failure = Self::from(ErrorCode::PasskeyRequired);
        failure.0.options = Some(options);
        failure
    }
}

impl From<ErrorCode> for DeviceApiError {
    fn from(error: ErrorCode) -> Self {
        Self(Box::new(ErrorView {
            error,
            message: error.text(),
            now: None,
            retry_after: None,
            attempts_left: None,
            other_request: None,
            options: None,
        }))
    }
}

impl From<InternalError> for DeviceApiError {
    fn from(error: InternalError) -> Self {
        tracing::error!(%error, "authenticator API request failed");
        if error.is_outage() {
            ErrorCode::TemporarilyUnavailable.into()
        } else {
            ErrorCode::ServerError.into()
        }
    }
}

impl IntoResponse for DeviceApiError {
    fn into_response(self) -> Response {
        let code = self.0.error;
        let mut response = (code.status(), Json(self.0)).into_response();
        if code == ErrorCode::TemporarilyUnavailable {
            response = unavailable(response);
        }
        if code.is_unauthenticated() {
            response.extensions_mut().insert(UnauthenticatedCaller);
        }
        response
    }
}

/// Parses a body. Unknown members are ignored, unless the type denies them.
pub(crate) fn parse<T: for<'a> Deserialize<'a>>(body: &[u8]) -> Result<T, DeviceApiError> {
    serde_json::from_slice(bytes_without_mark(body)).map_err(|_| ErrorCode::InvalidRequest.into())
}
