//! Claims: what an application would be told, and why it was told what it was.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{List, id_of, moment};
use crate::domain::admin::{self, PreviewRequest};
use crate::domain::{Broken, Host, traces};
use crate::http::problem::Problem;
use crate::id::Did;
use crate::plugins::Sink;

/// What is to be previewed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PreviewQuery {
    account: String,
    scope: Option<String>,
    sink: Option<Sink>,
}

/// `GET /applications/{id}/claims-preview`
pub(super) async fn preview(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
    query: Result<Query<PreviewQuery>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let Query(query) = query.map_err(|_| {
        let detail = "the query has `account`, and may have `scope` and `sink` (id-token, userinfo, introspection, \
                      saml-assertion)";
        Problem::new(StatusCode::BAD_REQUEST, detail)
    })?;
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
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TracesQuery {
    user: String,
    application: Option<String>,
    after: Option<String>,
    limit: Option<u32>,
}

/// `GET /claim-traces`: about one user, the latest first.
pub(super) async fn list(
    State(host): State<Arc<Host>>,
    query: Result<Query<TracesQuery>, QueryRejection>,
) -> Result<Json<List<Value>>, Problem> {
    let unfit = |detail: &str| Problem::new(StatusCode::BAD_REQUEST, detail);
    let Query(query) =
        query.map_err(|_| unfit("the query has `user`, and may have `application`, `after` and `limit` (1 to 200)"))?;
    let limit = query.limit.unwrap_or(50);
    if !(1..=200).contains(&limit) {
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "limit: expected 1 to 200"));
    }
    let application: Option<Did> = query.application.as_deref().map(|id| id_of(id, "application")).transpose()?;
    let before = query.after.as_deref().map(|id| id_of(id, "trace")).transpose()?;
    let user = id_of(&query.user, "user")?;
    let found = host.store.traces(user, application.as_ref(), before, limit + 1).await.map_err(Broken::from)?;
    Ok(Json(List::of(found, limit, |trace| trace.id.to_string(), |trace| traces::show(&trace, moment))))
}

/// `GET /claim-traces/{token}`: of an ID token, by itself or its `jti`; of an assertion, by its ID.
pub(super) async fn read(State(host): State<Arc<Host>>, Path(token): Path<String>) -> Result<Json<Value>, Problem> {
    let found = host.store.trace(&traces::reference_of(&token)).await.map_err(Broken::from)?;
    let Some(trace) = found else {
        let hours = host.settings.plugins.trace_hours;
        let detail =
            format!("nothing is kept about this token: no plugin served it, or it is older than {hours} hours");
        return Err(Problem::new(StatusCode::NOT_FOUND, detail));
    };
    Ok(Json(traces::show(&trace, moment)))
}
