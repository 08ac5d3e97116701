//! Users, their devices and their enrolments.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::conditional::VersionedResponse;
use super::context::Context;
use super::input::{ChangeBody, List, PageLimit, Query, Search, after, id_of, list_query};
use super::routes::Area;
use crate::domain::admin::{
    CreateUser, DeleteUser, EraseUser, UpdateUser, UserChange, UserDocument, UserQuery,
};
use crate::domain::audit::moment_text;
use crate::domain::{Services, admin};
use crate::http::admin_api::user_devices;
use crate::http::problem::Problem;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::id::UserId;
use assent_model::search::{Cursor, sort_key};
use assent_model::user::{ConsoleRole, LifecycleState, User};
use assent_store::UserOrder;

pub(super) fn routes() -> Area {
    Area::new()
        .noun("users", "Users in the directory.")
        .route("list", Permission::UsersRead, routes!(list))
        .route("create", Permission::UsersWrite, routes!(create))
        .protected(ProtectedActionKind::UpdateUser)
        .route("show", Permission::UsersRead, routes!(read))
        .route("update", Permission::UsersWrite, routes!(update))
        .protected(ProtectedActionKind::UpdateUser)
        .route("delete", Permission::UsersManage, routes!(remove))
        .protected(ProtectedActionKind::DeleteUser)
        .route("erase", Permission::UsersManage, routes!(erase))
        .protected(ProtectedActionKind::EraseUser)
        .noun("users.devices", "The devices that a user approves with.")
        .route(
            "enrol",
            Permission::UsersWrite,
            routes!(user_devices::enrol),
        )
        .protected(ProtectedActionKind::EnrolDevice)
        .noun(
            "users.enrolment-links",
            "The open enrolment links of a user.",
        )
        .route(
            "list",
            Permission::UsersRead,
            routes!(user_devices::open_links),
        )
        .route(
            "end",
            Permission::UsersWrite,
            routes!(user_devices::end_link),
        )
        .of_noun("users.devices")
        .route(
            "list",
            Permission::UsersRead,
            routes!(user_devices::devices),
        )
        .route(
            "revoke",
            Permission::UsersWrite,
            routes!(user_devices::revoke_device),
        )
        .protected(ProtectedActionKind::RevokeDevice)
        .noun("users.recovery-codes", "The recovery codes of a user.")
        .route(
            "show",
            Permission::UsersRead,
            routes!(user_devices::recovery_codes),
        )
}

/// A user in a list.
#[derive(Serialize, ToSchema)]
#[schema(as = ListedUser)]
struct ListedUserView {
    #[serde(flatten)]
    user: UserDocument,
    /// When the user last signed in with an approval.
    #[schema(format = DateTime)]
    last_sign_in_at: Option<String>,
    /// The number of reports of the user that no administrator has settled.
    open_reports: u64,
    /// Until when the user's approval requests are paused; `null` without a cooldown.
    #[schema(format = DateTime)]
    paused_until: Option<String>,
}

/// A page of users.
#[derive(Serialize, ToSchema)]
#[schema(as = UserList)]
struct UserListView {
    items: Vec<ListedUserView>,
    /// The value of `after` for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next: Option<String>,
    /// The number of users in the state, or of all; not with `q` or `role`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    total: Option<u64>,
}

/// The order of a list of users.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
enum OrderQuery {
    /// By creation, the earliest first.
    #[default]
    #[serde(rename = "created")]
    Created,
    /// By creation, the latest first.
    #[serde(rename = "-created")]
    CreatedDescending,
    /// By full name, or else user name, without regard to case and accents.
    #[serde(rename = "name")]
    Name,
    /// By name, descending.
    #[serde(rename = "-name")]
    NameDescending,
}

impl From<OrderQuery> for UserOrder {
    fn from(order: OrderQuery) -> Self {
        match order {
            OrderQuery::Created => Self::Created,
            OrderQuery::CreatedDescending => Self::CreatedDescending,
            OrderQuery::Name => Self::Name,
            OrderQuery::NameDescending => Self::NameDescending,
        }
    }
}

fn view(user: User) -> VersionedResponse<UserDocument> {
    VersionedResponse(user.version, UserDocument::new(user))
}

/// Create a user.
///
/// Unless the request specifies another state, the user is invited until a device is enrolled.
#[utoipa::path(
    post,
    path = "/users",
    request_body = UserChange,
    responses((status = 201, description = "The user.", body = UserDocument))
)]
async fn create(
    context: Context,
    ChangeBody(change): ChangeBody<UserChange>,
) -> Result<(StatusCode, VersionedResponse<UserDocument>), Problem> {
    let user = context.run(CreateUser(change)).await?;
    Ok((StatusCode::CREATED, view(user)))
}

list_query! {
    /// The filters of the list of users.
    struct UsersQuery;
    /// The beginning of the user name, of the email address or of a word of the full name; or a complete id, `did` or
    /// `sub`.
    #[serde(default)]
    #[param(value_type = String, max_length = 254, required = false)]
    q: Search,
    /// Only users in this state.
    #[param(inline)]
    state: Option<LifecycleState>,
    /// Only users with this role in the console.
    #[param(inline)]
    role: Option<ConsoleRole>,
    /// The order, unless there is `q`.
    #[param(inline, required = false)]
    #[serde(default)]
    order: OrderQuery,
}

/// List and search users.
///
/// The users are in the order of creation, or in another `order`; with `q`, in the order of the matching terms.
#[utoipa::path(
    get,
    path = "/users",
    params(UsersQuery),
    responses((status = 200, description = "A page of users.", body = UserListView))
)]
async fn list(
    State(services): State<Arc<Services>>,
    Query(query): Query<UsersQuery>,
) -> Result<Json<UserListView>, Problem> {
    let q = query.q.text();
    let total = match (&q, query.role) {
        (None, None) => Some(admin::count_users(&services, query.state).await?),
        _ => None,
    };
    let rows = page(
        &services,
        q,
        query.state,
        query.role,
        query.order.into(),
        query.after.as_deref(),
        query.limit,
    )
    .await?;
    let ids: Vec<UserId> = rows.iter().map(|(_, user)| user.id).collect();
    let notes = admin::notes_of_users(&services, &ids).await?;
    let List { items, next } = List::from_rows(
        rows,
        query.limit,
        |(cursor, _)| cursor.clone(),
        |(_, user)| ListedUserView {
            last_sign_in_at: notes.sign_ins.get(&user.id).copied().map(moment_text),
            open_reports: notes.reports.get(&user.id).copied().unwrap_or_default(),
            paused_until: notes.cooldowns.get(&user.id).copied().map(moment_text),
            user: UserDocument::new(user),
        },
    );
    Ok(Json(UserListView { items, next, total }))
}

/// Returns the users of a page after a cursor and the next one, each with its own cursor.
pub(super) async fn page(
    services: &Services,
    q: Option<String>,
    state: Option<LifecycleState>,
    role: Option<ConsoleRole>,
    order: UserOrder,
    cursor: Option<&str>,
    limit: PageLimit,
) -> Result<Vec<(String, User)>, Problem> {
    let limit = limit.and_one();
    if let Some(q) = q {
        let found = admin::find_users(
            services,
            &UserQuery {
                q,
                state,
                role,
                after: after(cursor)?,
            },
            limit,
        )
        .await?;
        return Ok(found
            .into_iter()
            .map(|(place, user)| (place.to_string(), user))
            .collect());
    }
    let is_by_name = matches!(order, UserOrder::Name | UserOrder::NameDescending);
    let place = match is_by_name {
        true => after::<Cursor>(cursor)?,
        false => after::<UserId>(cursor)?.map(|id| Cursor {
            term: String::new(),
            id: id.to_string(),
        }),
    };
    let found = services
        .store
        .users_in_order(state, role, order, place.as_ref(), limit)
        .await
        .map_err(crate::domain::InternalError::from)?;
    let cursor_of = |user: &User| match is_by_name {
        true => Cursor {
            term: sort_key(user),
            id: user.id.to_string(),
        }
        .to_string(),
        false => user.id.to_string(),
    };
    Ok(found
        .into_iter()
        .map(|user| (cursor_of(&user), user))
        .collect())
}

/// Read a user.
#[utoipa::path(get, path = "/users/{id}", responses((status = 200, description = "The user.", body = UserDocument)))]
async fn read(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<VersionedResponse<UserDocument>, Problem> {
    Ok(view(admin::user(&services, id_of(&id, "user")?).await?))
}

/// Update a user.
///
/// A new state that permits no sign-in ends the user's sessions, tokens and pending approval requests. A new role in
/// the console revokes unused enrolment links, and a role with more permissions also ends the user's sessions. The role
/// of the last owner cannot be removed.
#[utoipa::path(
    patch,
    path = "/users/{id}",
    request_body = UserChange,
    responses((status = 200, description = "The updated user.", body = UserDocument)),
)]
async fn update(
    context: Context,
    Path(id): Path<String>,
    ChangeBody(change): ChangeBody<UserChange>,
) -> Result<VersionedResponse<UserDocument>, Problem> {
    let user = id_of(&id, "user")?;
    Ok(view(context.run(UpdateUser { user, change }).await?))
}

/// Delete a user.
///
/// Deletes the accounts, devices and consents as well, and erases the user's personal data from the audit log.
#[utoipa::path(delete, path = "/users/{id}", responses((status = 204, description = "Deleted.")))]
async fn remove(context: Context, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    context.no_content(DeleteUser(id_of(&id, "user")?)).await
}

/// Erase the personal data of a terminated user.
///
/// The user remains, under an erased name, so that no other user ever receives the same `did` and `sub`.
#[utoipa::path(
    post,
    path = "/users/{id}/erase",
    responses((status = 200, description = "The updated user.", body = UserDocument))
)]
async fn erase(
    context: Context,
    Path(id): Path<String>,
) -> Result<VersionedResponse<UserDocument>, Problem> {
    Ok(view(context.run(EraseUser(id_of(&id, "user")?)).await?))
}
