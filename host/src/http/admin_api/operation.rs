//! How the host fares: the counts of the overview, and the settings in force.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::input::List;
use super::moment;
use super::routes::Area;
use crate::config::{self, Setting, Source};
use crate::domain::Host;
use crate::domain::admin::{self, HourOfSignIns};
use crate::http::problem::Problem;
use crate::model::administration::Permission;
use crate::model::user::LifeState;

pub(super) fn routes() -> Area {
    Area::new("Operation")
        .route(Permission::OverviewRead, routes!(overview))
        .route(Permission::SettingsRead, routes!(settings))
}

/// The counts of the overview.
#[derive(Serialize, ToSchema)]
#[schema(as = Overview)]
struct OverviewView {
    users: UserCounts,
    applications: ApplicationCounts,
    /// The sign-ins of the last 24 hours, the earliest first; the last hour is not over yet.
    sign_ins: Vec<HourView>,
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

/// The sign-ins of one hour.
#[derive(Serialize, ToSchema)]
#[schema(as = HourOfSignIns)]
struct HourView {
    /// When it began.
    #[schema(format = DateTime)]
    from: String,
    /// How many people signed in.
    completed: u64,
    /// How often somebody denied, said that it was not theirs, or typed a wrong number.
    failed: u64,
}

fn hour(HourOfSignIns { from, completed, failed }: HourOfSignIns) -> HourView {
    HourView { from: moment(from), completed, failed }
}

/// Read the counts of the overview.
#[utoipa::path(get, path = "/overview", responses((status = 200, description = "The counts.", body = OverviewView)))]
async fn overview(State(host): State<Arc<Host>>) -> Result<Json<OverviewView>, Problem> {
    let counts = admin::overview(&host).await?;
    let of = |state| counts.users.iter().find(|(known, _)| *known == state).map_or(0, |(_, count)| *count);
    Ok(Json(OverviewView {
        users: UserCounts {
            invited: of(LifeState::Invited),
            active: of(LifeState::Active),
            suspended: of(LifeState::Suspended),
            terminated: of(LifeState::Terminated),
        },
        applications: ApplicationCounts { openid_connect: counts.clients, saml: counts.service_providers },
        sign_ins: counts.hours.into_iter().map(hour).collect(),
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

fn setting(Setting { key, value, is_set, source }: Setting) -> SettingView {
    let (source, variable) = match source {
        Source::Default => (SettingSource::Default, None),
        Source::File => (SettingSource::File, None),
        Source::Environment(variable) => (SettingSource::Environment, Some(variable)),
    };
    SettingView { key, is_secret: value.is_none(), value, is_set, source, variable }
}

/// List the settings in force, and where each comes from.
#[utoipa::path(get, path = "/settings", responses((status = 200, description = "All of them, in the order of their keys.", body = List<SettingView>)))]
async fn settings(State(host): State<Arc<Host>>) -> Json<List<SettingView>> {
    let known = config::in_force(&host.settings, host.settings_file.as_deref());
    Json(List::whole(known.into_iter().map(setting)))
}
