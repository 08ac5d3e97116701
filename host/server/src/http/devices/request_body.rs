//! The bodies of calls.

use serde::Deserialize;

use crate::http::devices::device_api_error::DeviceApiError;
use crate::http::devices::error_code::ErrorCode;

use assent_model::text::bytes_without_mark;

/// Parses a body. Unknown members are ignored, unless the type denies them.
pub(crate) fn parse<T: for<'a> Deserialize<'a>>(body: &[u8]) -> Result<T, DeviceApiError> {
    serde_json::from_slice(bytes_without_mark(body)).map_err(|_| ErrorCode::InvalidRequest.into())
}
