//! Users' reports that an approval request was not theirs, and the users with a running cooldown.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::context::Context;
use super::input::{Body, List, Page, Query, after, id_of, list_query};
use super::routes::Area;
use crate::domain::admin::{self, Names, SettleReport, Settlement};
use crate::domain::audit::moment_text;
use crate::domain::{Services, browser_words};
use crate::http::problem::Problem;
use crate::http::texts::PageLanguage;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::audit::Actor;
use assent_model::language::Language;
use assent_model::report::{NewReport, Report, ReportSettlement, ReportSubject};
use assent_store::ReportFilter;

/// The routes of reports and cooldowns. A settlement needs an action approval if the report is the administrator's own,
/// or if it revokes the device of a user with a console role, like the revocation itself.
pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "reports",
            "Reports: users' statements that an approval request was not theirs.",
        )
        .route("list", Permission::UsersRead, routes!(list))
        .route("settle", Permission::UsersManage, routes!(settle))
        .protected(ProtectedActionKind::SettleReport)
        .noun("cooldowns", "The users whose approval requests are paused.")
        .route("list", Permission::UsersRead, routes!(cooldowns))
}

/// A user's report that an approval request was not theirs ("This wasn't me").
#[derive(Serialize, ToSchema)]
#[schema(as = Report)]
struct ReportView {
    id: String,
    user_id: String,
    /// The user's name at sign-in.
    user_name: Option<String>,
    /// The device on which the user reported the request.
    device_id: String,
    kind: ReportKindView,
    /// The application of the sign-in or of the back-channel request; `null` for the console, the portal and an action.
    application_id: Option<String>,
    /// The display name of the application.
    application_name: Option<String>,
    /// The location of the browser, in the language that `Accept-Language` prefers.
    requested_from: String,
    /// The browser and operating system, in the same language.
    requested_with: String,
    #[schema(format = DateTime)]
    reported_at: String,
    /// How an administrator settled the report; `null` while it is open.
    settlement: Option<SettlementView>,
}

/// What a reported request was for.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ReportKind)]
enum ReportKindView {
    /// A sign-in.
    SignIn,
    /// An action in the console or the portal.
    Action,
    /// A back-channel request of an application.
    Backchannel,
    /// The question of a help desk whether the user is on the phone.
    CallerCheck,
}

/// The end of a report.
#[derive(Serialize, ToSchema)]
#[schema(as = ReportSettlement)]
struct SettlementView {
    #[schema(format = DateTime)]
    settled_at: String,
    /// The id of the administrator, or of the operator token or service account.
    settled_by: Option<String>,
    /// The administrator's name at sign-in.
    settled_by_name: Option<String>,
    /// The note of the administrator.
    note: String,
}

/// Returns a report in the language of the reader.
fn report_view(
    services: &Services,
    report: Report,
    names: &Names,
    language: Language,
) -> ReportView {
    let Report {
        content: NewReport {
            id,
            subject,
            browser,
        },
        user,
        device,
        reported_at,
        settlement,
    } = report;
    let (kind, application) = match subject {
        ReportSubject::SignIn(application) => (ReportKindView::SignIn, application),
        ReportSubject::Action => (ReportKindView::Action, None),
        ReportSubject::CallerCheck => (ReportKindView::CallerCheck, None),
        ReportSubject::Backchannel(application) => (ReportKindView::Backchannel, Some(application)),
    };
    let application_name = application.as_ref().and_then(|id| names.application(id));
    let browser = browser_words::translated_words(services, &browser, language);
    ReportView {
        id: id.to_string(),
        user_id: user.to_string(),
        user_name: names.user(user),
        device_id: device.to_string(),
        kind,
        application_id: application.map(|id| id.to_string()),
        application_name,
        requested_from: browser.place,
        requested_with: browser.browser,
        reported_at: moment_text(reported_at),
        settlement: settlement.map(|settlement| settlement_view(settlement, names)),
    }
}

fn settlement_view(settlement: ReportSettlement, names: &Names) -> SettlementView {
    let ReportSettlement {
        settled_at,
        settled_by,
        note,
    } = settlement;
    SettlementView {
        settled_at: moment_text(settled_at),
        settled_by_name: match &settled_by {
            Actor::User(user) => names.user(*user),
            _ => None,
        },
        settled_by: settled_by.id(),
        note,
    }
}

/// Reads the names of the users and applications of these reports.
async fn names(services: &Services, reports: &[Report]) -> Result<Names, Problem> {
    let settled_by = reports.iter().filter_map(|report| {
        match report
            .settlement
            .as_ref()
            .map(|settlement| &settlement.settled_by)
        {
            Some(Actor::User(user)) => Some(*user),
            _ => None,
        }
    });
    let users = reports.iter().map(|report| report.user).chain(settled_by);
    let applications = reports
        .iter()
        .filter_map(|report| match &report.content.subject {
            ReportSubject::SignIn(application) => application.clone(),
            ReportSubject::Backchannel(application) => Some(application.clone()),
            ReportSubject::Action | ReportSubject::CallerCheck => None,
        });
    Ok(Names::read(services, users.collect(), applications.collect()).await?)
}

list_query! {
    /// The filters of the list of reports.
    struct ReportsQuery;
    /// Only reports of the user with this id.
    user: Option<String>,
    /// Only reports that no administrator has settled.
    #[serde(default)]
    #[param(required = false)]
    open: bool,
}

/// List reports.
///
/// A report stays open until an administrator settles it. Settled reports are deleted after the retention of the audit
/// log.
#[utoipa::path(
    get,
    path = "/reports",
    params(ReportsQuery),
    responses((status = 200, description = "A page of reports, the latest first.", body = List<ReportView>))
)]
async fn list(
    State(services): State<Arc<Services>>,
    PageLanguage(language): PageLanguage,
    Query(query): Query<ReportsQuery>,
) -> Result<Json<List<ReportView>>, Problem> {
    let user = query.user.as_deref();
    let user = user.map(|id| id_of(id, "user")).transpose()?;
    let before = after(query.after.as_deref())?;
    let open = query.open;
    let filter = ReportFilter { user, open };
    let rows = admin::reports(&services, filter, before, query.limit.and_one()).await?;
    let names = names(&services, &rows).await?;
    Ok(Json(List::from_rows(
        rows,
        query.limit,
        |row| row.content.id.to_string(),
        |row| report_view(&services, row, &names, language),
    )))
}

/// Settle a report.
///
/// Of two concurrent settlements one succeeds, and the other one fails with a conflict. The chosen effects and the
/// settlement happen together, or not at all.
#[utoipa::path(
    post,
    path = "/reports/{id}/settlement",
    request_body = Settlement,
    responses((status = 200, description = "The settled report.", body = ReportView))
)]
async fn settle(
    State(services): State<Arc<Services>>,
    PageLanguage(language): PageLanguage,
    context: Context,
    Path(id): Path<String>,
    Body(settlement): Body<Settlement>,
) -> Result<Json<ReportView>, Problem> {
    let report = id_of(&id, "report")?;
    let report = context.run(SettleReport { report, settlement }).await?;
    let names = names(&services, std::slice::from_ref(&report)).await?;
    Ok(Json(report_view(&services, report, &names, language)))
}

/// A user whose approval requests are paused.
#[derive(Serialize, ToSchema)]
#[schema(as = Cooldown)]
struct CooldownView {
    user_id: String,
    /// The user's name at sign-in.
    user_name: Option<String>,
    /// When the cooldown ends.
    #[schema(format = DateTime)]
    until: String,
}

/// List the users whose approval requests are paused.
///
/// A cooldown begins after denials or a report. Until its end, requests that someone begins with the user's name do not
/// reach the user's devices.
#[utoipa::path(
    get,
    path = "/cooldowns",
    params(Page),
    responses(
        (
            status = 200,
            description = "A page of cooldowns that have not ended, the earliest end first.",
            body = List<CooldownView>,
        ),
    )
)]
async fn cooldowns(
    State(services): State<Arc<Services>>,
    Query(page): Query<Page>,
) -> Result<Json<List<CooldownView>>, Problem> {
    let rows = admin::running_cooldowns(&services, page.after()?, page.limit.and_one()).await?;
    let users = rows.iter().map(|row| row.user).collect();
    let names = Names::read(&services, users, BTreeSet::new()).await?;
    Ok(Json(List::from_rows(
        rows,
        page.limit,
        ToString::to_string,
        |row| CooldownView {
            user_id: row.user.to_string(),
            user_name: names.user(row.user),
            until: moment_text(row.until),
        },
    )))
}
