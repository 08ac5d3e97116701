//! What people are signed in to, what they agreed to, and what happened in their names.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::audit::{self, EntryView};
use super::context::Context;
use super::input::{List, Page, Query};
use super::routes::Area;
use crate::domain::Host;
use crate::domain::admin::{self, Caller, EndSession, EndSessions, WithdrawConsent};
use crate::http::admin_api::values::{id_of, moment};
use crate::http::problem::Problem;
use assent_model::administration::Permission;
use assent_model::scope::{Scope, Scopes};
use assent_store::{Consent, OpenSession};

pub(super) fn routes() -> Area {
    Area::new()
        .noun("users.sessions", "The sessions of a user.")
        .noun("users.consents", "What a user lets applications know.")
        .noun("users.activity", "What happened in the name of a user.")
        .route(
            "users.sessions.list",
            Permission::UsersRead,
            routes!(sessions),
        )
        .route(
            "users.sessions.end-all",
            Permission::UsersWrite,
            routes!(end_all),
        )
        .route("users.sessions.end", Permission::UsersWrite, routes!(end))
        .route(
            "users.consents.list",
            Permission::UsersRead,
            routes!(consents),
        )
        .route(
            "users.consents.withdraw",
            Permission::UsersWrite,
            routes!(withdraw),
        )
        .route(
            "users.activity.list",
            Permission::UsersRead,
            routes!(happened),
        )
}

/// A session of a person's in some browser.
#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
struct SessionView {
    id: String,
    /// When the person signed in last in it.
    #[schema(format = DateTime)]
    signed_in_at: String,
    /// When it last let the person in to an application without asking.
    #[schema(format = DateTime)]
    used_at: Option<String>,
    /// Where its browser was when it began.
    address: Option<String>,
    /// The browser and system in plain words.
    browser: Option<String>,
    /// The names of the applications that the person used in it.
    applications: Vec<String>,
}

fn session(open: OpenSession) -> SessionView {
    SessionView {
        id: open.id.to_string(),
        signed_in_at: moment(open.signed_in_at),
        used_at: open.used_at.map(moment),
        address: open.from.address.map(|address| address.to_string()),
        browser: open.from.browser,
        applications: open.applications,
    }
}

/// List a person's sessions.
#[utoipa::path(
    get,
    path = "/users/{id}/sessions",
    responses((status = 200, description = "Up to 200 that are open, the latest first.", body = List<SessionView>))
)]
async fn sessions(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
) -> Result<Json<List<SessionView>>, Problem> {
    let open = admin::sessions(&host, id_of(&id, "user")?).await?;
    Ok(Json(List::whole(open.into_iter().map(session))))
}

/// End a session.
///
/// As signing out in its browser would: its tokens end, and its applications are told.
#[utoipa::path(delete, path = "/users/{id}/sessions/{session}", responses((status = 204, description = "Ended.")))]
async fn end(
    context: Context,
    Path((id, session)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let command = EndSession {
        user: id_of(&id, "user")?,
        session: id_of(&session, "session")?,
    };
    context.run(command).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// End all sessions of a person.
#[utoipa::path(delete, path = "/users/{id}/sessions", responses((status = 204, description = "Ended.")))]
async fn end_all(context: Context, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    context.run(EndSessions(id_of(&id, "user")?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What a person lets an application know.
#[derive(Serialize, ToSchema)]
#[schema(as = Consent)]
struct ConsentView {
    application_id: String,
    application_name: String,
    #[schema(value_type = Vec<Scope>)]
    scopes: Scopes,
    #[schema(format = DateTime)]
    granted_at: String,
    /// Until when the person is not asked again.
    #[schema(format = DateTime)]
    expires_at: String,
}

fn consent(consent: Consent) -> ConsentView {
    ConsentView {
        application_id: consent.application.to_string(),
        application_name: consent.application_name,
        scopes: consent.scopes,
        granted_at: moment(consent.granted_at),
        expires_at: moment(consent.expires_at),
    }
}

/// List what a person agreed to.
#[utoipa::path(
    get,
    path = "/users/{id}/consents",
    responses((status = 200, description = "The consents that hold.", body = List<ConsentView>))
)]
async fn consents(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
) -> Result<Json<List<ConsentView>>, Problem> {
    let given = admin::consents(&host, id_of(&id, "user")?).await?;
    Ok(Json(List::whole(given.into_iter().map(consent))))
}

/// Withdraw a person's consent.
///
/// The application's tokens about the person end, and it has to ask again.
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
    context.run(command).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List what happened in a person's name, the latest first.
#[utoipa::path(
    get,
    path = "/users/{id}/activity",
    params(Page),
    responses((status = 200, description = "A page of entries of the audit log.", body = List<EntryView>))
)]
async fn happened(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Query(page): Query<Page>,
) -> Result<Json<List<EntryView>>, Problem> {
    let user = admin::user(&host, id_of(&id, "user")?).await?;
    let found =
        crate::domain::audit::of_user(&host, user.id, page.after()?, page.limit.and_one()).await?;
    let List { items, next } = List::of(
        found,
        page.limit.get(),
        |entry| entry.seq.to_string(),
        |entry| entry,
    );
    Ok(Json(List {
        items: audit::views(&host, &caller, items).await?,
        next,
    }))
}
