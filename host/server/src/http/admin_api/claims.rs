//! Claims: previews, and the traces of issued tokens and assertions.

mod comparison;
mod preview_view;

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::input::{List, Query, after, id_of, list_query};
use super::routes::Area;
use crate::domain::admin::{Caller, PreviewRequest};
use crate::domain::audit::moment_text;
use crate::domain::claims::traces;
use crate::domain::claims::traces::ShownTrace;
use crate::domain::operations::traffic::rate_limits::keys::CallerKey;
use crate::domain::{InternalError, Services, admin};
use crate::http::admin_api::claims::comparison::previewed_account;
use crate::http::admin_api::claims::preview_view::{PreviewView, view};
use crate::http::problem::{Problem, ProblemKind};
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::id::Did;
use assent_model::name::QuotedText;
use assent_plugin_host::Sink;

pub(super) fn routes() -> Area {
    Area::new()
        .noun("claims", "The claims that applications receive.")
        .route("preview", Permission::ClaimsRead, routes!(preview))
        .route(
            "compare",
            Permission::PluginsWrite,
            routes!(comparison::compare),
        )
        .protected(ProtectedActionKind::TryComponent)
        .noun(
            "claim-traces",
            "Claim traces: which plugin wrote which claim of an issued token or assertion.",
        )
        .route("list", Permission::ClaimsRead, routes!(list))
        .route("show", Permission::ClaimsRead, routes!(read))
}

/// The subject of a preview.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
struct PreviewQuery {
    /// The account. Either this or `user` is present.
    account: Option<String>,
    /// The user. The preview uses the account that a sign-in of the user would use, even if an assignment implies it
    /// and it is not stored yet.
    user: Option<String>,
    /// The scopes, separated by spaces; by default all scopes that the application may request.
    scope: Option<String>,
    /// The sink; may be repeated. By default all sinks of the application's protocol.
    #[param(inline)]
    sink: Option<Vec<Sink>>,
}

/// Reads the query. Unknown parameters are errors, and so are repeated ones, except `sink`.
fn read_query(query: &str) -> Result<PreviewQuery, Problem> {
    let malformed = |detail: String| Problem::with_kind(ProblemKind::Malformed, detail);
    let (mut account, mut user, mut scope, mut sinks) = (None, None, None, Vec::new());
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let value = value.into_owned();
        let twice = match name.as_ref() {
            "account" => account.replace(value).is_some(),
            "user" => user.replace(value).is_some(),
            "scope" => scope.replace(value).is_some(),
            "sink" => {
                let known = Sink::parse(&value);
                sinks.push(known.ok_or_else(|| {
                    malformed(format!(
                        "sink: expected one of {}",
                        Sink::ALL.map(Sink::as_str).join(", ")
                    ))
                })?);
                false
            }
            _ => {
                return Err(malformed(format!(
                    "the query has the unknown parameter {}",
                    QuotedText::new(&name)
                )));
            }
        };
        if twice {
            return Err(malformed(format!("the parameter {name} is repeated")));
        }
    }
    Ok(PreviewQuery {
        account,
        user,
        scope,
        sink: (!sinks.is_empty()).then_some(sinks),
    })
}

/// Preview the claims that an application would receive about a user.
///
/// The preview runs the code of a sign-in, without a sign-in.
#[utoipa::path(
    get,
    path = "/applications/{id}/claims-preview",
    params(PreviewQuery),
    responses((status = 200, description = "The claims, by sink.", body = PreviewView))
)]
async fn preview(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<PreviewView>, Problem> {
    let PreviewQuery {
        account,
        user,
        scope,
        sink,
    } = read_query(&query.unwrap_or_default())?;
    let request = PreviewRequest {
        account: previewed_account(account.as_deref(), user.as_deref())?,
        scope,
        sinks: sink.unwrap_or_default(),
    };
    let application: Did = id_of(&id, "application")?;
    let held = services
        .rate_limits
        .previews
        .hold(CallerKey::from(&caller.by.actor));
    let _held = held.ok_or_else(|| {
        Problem::with_kind(
            ProblemKind::TooMany,
            "too many of your previews are in progress; try again when one of them is done",
        )
    })?;
    let previews = admin::preview(&services, &application, &request).await?;
    Ok(Json(view(&application, request.account, previews)))
}

list_query! {
    /// The filters of the list of traces.
    struct TracesQuery;
    /// The user.
    user: String,
    /// Only traces of this application.
    application: Option<String>,
}

/// List the claim traces of a user, the latest first.
#[utoipa::path(
    get,
    path = "/claim-traces",
    params(TracesQuery),
    responses((status = 200, description = "A page of traces.", body = List<ShownTrace>))
)]
async fn list(
    State(services): State<Arc<Services>>,
    Query(query): Query<TracesQuery>,
) -> Result<Json<List<ShownTrace>>, Problem> {
    let application: Option<Did> = query
        .application
        .as_deref()
        .map(|id| id_of(id, "application"))
        .transpose()?;
    let before = after(query.after.as_deref())?;
    let user = id_of(&query.user, "user")?;
    let found = services
        .store
        .traces(user, application.as_ref(), before, query.limit.and_one())
        .await
        .map_err(InternalError::from)?;
    Ok(Json(List::from_rows(
        found,
        query.limit,
        |trace| trace.id.to_string(),
        |trace| traces::show(&trace, moment_text),
    )))
}

/// Read the claim trace of a token or an assertion.
///
/// If the plugins did the same at a refresh as before, the trace is that of the earlier token.
#[utoipa::path(
    get,
    path = "/claim-traces/{token}",
    responses((status = 200, description = "The trace.", body = ShownTrace))
)]
async fn read(
    State(services): State<Arc<Services>>,
    Path(token): Path<String>,
) -> Result<Json<ShownTrace>, Problem> {
    let found = traces::find(&services, &token)
        .await
        .map_err(InternalError::from)?;
    let Some(trace) = found else {
        let retention = services.settings.plugins.trace_retention;
        let detail = format!(
            "there is no claim trace of this token: no plugin served it, or it is older than {retention}"
        );
        return Err(Problem::new(StatusCode::NOT_FOUND, detail));
    };
    Ok(Json(traces::show(&trace, moment_text)))
}
