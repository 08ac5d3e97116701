//! External authenticators: the identifiers of users at vendors.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::context::Context;
use super::input::{Body, List, id_of};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{self, RemoveExternalAuthenticator, SetExternalAuthenticator};
use crate::http::problem::Problem;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::delivery::ExternalAuthenticator;

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "users.external-authenticators",
            "A user's identifiers at the vendors of approval channels.",
        )
        .route("list", Permission::UsersRead, routes!(list))
        .route("set", Permission::UsersWrite, routes!(set))
        .protected(ProtectedActionKind::SetExternalAuthenticator)
        .route("delete", Permission::UsersWrite, routes!(remove))
}

/// A user's identifier at the vendor of an approval channel.
#[derive(Serialize, ToSchema)]
#[schema(as = ExternalAuthenticator)]
struct ExternalAuthenticatorView {
    /// The name of the channel.
    channel: String,
    /// The user's identifier at the vendor.
    identifier: String,
}

fn view(
    ExternalAuthenticator {
        channel,
        identifier,
    }: ExternalAuthenticator,
) -> ExternalAuthenticatorView {
    ExternalAuthenticatorView {
        channel,
        identifier,
    }
}

/// An update of an external authenticator.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ExternalAuthenticatorChange)]
struct Change {
    identifier: String,
}

/// List a user's external authenticators.
#[utoipa::path(
    get,
    path = "/users/{id}/external-authenticators",
    responses((status = 200, description = "All of them.", body = List<ExternalAuthenticatorView>))
)]
async fn list(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<Json<List<ExternalAuthenticatorView>>, Problem> {
    let addresses = admin::external_authenticators(&services, id_of(&id, "user")?).await?;
    Ok(Json(List::whole(addresses.into_iter().map(view))))
}

/// Set the identifier by which a vendor knows a user.
///
/// The settings of the channel must have `trust = "delegated"`. An invited user becomes active.
#[utoipa::path(
    put,
    path = "/users/{id}/external-authenticators/{channel}",
    request_body = Change,
    responses((status = 200, description = "The external authenticator.", body = ExternalAuthenticatorView))
)]
async fn set(
    context: Context,
    Path((id, channel)): Path<(String, String)>,
    Body(Change { identifier }): Body<Change>,
) -> Result<Json<ExternalAuthenticatorView>, Problem> {
    let command = SetExternalAuthenticator {
        user: id_of(&id, "user")?,
        channel,
        identifier,
    };
    Ok(Json(view(context.run(command).await?)))
}

/// Delete a user's external authenticator.
#[utoipa::path(
    delete,
    path = "/users/{id}/external-authenticators/{channel}",
    responses((status = 204, description = "Deleted."))
)]
async fn remove(
    context: Context,
    Path((id, channel)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let user = id_of(&id, "user")?;
    let command = RemoveExternalAuthenticator { user, channel };
    context.no_content(command).await
}
