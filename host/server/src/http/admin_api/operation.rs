//! How the host fares: the counts of the overview, and the settings in force.

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
use crate::config::{self, Setting, Source};
use crate::domain::Host;
use crate::domain::admin::{self, Range, SignIns};
use crate::domain::operations::latency::{Endpoint, EndpointLatency};
use crate::http::admin_api::values::moment;
use crate::http::problem::Problem;
use assent_model::administration::Permission;
use assent_model::user::LifecycleState;

pub(super) fn routes() -> Area {
    Area::new()
        .noun("overview", "The figures of the overview.")
        .noun("settings", "The settings in force.")
        .route("overview.show", Permission::OverviewRead, routes!(overview))
        .route("settings.list", Permission::SettingsRead, routes!(settings))
}

/// The counts of the overview.
#[derive(Serialize, ToSchema)]
#[schema(as = Overview)]
struct OverviewView {
    users: UserCounts,
    applications: ApplicationCounts,
    /// How far back `sign_ins` goes.
    range: RangeView,
    /// What `sign_ins` are counted by.
    bucket: BucketView,
    /// The sign-ins, the earliest first; the last hour or day is not over yet.
    sign_ins: Vec<SignInsView>,
    /// How long the host that answers this takes to answer, since it started.
    responses: Vec<ResponsesView>,
}

/// How an endpoint of this host answered since it started. Answers that wait for a person are not among them.
#[derive(Serialize, ToSchema)]
#[schema(as = Responses)]
struct ResponsesView {
    endpoint: Endpoint,
    /// How many answers there were.
    count: u64,
    /// How many of them said that the host failed.
    failures: u64,
    /// Half of them took at most this, in microseconds.
    p50_us: u64,
    /// 99 of 100 took at most this, in microseconds.
    p99_us: u64,
}

fn responses((endpoint, answered): (Endpoint, EndpointLatency)) -> ResponsesView {
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

/// How many users there are in each state.
#[derive(Serialize, ToSchema)]
struct UserCounts {
    invited: u64,
    active: u64,
    suspended: u64,
    terminated: u64,
}

/// How many applications there are of each protocol.
#[derive(Serialize, ToSchema)]
struct ApplicationCounts {
    openid_connect: u64,
    saml: u64,
}

/// The sign-ins of an hour or a day.
#[derive(Serialize, ToSchema)]
#[schema(as = SignIns)]
struct SignInsView {
    /// When it began.
    #[schema(format = DateTime)]
    from: String,
    /// How many people signed in.
    completed: u64,
    /// How often somebody denied, or said that it was not theirs.
    denied: u64,
    /// How many requests nobody decided: their time ran out, the person gave up in the browser, or a newer one took their place.
    /// Those that still wait are among them.
    expired: u64,
    /// How often a wrong number was typed.
    failed: u64,
    /// How long half of those who approved took at most, from the request to their approval, in milliseconds, to a quarter of a
    /// second; `null` where nobody did.
    approved_ms_p50: Option<u64>,
    /// The same for 95 of 100.
    approved_ms_p95: Option<u64>,
}

fn sign_ins(counts: SignIns) -> SignInsView {
    let SignIns {
        from,
        completed,
        denied,
        expired,
        failed,
        approved_ms_p50,
        approved_ms_p95,
    } = counts;
    SignInsView {
        from: moment(from),
        completed,
        denied,
        expired,
        failed,
        approved_ms_p50,
        approved_ms_p95,
    }
}

/// How far back the overview goes.
#[derive(Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum RangeView {
    /// The last 24 hours.
    #[default]
    Day,
    /// The last 30 days.
    Month,
}

/// What sign-ins are counted by.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum BucketView {
    /// By the hour.
    Hour,
    /// By the day, as UTC has it.
    Day,
}

/// How far back to look.
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
#[utoipa::path(get, path = "/overview", params(OverviewQuery), responses((status = 200, description = "The counts.", body = OverviewView)))]
async fn overview(
    State(host): State<Arc<Host>>,
    Query(OverviewQuery { range }): Query<OverviewQuery>,
) -> Result<Json<OverviewView>, Problem> {
    let (wanted, bucket) = match range {
        RangeView::Day => (Range::Day, BucketView::Hour),
        RangeView::Month => (Range::Month, BucketView::Day),
    };
    let counts = admin::overview(&host, wanted).await?;
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
        responses: host.latency.answered().into_iter().map(responses).collect(),
    }))
}

/// Where a setting's value comes from.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum SettingSource {
    /// Nobody set it.
    Default,
    /// The settings file.
    File,
    /// An environment variable.
    Environment,
}

/// A setting of the host that answers.
#[derive(Serialize, ToSchema)]
#[schema(as = Setting)]
struct SettingView {
    /// Its key, with the tables that it stands in.
    key: String,
    /// Its value; of a secret there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    /// Whether it has a value.
    is_set: bool,
    /// Whether it is a secret, or may hold one.
    is_secret: bool,
    source: SettingSource,
    /// The environment variable that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    variable: Option<String>,
}

fn setting(
    Setting {
        key,
        value,
        is_set,
        source,
    }: Setting,
) -> SettingView {
    let (source, variable) = match source {
        Source::Default => (SettingSource::Default, None),
        Source::File => (SettingSource::File, None),
        Source::Environment(variable) => (SettingSource::Environment, Some(variable)),
    };
    SettingView {
        key,
        is_secret: value.is_none(),
        value,
        is_set,
        source,
        variable,
    }
}

/// List the settings in force, and where each comes from.
#[utoipa::path(get, path = "/settings", responses((status = 200, description = "All of them, in the order of their keys.", body = List<SettingView>)))]
async fn settings(State(host): State<Arc<Host>>) -> Json<List<SettingView>> {
    let known = config::in_force(&host.settings, host.settings_file.as_deref());
    Json(List::whole(known.into_iter().map(setting)))
}
