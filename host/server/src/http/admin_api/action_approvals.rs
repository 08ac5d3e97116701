//! Action approvals: a console session needs the approval of its administrator's device for each protected action.
//! Operator tokens and service accounts have no device and need no approval, unless they name an administrator.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::authorize::ConsoleSession;
use super::input::{Query, id_of};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::action_approvals::{self, ActionState, Holder};
use crate::domain::admin::{AdminError, Caller};
use crate::http::problem::Problem;
use assent_model::administration::Permission;
use assent_model::id::ActionApprovalId;

/// The maximum time for which a response waits, in seconds.
const LONGEST_WAIT: u64 = 25;

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "action-approvals",
            "The approvals that protected actions of a console session need.",
        )
        .route("show", Permission::Me, routes!(read))
        .route("cancel", Permission::Me, routes!(cancel))
}

/// An action approval.
#[derive(Serialize, ToSchema)]
#[schema(as = ActionApprovalStatus)]
struct Standing {
    state: ActionState,
}

/// The query parameter of the wait for a decision.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct DecisionWaitQuery {
    /// The time to wait for a decision, in seconds; 25 at most.
    #[serde(default)]
    #[param(minimum = 0, maximum = 25)]
    wait: u64,
}

/// The holder of the approvals that a request concerns: the console session, or the caller with a token.
fn holder<'a>(session: Option<&'a Extension<ConsoleSession>>, caller: &'a Caller) -> Holder<'a> {
    match session {
        Some(Extension(session)) => Holder::Console(&session.console),
        None => Holder::Token(caller),
    }
}

/// Read the state of an action approval of this console session, or of this caller.
#[utoipa::path(
    get,
    path = "/action-approvals/{id}",
    params(DecisionWaitQuery),
    responses((status = 200, description = "The state.", body = Standing))
)]
async fn read(
    State(services): State<Arc<Services>>,
    session: Option<Extension<ConsoleSession>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Query(DecisionWaitQuery { wait }): Query<DecisionWaitQuery>,
) -> Result<Json<Standing>, Problem> {
    let id: ActionApprovalId = id_of(&id, "action approval")?;
    let holder = holder(session.as_ref(), &caller);
    let patience = std::time::Duration::from_secs(wait.min(LONGEST_WAIT));
    // After the wait, a request without a decision is reported as pending.
    tokio::select! {
        biased;
        decided = action_approvals::wait_for_decision(&services, holder, id) => decided?,
        () = tokio::time::sleep(patience) => {}
        () = services.draining.interrupts() => {}
    }
    let state = action_approvals::state(&services, holder, id)
        .await?
        .ok_or(AdminError::NotFound("action approval"))?;
    Ok(Json(Standing { state }))
}

/// Cancel an action approval of this console session, or of this caller.
///
/// The device no longer shows the request.
#[utoipa::path(
    delete,
    path = "/action-approvals/{id}",
    responses((status = 204, description = "The action approval is cancelled, unless it was decided before."))
)]
async fn cancel(
    State(services): State<Arc<Services>>,
    session: Option<Extension<ConsoleSession>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let id: ActionApprovalId = id_of(&id, "action approval")?;
    let holder = holder(session.as_ref(), &caller);
    if !action_approvals::cancel_pending(&services, holder, id).await? {
        return Err(AdminError::NotFound("action approval").into());
    }
    Ok(StatusCode::NO_CONTENT)
}
