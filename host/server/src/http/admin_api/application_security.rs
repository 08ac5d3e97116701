//! The security profiles of an OpenID Connect client.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::input::{List, id_of};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin;
use crate::http::problem::Problem;
use assent_model::administration::Permission;
use assent_model::application::security_profile::{SecurityProfile, UnmetRule};

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "applications.profiles",
            "The security profiles, and what an OpenID Connect client lacks for each of them.",
        )
        .route("list", Permission::ApplicationsRead, routes!(list))
}

/// A security profile, for one application.
#[derive(Serialize, ToSchema)]
#[schema(as = ApplicationProfile)]
struct ProfileView {
    /// The profile.
    #[schema(inline)]
    profile: SecurityProfile,
    /// Whether the application has it.
    is_set: bool,
    /// The settings that it does not permit as they are.
    unmet: Vec<UnmetView>,
}

/// A setting that a profile does not permit as it is.
#[derive(Serialize, ToSchema)]
#[schema(as = UnmetRule)]
struct UnmetView {
    /// The member of the application.
    member: &'static str,
    /// The permitted values; the first is the usual one.
    #[schema(value_type = Vec<Object>)]
    expected: Vec<Value>,
    /// The rule, with its section.
    rule: &'static str,
    /// Whether the first value can be set alone. Others need keys or addresses of the application.
    is_settable: bool,
}

impl From<UnmetRule> for UnmetView {
    fn from(unmet: UnmetRule) -> Self {
        let UnmetRule {
            member,
            expected,
            rule,
            is_settable,
        } = unmet;
        Self {
            member,
            expected,
            rule,
            is_settable,
        }
    }
}

/// List the security profiles with what an application lacks.
///
/// A change of the application may set a profile together with the settings that it lacks.
#[utoipa::path(
    get,
    path = "/applications/{id}/profiles",
    responses((status = 200, description = "All of them.", body = List<ProfileView>))
)]
async fn list(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<Json<List<ProfileView>>, Problem> {
    let application = admin::application(&services, &id_of(&id, "application")?).await?;
    let settings = &application.settings;
    let views = SecurityProfile::ALL.map(|profile| ProfileView {
        profile,
        is_set: settings.security_profile == Some(profile),
        unmet: profile
            .unmet_rules(settings)
            .into_iter()
            .map(UnmetView::from)
            .collect(),
    });
    Ok(Json(List::whole(views)))
}
