//! The confirmation of users' email addresses.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::context::Context;
use super::input::{Body, List, Query, after, id_of, list_query, user_ids};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{self, ConfirmEmails, UserDocument};
use crate::http::problem::Problem;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::id::{Did, UserId};

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "users.emails",
            "The confirmation of email addresses, which SAML applications need.",
        )
        .route("list", Permission::UsersRead, routes!(unconfirmed))
        .route("confirm", Permission::UsersManage, routes!(confirm))
        .protected(ProtectedActionKind::UpdateUser)
}

list_query! {
    /// The filters of the list.
    struct UnconfirmedQuery;
    /// Only users who have access to the application with this id.
    application: Option<String>,
}

/// List the invited and active users without a confirmed email address.
///
/// The address is missing or not confirmed, so that a SAML application that identifies users by it rejects them.
#[utoipa::path(
    get,
    path = "/users/unconfirmed-emails",
    params(UnconfirmedQuery),
    responses((status = 200, description = "A page of users.", body = List<UserDocument>))
)]
async fn unconfirmed(
    State(services): State<Arc<Services>>,
    Query(query): Query<UnconfirmedQuery>,
) -> Result<Json<List<UserDocument>>, Problem> {
    let application = query.application.as_deref();
    let application: Option<Did> = application.map(|id| id_of(id, "application")).transpose()?;
    let cursor = after::<UserId>(query.after.as_deref())?;
    let found = admin::unconfirmed_users(
        &services,
        application.as_ref(),
        cursor,
        query.limit.and_one(),
    )
    .await?;
    Ok(Json(List::from_rows(
        found,
        query.limit,
        |user| user.id.to_string(),
        UserDocument::new,
    )))
}

/// The users whose addresses are confirmed.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Confirmation {
    /// The ids of the users: 1 to 100.
    users: Vec<String>,
}

/// Confirm the email addresses of several users.
///
/// SAML applications receive a confirmed address as the name of the user. Users without an address, or with a confirmed
/// one, stay unchanged.
#[utoipa::path(
    post,
    path = "/users/confirm-emails",
    request_body = Confirmation,
    responses((status = 200, description = "The users whose address is now confirmed.", body = List<UserDocument>))
)]
async fn confirm(
    context: Context,
    Body(Confirmation { users }): Body<Confirmation>,
) -> Result<Json<List<UserDocument>>, Problem> {
    let users = user_ids(&users)?;
    let confirmed = context.run(ConfirmEmails { users }).await?;
    Ok(Json(List::whole(
        confirmed.into_iter().map(UserDocument::new),
    )))
}
