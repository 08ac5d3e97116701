//! The references of error pages.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::routes::Area;
use crate::domain::Services;
use crate::domain::audit::moment_text;
use crate::domain::operations::telemetry::error_references::{CAPACITY, ErrorReference};
use crate::http::problem::Problem;
use assent_model::administration::Permission;
use assent_model::name::QuotedText;

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "error-references",
            "The reference numbers of error pages of this instance.",
        )
        .route("show", Permission::AuditRead, routes!(read))
}

/// An error page of this instance.
#[derive(Serialize, ToSchema)]
#[schema(as = ErrorReference)]
struct ErrorReferenceView {
    /// The number on the page.
    reference: String,
    /// The id of the request (`x-request-id`), which all its log lines have; empty if the page was not the response to
    /// a request.
    request_id: String,
    /// When the page was shown.
    #[schema(format = DateTime)]
    at: String,
    /// The HTTP status.
    status: u16,
    /// The title of the page, in English.
    page: String,
    /// The cause, as the log has it.
    cause: String,
}

/// Look up an error page by its reference number or its request id.
///
/// An instance knows its newest 4,096 client errors (status 400 to 499) and its newest 4,096 other error pages since it
/// started. The log has all of them.
#[utoipa::path(
    get,
    path = "/error-references/{reference}",
    responses((status = 200, description = "The error page and its cause.", body = ErrorReferenceView))
)]
async fn read(
    State(services): State<Arc<Services>>,
    Path(reference): Path<String>,
) -> Result<Json<ErrorReferenceView>, Problem> {
    let found = services.error_references.find(reference.trim());
    let ErrorReference {
        reference,
        request,
        at,
        status,
        page,
        cause,
    } = found.ok_or_else(|| unknown_reference(&reference))?;
    Ok(Json(ErrorReferenceView {
        reference,
        request_id: request,
        at: moment_text(at),
        status,
        page,
        cause,
    }))
}

fn unknown_reference(reference: &str) -> Problem {
    let detail = format!(
        "this instance knows no error page with the reference {}: it keeps the newest {CAPACITY} of each kind since it \
         started; search the log of all instances for that reference",
        QuotedText::new(reference)
    );
    Problem::new(StatusCode::NOT_FOUND, detail)
}
