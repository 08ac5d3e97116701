//! The plugins of this host: what is loaded, how it fares, and its exchange.

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
use crate::domain::Host;
use crate::domain::admin::{ReloadPlugins, RollBackPlugins};
use crate::domain::operations::plugin_reloads::{Previous, Reload, ReloadError};
use crate::domain::operations::plugins;
use crate::http::admin_api::values::moment;
use crate::http::problem::Problem;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_plugin_host::{PluginIdentity, PluginStatus};

/// How long an answer waits for an exchange at most, in seconds: less than any answer may take.
const LONGEST_WAIT: u64 = 50;

pub(super) fn routes() -> Area {
    Area::new()
        .noun("plugins", "The loaded plugins.")
        .route("plugins.list", Permission::PluginsRead, routes!(list))
        .protected(
            "plugins.reload",
            Permission::PluginsWrite,
            ProtectedActionKind::ReloadPlugins,
            routes!(reload),
        )
        .protected(
            "plugins.rollback",
            Permission::PluginsWrite,
            ProtectedActionKind::RollBackPlugins,
            routes!(roll_back),
        )
}

/// The plugins of the host that answers. Several hosts on one database have plugins of their own each.
#[derive(Serialize, ToSchema)]
#[schema(as = Plugins)]
struct PluginsView {
    /// Claim mappers in their order, then channels in theirs.
    plugins: Vec<PluginStatus>,
    last_reload: Option<ReloadView>,
    /// Whether an exchange of the plugins is under way; `last_reload` has its result afterwards.
    reloading: bool,
    /// The plugins before the last exchange, which can be put back; `null` where there was none since the host started.
    previous: Option<PreviousView>,
    /// Whether the files or settings on disk are other ones than were loaded. They count at the next exchange or start.
    changed_on_disk: bool,
}

/// The plugins before the last exchange.
#[derive(Serialize, ToSchema)]
#[schema(as = PreviousPlugins)]
struct PreviousView {
    /// When they were exchanged.
    #[schema(format = DateTime)]
    at: String,
    /// What they are known by when they are put back. After another exchange it is another one.
    digest: String,
    plugins: Vec<PluginIdentity>,
}

/// How long to wait for the exchange.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Wait {
    /// In seconds, 50 at most.
    #[serde(default = "longest_wait")]
    #[param(value_type = u64, minimum = 0, maximum = 50, default = 50, required = false)]
    wait: u64,
}

const fn longest_wait() -> u64 {
    LONGEST_WAIT
}

/// Which plugins are put back.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RollBack {
    /// The `digest` of the previous plugins: these are put back, or none. A session of the console has to name them.
    previous: String,
}

/// How the last exchange went.
#[derive(Serialize, ToSchema)]
#[schema(as = Reload)]
struct ReloadView {
    #[schema(format = DateTime)]
    at: String,
    /// Why the plugins that were there go on; `null` if they were exchanged.
    error: Option<String>,
    /// Tables of the settings that changed and count after a restart alone.
    needs_restart: Vec<String>,
}

async fn view(host: &Host) -> PluginsView {
    let reload = |Reload {
                      at,
                      error,
                      needs_restart,
                  }| ReloadView {
        at: moment(at),
        error,
        needs_restart,
    };
    let previous = |previous: Previous| PreviousView {
        at: moment(previous.until),
        plugins: previous.set.identities(),
        digest: previous.digest,
    };
    PluginsView {
        plugins: host.plugins.status(),
        last_reload: plugins::last_reload(host).map(reload),
        reloading: host.reloads.is_under_way(),
        previous: plugins::previous(host).map(previous),
        changed_on_disk: plugins::changed_on_disk(host).await,
    }
}

/// Read which plugins there are, what they may do and how they fare.
#[utoipa::path(get, path = "/plugins", responses((status = 200, description = "All of them.", body = PluginsView)))]
async fn list(State(host): State<Arc<Host>>) -> Json<PluginsView> {
    Json(view(&host).await)
}

/// Exchange the plugins for those that the settings name now.
///
/// Each is compiled, checked and tried out first. If any of them fails, the previous plugins stay
/// in use. An exchange that takes longer than the answer waits continues in the background; `last_reload` of the list has its
/// result then.
#[utoipa::path(post, path = "/plugins/reload", params(Wait), responses((status = 200, description = "They were exchanged.", body = PluginsView), (status = 202, description = "It takes longer and continues in the background; `last_reload` of the list has the result at its end.", body = PluginsView)))]
async fn reload(
    State(host): State<Arc<Host>>,
    context: Context,
    Query(Wait { wait }): Query<Wait>,
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
        () = host.draining.interrupts() => None,
    };
    let Some(exchanged) = exchanged else {
        return Ok((
            StatusCode::ACCEPTED,
            Json(PluginsView {
                reloading: true,
                ..view(&host).await
            }),
        ));
    };
    let exchanged = exchanged.map_err(|error| {
        tracing::error!(%error, "the exchange of the plugins broke off");
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the exchange broke off; the log says why",
        )
    })?;
    match exchanged {
        Ok(_) => Ok((StatusCode::OK, Json(view(&host).await))),
        Err(error) => {
            let status = match error {
                ReloadError::NoFile => StatusCode::CONFLICT,
                ReloadError::Settings(_) | ReloadError::Secret(_) | ReloadError::Load(_) => {
                    StatusCode::UNPROCESSABLE_ENTITY
                }
            };
            Err(Problem::new(
                status,
                format!("the plugins that were there go on: {error}"),
            ))
        }
    }
}

/// Put the plugins back that were there before the last exchange.
///
/// They are as they were loaded, with the settings of then. After a restart of the host, and at the next exchange, the files
/// and settings on disk count again. Those of now can be put back in the same way.
#[utoipa::path(post, path = "/plugins/rollback", request_body = Option<RollBack>, responses((status = 200, description = "They were put back.", body = PluginsView)))]
async fn roll_back(
    State(host): State<Arc<Host>>,
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
    Ok(Json(view(&host).await))
}
