//! Problem details (RFC 9457), the errors of the admin API.

use axum::Json;
use axum::http::header::{CONTENT_LANGUAGE, CONTENT_TYPE, VARY};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_path_to_error::{Path, Segment};
use utoipa::ToSchema;

use crate::domain::InternalError;
use crate::domain::admin::{AdminError, ManifestError, RequiredApproval};
use crate::http::api::error_kinds::error_kinds;
use crate::http::reply::unavailable;
use assent_model::language::Language;

error_kinds! {
    ProblemKind, "The type of the problem. The names are stable: programs rely on them.";
    /// The request cannot be read: its JSON, query or a header is malformed.
    Malformed = "urn:assent:problem:malformed", BAD_REQUEST, "The request cannot be read";
    /// The caller is not authenticated: the token is missing or not valid, or the session is not sufficient.
    Unauthenticated = "urn:assent:problem:unauthenticated", UNAUTHORIZED, "Sign in first";
    /// The caller has no permission for this.
    Forbidden = "urn:assent:problem:forbidden", FORBIDDEN, "Not allowed";
    /// A browser's request does not show that it comes from the console's page.
    CrossSite = "urn:assent:problem:cross-site", FORBIDDEN, "Cross-site request";
    /// The action is protected, and the administrator's device has a request to approve it. `action_approval` has the
    /// number to type there. After the approval, the same request with the header `X-Assent-Action-Approval` runs the
    /// action.
    ApprovalRequired = "urn:assent:problem:approval-required", FORBIDDEN, "Approval required";
    /// The object does not exist.
    NotFound = "urn:assent:problem:not-found", NOT_FOUND, "Not found";
    /// The path does not support the method. `Allow` lists the supported methods.
    Method = "urn:assent:problem:method-not-allowed", METHOD_NOT_ALLOWED, "Method not allowed";
    /// The current state does not permit this, or the object exists already.
    Conflict = "urn:assent:problem:conflict", CONFLICT, "Conflict";
    /// Another user is signed in in this browser now than the one in `X-Assent-User`. Nothing was read or changed.
    OtherUser = "urn:assent:problem:other-user", CONFLICT, "Another user is signed in";
    /// The plan of a manifest differs from the approved plan. Create a new plan.
    PlanChanged = "urn:assent:problem:plan-changed", CONFLICT, "Plan changed";
    /// The response to the first request with this `Idempotency-Key` is still pending.
    InProgress = "urn:assent:problem:in-progress", CONFLICT, "In progress";
    /// The first request with this `Idempotency-Key` made changes, but its response was lost.
    ResponseLost = "urn:assent:problem:response-lost", CONFLICT, "Response lost";
    /// The SMTP server did not accept an email. `detail` has its answer.
    MailFailed = "urn:assent:problem:mail-failed", CONFLICT, "Email not sent";
    /// The object has another version than `If-Match` names.
    Stale = "urn:assent:problem:precondition-failed", PRECONDITION_FAILED, "Precondition failed";
    /// The body is too large: 64 KiB at most, 12 MiB for a file; or the file has too many rows.
    TooLarge = "urn:assent:problem:too-large", PAYLOAD_TOO_LARGE, "Too large";
    /// The endpoint does not accept the media type of the body.
    MediaType = "urn:assent:problem:unsupported-media-type", UNSUPPORTED_MEDIA_TYPE, "Unsupported media type";
    /// A value is not valid. `errors` names it.
    Invalid = "urn:assent:problem:invalid", UNPROCESSABLE_ENTITY, "Invalid value";
    /// The `Idempotency-Key` was used with another body.
    KeyReused = "urn:assent:problem:idempotency-key-reused", UNPROCESSABLE_ENTITY, "Idempotency-Key reused";
    /// There were too many requests without a valid token, or the server runs too many requests of this kind at the
    /// same time.
    TooMany = "urn:assent:problem:too-many-requests", TOO_MANY_REQUESTS, "Too many requests";
    /// The server failed; its log says why.
    Internal = "urn:assent:problem:internal", INTERNAL_SERVER_ERROR, "The server failed";
    /// The response took too long, or the database is not available at the moment. `Retry-After` may say when to retry.
    Unavailable = "urn:assent:problem:unavailable", SERVICE_UNAVAILABLE, "Unavailable";
}

impl From<StatusCode> for ProblemKind {
    /// Returns the first problem type with this status.
    fn from(status: StatusCode) -> Self {
        let other = if status.is_client_error() {
            Self::Malformed
        } else {
            Self::Internal
        };
        let mut kinds = Self::ALL.iter().map(|(kind, _)| *kind);
        kinds.find(|kind| kind.status() == status).unwrap_or(other)
    }
}

/// A value that is not valid.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct FieldProblem {
    /// The position in the body: a JSON pointer (RFC 6901).
    pointer: String,
    /// The expected value.
    detail: String,
}

/// An error of the admin API.
#[derive(Debug)]
pub(super) struct Problem {
    kind: ProblemKind,
    detail: String,
    errors: Vec<FieldProblem>,
    action_approval: Option<Box<ActionApprovalView>>,
    /// The language of the summary of `action_approval`.
    language: Option<Language>,
}

/// A pending action approval.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ActionApproval)]
pub(super) struct ActionApprovalView {
    /// Its id.
    pub(super) id: String,
    /// The summary of the action, in the language that `Accept-Language` prefers: English (the default) or German.
    /// `Content-Language` names it. The device shows the summary in its own language.
    pub(super) summary: String,
    /// The number to type on the device.
    pub(super) number: String,
    /// When the request expires.
    pub(super) expires_at: String,
}

/// A problem (RFC 9457).
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(super) struct ProblemView {
    #[serde(rename = "type")]
    kind: ProblemKind,
    /// A short description of the problem type.
    title: &'static str,
    /// The status of the response.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What is wrong, and what would be valid.
    detail: String,
    /// The values of the body that are not valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    errors: Vec<FieldProblem>,
    /// The pending approval, where the action requires one.
    #[serde(skip_serializing_if = "Option::is_none")]
    action_approval: Option<Box<ActionApprovalView>>,
}

impl Problem {
    /// Returns the description of the problem.
    #[cfg(test)]
    pub(super) fn detail(&self) -> &str {
        &self.detail
    }

    /// Creates a problem of the first type that has this status.
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self::with_kind(status.into(), detail)
    }

    pub(super) fn with_kind(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            errors: Vec::new(),
            action_approval: None,
            language: None,
        }
    }

    /// Creates a problem for a member of the body that is not valid.
    pub(super) fn field(field: &str, expected: &str) -> Self {
        Self::with_field(ProblemKind::Invalid, field, expected)
    }

    /// Creates a problem about one member of the body.
    fn with_field(kind: ProblemKind, field: &str, detail: &str) -> Self {
        let errors = vec![FieldProblem {
            pointer: format!("/{field}"),
            detail: detail.to_owned(),
        }];
        Self {
            errors,
            ..Self::with_kind(kind, format!("{field}: {detail}"))
        }
    }

    /// Creates a problem for the objects of a manifest that are not valid.
    fn manifest(errors: &[ManifestError]) -> Self {
        let detail = match errors {
            [one] => one.to_string(),
            several => format!("the manifest has {} errors", several.len()),
        };
        let errors = errors.iter().map(|error| FieldProblem {
            pointer: error.pointer.clone(),
            detail: error.detail.clone(),
        });
        Self {
            errors: errors.collect(),
            ..Self::with_kind(ProblemKind::Invalid, detail)
        }
    }

    /// Creates the problem for a protected action with a pending approval.
    fn approval_required(required: &RequiredApproval) -> Self {
        let RequiredApproval {
            pending,
            summary,
            language,
        } = required;
        let detail = format!(
            "type {} on your device to approve: {}",
            pending.number,
            summary.text(Language::English)
        );
        let approval = ActionApprovalView {
            id: pending.id.to_string(),
            summary: summary.text(*language),
            number: pending.number.clone(),
            expires_at: crate::domain::audit::moment_text(pending.expires_at),
        };
        Self {
            action_approval: Some(Box::new(approval)),
            language: Some(*language),
            ..Self::with_kind(ProblemKind::ApprovalRequired, detail)
        }
    }

    /// Creates the problem for a body that is not a JSON object.
    pub(super) fn no_object() -> Self {
        let errors = vec![FieldProblem {
            pointer: String::new(),
            detail: "expected an object".to_owned(),
        }];
        Self {
            errors,
            ..Self::with_kind(
                ProblemKind::Malformed,
                "the body is not the JSON expected here: expected an object",
            )
        }
    }

    /// Creates the problem for a body that is not the expected JSON.
    pub(super) fn body(error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        let errors = vec![FieldProblem {
            pointer: pointer(error.path()),
            detail: error.inner().to_string(),
        }];
        let detail = format!("the body is not the JSON expected here: {error}");
        Self {
            errors,
            ..Self::with_kind(ProblemKind::Malformed, detail)
        }
    }
}

/// Returns a path as a JSON pointer (RFC 6901).
fn pointer(path: &Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
            Segment::Map { key } => {
                pointer.push_str(&format!("/{}", key.replace('~', "~0").replace('/', "~1")));
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    pointer
}

impl From<AdminError> for Problem {
    fn from(refused: AdminError) -> Self {
        let kind = match &refused {
            AdminError::Invalid { field, expected } => return Self::field(field, expected),
            AdminError::TakenAt(field, why) => {
                return Self::with_field(ProblemKind::Conflict, field, why);
            }
            AdminError::Manifest(errors) => return Self::manifest(errors),
            AdminError::PlanChanged => ProblemKind::PlanChanged,
            AdminError::NotFound(_) => ProblemKind::NotFound,
            AdminError::Taken(_) | AdminError::Conflict(_) => ProblemKind::Conflict,
            AdminError::Mail(_) => ProblemKind::MailFailed,
            AdminError::Forbidden(_) => ProblemKind::Forbidden,
            AdminError::Stale => ProblemKind::Stale,
            AdminError::TooMany(_) => ProblemKind::TooMany,
            AdminError::ApprovalRequired(required) => return Self::approval_required(required),
            AdminError::Internal(error) if error.is_outage() => {
                tracing::error!(%error, "admin API request failed");
                return Self::with_kind(
                    ProblemKind::Unavailable,
                    "the database cannot be reached at the moment; try again",
                );
            }
            AdminError::Internal(_) => {
                tracing::error!(error = %refused, "admin API request failed");
                return Self::with_kind(
                    ProblemKind::Internal,
                    "the server could not do this; try again",
                );
            }
        };
        Self::with_kind(kind, refused.to_string())
    }
}

impl From<InternalError> for Problem {
    fn from(error: InternalError) -> Self {
        AdminError::from(error).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.kind.status();
        let title = self.kind.text();
        let view = ProblemView {
            kind: self.kind,
            title,
            status: status.as_u16(),
            detail: self.detail,
            errors: self.errors,
            action_approval: self.action_approval,
        };
        let mut response = (status, Json(view)).into_response();
        response.headers_mut().insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Some(language) = self.language {
            let tag = HeaderValue::from_static(language.tag());
            response.headers_mut().insert(CONTENT_LANGUAGE, tag);
            let varies = HeaderValue::from_static("accept-language");
            response.headers_mut().append(VARY, varies);
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response = unavailable(response);
        }
        if status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert("www-authenticate", HeaderValue::from_static("Bearer"));
        }
        response
    }
}
