//! Checks of callers: whether the user of an account is on the phone now.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::context::Context;
use super::input::{Query, id_of};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{
    self, AdminError, AskCaller, Caller, CallerCheckState, ShownCallerCheck,
};
use crate::domain::audit::moment_text;
use crate::http::problem::Problem;
use assent_model::administration::Permission;
use assent_model::id::CallerCheckId;

/// The maximum time for which a response waits, in seconds.
const LONGEST_WAIT: u64 = 25;

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "caller-checks",
            "Checks of callers: a help desk asks the phone of a user whether the user is on the line.",
        )
        .route("ask", Permission::UsersVerify, routes!(ask))
        .route("show", Permission::UsersVerify, routes!(read))
        .route("cancel", Permission::UsersVerify, routes!(cancel))
}

/// A check of a caller. Only the administrator who began it can read it. It gives no session and no token.
#[derive(Serialize, ToSchema)]
#[schema(as = CallerCheck)]
struct CallerCheckView {
    id: String,
    user_id: String,
    state: CallerCheckState,
    /// The two digits to read aloud to the caller, who types them on the device; `null` once the check has ended.
    number: Option<String>,
    #[schema(format = DateTime)]
    requested_at: String,
    #[schema(format = DateTime)]
    expires_at: String,
    /// When the user approved.
    #[schema(format = DateTime)]
    approved_at: Option<String>,
}

impl From<ShownCallerCheck> for CallerCheckView {
    fn from(shown: ShownCallerCheck) -> Self {
        let ShownCallerCheck {
            check,
            state,
            number,
            approved_at,
        } = shown;
        Self {
            id: check.id.to_string(),
            user_id: check.user.to_string(),
            state,
            number,
            requested_at: moment_text(check.requested_at),
            expires_at: moment_text(check.expires_at),
            approved_at: approved_at.map(moment_text),
        }
    }
}

/// Ask the phone of a user whether the user is on the line.
///
/// The device shows the name of the administrator and of this server's operator. Read the number aloud: the caller
/// types it, so that no user approves by habit. One check of a user waits at a time. The result is in the audit log.
#[utoipa::path(
    post,
    path = "/users/{id}/caller-checks",
    responses((status = 201, description = "The check, which waits for the user.", body = CallerCheckView)),
)]
async fn ask(
    context: Context,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<CallerCheckView>), Problem> {
    let asked = context.run(AskCaller(id_of(&id, "user")?)).await?;
    Ok((StatusCode::CREATED, Json(asked.into())))
}

/// The query parameter of the wait for an answer.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AnswerWaitQuery {
    /// The time to wait for the answer, in seconds; 25 at most.
    #[serde(default)]
    #[param(minimum = 0, maximum = 25)]
    wait: u64,
}

/// Read a check of a caller that this administrator began.
#[utoipa::path(
    get,
    path = "/caller-checks/{id}",
    params(AnswerWaitQuery),
    responses((status = 200, description = "The check.", body = CallerCheckView))
)]
async fn read(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Query(AnswerWaitQuery { wait }): Query<AnswerWaitQuery>,
) -> Result<Json<CallerCheckView>, Problem> {
    let id: CallerCheckId = id_of(&id, "caller check")?;
    let by = &caller.by.actor;
    let patience = std::time::Duration::from_secs(wait.min(LONGEST_WAIT));
    // After the wait, a check without an answer is reported as waiting.
    tokio::select! {
        biased;
        answered = admin::wait_for_caller(&services, by, id) => answered?,
        () = tokio::time::sleep(patience) => {}
        () = services.draining.interrupts() => {}
    }
    let shown = admin::caller_check(&services, by, id).await?;
    let shown = shown.ok_or(AdminError::NotFound("caller check"))?;
    Ok(Json(shown.into()))
}

/// Cancel a check of a caller that this administrator began.
///
/// The device no longer shows the request.
#[utoipa::path(
    delete,
    path = "/caller-checks/{id}",
    responses((status = 204, description = "The check is cancelled, unless the user answered before."))
)]
async fn cancel(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let id: CallerCheckId = id_of(&id, "caller check")?;
    match admin::cancel_caller_check(&services, &caller.by.actor, id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(AdminError::NotFound("caller check").into()),
    }
}
