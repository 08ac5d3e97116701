//! The security of an OpenID Connect client: its profiles, and its last requests.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::input::{List, id_of};
use super::routes::Area;
use crate::domain::admin;
use crate::domain::audit::moment_text;
use crate::domain::operations::recent_requests;
use crate::domain::{InternalError, Services};
use crate::http::problem::Problem;
use assent_model::administration::Permission;
use assent_model::application::profile_rules::UnmetRule;
use assent_model::application::security_profile::SecurityProfile;
use assent_store::ClientRequest;

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "applications.profiles",
            "The security profiles, and the settings that an OpenID Connect client lacks for each of them.",
        )
        .route("list", Permission::ApplicationsRead, routes!(list))
        .noun(
            "applications.requests",
            "The requests of an OpenID Connect client in the last hour, with the rule that rejected one.",
        )
        .route("list", Permission::ApplicationsRead, routes!(requests))
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
    /// Whether an administrator can set the first value. Others need keys or addresses of the application.
    is_settable: bool,
    /// The reason why the rule cannot be fulfilled on this server as it is configured, and what the operator must set.
    obstacle: Option<&'static str>,
}

impl From<UnmetRule> for UnmetView {
    fn from(unmet: UnmetRule) -> Self {
        let UnmetRule {
            member,
            expected,
            rule,
            is_settable,
            obstacle,
        } = unmet;
        Self {
            member,
            expected,
            rule,
            is_settable,
            obstacle,
        }
    }
}

/// List the security profiles with the settings that an application lacks.
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
    let receives_certificates = services.settings.http.receives_certificates();
    let views = SecurityProfile::ALL.map(|profile| ProfileView {
        profile,
        is_set: settings.security_profile == Some(profile),
        unmet: profile
            .unmet_rules(settings, receives_certificates)
            .into_iter()
            .map(UnmetView::from)
            .collect(),
    });
    Ok(Json(List::whole(views)))
}

/// A request of an application in the last hour.
#[derive(Serialize, ToSchema)]
#[schema(as = ClientRequest)]
struct RequestView {
    /// Its identifier.
    id: String,
    /// When it arrived.
    #[schema(format = DateTime)]
    created_at: String,
    /// The path of the endpoint.
    endpoint: String,
    /// The error code, if it was rejected.
    error: Option<String>,
    /// The rule that rejected it.
    reason: Option<String>,
    /// What it contained, without secrets and signatures.
    parts: Vec<RequestPart>,
}

/// A part of a request: its parameters, or a JWT.
#[derive(Serialize, Deserialize, ToSchema)]
struct RequestPart {
    /// `parameters`, `assertion`, `request_object` or `proof`.
    part: String,
    /// The header of a JWT.
    #[schema(value_type = Object)]
    header: Map<String, Value>,
    /// The parameters, or the claims of a JWT. Long values are cut, and `…` stands for a secret.
    #[schema(value_type = Object)]
    members: Map<String, Value>,
}

impl From<ClientRequest> for RequestView {
    fn from(request: ClientRequest) -> Self {
        let text = |text: String| (!text.is_empty()).then_some(text);
        Self {
            id: request.id.to_string(),
            created_at: moment_text(request.created_at),
            endpoint: request.endpoint,
            error: text(request.error),
            reason: text(request.reason),
            parts: serde_json::from_str(&request.parts).unwrap_or_default(),
        }
    }
}

/// List the last requests of an application.
///
/// Those of the last hour, the latest first: sign-ins, pushed requests, token requests, and rejected UserInfo requests
/// with a token of the application. Of many requests in a minute only the first ten accepted and the first ten rejected
/// ones are listed, and two rejected ones of senders that did not authenticate. Nothing in them identifies a user.
#[utoipa::path(
    get,
    path = "/applications/{id}/requests",
    responses((status = 200, description = "200 at most.", body = List<RequestView>))
)]
async fn requests(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<Json<List<RequestView>>, Problem> {
    let application = admin::application(&services, &id_of(&id, "application")?).await?;
    let found = recent_requests::of_application(&services, &application.id)
        .await
        .map_err(InternalError::from)?;
    Ok(Json(List::whole(found.into_iter().map(RequestView::from))))
}
