//! The assignments of applications to groups and to everyone.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::actor_view::{ActorView, actor_view};
use super::context::Context;
use super::input::{Body, List, id_of};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{self, AssignAccess, GroupDocument, RemoveAssignment};
use crate::domain::audit::moment_text;
use crate::http::problem::Problem;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::group::Assignee;
use assent_model::id::Did;

/// The routes of assignments. An assignment grants access to many users at once, so its creation and its removal need
/// an action approval.
pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "applications.groups",
            "The groups that an application is assigned to, with the roles of their members.",
        )
        .route("list", Permission::AccountsRead, routes!(list))
        .route("assign", Permission::AccountsWrite, routes!(assign))
        .protected(ProtectedActionKind::ChangeAccess)
        .route("remove", Permission::AccountsWrite, routes!(remove))
        .protected(ProtectedActionKind::ChangeAccess)
        .noun(
            "applications.everyone",
            "The assignment of an application to each active user.",
        )
        .route(
            "assign",
            Permission::AccountsWrite,
            routes!(assign_everyone),
        )
        .protected(ProtectedActionKind::ChangeAccess)
        .route(
            "remove",
            Permission::AccountsWrite,
            routes!(remove_everyone),
        )
        .protected(ProtectedActionKind::ChangeAccess)
        .noun(
            "applications.roles",
            "The roles that are known for an application.",
        )
        .route("list", Permission::AccountsRead, routes!(roles))
        .noun(
            "groups.applications",
            "The applications that are assigned to a group.",
        )
        .route("list", Permission::AccountsRead, routes!(of_group))
}

/// The roles of an assignment.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AssignedRoles)]
struct Roles {
    /// The roles of the users in the application. They are added to those of an account and of other assignments.
    roles: Vec<String>,
}

/// An assignment of an application to a group.
#[derive(Serialize, ToSchema)]
#[schema(as = GroupAssignment)]
struct AssignmentView {
    group: GroupDocument,
    /// The roles of the members in the application.
    roles: Vec<String>,
}

/// The groups and the users that have access to an application by an assignment.
#[derive(Serialize, ToSchema)]
#[schema(as = ApplicationAssignments)]
struct AssignmentsView {
    /// The roles of each active user; `null` if the application is not assigned to everyone.
    everyone: Option<Vec<String>>,
    /// The groups, in the order of their names.
    items: Vec<AssignmentView>,
}

/// An application that is assigned to a group.
#[derive(Serialize, ToSchema)]
#[schema(as = AssignedApplication)]
struct AssignedApplicationView {
    application_id: String,
    /// The display name of the application.
    application_name: Option<String>,
    /// Whether the application is enabled.
    application_enabled: bool,
    /// The roles of the members in the application.
    roles: Vec<String>,
    /// When the application was assigned to the group.
    #[schema(format = DateTime)]
    since: String,
    /// Who assigned it. `null` if it is unknown.
    by: Option<ActorView>,
}

/// List the assignments of an application.
#[utoipa::path(
    get,
    path = "/applications/{id}/groups",
    responses((status = 200, description = "The assignments.", body = AssignmentsView))
)]
async fn list(
    State(services): State<Arc<Services>>,
    Path(application): Path<String>,
) -> Result<Json<AssignmentsView>, Problem> {
    let id = id_of(&application, "application")?;
    let assignments = admin::assignments_of(&services, &id).await?;
    let items = assignments
        .groups
        .into_iter()
        .map(|(group, roles)| AssignmentView {
            group: group.into(),
            roles,
        });
    Ok(Json(AssignmentsView {
        everyone: assignments.everyone,
        items: items.collect(),
    }))
}

/// Assign an application to a group, or replace the roles.
#[utoipa::path(
    put,
    path = "/applications/{id}/groups/{group}",
    request_body = Roles,
    responses((status = 204, description = "Assigned."))
)]
async fn assign(
    context: Context,
    Path((application, group)): Path<(String, String)>,
    Body(Roles { roles }): Body<Roles>,
) -> Result<StatusCode, Problem> {
    let command = AssignAccess {
        application: id_of(&application, "application")?,
        to: Assignee::Group(id_of(&group, "group")?),
        roles,
    };
    context.no_content(command).await
}

/// Remove the assignment of an application to a group.
///
/// Members who have access only by it lose the access at once.
#[utoipa::path(
    delete,
    path = "/applications/{id}/groups/{group}",
    responses((status = 204, description = "Removed."))
)]
async fn remove(
    context: Context,
    Path((application, group)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let command = RemoveAssignment {
        application: id_of(&application, "application")?,
        from: Assignee::Group(id_of(&group, "group")?),
    };
    context.no_content(command).await
}

/// Assign an application to everyone, or replace the roles.
///
/// Each active user has access, except users with a suspended or terminated account.
#[utoipa::path(
    put,
    path = "/applications/{id}/everyone",
    request_body = Roles,
    responses((status = 204, description = "Assigned."))
)]
async fn assign_everyone(
    context: Context,
    Path(application): Path<String>,
    Body(Roles { roles }): Body<Roles>,
) -> Result<StatusCode, Problem> {
    let command = AssignAccess {
        application: id_of(&application, "application")?,
        to: Assignee::Everyone,
        roles,
    };
    context.no_content(command).await
}

/// Remove the assignment of an application to everyone.
///
/// Users who have access only by it lose the access at once.
#[utoipa::path(
    delete,
    path = "/applications/{id}/everyone",
    responses((status = 204, description = "Removed."))
)]
async fn remove_everyone(
    context: Context,
    Path(application): Path<String>,
) -> Result<StatusCode, Problem> {
    let command = RemoveAssignment {
        application: id_of(&application, "application")?,
        from: Assignee::Everyone,
    };
    context.no_content(command).await
}

/// List the roles that are known for an application.
///
/// The result has the roles of its assignments and of its 500 newest accounts, sorted.
#[utoipa::path(
    get,
    path = "/applications/{id}/roles",
    responses((status = 200, description = "The roles.", body = List<String>))
)]
async fn roles(
    State(services): State<Arc<Services>>,
    Path(application): Path<String>,
) -> Result<Json<List<String>>, Problem> {
    let id: Did = id_of(&application, "application")?;
    Ok(Json(List::whole(admin::known_roles(&services, &id).await?)))
}

/// List the applications that are assigned to a group.
#[utoipa::path(
    get,
    path = "/groups/{id}/applications",
    responses((status = 200, description = "The applications.", body = List<AssignedApplicationView>))
)]
async fn of_group(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<Json<List<AssignedApplicationView>>, Problem> {
    let found = admin::applications_of_group(&services, id_of(&id, "group")?).await?;
    let actors = found.iter().filter_map(|one| one.assigned_by.as_ref());
    let names = admin::names_of_actors(&services, actors).await?;
    Ok(Json(List::whole(found.into_iter().map(|one| {
        AssignedApplicationView {
            application_id: one.id.to_string(),
            application_name: Some(one.name),
            application_enabled: one.enabled,
            roles: one.roles,
            since: moment_text(one.assigned_at),
            by: one.assigned_by.map(|by| actor_view(&by, &names)),
        }
    }))))
}
