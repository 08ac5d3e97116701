//! The caller.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::authorize::ConsoleSession;
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{self, Caller, Principal};
use crate::http::problem::Problem;
use assent_model::administration::{AdminScope, AdminScopes, Permission};
use assent_model::audit::Actor;
use assent_model::user::ConsoleRole;

pub(super) fn routes() -> Area {
    Area::new()
        .noun("me", "The caller, and the caller's permissions.")
        .route("show", Permission::Me, routes!(read))
}

/// A kind of caller.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum CallerKind {
    /// A caller with a token of `assent admin token`.
    AdminToken,
    /// A user with a session of the console.
    User,
    /// An application as a service account.
    Application,
}

/// The caller.
#[derive(Serialize, ToSchema)]
struct Me {
    kind: CallerKind,
    /// The id of the token, the user or the application. For a session: the value of the header `X-Assent-User`.
    id: Option<String>,
    /// The name of the user or application.
    name: Option<String>,
    /// The user's role.
    role: Option<ConsoleRole>,
    /// The application's admin scopes in force.
    #[schema(value_type = Option<Vec<AdminScope>>)]
    admin_scopes: Option<AdminScopes>,
    /// The caller's permissions.
    permissions: Vec<Permission>,
    /// Whether the server sends email.
    sends_mail: bool,
    /// For a session: the value of the header `X-Assent-CSRF` for requests that change something.
    csrf_token: Option<String>,
}

/// Read the caller, and the permissions of the caller.
#[utoipa::path(get, path = "/me", responses((status = 200, description = "The caller.", body = Me)))]
async fn read(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    session: Option<Extension<ConsoleSession>>,
) -> Result<Json<Me>, Problem> {
    let name = match &caller.by.actor {
        Actor::User(user) => Some(
            admin::user(&services, *user)
                .await?
                .display_name()
                .to_owned(),
        ),
        Actor::Application(application) => Some(
            admin::registered_application(&services, application)
                .await?
                .name()
                .to_owned(),
        ),
        _ => None,
    };
    let permissions = caller.permissions();
    let (kind, role, admin_scopes) = match caller.principal {
        Principal::AdminToken => (CallerKind::AdminToken, None, None),
        Principal::User(role) => (CallerKind::User, Some(role), None),
        Principal::Application(scopes) => (CallerKind::Application, None, Some(scopes)),
    };
    let csrf_token = session.map(|Extension(session)| session.csrf);
    Ok(Json(Me {
        kind,
        id: caller.by.actor.id(),
        name,
        role,
        admin_scopes,
        permissions,
        sends_mail: services.mailer.is_some(),
        csrf_token,
    }))
}
