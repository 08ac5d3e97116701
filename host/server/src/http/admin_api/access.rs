//! Effective access: the users who can open an application, and the applications that a user can open.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::access_page::page;
use super::export;
use super::input::{List, Page, PageLimit, Query, Search, id_of, list_query};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{self, AccessGrant, AccessRow, Caller, GrantSource, UserAccess};
use crate::domain::audit::moment_text;
use crate::domain::sign_in::access::AccessDenied;
use crate::http::problem::Problem;
use assent_model::administration::Permission;
use assent_model::id::Did;
use assent_model::user::LifecycleState;
use assent_store::EffectiveAccess;

/// The routes of effective access.
pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "access",
            "Access: the users who can open an application, by what, and when they last did.",
        )
        .route("list", Permission::AccountsRead, routes!(list))
        .route(
            "export",
            Permission::AccountsRead,
            routes!(export_of_application),
        )
        .noun("users.access", "The applications that a user can open.")
        .route("list", Permission::AccountsRead, routes!(of_user))
        .route("export", Permission::AccountsRead, routes!(export_of_user))
}

/// The access of a user to an application: everything that grants it, and the decision.
#[derive(Serialize, ToSchema)]
#[schema(as = Access)]
pub(super) struct AccessView {
    user_id: String,
    /// The user's name at sign-in.
    user_name: String,
    /// The user's full name.
    display_name: Option<String>,
    user_state: LifecycleState,
    application_id: String,
    /// The display name of the application.
    application_name: String,
    /// Whether the application is enabled. No user can sign in to a disabled application.
    application_enabled: bool,
    /// Whether the user has access. A user without a device must enrol one first.
    granted: bool,
    /// Why the user has no access in spite of `via`.
    denied: Option<AccessDenialView>,
    /// Everything that grants access.
    via: Vec<AccessGrantView>,
    /// The roles that the application receives: those of the account, of the groups and of everyone.
    roles: Vec<String>,
    /// When the earliest of the grants in `via` began.
    #[schema(format = DateTime)]
    since: Option<String>,
    /// When the user last signed in to the application, with an accuracy of ten minutes. Absent if the user never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime, nullable = false)]
    used: Option<String>,
    /// The user's account in the application. The first sign-in creates it, if there is none.
    account: Option<AccessAccountView>,
}

/// A state that denies access in spite of a grant.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AccessDenial)]
enum AccessDenialView {
    /// The user is suspended.
    UserSuspended,
    /// The user is terminated.
    UserTerminated,
    /// The account in the application is suspended.
    AccountSuspended,
    /// The account in the application is terminated.
    AccountTerminated,
}

impl AccessDenialView {
    const fn from_reason(reason: AccessDenied) -> Option<Self> {
        match reason {
            AccessDenied::UserSuspended => Some(Self::UserSuspended),
            AccessDenied::UserTerminated => Some(Self::UserTerminated),
            AccessDenied::AccountSuspended => Some(Self::AccountSuspended),
            AccessDenied::AccountTerminated => Some(Self::AccountTerminated),
            AccessDenied::NoDevice
            | AccessDenied::NoAccount
            | AccessDenied::NoName
            | AccessDenied::UnconfirmedAddress => None,
        }
    }
}

/// What grants access.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AccessSource)]
enum AccessSourceView {
    /// The user's own account.
    Account,
    /// A group of the user.
    Group,
    /// An assignment of the application to everyone.
    Everyone,
}

/// One way in which a user has access.
#[derive(Serialize, ToSchema)]
#[schema(as = AccessGrant)]
struct AccessGrantView {
    kind: AccessSourceView,
    /// The group, or the account.
    id: Option<String>,
    /// The name of the group.
    name: Option<String>,
    /// The roles that it adds.
    roles: Vec<String>,
    /// When it began. For a group this is the later of the membership and the assignment.
    #[schema(format = DateTime)]
    since: String,
}

/// The account of a user in an application.
#[derive(Serialize, ToSchema)]
#[schema(as = AccessAccount)]
struct AccessAccountView {
    id: String,
    /// The user's name in the application: the claim `upn`.
    name: String,
    state: LifecycleState,
}

fn grant_view(grant: AccessGrant) -> AccessGrantView {
    let AccessGrant {
        source,
        roles,
        since,
    } = grant;
    let (kind, id, name) = match source {
        GrantSource::Account(id) => (AccessSourceView::Account, Some(id.to_string()), None),
        GrantSource::Group(id, name) => (AccessSourceView::Group, Some(id.to_string()), Some(name)),
        GrantSource::Everyone => (AccessSourceView::Everyone, None, None),
    };
    AccessGrantView {
        kind,
        id,
        name,
        roles,
        since: moment_text(since),
    }
}

fn access_view(found: UserAccess) -> AccessView {
    let (roles, since) = (found.roles(), found.since());
    let UserAccess {
        access,
        grants,
        denied,
    } = found;
    let EffectiveAccess {
        user,
        application,
        application_name,
        application_enabled,
        account,
        used_at,
        assigned: _,
        everyone_since: _,
    } = access;
    AccessView {
        user_id: user.id.to_string(),
        user_name: user.name.to_string(),
        display_name: user.profile.name,
        user_state: user.state,
        application_id: application.to_string(),
        application_name,
        application_enabled,
        granted: denied.is_none(),
        denied: denied.and_then(AccessDenialView::from_reason),
        via: grants.into_iter().map(grant_view).collect(),
        roles,
        since: since.map(moment_text),
        used: used_at.map(moment_text),
        account: account.map(|account| AccessAccountView {
            id: account.id.to_string(),
            name: account.name,
            state: account.state,
        }),
    }
}

/// Returns a page from rows that were requested with one more than `limit`.
fn access_list(rows: Vec<AccessRow>, limit: PageLimit) -> Json<List<AccessView>> {
    let List { items, next } = List::from_rows(
        rows,
        limit,
        |(cursor, _)| cursor.clone(),
        |(_, access)| access.map(access_view),
    );
    Json(List {
        items: items.into_iter().flatten().collect(),
        next,
    })
}

list_query! {
    /// The filters of the list of users with access.
    struct AccessListQuery;
    /// The beginning of the account name, or of the user's name, email address or a word of the full name; or the
    /// complete id of the account or the user.
    #[serde(default)]
    #[param(value_type = String, max_length = 254, required = false)]
    q: Search,
    /// Only users whose access is denied by their state, or by that of their account.
    #[serde(default)]
    #[param(required = false)]
    denied: bool,
}

/// List and search the users with access to an application.
///
/// Effective access: by an own account, by a group, or because the application is assigned to everyone; used or not.
/// The users are in the order of creation; with `q`, in the order of the matching terms. With `q` and `denied` a page
/// may have fewer items than `limit` although there is a `next`.
#[utoipa::path(
    get,
    path = "/applications/{id}/access",
    params(AccessListQuery),
    responses((status = 200, description = "A page of users with access.", body = List<AccessView>))
)]
async fn list(
    State(services): State<Arc<Services>>,
    Path(application): Path<String>,
    Query(query): Query<AccessListQuery>,
) -> Result<Json<List<AccessView>>, Problem> {
    let application = id_of(&application, "application")?;
    let rows = page(
        &services,
        &application,
        query.q.text(),
        query.denied,
        query.after.as_deref(),
        query.limit,
    )
    .await?;
    Ok(access_list(rows, query.limit))
}

/// List the applications that a user can open.
///
/// Effective access: by an own account, by a group, or because the application is assigned to everyone; used or not.
#[utoipa::path(
    get,
    path = "/users/{id}/access",
    params(Page),
    responses(
        (
            status = 200,
            description = "A page of applications, in the order of their names.",
            body = List<AccessView>,
        ),
    )
)]
async fn of_user(
    State(services): State<Arc<Services>>,
    Path(user): Path<String>,
    Query(page): Query<Page>,
) -> Result<Json<List<AccessView>>, Problem> {
    let user = id_of(&user, "user")?;
    let rows = admin::access_of(
        &services,
        user,
        page.after()?.as_ref(),
        page.limit.and_one(),
    )
    .await?;
    Ok(access_list(rows, page.limit))
}

/// The filters of the export of users with access.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AccessExportQuery {
    /// Only users that this search finds, as in the list.
    #[serde(default)]
    #[param(value_type = String, max_length = 254, required = false)]
    q: Search,
    /// Only users whose access is denied by their state, or by that of their account.
    #[serde(default)]
    #[param(required = false)]
    denied: bool,
}

/// Export the users with access to an application as CSV.
///
/// In the format of the export of users. `access` is `granted` or `denied`; `via` contains `account`, the names of
/// groups, and `everyone`; `used` is empty for a user who never signed in to the application.
#[utoipa::path(
    get,
    path = "/applications/{id}/access/export",
    params(AccessExportQuery),
    responses((status = 200, description = "The CSV file.", body = String, content_type = "text/csv"))
)]
async fn export_of_application(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    Path(application): Path<String>,
    Query(AccessExportQuery { q, denied }): Query<AccessExportQuery>,
) -> Result<Response, Problem> {
    let application: Did = id_of(&application, "application")?;
    export::access_to(services, &caller, application, q.text(), denied).await
}

/// Export the applications that a user can open as CSV.
///
/// In the format of the export of the users with access to an application.
#[utoipa::path(
    get,
    path = "/users/{id}/access/export",
    responses((status = 200, description = "The CSV file.", body = String, content_type = "text/csv"))
)]
async fn export_of_user(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    Path(user): Path<String>,
) -> Result<Response, Problem> {
    export::access_of(services, &caller, id_of(&user, "user")?).await
}
