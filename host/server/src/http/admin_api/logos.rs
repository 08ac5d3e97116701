//! The logos of applications.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::context::Context;
use super::input::{RawBody, id_of};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{self, RemoveLogo, SetLogo};
use crate::http::operations::logos::address;
use crate::http::problem::Problem;
use assent_model::administration::Permission;
use assent_model::id::Did;
use assent_model::logo::ApplicationLogo;

pub(super) fn routes() -> Area {
    Area::new()
        .noun("applications.logo", "The logo of an application.")
        .route("show", Permission::ApplicationsRead, routes!(read))
        .route("set", Permission::ApplicationsWrite, routes!(set))
        .route("delete", Permission::ApplicationsWrite, routes!(remove))
}

/// The logo of an application.
#[derive(Serialize, ToSchema)]
#[schema(as = Logo)]
struct LogoView {
    /// Its public URL.
    url: String,
    media_type: &'static str,
    /// Its size in bytes.
    bytes: usize,
}

fn view(application: &Did, logo: &ApplicationLogo) -> Json<LogoView> {
    Json(LogoView {
        url: address(application, &logo.digest),
        media_type: logo.kind.media_type(),
        bytes: logo.bytes.len(),
    })
}

/// Read the address of an application's logo.
#[utoipa::path(
    get,
    path = "/applications/{id}/logo",
    responses((status = 200, description = "The logo.", body = LogoView))
)]
async fn read(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<Json<LogoView>, Problem> {
    let id = id_of(&id, "application")?;
    Ok(view(&id, &admin::logo(&services, &id).await?))
}

/// Set the logo of an application to the body.
#[utoipa::path(
    put,
    path = "/applications/{id}/logo",
    request_body(content = Vec<u8>, content_type = "image/*"),
    responses((status = 200, description = "The logo.", body = LogoView))
)]
async fn set(
    context: Context,
    Path(id): Path<String>,
    RawBody(body): RawBody,
) -> Result<Json<LogoView>, Problem> {
    let application: Did = id_of(&id, "application")?;
    let command = SetLogo {
        application: application.clone(),
        image: body.into(),
    };
    Ok(view(&application, &context.run(command).await?))
}

/// Remove the logo of an application.
#[utoipa::path(
    delete,
    path = "/applications/{id}/logo",
    responses((status = 204, description = "The application has no logo."))
)]
async fn remove(context: Context, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    context
        .no_content(RemoveLogo(id_of(&id, "application")?))
        .await
}
