//! Initial access tokens, with which applications register themselves.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::context::Context;
use super::input::{Body, List, Page, Query, id_of};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{self, CreateRegistrationToken, DeleteRegistrationToken};
use crate::domain::audit::{moment, moment_text};
use crate::http::problem::Problem;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::application::security_profile::SecurityProfile;
use assent_model::application_type::ApplicationType;
use assent_model::client_registration::{RegistrationLimits, RegistrationToken};
use assent_model::scope::Scope;

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "registration-tokens",
            "Initial access tokens, with which applications register themselves.",
        )
        .route("list", Permission::ApplicationsRead, routes!(list))
        .route("create", Permission::ApplicationsWrite, routes!(create))
        .protected(ProtectedActionKind::CreateRegistrationToken)
        .route("delete", Permission::ApplicationsWrite, routes!(remove))
}

/// An initial access token, without the token itself.
#[derive(Serialize, ToSchema)]
#[schema(as = RegistrationToken)]
struct RegistrationTokenView {
    /// Its identifier.
    id: String,
    /// The name that administrators see.
    name: String,
    /// The id of the administrator, operator token or service account that created it.
    created_by: Option<String>,
    #[schema(format = DateTime)]
    created_at: String,
    /// The time after which it is not valid any more. The server deletes it 30 days later.
    #[schema(format = DateTime)]
    expires_at: String,
    /// The number of applications that it may register in total.
    quota: u32,
    /// The number of applications that it may register on one day (UTC).
    daily_quota: u32,
    /// The number of applications that it has registered.
    registered: u32,
    /// The scopes that the applications may have.
    scopes: Vec<Scope>,
    /// The hosts of their redirect URIs; empty: all hosts.
    redirect_hosts: Vec<String>,
    /// The security profile that they have.
    security_profile: Option<SecurityProfile>,
    /// The application types that they may have.
    application_types: Vec<ApplicationType>,
}

impl From<RegistrationToken> for RegistrationTokenView {
    fn from(token: RegistrationToken) -> Self {
        let RegistrationLimits {
            scopes,
            redirect_hosts,
            security_profile,
            application_types,
        } = token.limits;
        Self {
            id: token.id.to_string(),
            name: token.name,
            created_by: token.created_by,
            created_at: moment_text(token.created_at),
            expires_at: moment_text(token.expires_at),
            quota: token.quota,
            daily_quota: token.daily_quota,
            registered: token.used,
            scopes: scopes.iter().collect(),
            redirect_hosts: redirect_hosts.into_iter().collect(),
            security_profile,
            application_types,
        }
    }
}

/// A new initial access token.
#[derive(Serialize, ToSchema)]
struct CreatedRegistrationToken {
    /// The token. Only this response contains it.
    token: String,
    #[serde(flatten)]
    view: RegistrationTokenView,
}

/// The values of a new initial access token.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewRegistrationToken {
    /// The name that administrators see.
    name: String,
    /// The time after which it is not valid any more, within a year; a date means the beginning of that day (UTC).
    expires_at: String,
    /// The number of applications that it may register in total, 1 to 10,000.
    #[schema(minimum = 1, maximum = 10_000)]
    quota: u32,
    /// The number of applications that it may register on one day (UTC). By default the same as `quota`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, nullable = false)]
    daily_quota: Option<u32>,
    /// The scopes that the applications may have; by default those of a new application. A registration without
    /// `scope` has all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Scope>>, nullable = false)]
    scopes: Option<Vec<String>>,
    /// The hosts of their redirect URIs; by default all hosts.
    #[serde(default)]
    redirect_hosts: Vec<String>,
    /// The security profile that they have.
    #[serde(default)]
    security_profile: Option<SecurityProfile>,
    /// The application types that they may have; by default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    application_types: Option<Vec<ApplicationType>>,
}

/// List the initial access tokens.
///
/// The oldest comes first. The tokens themselves are not stored.
#[utoipa::path(
    get,
    path = "/registration-tokens",
    params(Page),
    responses((status = 200, description = "A page of them.", body = List<RegistrationTokenView>))
)]
async fn list(
    State(services): State<Arc<Services>>,
    Query(page): Query<Page>,
) -> Result<Json<List<RegistrationTokenView>>, Problem> {
    let rows = admin::registration_tokens(&services, page.after()?, page.limit.and_one()).await?;
    Ok(Json(List::from_rows(
        rows,
        page.limit,
        |token| token.id.to_string(),
        RegistrationTokenView::from,
    )))
}

/// Create an initial access token.
///
/// Its holder registers applications within the quotas and limits. No user can open a new application until an
/// administrator grants access to it.
#[utoipa::path(
    post,
    path = "/registration-tokens",
    request_body = NewRegistrationToken,
    responses((
        status = 201,
        description = "The new token. Only this response contains it.",
        body = CreatedRegistrationToken
    ))
)]
async fn create(
    context: Context,
    Body(new): Body<NewRegistrationToken>,
) -> Result<(StatusCode, Json<CreatedRegistrationToken>), Problem> {
    let expires_at = moment(&new.expires_at).ok_or_else(|| {
        Problem::field("expires_at", "expected a time such as 2027-01-31T12:00:00Z")
    })?;
    let standard = RegistrationLimits::default();
    let scopes = match &new.scopes {
        None => standard.scopes,
        Some(names) => admin::registration_scopes(names)?,
    };
    let command = CreateRegistrationToken {
        name: new.name,
        expires_at,
        quota: new.quota,
        daily_quota: new.daily_quota.unwrap_or(new.quota),
        limits: RegistrationLimits {
            scopes,
            redirect_hosts: new.redirect_hosts.into_iter().collect(),
            security_profile: new.security_profile,
            application_types: new.application_types.unwrap_or(standard.application_types),
        },
    };
    let (stored, token) = context.run(command).await?;
    let created = CreatedRegistrationToken {
        token: token.expose().to_owned(),
        view: stored.into(),
    };
    Ok((StatusCode::CREATED, Json(created)))
}

/// Delete an initial access token.
///
/// The token is invalid at once. The applications that registered with it stay.
#[utoipa::path(
    delete,
    path = "/registration-tokens/{id}",
    responses((status = 204, description = "Deleted."))
)]
async fn remove(context: Context, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    let command = DeleteRegistrationToken(id_of(&id, "initial access token")?);
    context.no_content(command).await
}
