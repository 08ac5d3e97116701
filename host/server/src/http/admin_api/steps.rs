//! Dangerous steps: in the console each is approved on the phone first. Whoever holds the machine's token or a service account's
//! has no phone, and needs none.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::authorize::ConsoleSession;
use super::id_of;
use super::input::Query;
use super::routes::Area;
use crate::domain::Host;
use crate::domain::admin::AdminError;
use crate::domain::admin::protected_actions::approval::{self, ActionState};
use crate::http::problem::Problem;
use assent_model::administration::Permission;
use assent_model::id::ActionApprovalId;

/// The header that names the step which was approved.
pub(super) const STEP: &str = "x-assent-step";
/// How long an answer waits at most, in seconds.
const LONGEST_WAIT: u64 = 25;

pub(super) fn routes() -> Area {
    Area::new("Steps")
        .route(Permission::Me, routes!(read))
        .route(Permission::Me, routes!(give_up))
}

/// How a step stands.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum StateView {
    /// The phone was asked.
    Waiting,
    /// The request may be sent again, once, with the header `X-Assent-Step`, within two minutes.
    Approved,
    /// The person denied it.
    Denied,
    /// Nobody approved in time, or it was taken.
    Over,
}

/// A step in the console.
#[derive(Serialize, ToSchema)]
#[schema(as = StepStanding)]
struct Standing {
    state: StateView,
}

/// How long to wait for a decision.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Wait {
    /// In seconds, 25 at most.
    #[serde(default)]
    #[param(minimum = 0, maximum = 25)]
    wait: u64,
}

/// Read how a dangerous step stands, which the phone was asked about.
#[utoipa::path(get, path = "/steps/{id}", params(Wait), responses((status = 200, description = "How it stands.", body = Standing)))]
async fn read(
    State(host): State<Arc<Host>>,
    session: Option<Extension<ConsoleSession>>,
    Path(id): Path<String>,
    Query(Wait { wait }): Query<Wait>,
) -> Result<Json<Standing>, Problem> {
    let id: ActionApprovalId = id_of(&id, "step")?;
    let Some(Extension(ConsoleSession { console, .. })) = session else {
        return Err(AdminError::NotFound("step").into());
    };
    let patience = std::time::Duration::from_secs(wait.min(LONGEST_WAIT));
    // Whoever is still waiting then is told so.
    if let Ok(decided) =
        tokio::time::timeout(patience, approval::decided(&host, &console, id)).await
    {
        decided?;
    }
    let state = approval::state(&host, &console, id)
        .await?
        .ok_or(AdminError::NotFound("step"))?;
    Ok(Json(Standing {
        state: match state {
            ActionState::Waiting => StateView::Waiting,
            ActionState::Approved => StateView::Approved,
            ActionState::Denied => StateView::Denied,
            ActionState::Over => StateView::Over,
        },
    }))
}

/// Give up a step that was asked about in this session of the console.
///
/// The phone does not ask any longer.
#[utoipa::path(delete, path = "/steps/{id}", responses((status = 204, description = "Given up, if it was not decided yet.")))]
async fn give_up(
    State(host): State<Arc<Host>>,
    session: Option<Extension<ConsoleSession>>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let id: ActionApprovalId = id_of(&id, "step")?;
    let Some(Extension(ConsoleSession { console, .. })) = session else {
        return Err(AdminError::NotFound("step").into());
    };
    if !approval::give_up(&host, &console, id).await? {
        return Err(AdminError::NotFound("step").into());
    }
    Ok(StatusCode::NO_CONTENT)
}
