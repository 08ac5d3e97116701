//! The state of the server: the counts of the overview, and the settings in force.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::input::{List, Query};
use super::routes::Area;
use crate::config::{self, ConfigSource, Setting};
use crate::domain::Services;
use crate::domain::admin::{self, Range, SignIns};
use crate::domain::audit::moment_text;
use crate::domain::operations::traffic::request_metrics::{EndpointGroup, EndpointLatency};
use crate::http::problem::Problem;
use assent_model::administration::Permission;
use assent_model::user::LifecycleState;

pub(super) fn routes() -> Area {
    Area::new()
        .noun("overview", "The counts of the overview.")
        .route("show", Permission::OverviewRead, routes!(overview))
        .noun("settings", "The settings in force.")
        .route("list", Permission::SettingsRead, routes!(settings))
}

/// The counts of the overview.
#[derive(Serialize, ToSchema)]
#[schema(as = Overview)]
struct OverviewView {
    users: UserCounts,
    applications: ApplicationCounts,
    /// The period of `sign_ins`.
    range: RangeView,
    /// The interval of `sign_ins`.
    bucket: BucketView,
    /// The sign-ins, the earliest first; the last hour or day is incomplete.
    sign_ins: Vec<SignInsView>,
    /// The response times of this instance since it started.
    response_times: Vec<ResponsesView>,
}

/// The response times of a group of endpoints since this instance started, without responses that wait for a user.
#[derive(Serialize, ToSchema)]
#[schema(as = ResponseTimes)]
struct ResponsesView {
    endpoint: EndpointGroup,
    /// The number of responses.
    count: u64,
    /// The number of responses with a status of 500 or more.
    failures: u64,
    /// The median, in microseconds.
    p50_us: u64,
    /// The 99th percentile, in microseconds.
    p99_us: u64,
}

fn responses((endpoint, answered): (EndpointGroup, EndpointLatency)) -> ResponsesView {
    let EndpointLatency {
        count,
        failures,
        p50,
        p99,
    } = answered;
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    ResponsesView {
        endpoint,
        count,
        failures,
        p50_us: micros(p50),
        p99_us: micros(p99),
    }
}

/// The number of users in each state.
#[derive(Serialize, ToSchema)]
struct UserCounts {
    invited: u64,
    active: u64,
    suspended: u64,
    terminated: u64,
}

/// The number of applications of each protocol.
#[derive(Serialize, ToSchema)]
struct ApplicationCounts {
    openid_connect: u64,
    saml: u64,
}

/// The sign-ins of an hour or a day.
#[derive(Serialize, ToSchema)]
#[schema(as = SignIns)]
struct SignInsView {
    /// The start of the hour or day.
    #[schema(format = DateTime)]
    from: String,
    /// The number of completed sign-ins: the entries `sign-in.completed` of the audit log.
    completed: u64,
    /// The number of denied requests: the entries `sign-in.denied` of the audit log, without those about actions.
    denied: u64,
    /// The number of reported requests: the entries `sign-in.reported`, without those about actions.
    reported: u64,
    /// The number of typed wrong numbers: the entries `sign-in.number-match-failed`, without those about actions.
    number_mismatches: u64,
    /// The number of sign-ins that were cancelled in the browser: the entries `sign-in.cancelled`.
    cancelled: u64,
    /// The number of requests that expired without a decision: the entries `sign-in.expired`.
    expired: u64,
    /// The median of the time from request to approval, in milliseconds, to a
    /// quarter of a second; `null` without an approval.
    approval_ms_p50: Option<u64>,
    /// The 95th percentile of the same.
    approval_ms_p95: Option<u64>,
}

fn sign_ins(counts: SignIns) -> SignInsView {
    let SignIns {
        from,
        completed,
        denied,
        reported,
        number_mismatches,
        cancelled,
        expired,
        approval_ms_p50,
        approval_ms_p95,
    } = counts;
    SignInsView {
        from: moment_text(from),
        completed,
        denied,
        reported,
        number_mismatches,
        cancelled,
        expired,
        approval_ms_p50,
        approval_ms_p95,
    }
}

/// The period of the overview.
#[derive(Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = OverviewRange)]
enum RangeView {
    /// The last 24 hours.
    #[default]
    Day,
    /// The last 30 days.
    Month,
}

/// The interval of the counts of sign-ins.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = OverviewBucket)]
enum BucketView {
    /// By the hour.
    Hour,
    /// By the day, in UTC.
    Day,
}

/// The query parameter of the overview.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct OverviewQuery {
    /// The last 24 hours by the hour, or the last 30 days by the day.
    #[serde(default)]
    #[param(inline, required = false)]
    range: RangeView,
}

/// Read the counts of the overview.
#[utoipa::path(
    get,
    path = "/overview",
    params(OverviewQuery),
    responses((status = 200, description = "The counts.", body = OverviewView))
)]
async fn overview(
    State(services): State<Arc<Services>>,
    Query(OverviewQuery { range }): Query<OverviewQuery>,
) -> Result<Json<OverviewView>, Problem> {
    let (wanted, bucket) = match range {
        RangeView::Day => (Range::Day, BucketView::Hour),
        RangeView::Month => (Range::Month, BucketView::Day),
    };
    let counts = admin::overview(&services, wanted).await?;
    let of = |state| {
        counts
            .users
            .iter()
            .find(|(known, _)| *known == state)
            .map_or(0, |(_, count)| *count)
    };
    Ok(Json(OverviewView {
        users: UserCounts {
            invited: of(LifecycleState::Invited),
            active: of(LifecycleState::Active),
            suspended: of(LifecycleState::Suspended),
            terminated: of(LifecycleState::Terminated),
        },
        applications: ApplicationCounts {
            openid_connect: counts.clients,
            saml: counts.service_providers,
        },
        range,
        bucket,
        sign_ins: counts.periods.into_iter().map(sign_ins).collect(),
        response_times: services
            .metrics
            .requests
            .overview()
            .into_iter()
            .map(responses)
            .collect(),
    }))
}

/// The source of a setting.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum SettingSource {
    /// The default of the server.
    Default,
    /// The settings file.
    File,
    /// An environment variable.
    Environment,
}

/// A setting of this instance.
#[derive(Serialize, ToSchema)]
#[schema(as = Setting)]
struct SettingView {
    /// Its key, with the tables that contain it.
    key: String,
    /// Its purpose.
    description: Option<&'static str>,
    /// Its value; `null` for a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    /// Whether it has a value.
    is_set: bool,
    /// Whether it is a secret, or may contain one.
    is_secret: bool,
    source: SettingSource,
    /// The environment variable that sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    variable: Option<String>,
}

fn setting_view(
    Setting {
        key,
        value,
        is_set,
        source,
    }: Setting,
) -> SettingView {
    let (source, variable) = match source {
        ConfigSource::Default => (SettingSource::Default, None),
        ConfigSource::File => (SettingSource::File, None),
        ConfigSource::Environment(variable) => (SettingSource::Environment, Some(variable)),
    };
    SettingView {
        description: config::description_of(&key),
        key,
        is_secret: value.is_none(),
        value,
        is_set,
        source,
        variable,
    }
}

/// List the settings in force, and their sources.
#[utoipa::path(
    get,
    path = "/settings",
    responses((status = 200, description = "All settings, in the order of their keys.", body = List<SettingView>))
)]
async fn settings(State(services): State<Arc<Services>>) -> Json<List<SettingView>> {
    let known = config::in_force(&services.settings, services.settings_file.as_deref());
    Json(List::whole(known.into_iter().map(setting_view)))
}
