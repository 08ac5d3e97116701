//! Limits of large request bodies: imports and manifests.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::domain::Services;
use crate::domain::admin::Caller;
use crate::domain::operations::traffic::rate_limits::keys::CallerKey;
use crate::domain::operations::traffic::rate_limits::limit::ConcurrencyPermit;
use crate::http::admin_api::input;
use crate::http::problem::{Problem, ProblemKind};

/// The permit of the one import that an instance runs at a time.
pub(super) type ImportPermit = Arc<ConcurrencyPermit<()>>;

/// Runs one import at a time, after its body was read, so that a slow upload delays no other import.
pub(super) async fn limit_imports(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    request: Request,
    next: Next,
) -> Response {
    let mut request = match read_body(&services, &caller, request).await {
        Ok(request) => request,
        Err(problem) => return problem.into_response(),
    };
    let Some(held) = services.rate_limits.import.hold(()) else {
        let detail =
            "another table is imported at this moment; send this one again when that is done";
        return Problem::with_kind(ProblemKind::TooMany, detail).into_response();
    };
    request
        .extensions_mut()
        .insert::<ImportPermit>(Arc::new(held));
    next.run(request).await
}

/// Limits the number of concurrent plans, one for each caller, because a manifest is in memory until its plan is
/// complete.
pub(super) async fn limit_plans(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    request: Request,
    next: Next,
) -> Response {
    let limits = &services.rate_limits;
    let Some(_own) = limits.plans_of.hold(CallerKey::from(&caller.by.actor)) else {
        let detail = "another plan of yours is in progress; send this one again when it is done";
        return Problem::with_kind(ProblemKind::TooMany, detail).into_response();
    };
    let Some(_any) = limits.plans.hold(()) else {
        let detail =
            "there are too many plans at this moment; send this one again in a few seconds";
        return Problem::with_kind(ProblemKind::TooMany, detail).into_response();
    };
    next.run(request).await
}

/// Reads the body of a request. A caller uploads one at a time, and all callers together a few, because the whole body
/// is in memory.
async fn read_body(
    services: &Services,
    caller: &Caller,
    request: Request,
) -> Result<Request, Problem> {
    let too_many = |detail: &str| Problem::with_kind(ProblemKind::TooMany, detail);
    let _own = services
        .rate_limits
        .uploads_of
        .hold(CallerKey::from(&caller.by.actor))
        .ok_or_else(|| {
            too_many("another upload of yours is in progress; send this one again when it is done")
        })?;
    let _any = services.rate_limits.uploads.hold(()).ok_or_else(|| {
        too_many("there are too many uploads at this moment; send this one again in a minute")
    })?;
    let (parts, body) = request.into_parts();
    let bytes = input::body(Request::from_parts(parts.clone(), body), &()).await?;
    Ok(Request::from_parts(parts, Body::from(bytes)))
}
