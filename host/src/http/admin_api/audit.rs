//! The audit log.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::input::List;
use super::routes::Area;
use super::{id_of, moment};
use crate::domain::{Host, audit};
use crate::http::problem::Problem;
use crate::model::administration::Permission;
use crate::model::audit::{Entry, Event};
use crate::store::AuditFilter;

pub(super) fn routes() -> Area {
    Area::new("Audit").route(Permission::AuditRead, routes!(list))
}

/// An entry of the audit log.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditEntry)]
pub(super) struct EntryView {
    id: String,
    at: String,
    event: &'static str,
    actor: ActorView,
    user_id: Option<String>,
    application_id: Option<String>,
    /// More of it, with nothing in it that says who somebody is.
    #[schema(value_type = Object)]
    detail: Map<String, Value>,
    /// What does. Empty where it was erased.
    #[schema(value_type = Object)]
    personal: Map<String, Value>,
}

/// Who did it.
#[derive(Serialize, ToSchema)]
#[schema(as = Actor)]
struct ActorView {
    kind: &'static str,
    id: Option<String>,
}

pub(super) fn view(entry: Entry) -> EntryView {
    EntryView {
        id: entry.id.to_string(),
        at: moment(entry.at),
        event: entry.event.as_str(),
        actor: ActorView { kind: entry.actor.kind(), id: entry.actor.id() },
        user_id: entry.user.map(|id| id.to_string()),
        application_id: entry.application.map(|id| id.to_string()),
        detail: entry.detail,
        personal: entry.personal,
    }
}

/// Which entries are listed.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AuditQuery {
    user: Option<String>,
    application: Option<String>,
    event: Option<String>,
    after: Option<String>,
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// List the audit log, the latest first.
#[utoipa::path(get, path = "/audit", params(AuditQuery), responses((status = 200, description = "A page of entries.", body = List<EntryView>)))]
async fn list(
    State(host): State<Arc<Host>>,
    query: Result<Query<AuditQuery>, QueryRejection>,
) -> Result<Json<List<EntryView>>, Problem> {
    let Query(query) = query.map_err(|_| {
        let detail = "the query may have `user`, `application`, `event`, `after` and `limit` (1 to 200)";
        Problem::new(StatusCode::BAD_REQUEST, detail)
    })?;
    let unfit = |detail: &str| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail);
    let limit = query.limit.unwrap_or(50);
    if !(1..=200).contains(&limit) {
        return Err(unfit("limit: expected 1 to 200"));
    }
    let event = |name: &str| {
        let known = || Event::ALL.iter().map(|event| event.as_str()).collect::<Vec<_>>().join(", ");
        Event::parse(name).ok_or_else(|| unfit(&format!("event: expected one of {}", known())))
    };
    let before = query.after.as_deref().map(str::parse).transpose();
    let before = before.map_err(|_| unfit("after: expected `next` of the page before"))?;
    let filter = AuditFilter {
        user: query.user.as_deref().map(|id| id_of(id, "user")).transpose()?,
        application: query.application.as_deref().map(|id| id_of(id, "application")).transpose()?,
        event: query.event.as_deref().map(event).transpose()?,
    };
    let found = audit::list(&host, &filter, before, limit + 1).await?;
    Ok(Json(List::of(found, limit, |entry| entry.id.to_string(), view)))
}
