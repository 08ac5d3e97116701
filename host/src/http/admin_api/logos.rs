//! The pictures of applications.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Serialize;

use super::id_of;
use crate::domain::{Host, admin};
use crate::http::logos::address;
use crate::http::problem::Problem;
use crate::id::Did;
use crate::model::audit::By;
use crate::model::logo::ApplicationLogo;

/// A picture as the API shows it.
#[derive(Serialize)]
pub(super) struct LogoView {
    /// Where everybody may load it.
    address: String,
    media_type: &'static str,
    bytes: usize,
}

fn view(application: &Did, logo: &ApplicationLogo) -> Json<LogoView> {
    let address = address(application, &logo.digest);
    Json(LogoView { address, media_type: logo.kind.media_type(), bytes: logo.bytes.len() })
}

/// `GET /applications/{id}/logo`
pub(super) async fn read(State(host): State<Arc<Host>>, Path(id): Path<String>) -> Result<Json<LogoView>, Problem> {
    let id = id_of(&id, "application")?;
    Ok(view(&id, &admin::logo(&host, &id).await?))
}

/// `PUT /applications/{id}/logo`: the body is the picture.
pub(super) async fn set(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<LogoView>, Problem> {
    let id = id_of(&id, "application")?;
    Ok(view(&id, &admin::set_logo(&host, &id, body.into(), &by).await?))
}

/// `DELETE /applications/{id}/logo`
pub(super) async fn remove(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    admin::remove_logo(&host, &id_of(&id, "application")?, &by).await?;
    Ok(StatusCode::NO_CONTENT)
}
