//! The sessions, consents and activity of users.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::audit::{self, EntryView};
use super::context::Context;
use super::input::{List, Page, Query, id_of};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{self, Caller, EndSession, EndSessions, WithdrawConsent};
use crate::domain::audit::moment_text;
use crate::http::problem::Problem;
use crate::http::texts::PageLanguage;
use assent_model::administration::Permission;
use assent_model::scope::{Scope, Scopes};
use assent_store::{Consent, OpenSession};

pub(super) fn routes() -> Area {
    Area::new()
        .noun("users.sessions", "The sessions of a user.")
        .route("list", Permission::UsersRead, routes!(sessions))
        .route("end-all", Permission::UsersWrite, routes!(end_all))
        .route("end", Permission::UsersWrite, routes!(end))
        .noun("users.consents", "The consents of a user.")
        .route("list", Permission::UsersRead, routes!(consents))
        .route("withdraw", Permission::UsersWrite, routes!(withdraw))
        .noun("users.activity", "The activity of a user.")
        .route("list", Permission::UsersRead, routes!(happened))
}

/// A session of a user, in a browser or of an application without one.
#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
struct SessionView {
    id: String,
    /// When the user last signed in in it.
    #[schema(format = DateTime)]
    signed_in_at: String,
    /// When it last signed the user in to an application.
    #[schema(format = DateTime)]
    used_at: Option<String>,
    /// The IP address of the browser at sign-in.
    ip_address: Option<String>,
    /// The browser and operating system.
    browser: Option<String>,
    /// Whether an application's request without a browser began it.
    without_browser: bool,
    /// The names of the applications that the user signed in to in it.
    applications: Vec<String>,
}

fn session(open: OpenSession) -> SessionView {
    SessionView {
        id: open.id.to_string(),
        signed_in_at: moment_text(open.signed_in_at),
        used_at: open.used_at.map(moment_text),
        ip_address: open.from.address.map(|address| address.to_string()),
        browser: open.from.browser,
        without_browser: open.without_browser,
        applications: open.applications,
    }
}

/// List a user's sessions.
#[utoipa::path(
    get,
    path = "/users/{id}/sessions",
    responses((
        status = 200,
        description = "The open sessions, the latest first; 200 at most.",
        body = List<SessionView>
    ))
)]
async fn sessions(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<Json<List<SessionView>>, Problem> {
    let open = admin::sessions(&services, id_of(&id, "user")?).await?;
    Ok(Json(List::whole(open.into_iter().map(session))))
}

/// End a session.
///
/// As if the user signed out in that browser: the session's tokens are revoked, and its applications are notified.
#[utoipa::path(delete, path = "/users/{id}/sessions/{session}", responses((status = 204, description = "Ended.")))]
async fn end(
    context: Context,
    Path((id, session)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let command = EndSession {
        user: id_of(&id, "user")?,
        session: id_of(&session, "session")?,
    };
    context.no_content(command).await
}

/// End all sessions of a user.
#[utoipa::path(delete, path = "/users/{id}/sessions", responses((status = 204, description = "Ended.")))]
async fn end_all(context: Context, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    context.no_content(EndSessions(id_of(&id, "user")?)).await
}

/// A user's consent to an application.
#[derive(Serialize, ToSchema)]
#[schema(as = Consent)]
struct ConsentView {
    application_id: String,
    application_name: String,
    #[schema(value_type = Vec<Scope>)]
    scopes: Scopes,
    #[schema(format = DateTime)]
    granted_at: String,
    /// When the application must ask the user again.
    #[schema(format = DateTime)]
    expires_at: String,
}

fn consent(consent: Consent) -> ConsentView {
    ConsentView {
        application_id: consent.application.to_string(),
        application_name: consent.application_name,
        scopes: consent.scopes,
        granted_at: moment_text(consent.granted_at),
        expires_at: moment_text(consent.expires_at),
    }
}

/// List a user's consents.
#[utoipa::path(
    get,
    path = "/users/{id}/consents",
    responses((status = 200, description = "The valid consents.", body = List<ConsentView>))
)]
async fn consents(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<Json<List<ConsentView>>, Problem> {
    let found = admin::consents(&services, id_of(&id, "user")?).await?;
    Ok(Json(List::whole(found.into_iter().map(consent))))
}

/// Withdraw a user's consent.
///
/// Revokes the application's tokens for the user, and the application must ask the user again.
#[utoipa::path(
    delete,
    path = "/users/{id}/consents/{application}",
    responses((status = 204, description = "Withdrawn."))
)]
async fn withdraw(
    context: Context,
    Path((id, application)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let command = WithdrawConsent {
        application: id_of(&application, "consent")?,
        user: id_of(&id, "user")?,
    };
    context.no_content(command).await
}

/// List the activity of a user, the latest first.
#[utoipa::path(
    get,
    path = "/users/{id}/activity",
    params(Page),
    responses((status = 200, description = "A page of entries of the audit log.", body = List<EntryView>))
)]
async fn happened(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    PageLanguage(language): PageLanguage,
    Path(id): Path<String>,
    Query(page): Query<Page>,
) -> Result<Json<List<EntryView>>, Problem> {
    let user = admin::user(&services, id_of(&id, "user")?).await?;
    let found =
        crate::domain::audit::of_user(&services, user.id, page.after()?, page.limit.and_one())
            .await?;
    let List { items, next } = List::from_rows(
        found,
        page.limit,
        |entry| entry.id.to_string(),
        |entry| entry,
    );
    Ok(Json(List {
        items: audit::views(&services, &caller, items, language).await?,
        next,
    }))
}
