//! The plugins of this server: the loaded ones, their metrics, and their reload.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::context::Context;
use super::input::{self, Query, RawBody};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{ReloadPlugins, RollBackPlugins};
use crate::domain::audit::moment_text;
use crate::domain::operations::plugins::exchange;
use crate::domain::operations::plugins::reloads::{Previous, Reload, ReloadError};
use crate::http::problem::Problem;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_plugin_host::{PluginIdentity, PluginStatus};

/// The maximum time for which a response waits for a reload, in seconds. It is less than the time limit of responses.
const LONGEST_WAIT: u64 = 50;

pub(super) fn routes() -> Area {
    Area::new()
        .noun("plugins", "The loaded plugins.")
        .route("list", Permission::PluginsRead, routes!(list))
        .route("reload", Permission::PluginsWrite, routes!(reload))
        .protected(ProtectedActionKind::ReloadPlugins)
        .route("rollback", Permission::PluginsWrite, routes!(roll_back))
        .protected(ProtectedActionKind::RollBackPlugins)
}

/// The plugins of this instance. Each instance of a database has its own.
#[derive(Serialize, ToSchema)]
#[schema(as = Plugins)]
struct PluginsView {
    /// The claim mappers in their order, then the approval channels in theirs.
    plugins: Vec<PluginStatus>,
    last_reload: Option<ReloadView>,
    /// Whether a reload is in progress; `last_reload` has its result afterwards.
    reloading: bool,
    /// The plugins before the last reload, which a rollback restores; `null` if there was no reload since the instance
    /// started.
    previous: Option<PreviousView>,
    /// Whether the files or settings on disk differ from the loaded ones. A reload or restart loads them.
    changed_on_disk: bool,
}

/// The plugins before the last reload.
#[derive(Serialize, ToSchema)]
#[schema(as = PreviousPlugins)]
struct PreviousView {
    /// When they were replaced.
    #[schema(format = DateTime)]
    at: String,
    /// Identifies them in a rollback. It changes with each reload.
    digest: String,
    plugins: Vec<PluginIdentity>,
}

/// The query parameter of the wait for a reload.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ReloadWaitQuery {
    /// The time to wait for the result, in seconds; 50 at most.
    #[serde(default = "longest_wait")]
    #[param(value_type = u64, minimum = 0, maximum = 50, default = 50, required = false)]
    wait: u64,
}

const fn longest_wait() -> u64 {
    LONGEST_WAIT
}

/// The plugins to restore.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PluginRollback)]
struct RollBack {
    /// The `digest` of the previous plugins: the server restores these or none. Required for a console session.
    previous: String,
}

/// The result of the last reload.
#[derive(Serialize, ToSchema)]
#[schema(as = PluginReload)]
struct ReloadView {
    #[schema(format = DateTime)]
    at: String,
    /// Why the previous plugins stay in use; `null` after a successful reload.
    error: Option<String>,
    /// Changed tables of the settings that only a restart applies.
    needs_restart: Vec<String>,
}

async fn view(services: &Services) -> PluginsView {
    let reload = |Reload {
                      at,
                      error,
                      needs_restart,
                  }| ReloadView {
        at: moment_text(at),
        error,
        needs_restart,
    };
    let previous = |previous: Previous| PreviousView {
        at: moment_text(previous.until),
        plugins: previous.set.identities(),
        digest: previous.digest,
    };
    PluginsView {
        plugins: services.plugins.status(),
        last_reload: exchange::last_reload(services).map(reload),
        reloading: services.reloads.is_under_way(),
        previous: exchange::previous(services).map(previous),
        changed_on_disk: exchange::changed_on_disk(services).await,
    }
}

/// List the loaded plugins, their grants and their metrics.
#[utoipa::path(get, path = "/plugins", responses((status = 200, description = "All of them.", body = PluginsView)))]
async fn list(State(services): State<Arc<Services>>) -> Json<PluginsView> {
    Json(view(&services).await)
}

/// Load the plugins of the current settings.
///
/// The instance compiles, checks and tests each plugin first. If one of them fails, the previous plugins stay in use. A
/// reload that takes longer than `wait` continues in the background; `last_reload` of the list has its result
/// afterwards.
#[utoipa::path(
    post,
    path = "/plugins/reload",
    params(ReloadWaitQuery),
    responses(
        (status = 200, description = "The plugins are loaded.", body = PluginsView),
        (
            status = 202,
            description = "The reload continues in the background; `last_reload` of the list has the result at the \
                end.",
            body = PluginsView,
        ),
    )
)]
async fn reload(
    State(services): State<Arc<Services>>,
    context: Context,
    Query(ReloadWaitQuery { wait }): Query<ReloadWaitQuery>,
) -> Result<(StatusCode, Json<PluginsView>), Problem> {
    if wait > LONGEST_WAIT {
        return Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "wait: expected 0 to 50",
        ));
    }
    let exchanging = context.run(ReloadPlugins).await?;
    let patience = std::time::Duration::from_secs(wait);
    let exchanged = tokio::select! {
        biased;
        exchanged = exchanging => Some(exchanged),
        () = tokio::time::sleep(patience) => None,
        () = services.draining.interrupts() => None,
    };
    let Some(exchanged) = exchanged else {
        return Ok((
            StatusCode::ACCEPTED,
            Json(PluginsView {
                reloading: true,
                ..view(&services).await
            }),
        ));
    };
    let exchanged = exchanged.map_err(|error| {
        tracing::error!(%error, "plugin reload aborted");
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the reload was aborted; the log has the reason",
        )
    })?;
    match exchanged {
        Ok(_) => Ok((StatusCode::OK, Json(view(&services).await))),
        Err(error) => {
            let status = match error {
                ReloadError::NoFile => StatusCode::CONFLICT,
                ReloadError::Settings(_) | ReloadError::Secret(_) | ReloadError::Load(_) => {
                    StatusCode::UNPROCESSABLE_ENTITY
                }
            };
            Err(Problem::new(
                status,
                format!("the previous plugins stay in use: {error}"),
            ))
        }
    }
}

/// Restore the plugins before the last reload.
///
/// They have the components and settings of that time, until the next reload or restart. Another rollback restores the
/// current plugins.
#[utoipa::path(
    post,
    path = "/plugins/rollback",
    request_body = Option<RollBack>,
    responses((status = 200, description = "The previous plugins are restored.", body = PluginsView)),
)]
async fn roll_back(
    State(services): State<Arc<Services>>,
    context: Context,
    RawBody(body): RawBody,
) -> Result<Json<PluginsView>, Problem> {
    let named: Option<RollBack> = if body.is_empty() {
        None
    } else {
        Some(input::parse_strictly(&body)?)
    };
    let previous = named.map(|named| named.previous);
    context.run(RollBackPlugins { previous }).await?;
    Ok(Json(view(&services).await))
}
