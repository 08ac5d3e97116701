//! Problem details (RFC 9457): the admin API's errors.

use axum::Json;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::domain::Broken;
use crate::domain::admin::Refused;

/// An error of the admin API.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    pub(super) detail: String,
}

impl Problem {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into() }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let status = match &refused {
            Refused::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Refused::NotFound(_) => StatusCode::NOT_FOUND,
            Refused::Taken(_) | Refused::Conflict(_) => StatusCode::CONFLICT,
            Refused::Broken(_) => {
                tracing::error!(error = %refused, "an administrator's request failed");
                return Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the server could not do this; try again");
            }
        };
        Self::new(status, refused.to_string())
    }
}

impl From<Broken> for Problem {
    fn from(broken: Broken) -> Self {
        Refused::from(broken).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let title = self.status.canonical_reason().unwrap_or("Error");
        let body =
            json!({"type": "about:blank", "title": title, "status": self.status.as_u16(), "detail": self.detail});
        let mut response = (self.status, Json(body)).into_response();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert("www-authenticate", HeaderValue::from_static("Bearer"));
        }
        response
    }
}
