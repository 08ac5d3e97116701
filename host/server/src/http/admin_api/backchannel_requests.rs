//! What an application asked users without a browser, and how they answered.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::input::{List, Page, Query, id_of};
use super::routes::Area;
use crate::domain::admin;
use crate::domain::audit::moment_text;
use crate::domain::{InternalError, Services};
use crate::http::problem::Problem;
use assent_model::administration::Permission;
use assent_model::backchannel_history::BackchannelOutcome;
use assent_model::scope::{Scope, Scopes};
use assent_store::{BackchannelDay, PastBackchannelRequest};

/// The time that the counts cover. Retention keeps the requests as long.
const DAYS: Duration = Duration::from_secs(30 * 86_400);

/// The requests have names of users and messages, like the audit log, so they need the same permission.
pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "applications.backchannel-requests",
            "What an application asked users without a browser, and how they answered.",
        )
        .route("list", Permission::AuditRead, routes!(list))
        .route("days", Permission::AuditRead, routes!(days))
}

/// A back-channel request of an application.
#[derive(Serialize, ToSchema)]
#[schema(as = BackchannelRequest)]
struct RequestView {
    id: String,
    user_id: String,
    /// The user's name at sign-in.
    user_name: String,
    /// The message that the device showed.
    message: Option<String>,
    #[schema(value_type = Vec<Scope>)]
    scopes: Scopes,
    #[schema(format = DateTime)]
    requested_at: String,
    outcome: BackchannelOutcome,
    /// When the user decided.
    #[schema(format = DateTime)]
    decided_at: Option<String>,
    /// The name of the device on which the user decided, if it is still enrolled.
    device_name: Option<String>,
}

impl From<PastBackchannelRequest> for RequestView {
    fn from(past: PastBackchannelRequest) -> Self {
        Self {
            id: past.id.to_string(),
            user_id: past.user.to_string(),
            user_name: past.user_name,
            message: past.message.map(|message| message.as_str().to_owned()),
            scopes: past.scopes,
            requested_at: moment_text(past.requested_at),
            outcome: past.outcome,
            decided_at: past.decided_at.map(moment_text),
            device_name: past.device,
        }
    }
}

/// The back-channel requests of an application on one day.
#[derive(Serialize, ToSchema)]
#[schema(as = BackchannelDay)]
struct DayView {
    /// The start of the day, in UTC.
    #[schema(format = DateTime)]
    from: String,
    /// The number of requests.
    requests: u64,
    approved: u64,
    denied: u64,
    reported: u64,
    /// Requests that expired without an answer.
    expired: u64,
    /// Requests that no device showed.
    not_shown: u64,
    /// Requests that wait, ended without a result, or had a wrong number too often.
    other: u64,
}

impl From<BackchannelDay> for DayView {
    fn from(day: BackchannelDay) -> Self {
        let count = |outcome| day.counts.get(&outcome).copied().unwrap_or_default();
        Self {
            from: moment_text(day.from),
            requests: day.counts.values().sum(),
            approved: count(BackchannelOutcome::Approved),
            denied: count(BackchannelOutcome::Denied),
            reported: count(BackchannelOutcome::Reported),
            expired: count(BackchannelOutcome::Expired),
            not_shown: count(BackchannelOutcome::NotShown),
            other: count(BackchannelOutcome::Waiting)
                + count(BackchannelOutcome::Withdrawn)
                + count(BackchannelOutcome::NumberMismatch),
        }
    }
}

/// List the back-channel requests of an application.
///
/// A request is deleted 30 days after its expiry.
#[utoipa::path(
    get,
    path = "/applications/{id}/backchannel-requests",
    params(Page),
    responses((status = 200, description = "A page of requests, the latest first.", body = List<RequestView>))
)]
async fn list(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
    Query(page): Query<Page>,
) -> Result<Json<List<RequestView>>, Problem> {
    let application = admin::application(&services, &id_of(&id, "application")?).await?;
    let (before, limit) = (page.after()?, page.limit.and_one());
    let rows = services
        .store
        .backchannel_requests_of_application(&application.id, before, limit, services.now())
        .await
        .map_err(InternalError::from)?;
    Ok(Json(List::from_rows(
        rows,
        page.limit,
        |row| row.id.to_string(),
        RequestView::from,
    )))
}

/// Count the back-channel requests of an application by the day.
///
/// The counts show how often users denied or reported the application in the last 30 days.
#[utoipa::path(
    get,
    path = "/applications/{id}/backchannel-requests/days",
    responses((status = 200, description = "The days with requests, the latest first.", body = List<DayView>))
)]
async fn days(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<Json<List<DayView>>, Problem> {
    let application = admin::application(&services, &id_of(&id, "application")?).await?;
    let now = services.now();
    let days = services
        .store
        .backchannel_days(&application.id, now - DAYS, now)
        .await
        .map_err(InternalError::from)?;
    Ok(Json(List::whole(days.into_iter().map(DayView::from))))
}
