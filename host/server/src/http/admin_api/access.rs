//! Effective access: the users who can open an application, the applications that a user can open, and the use by the
//! members of a group.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::access_export::{self, Format};
use super::access_page::{AccessList, access_page, member_page};
use super::access_view::{
    AccessView, MemberAccessView, TotalsView, access_view, member_access_view,
};
use super::input::{List, Query, Search, id_of, list_query};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{
    self, AccessConditions, AccessSubject, Caller, Unused, names_of_actors,
};
use crate::http::problem::Problem;
use assent_model::administration::Permission;

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
        .noun(
            "groups.access",
            "The members of a group, and when they last used an application of the group.",
        )
        .route("list", Permission::AccountsRead, routes!(of_group))
        .route("export", Permission::AccountsRead, routes!(export_of_group))
}

/// How long access was not used.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
pub(super) enum UnusedQuery {
    /// Never.
    #[serde(rename = "never")]
    Never,
    /// Not in the last 90 days, which includes never.
    #[serde(rename = "90-days")]
    For90Days,
}

impl From<UnusedQuery> for Unused {
    fn from(query: UnusedQuery) -> Self {
        match query {
            UnusedQuery::Never => Self::Never,
            UnusedQuery::For90Days => Self::For90Days,
        }
    }
}

fn conditions(denied: bool, unused: Option<UnusedQuery>, role: Search) -> AccessConditions {
    AccessConditions {
        denied,
        unused: unused.map(Into::into),
        role: role.text(),
    }
}

/// A page of access.
#[derive(Serialize, ToSchema)]
#[schema(as = AccessPage)]
struct AccessListView {
    items: Vec<AccessView>,
    /// The value of `after` for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next: Option<String>,
    /// The totals of the whole list without its filters; only on the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    totals: Option<TotalsView>,
}

/// A page of the members of a group.
#[derive(Serialize, ToSchema)]
#[schema(as = GroupAccessPage)]
struct MemberAccessListView {
    items: Vec<MemberAccessView>,
    /// The value of `after` for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next: Option<String>,
    /// The totals of the whole list without its filters; only on the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    totals: Option<TotalsView>,
}

/// Returns the totals for the first page.
async fn totals(
    services: &Services,
    of: AccessSubject,
    after: Option<&String>,
) -> Result<Option<TotalsView>, Problem> {
    match after {
        Some(_) => Ok(None),
        None => Ok(Some(admin::access_totals(services, &of).await?.into())),
    }
}

list_query! {
    /// The filters of the list of users with access.
    struct AccessListQuery;
    /// The beginning of the account name, or of the user's name, email address or a word of the full name; or the
    /// complete id of the account or the user.
    #[serde(default)]
    #[param(value_type = String, max_length = 254, required = false)]
    q: Search,
    /// Only access that the state of the user or of the account denies.
    #[serde(default)]
    #[param(required = false)]
    denied: bool,
    /// Only access that was not used.
    #[param(inline)]
    unused: Option<UnusedQuery>,
    /// Only access with this role.
    #[serde(default)]
    #[param(value_type = String, max_length = 254, required = false)]
    role: Search,
}

list_query! {
    /// The filters of the list of applications that a user can open.
    struct UserAccessQuery;
    /// Only access that the state of the user or of the account denies.
    #[serde(default)]
    #[param(required = false)]
    denied: bool,
    /// Only access that was not used.
    #[param(inline)]
    unused: Option<UnusedQuery>,
    /// Only access with this role.
    #[serde(default)]
    #[param(value_type = String, max_length = 254, required = false)]
    role: Search,
}

list_query! {
    /// The filters of the list of members with their last use.
    struct GroupAccessQuery;
    /// Only members who are suspended or terminated.
    #[serde(default)]
    #[param(required = false)]
    denied: bool,
    /// Only members who did not use an application of the group.
    #[param(inline)]
    unused: Option<UnusedQuery>,
}

/// List and search the users with access to an application.
///
/// Effective access: by an own account, by a group, or because the application is assigned to everyone; used or not.
/// The users are in the order of creation; with `q`, in the order of the matching terms. With `denied`, `unused` or
/// `role` a page may have fewer items than `limit` although there is a `next`.
#[utoipa::path(
    get,
    path = "/applications/{id}/access",
    params(AccessListQuery),
    responses((status = 200, description = "A page of users with access.", body = AccessListView))
)]
async fn list(
    State(services): State<Arc<Services>>,
    Path(application): Path<String>,
    Query(query): Query<AccessListQuery>,
) -> Result<Json<AccessListView>, Problem> {
    let id = id_of(&application, "application")?;
    let totals = totals(
        &services,
        AccessSubject::Application(id_of(&application, "application")?),
        query.after.as_ref(),
    )
    .await?;
    let conditions = conditions(query.denied, query.unused, query.role);
    let list = AccessList::To(id, query.q.text());
    let found = access_page(&services, &list, &conditions, query.after, query.limit).await?;
    access_list(&services, found, totals).await
}

/// List the applications that a user can open.
///
/// Effective access: by an own account, by a group, or because the application is assigned to everyone; used or not.
/// With a filter a page may have fewer items than `limit` although there is a `next`.
#[utoipa::path(
    get,
    path = "/users/{id}/access",
    params(UserAccessQuery),
    responses(
        (
            status = 200,
            description = "A page of applications, in the order of their names.",
            body = AccessListView,
        ),
    )
)]
async fn of_user(
    State(services): State<Arc<Services>>,
    Path(user): Path<String>,
    Query(query): Query<UserAccessQuery>,
) -> Result<Json<AccessListView>, Problem> {
    let user = id_of(&user, "user")?;
    let totals = totals(&services, AccessSubject::User(user), query.after.as_ref()).await?;
    let conditions = conditions(query.denied, query.unused, query.role);
    let list = AccessList::Of(user);
    let found = access_page(&services, &list, &conditions, query.after, query.limit).await?;
    access_list(&services, found, totals).await
}

async fn access_list(
    services: &Services,
    List { items, next }: List<admin::UserAccess>,
    totals: Option<TotalsView>,
) -> Result<Json<AccessListView>, Problem> {
    let actors = items.iter().flat_map(|access| &access.grants);
    let names = names_of_actors(services, actors.filter_map(|grant| grant.by.as_ref())).await?;
    Ok(Json(AccessListView {
        items: items
            .into_iter()
            .map(|access| access_view(access, &names))
            .collect(),
        next,
        totals,
    }))
}

/// List the members of a group with their last use of its applications.
///
/// The applications of the group and their roles are in `GET /groups/{id}/applications`. With a filter a page may have
/// fewer items than `limit` although there is a `next`.
#[utoipa::path(
    get,
    path = "/groups/{id}/access",
    params(GroupAccessQuery),
    responses(
        (
            status = 200,
            description = "A page of members, in the order of the users' creation.",
            body = MemberAccessListView,
        ),
    )
)]
async fn of_group(
    State(services): State<Arc<Services>>,
    Path(group): Path<String>,
    Query(query): Query<GroupAccessQuery>,
) -> Result<Json<MemberAccessListView>, Problem> {
    let group = id_of(&group, "group")?;
    let totals = totals(&services, AccessSubject::Group(group), query.after.as_ref()).await?;
    let conditions = conditions(query.denied, query.unused, Search::default());
    let List { items, next } =
        member_page(&services, group, &conditions, query.after, query.limit).await?;
    let actors = items.iter().filter_map(|member| member.added_by.as_ref());
    let names = names_of_actors(&services, actors).await?;
    Ok(Json(MemberAccessListView {
        items: items
            .into_iter()
            .map(|member| member_access_view(member, &names))
            .collect(),
        next,
        totals,
    }))
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
    /// Only access that the state of the user or of the account denies.
    #[serde(default)]
    #[param(required = false)]
    denied: bool,
    /// Only access that was not used.
    #[param(inline)]
    unused: Option<UnusedQuery>,
    /// Only access with this role.
    #[serde(default)]
    #[param(value_type = String, max_length = 254, required = false)]
    role: Search,
    /// The format of the file.
    #[serde(default)]
    #[param(inline, required = false)]
    format: Format,
}

/// Export the users with access to an application as CSV or JSON.
///
/// CSV is in the format of the export of users. `access` is `granted` or `denied`; `via` contains `account`, the names
/// of groups, and `everyone`; `granted_by` contains who gave each of them, or `unknown`; `used` is empty for a user who
/// never signed in to the application. JSON is a list of the items of the list of users with access.
#[utoipa::path(
    get,
    path = "/applications/{id}/access/export",
    params(AccessExportQuery),
    responses((
        status = 200,
        description = "The file.",
        content((String = "text/csv"), (Vec<AccessView> = "application/json")),
    ))
)]
async fn export_of_application(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    Path(application): Path<String>,
    Query(query): Query<AccessExportQuery>,
) -> Result<Response, Problem> {
    let list = AccessList::To(id_of(&application, "application")?, query.q.text());
    let conditions = conditions(query.denied, query.unused, query.role);
    access_export::access(services, &caller, list, conditions, query.format).await
}

/// The filters of the export of applications that a user can open.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct UserAccessExportQuery {
    /// Only access that the state of the user or of the account denies.
    #[serde(default)]
    #[param(required = false)]
    denied: bool,
    /// Only access that was not used.
    #[param(inline)]
    unused: Option<UnusedQuery>,
    /// Only access with this role.
    #[serde(default)]
    #[param(value_type = String, max_length = 254, required = false)]
    role: Search,
    /// The format of the file.
    #[serde(default)]
    #[param(inline, required = false)]
    format: Format,
}

/// Export the applications that a user can open as CSV or JSON.
///
/// In the format of the export of the users with access to an application.
#[utoipa::path(
    get,
    path = "/users/{id}/access/export",
    params(UserAccessExportQuery),
    responses((
        status = 200,
        description = "The file.",
        content((String = "text/csv"), (Vec<AccessView> = "application/json")),
    ))
)]
async fn export_of_user(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    Path(user): Path<String>,
    Query(query): Query<UserAccessExportQuery>,
) -> Result<Response, Problem> {
    let list = AccessList::Of(id_of(&user, "user")?);
    let conditions = conditions(query.denied, query.unused, query.role);
    access_export::access(services, &caller, list, conditions, query.format).await
}

/// The filters of the export of members with their last use.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct GroupAccessExportQuery {
    /// Only members who are suspended or terminated.
    #[serde(default)]
    #[param(required = false)]
    denied: bool,
    /// Only members who did not use an application of the group.
    #[param(inline)]
    unused: Option<UnusedQuery>,
    /// The format of the file.
    #[serde(default)]
    #[param(inline, required = false)]
    format: Format,
}

/// Export the members of a group with their last use of its applications as CSV or JSON.
///
/// CSV is in the format of the export of users. JSON is a list of the items of the list of members with their last use.
#[utoipa::path(
    get,
    path = "/groups/{id}/access/export",
    params(GroupAccessExportQuery),
    responses((
        status = 200,
        description = "The file.",
        content((String = "text/csv"), (Vec<MemberAccessView> = "application/json")),
    ))
)]
async fn export_of_group(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    Path(group): Path<String>,
    Query(query): Query<GroupAccessExportQuery>,
) -> Result<Response, Problem> {
    let group = admin::group(&services, id_of(&group, "group")?).await?;
    let conditions = conditions(query.denied, query.unused, Search::default());
    access_export::members(services, &caller, group, conditions, query.format).await
}
