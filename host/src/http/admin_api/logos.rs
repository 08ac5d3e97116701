//! The pictures of applications.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::id_of;
use super::input::Raw;
use super::routes::Area;
use crate::domain::Host;
use crate::domain::admin::{self, Caller};
use crate::http::logos::address;
use crate::http::problem::Problem;
use crate::id::Did;
use crate::model::administration::Permission;
use crate::model::logo::ApplicationLogo;

pub(super) fn routes() -> Area {
    Area::new("Applications")
        .route(Permission::ApplicationsRead, routes!(read))
        .route(Permission::ApplicationsWrite, routes!(set))
        .route(Permission::ApplicationsWrite, routes!(remove))
}

/// An application's picture.
#[derive(Serialize, ToSchema)]
#[schema(as = Logo)]
struct LogoView {
    /// Where everybody may load it.
    address: String,
    media_type: &'static str,
    /// How large it is.
    bytes: usize,
}

fn view(application: &Did, logo: &ApplicationLogo) -> Json<LogoView> {
    let address = address(application, &logo.digest);
    Json(LogoView { address, media_type: logo.kind.media_type(), bytes: logo.bytes.len() })
}

/// Read where an application's picture is.
#[utoipa::path(get, path = "/applications/{id}/logo", responses((status = 200, description = "The picture.", body = LogoView)))]
async fn read(State(host): State<Arc<Host>>, Path(id): Path<String>) -> Result<Json<LogoView>, Problem> {
    let id = id_of(&id, "application")?;
    Ok(view(&id, &admin::logo(&host, &id).await?))
}

/// Give an application a picture: the body.
#[utoipa::path(put, path = "/applications/{id}/logo", request_body(content = Vec<u8>, content_type = "image/*"), responses((status = 200, description = "The picture.", body = LogoView)))]
async fn set(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Raw(body): Raw,
) -> Result<Json<LogoView>, Problem> {
    let id = id_of(&id, "application")?;
    Ok(view(&id, &admin::set_logo(&host, &id, body.into(), &caller.by).await?))
}

/// Take an application's picture away.
#[utoipa::path(delete, path = "/applications/{id}/logo", responses((status = 204, description = "There is none any more.")))]
async fn remove(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    admin::remove_logo(&host, &id_of(&id, "application")?, &caller.by).await?;
    Ok(StatusCode::NO_CONTENT)
}
