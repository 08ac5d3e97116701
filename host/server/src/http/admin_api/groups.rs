//! Groups of users, and their members.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::conditional::VersionedResponse;
use super::context::Context;
use super::import_limit::ImportPermit;
use super::input::{
    Body, ChangeBody, List, Page, Query, Search, after, id_of, list_query, user_ids,
};
use super::routes::Area;
use super::table::CsvBody;
use super::transfers::{ImportQuery, ImportView, import_view, to_the_end};
use crate::domain::Services;
use crate::domain::admin::{
    self, AddMembers, Caller, CreateGroup, DeleteGroup, GroupDocument, GroupUpdate, ImportMembers,
    MEMBER_COLUMNS, RemoveMember, ReplaceMembers, UpdateGroup,
};
use crate::domain::audit::moment_text;
use crate::http::admin_api::export;
use crate::http::problem::Problem;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::group::{GroupName, Membership};
use assent_model::id::GroupId;
use assent_model::user::{LifecycleState, User};
use assent_store::GroupOrder;

/// The routes of groups. Creating a group, and adding and removing single members need no action approval, like the
/// creation of accounts. Renaming or deleting a group, and replacing or importing its members do.
pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "groups",
            "Groups of users, to which applications are assigned.",
        )
        .route("list", Permission::AccountsRead, routes!(list))
        .route("create", Permission::AccountsWrite, routes!(create))
        .route("show", Permission::AccountsRead, routes!(read))
        .route("update", Permission::AccountsWrite, routes!(update))
        .protected(ProtectedActionKind::UpdateGroup)
        .route("delete", Permission::AccountsWrite, routes!(remove))
        .protected(ProtectedActionKind::DeleteGroup)
        .noun("groups.members", "The members of a group.")
        .route("list", Permission::AccountsRead, routes!(members))
        .route("add", Permission::AccountsWrite, routes!(add_members))
        .route(
            "replace",
            Permission::AccountsWrite,
            routes!(replace_members),
        )
        .protected(ProtectedActionKind::UpdateGroup)
        .route("remove", Permission::AccountsWrite, routes!(remove_member))
        .route("export", Permission::AccountsRead, routes!(export_members))
        .route("import", Permission::AccountsWrite, routes!(import_members))
        .protected(ProtectedActionKind::UpdateGroup)
        .noun("users.groups", "The groups of a user.")
        .route("list", Permission::AccountsRead, routes!(of_user))
}

/// A member of a group.
#[derive(Serialize, ToSchema)]
#[schema(as = GroupMember)]
struct MemberView {
    user_id: String,
    /// The user's name at sign-in.
    user_name: String,
    /// The user's full name.
    display_name: Option<String>,
    email: Option<String>,
    state: LifecycleState,
    #[schema(format = DateTime)]
    added_at: String,
}

fn member((membership, user): (Membership, User)) -> MemberView {
    MemberView {
        user_id: user.id.to_string(),
        user_name: user.name.to_string(),
        display_name: user.profile.name,
        email: user.email.map(Into::into),
        state: user.state,
        added_at: moment_text(membership.added_at),
    }
}

list_query! {
    /// The filters of the list of groups.
    struct GroupsQuery;
    /// The beginning of the name.
    #[serde(default)]
    #[param(value_type = String, max_length = 254, required = false)]
    q: Search,
    /// The order.
    #[param(inline, required = false)]
    #[serde(default)]
    order: OrderQuery,
}

/// The order of a list of groups.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
enum OrderQuery {
    /// By their names, without regard to case and accents.
    #[default]
    #[serde(rename = "name")]
    Name,
    /// By their names, descending.
    #[serde(rename = "-name")]
    NameDescending,
}

impl From<OrderQuery> for GroupOrder {
    fn from(order: OrderQuery) -> Self {
        match order {
            OrderQuery::Name => Self::Name,
            OrderQuery::NameDescending => Self::NameDescending,
        }
    }
}

/// A page of groups.
#[derive(Serialize, ToSchema)]
#[schema(as = GroupList)]
struct GroupListView {
    items: Vec<GroupDocument>,
    /// The value of `after` for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next: Option<String>,
    /// The number of all groups; not with `q`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    total: Option<u64>,
}

/// List and search groups, in the order of their names.
#[utoipa::path(
    get,
    path = "/groups",
    params(GroupsQuery),
    responses((status = 200, description = "A page of groups.", body = GroupListView))
)]
async fn list(
    State(services): State<Arc<Services>>,
    Query(query): Query<GroupsQuery>,
) -> Result<Json<GroupListView>, Problem> {
    let q = query.q.text();
    let total = match &q {
        None => Some(admin::count_groups(&services).await?),
        Some(_) => None,
    };
    let rows = admin::groups(
        &services,
        q.as_deref(),
        query.order.into(),
        after::<GroupName>(query.after.as_deref())?.as_ref(),
        query.limit.and_one(),
    )
    .await?;
    let List { items, next } = List::from_rows(
        rows,
        query.limit,
        |row| row.group.name.to_string(),
        Into::into,
    );
    Ok(Json(GroupListView { items, next, total }))
}

/// A new group.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewGroup {
    /// The name, which applications receive in the claim `groups`. No two groups have names that differ only in case.
    name: String,
    /// What the group is for.
    description: Option<String>,
}

/// Create a group.
#[utoipa::path(
    post,
    path = "/groups",
    request_body = NewGroup,
    responses((status = 201, description = "The group.", body = GroupDocument))
)]
async fn create(
    State(services): State<Arc<Services>>,
    context: Context,
    Body(NewGroup { name, description }): Body<NewGroup>,
) -> Result<(StatusCode, VersionedResponse<GroupDocument>), Problem> {
    let group = context.run(CreateGroup { name, description }).await?;
    Ok((StatusCode::CREATED, current(&services, group.id).await?))
}

async fn current(
    services: &Services,
    id: GroupId,
) -> Result<VersionedResponse<GroupDocument>, Problem> {
    let summary = admin::group_summary(services, id).await?;
    Ok(VersionedResponse(summary.group.version, summary.into()))
}

/// Read a group.
#[utoipa::path(
    get,
    path = "/groups/{id}",
    responses((status = 200, description = "The group.", body = GroupDocument))
)]
async fn read(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<VersionedResponse<GroupDocument>, Problem> {
    let id = id_of(&id, "group")?;
    let mut response = current(&services, id).await?;
    // Manifests name applications, which the caller may not know.
    if caller.may(Permission::ApplicationsRead) {
        let management = admin::management_of_group(&services, id).await?;
        response.1.managed_by = management.map(Into::into);
    }
    Ok(response)
}

/// Update a group.
#[utoipa::path(
    patch,
    path = "/groups/{id}",
    request_body = GroupUpdate,
    responses((status = 200, description = "The updated group.", body = GroupDocument))
)]
async fn update(
    State(services): State<Arc<Services>>,
    context: Context,
    Path(id): Path<String>,
    ChangeBody(change): ChangeBody<GroupUpdate>,
) -> Result<VersionedResponse<GroupDocument>, Problem> {
    let group = id_of(&id, "group")?;
    context.run(UpdateGroup { group, change }).await?;
    current(&services, group).await
}

/// Delete a group.
///
/// Members who have access to an application only by the group lose it at once.
#[utoipa::path(delete, path = "/groups/{id}", responses((status = 204, description = "Deleted.")))]
async fn remove(context: Context, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    context.no_content(DeleteGroup(id_of(&id, "group")?)).await
}

/// List the members of a group.
#[utoipa::path(
    get,
    path = "/groups/{id}/members",
    params(Page),
    responses((
        status = 200,
        description = "A page of members, in the order of the users' creation.",
        body = List<MemberView>,
    ))
)]
async fn members(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
    Query(page): Query<Page>,
) -> Result<Json<List<MemberView>>, Problem> {
    let rows = admin::members_of(
        &services,
        id_of(&id, "group")?,
        page.after()?,
        page.limit.and_one(),
    )
    .await?;
    Ok(Json(List::from_rows(
        rows,
        page.limit,
        |(membership, _)| membership.user.to_string(),
        member,
    )))
}

/// Users of a group.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GroupUsers)]
struct Users {
    /// The ids of the users.
    users: Vec<String>,
}

/// The number of members that were added and removed.
#[derive(Serialize, ToSchema)]
#[schema(as = GroupMembersChanged)]
struct ChangedView {
    added: u64,
    removed: u64,
}

/// Add users to a group.
///
/// 200 users at most. A user who is a member already stays one.
#[utoipa::path(
    post,
    path = "/groups/{id}/members",
    request_body = Users,
    responses((status = 200, description = "The number of new members.", body = ChangedView))
)]
async fn add_members(
    context: Context,
    Path(id): Path<String>,
    Body(Users { users }): Body<Users>,
) -> Result<Json<ChangedView>, Problem> {
    let (group, users) = (id_of(&id, "group")?, user_ids(&users)?);
    let changed = context.run(AddMembers { group, users }).await?;
    Ok(Json(ChangedView {
        added: changed.added,
        removed: changed.removed,
    }))
}

/// Replace the members of a group.
///
/// 5,000 users at most. Members who are not in the list are removed.
#[utoipa::path(
    put,
    path = "/groups/{id}/members",
    request_body = Users,
    responses((status = 200, description = "How many members were added and removed.", body = ChangedView))
)]
async fn replace_members(
    context: Context,
    Path(id): Path<String>,
    Body(Users { users }): Body<Users>,
) -> Result<Json<ChangedView>, Problem> {
    let (group, users) = (id_of(&id, "group")?, user_ids(&users)?);
    let changed = context.run(ReplaceMembers { group, users }).await?;
    Ok(Json(ChangedView {
        added: changed.added,
        removed: changed.removed,
    }))
}

/// Remove a user from a group.
///
/// If the user has access to an application only by the group, the access ends at once.
#[utoipa::path(
    delete,
    path = "/groups/{id}/members/{user}",
    responses((status = 204, description = "Removed."))
)]
async fn remove_member(
    context: Context,
    Path((id, user)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let (group, user) = (id_of(&id, "group")?, id_of(&user, "user")?);
    context.no_content(RemoveMember { group, user }).await
}

/// Export the members of a group as CSV.
///
/// In the format of the export of users. `user` is the user's name.
#[utoipa::path(
    get,
    path = "/groups/{id}/members/export",
    responses((status = 200, description = "The CSV file.", body = String, content_type = "text/csv"))
)]
async fn export_members(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let group = admin::group(&services, id_of(&id, "group")?).await?;
    export::members(services, &caller, group).await
}

/// Import members of a group from CSV.
///
/// Adds the users of the column `user`: each is a user's name, email address or id. The columns `email` and
/// `display_name` of an export are ignored. 5,000 rows at most; if a row is not valid, the import changes nothing.
#[utoipa::path(
    post,
    path = "/groups/{id}/members/import",
    params(ImportQuery),
    request_body(content = String, content_type = "text/csv"),
    responses((status = 200, description = "The result.", body = ImportView)),
)]
async fn import_members(
    context: Context,
    Extension(permit): Extension<ImportPermit>,
    Path(id): Path<String>,
    Query(ImportQuery { dry_run }): Query<ImportQuery>,
    table: CsvBody,
) -> Result<Json<ImportView>, Problem> {
    let command = ImportMembers {
        group: id_of(&id, "group")?,
        rows: table.read(&MEMBER_COLUMNS).await?.into(),
        dry_run,
    };
    let import = async move { context.run(command).await };
    Ok(import_view(dry_run, to_the_end(permit, import).await?))
}

/// A group of a user.
#[derive(Serialize, ToSchema)]
#[schema(as = UserGroup)]
struct UserGroupView {
    id: String,
    name: String,
    description: String,
}

/// List a user's groups, in the order of their names.
#[utoipa::path(
    get,
    path = "/users/{id}/groups",
    responses((status = 200, description = "The groups.", body = List<UserGroupView>))
)]
async fn of_user(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<Json<List<UserGroupView>>, Problem> {
    let groups = admin::groups_of_user(&services, id_of(&id, "user")?).await?;
    Ok(Json(List::whole(groups.into_iter().map(|group| {
        UserGroupView {
            id: group.id.to_string(),
            name: group.name.into(),
            description: group.description,
        }
    }))))
}
