//! The client secrets of an application.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::context::Context;
use super::input::{List, id_of};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{
    self, ClientSecretUse, CreateClientSecret, DeleteClientSecret, NewClientSecret,
    RotateClientSecret,
};
use crate::domain::audit::moment_text;
use crate::http::problem::Problem;
use assent_model::administration::{Permission, ProtectedActionKind};

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "applications.secrets",
            "The secrets of an OpenID Connect client. It may have two, so that one can replace the other.",
        )
        .route("list", Permission::ApplicationsRead, routes!(list))
        .route("create", Permission::ApplicationsWrite, routes!(create))
        .protected(ProtectedActionKind::RotateClientSecret)
        .route("delete", Permission::ApplicationsWrite, routes!(remove))
        .protected(ProtectedActionKind::DeleteClientSecret)
        .route("rotate", Permission::ApplicationsWrite, routes!(rotate))
        .protected(ProtectedActionKind::RotateClientSecret)
}

/// A new client secret.
#[derive(Serialize, ToSchema)]
#[schema(as = NewClientSecret)]
struct NewSecretView {
    /// The new secret. Only this response contains it.
    client_secret: String,
    /// Its identifier.
    id: String,
}

fn created_secret(made: &NewClientSecret) -> (StatusCode, Json<NewSecretView>) {
    let view = NewSecretView {
        client_secret: made.secret.expose().to_owned(),
        id: made.id.to_string(),
    };
    (StatusCode::CREATED, Json(view))
}

/// A client secret, without the secret itself.
#[derive(Serialize, ToSchema)]
#[schema(as = ClientSecret)]
struct SecretView {
    /// Its identifier.
    id: String,
    #[schema(format = DateTime)]
    created_at: String,
    /// When the application last used it, with an accuracy of a minute. Null if it never did.
    #[schema(format = DateTime)]
    last_used_at: Option<String>,
}

fn view(secret: ClientSecretUse) -> SecretView {
    let ClientSecretUse {
        id,
        created_at,
        last_used_at,
    } = secret;
    SecretView {
        id: id.to_string(),
        created_at: moment_text(created_at),
        last_used_at: last_used_at.map(moment_text),
    }
}

/// List the client secrets of an application.
///
/// The oldest comes first. The secrets themselves are not stored.
#[utoipa::path(
    get,
    path = "/applications/{id}/secrets",
    responses((status = 200, description = "All of them.", body = List<SecretView>))
)]
async fn list(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<Json<List<SecretView>>, Problem> {
    let secrets = admin::client_secrets(&services, &id_of(&id, "application")?).await?;
    Ok(Json(List::whole(secrets.into_iter().map(view))))
}

/// Create a client secret.
///
/// The other secret of the application stays valid. An application has at most two; a third one is a conflict.
#[utoipa::path(
    post,
    path = "/applications/{id}/secrets",
    responses((status = 201, description = "The new secret. Only this response contains it.", body = NewSecretView))
)]
async fn create(
    context: Context,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<NewSecretView>), Problem> {
    let command = CreateClientSecret(id_of(&id, "application")?);
    Ok(created_secret(&context.run(command).await?))
}

/// Delete a client secret.
///
/// The secret is invalid at once.
#[utoipa::path(
    delete,
    path = "/applications/{id}/secrets/{secret}",
    responses((status = 204, description = "Deleted."))
)]
async fn remove(
    context: Context,
    Path((id, secret)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let command = DeleteClientSecret {
        application: id_of(&id, "application")?,
        secret: id_of(&secret, "client secret")?,
    };
    context.no_content(command).await
}

/// Replace all client secrets by a new one.
///
/// The old secrets are invalid at once.
#[utoipa::path(
    post,
    path = "/applications/{id}/secret/rotate",
    responses((status = 201, description = "The new secret. Only this response contains it.", body = NewSecretView))
)]
async fn rotate(
    context: Context,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<NewSecretView>), Problem> {
    let command = RotateClientSecret(id_of(&id, "application")?);
    Ok(created_secret(&context.run(command).await?))
}
