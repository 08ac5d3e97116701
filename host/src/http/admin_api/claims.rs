//! Claims: what an application would be told, and why it was told what it was.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::input::{Limit, List, Query, after};
use super::routes::Area;
use super::{id_of, moment};
use crate::domain::admin::{self, PreviewRequest};
use crate::domain::{Broken, Host, traces};
use crate::http::problem::Problem;
use crate::id::Did;
use crate::model::administration::Permission;
use crate::plugins::Sink;

pub(super) fn routes() -> Area {
    Area::new("Claims")
        .route(Permission::ClaimsRead, routes!(preview))
        .route(Permission::ClaimsRead, routes!(list))
        .route(Permission::ClaimsRead, routes!(read))
}

/// What is to be previewed.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct PreviewQuery {
    /// Whose claims.
    account: String,
    /// The scopes, one space between them; all that the application may ask for without it.
    scope: Option<String>,
    /// Where the claims would go; the ID token or the assertion without it.
    #[param(inline)]
    sink: Option<Sink>,
}

/// Preview what an application would be told of a person.
///
/// Made as a sign-in at this moment would, without one: `sink`, `scope`, `steps` (what each plugin did), and `claims`,
/// `attributes` or, where a plugin keeps the application from being told, `stopped`.
#[utoipa::path(get, path = "/applications/{id}/claims-preview", params(PreviewQuery), responses((status = 200, description = "The claims.", body = Object)))]
async fn preview(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
    Query(query): Query<PreviewQuery>,
) -> Result<Json<Value>, Problem> {
    let request = PreviewRequest { account: id_of(&query.account, "account")?, scope: query.scope, sink: query.sink };
    let preview = admin::preview(&host, &id_of(&id, "application")?, &request).await?;
    let mut shown = json!({ "sink": preview.sink, "scope": preview.scopes.to_string(), "steps": preview.steps });
    let (name, value) = match &preview.told {
        Ok(told) => admin::show_told(told),
        Err(stopped) => {
            let outcome = if stopped.denied { "denied" } else { "failed" };
            ("stopped", json!({ "plugin": stopped.plugin, "outcome": outcome, "reason": stopped.reason }))
        }
    };
    if let Some(shown) = shown.as_object_mut() {
        shown.insert(name.to_owned(), value);
    }
    Ok(Json(shown))
}

/// Which traces are listed.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TracesQuery {
    /// About whom.
    user: String,
    /// For this application alone.
    application: Option<String>,
    /// Where the page begins: `next` of the page before.
    after: Option<String>,
    /// How many items the page has at most.
    #[serde(default)]
    #[param(value_type = u32, minimum = 1, maximum = 200, default = 50, required = false)]
    limit: Limit,
}

/// List what the plugins did for tokens about a person, the latest first.
#[utoipa::path(get, path = "/claim-traces", params(TracesQuery), responses((status = 200, description = "A page of traces.", body = List<Object>)))]
async fn list(State(host): State<Arc<Host>>, Query(query): Query<TracesQuery>) -> Result<Json<List<Value>>, Problem> {
    let application: Option<Did> = query.application.as_deref().map(|id| id_of(id, "application")).transpose()?;
    let before = after(query.after.as_deref())?;
    let user = id_of(&query.user, "user")?;
    let found =
        host.store.traces(user, application.as_ref(), before, query.limit.and_one()).await.map_err(Broken::from)?;
    Ok(Json(List::of(found, query.limit.get(), |trace| trace.id.to_string(), |trace| traces::show(&trace, moment))))
}

/// Read what the plugins did for a token.
#[utoipa::path(get, path = "/claim-traces/{token}", responses((status = 200, description = "The trace.", body = Object)))]
async fn read(State(host): State<Arc<Host>>, Path(token): Path<String>) -> Result<Json<Value>, Problem> {
    let found = host.store.trace(&traces::reference_of(&token)).await.map_err(Broken::from)?;
    let Some(trace) = found else {
        let hours = host.settings.plugins.trace_hours;
        let detail =
            format!("nothing is kept about this token: no plugin served it, or it is older than {hours} hours");
        return Err(Problem::new(StatusCode::NOT_FOUND, detail));
    };
    Ok(Json(traces::show(&trace, moment)))
}
