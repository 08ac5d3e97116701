//! Users, their devices and their enrolments.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::conditional::VersionedResponse;
use super::context::Context;
use super::input::{Body, Limit, List, Query, Search, after};
use super::routes::Area;
use crate::domain::admin::{CreateUser, DeleteUser, EraseUser, UpdateUser, UserChange, UserQuery};
use crate::domain::{Host, admin};
use crate::http::admin_api::user_devices;
use crate::http::admin_api::values::{id_of, moment};
use crate::http::problem::Problem;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::user::{ConsoleRole, LifecycleState, Profile, User};

pub(super) fn routes() -> Area {
    Area::new()
        .noun("users", "Users: people who sign in.")
        .noun("users.devices", "The devices that a user approves with.")
        .noun("users.recovery-codes", "The recovery codes of a user.")
        .route("users.list", Permission::UsersRead, routes!(list))
        .protected(
            "users.create",
            Permission::UsersWrite,
            ProtectedActionKind::UpdateUser,
            routes!(create),
        )
        .route("users.show", Permission::UsersRead, routes!(read))
        .protected(
            "users.update",
            Permission::UsersWrite,
            ProtectedActionKind::UpdateUser,
            routes!(update),
        )
        .protected(
            "users.delete",
            Permission::UsersManage,
            ProtectedActionKind::DeleteUser,
            routes!(remove),
        )
        .protected(
            "users.erase",
            Permission::UsersManage,
            ProtectedActionKind::EraseUser,
            routes!(erase),
        )
        .protected(
            "users.devices.enrol",
            Permission::UsersWrite,
            ProtectedActionKind::EnrolDevice,
            routes!(user_devices::enrol),
        )
        .route(
            "users.devices.list",
            Permission::UsersRead,
            routes!(user_devices::devices),
        )
        .protected(
            "users.devices.revoke",
            Permission::UsersWrite,
            ProtectedActionKind::RevokeDevice,
            routes!(user_devices::revoke_device),
        )
        .route(
            "users.recovery-codes.show",
            Permission::UsersRead,
            routes!(user_devices::recovery_codes),
        )
}

/// A user.
#[derive(Serialize, ToSchema)]
#[schema(as = User)]
pub(super) struct UserView {
    id: String,
    /// The decentralized identifier: the claim `user_did`.
    did: String,
    /// The claim `sub`, but in applications with pairwise ones.
    sub: String,
    /// What the person types at sign-in.
    name: String,
    /// The e-mail address, which may be typed at sign-in as well.
    email: Option<String>,
    profile: Profile,
    /// The role in the console.
    console_role: Option<ConsoleRole>,
    state: LifecycleState,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
}

/// How a user is shown.
pub(super) fn view(user: User) -> VersionedResponse<UserView> {
    VersionedResponse(user.version, shown(user))
}

fn shown(user: User) -> UserView {
    UserView {
        id: user.id.to_string(),
        did: user.did.to_string(),
        sub: user.subject,
        name: user.name.to_string(),
        email: user.email.map(Into::into),
        profile: user.profile,
        console_role: user.console_role,
        state: user.state,
        created_at: moment(user.created_at),
        updated_at: moment(user.updated_at),
    }
}

/// Create a user.
///
/// Without another state the user is invited, until there is a phone to approve with.
#[utoipa::path(post, path = "/users", request_body = UserChange, responses((status = 201, description = "The user.", body = UserView)))]
async fn create(
    context: Context,
    Body(change): Body<UserChange>,
) -> Result<(StatusCode, VersionedResponse<UserView>), Problem> {
    let user = context.run(CreateUser(change)).await?;
    Ok((StatusCode::CREATED, view(user)))
}

/// Which users are listed.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct UsersQuery {
    /// How the name, the e-mail address or a word of the full name begins; or a whole id, `did` or `sub`.
    #[serde(default)]
    #[param(value_type = String, max_length = 254, required = false)]
    q: Search,
    /// Those in this state alone.
    #[param(inline)]
    state: Option<LifecycleState>,
    /// Those with this role in the console alone.
    #[param(inline)]
    role: Option<ConsoleRole>,
    /// Where the page begins: `next` of the page before.
    after: Option<String>,
    /// How many items the page has at most.
    #[serde(default)]
    #[param(value_type = u32, minimum = 1, maximum = 200, default = 50, required = false)]
    limit: Limit,
}

/// List and search users.
///
/// In the order in which they were made; with `q` in that of what they are found by.
#[utoipa::path(get, path = "/users", params(UsersQuery), responses((status = 200, description = "A page of users.", body = List<UserView>)))]
async fn list(
    State(host): State<Arc<Host>>,
    Query(query): Query<UsersQuery>,
) -> Result<Json<List<UserView>>, Problem> {
    let UsersQuery {
        q,
        state,
        role,
        after: cursor,
        limit,
    } = query;
    let rows = page(
        &host,
        q.text(),
        (state, role),
        cursor.as_deref(),
        limit.and_one(),
    )
    .await?;
    Ok(Json(List::of(
        rows,
        limit.get(),
        |(cursor, _)| cursor.clone(),
        |(_, user)| shown(user),
    )))
}

/// Up to `limit` users after a cursor, each with its own.
pub(super) async fn page(
    host: &Host,
    q: Option<String>,
    (state, role): (Option<LifecycleState>, Option<ConsoleRole>),
    cursor: Option<&str>,
    limit: u32,
) -> Result<Vec<(String, User)>, Problem> {
    if let Some(q) = q {
        let found = admin::find_users(
            host,
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
    let found = host
        .store
        .users_of_application(state, role, after(cursor)?, limit)
        .await
        .map_err(crate::domain::InternalError::from)?;
    Ok(found
        .into_iter()
        .map(|user| (user.id.to_string(), user))
        .collect())
}

/// Read a user.
#[utoipa::path(get, path = "/users/{id}", responses((status = 200, description = "The user.", body = UserView)))]
async fn read(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
) -> Result<VersionedResponse<UserView>, Problem> {
    Ok(view(admin::user(&host, id_of(&id, "user")?).await?))
}

/// Change a user.
///
/// Where the state changes, what was begun in the person's name is over. Where a role in the console is given, links to enrol
/// a phone that nobody used are, too, and where it may do more than the one before, so are the person's sessions. The last owner
/// stays one.
#[utoipa::path(patch, path = "/users/{id}", request_body = UserChange, responses((status = 200, description = "The user as it is now.", body = UserView)))]
async fn update(
    context: Context,
    Path(id): Path<String>,
    Body(change): Body<UserChange>,
) -> Result<VersionedResponse<UserView>, Problem> {
    let user = id_of(&id, "user")?;
    Ok(view(context.run(UpdateUser { user, change }).await?))
}

/// Delete a user.
///
/// With all accounts, devices and consents. What says who they were goes from the audit log.
#[utoipa::path(delete, path = "/users/{id}", responses((status = 204, description = "Deleted.")))]
async fn remove(context: Context, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    context.run(DeleteUser(id_of(&id, "user")?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Erase what says who a terminated user was.
///
/// The user stays, under an erased name, so that its `did` and `sub` are never another's.
#[utoipa::path(post, path = "/users/{id}/erase", responses((status = 200, description = "The user as it is now.", body = UserView)))]
async fn erase(
    context: Context,
    Path(id): Path<String>,
) -> Result<VersionedResponse<UserView>, Problem> {
    Ok(view(context.run(EraseUser(id_of(&id, "user")?)).await?))
}
