//! The audit log.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{List, id_of, moment};
use crate::domain::{Host, audit};
use crate::http::problem::Problem;
use crate::model::audit::{Entry, Event};
use crate::store::AuditFilter;

/// An entry as the API shows it.
#[derive(Serialize)]
pub(super) struct EntryView {
    id: String,
    at: String,
    event: &'static str,
    actor: ActorView,
    user_id: Option<String>,
    application_id: Option<String>,
    detail: Map<String, Value>,
    personal: Map<String, Value>,
}

#[derive(Serialize)]
struct ActorView {
    kind: &'static str,
    id: Option<String>,
}

fn view(entry: Entry) -> EntryView {
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
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuditQuery {
    user: Option<String>,
    application: Option<String>,
    event: Option<String>,
    after: Option<String>,
    limit: Option<u32>,
}

/// `GET /audit`: the latest first.
pub(super) async fn list(
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
