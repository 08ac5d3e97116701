//! Applications.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{List, Page, id_of, moment, parse};
use crate::domain::Host;
use crate::domain::admin::{self, ApplicationChange};
use crate::http::problem::Problem;
use crate::model::application::{Application, ApplicationType, GrantType};
use crate::model::redirect::RedirectUri;
use crate::model::scope::Scopes;

/// An application as the API shows it. A secret is never in it.
#[derive(Serialize)]
pub(super) struct ApplicationView {
    id: String,
    name: String,
    protocol: &'static str,
    application_type: ApplicationType,
    redirect_uris: Vec<RedirectUri>,
    scopes: Scopes,
    grant_types: Vec<GrantType>,
    token_endpoint_auth_method: &'static str,
    has_secret: bool,
    created_at: String,
    updated_at: String,
}

fn view(application: Application) -> ApplicationView {
    let settings = application.settings;
    ApplicationView {
        id: application.id.to_string(),
        name: application.name,
        protocol: "openid_connect",
        application_type: settings.application_type,
        redirect_uris: settings.redirect_uris,
        scopes: settings.scopes,
        grant_types: settings.grant_types.into_iter().collect(),
        token_endpoint_auth_method: if settings.application_type.is_confidential() {
            "client_secret_basic"
        } else {
            "none"
        },
        has_secret: application.secret.is_some(),
        created_at: moment(application.created_at),
        updated_at: moment(application.updated_at),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    name: String,
    application_type: ApplicationType,
    redirect_uris: Vec<String>,
    scopes: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    name: Option<String>,
    redirect_uris: Option<Vec<String>>,
    scopes: Option<Vec<String>>,
}

/// `POST /applications`
pub(super) async fn create(
    State(host): State<Arc<Host>>,
    body: Bytes,
) -> Result<(StatusCode, Json<ApplicationView>), Problem> {
    let Create { name, application_type, redirect_uris, scopes } = parse(&body)?;
    let change = ApplicationChange { name: Some(name), redirect_uris: Some(redirect_uris), scopes };
    let application = admin::create_application(&host, application_type, change).await?;
    Ok((StatusCode::CREATED, Json(view(application))))
}

/// `GET /applications`
pub(super) async fn list(State(host): State<Arc<Host>>, page: Page) -> Result<Json<List<ApplicationView>>, Problem> {
    let rows = admin::applications(&host, page.after()?.as_ref(), page.limit + 1).await?;
    Ok(Json(List::of(rows, page.limit, |row| row.id.to_string(), view)))
}

/// `GET /applications/{id}`
pub(super) async fn read(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
) -> Result<Json<ApplicationView>, Problem> {
    Ok(Json(view(admin::application(&host, &id_of(&id, "application")?).await?)))
}

/// `PATCH /applications/{id}`
pub(super) async fn change(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<ApplicationView>, Problem> {
    let Change { name, redirect_uris, scopes } = parse(&body)?;
    let change = ApplicationChange { name, redirect_uris, scopes };
    Ok(Json(view(admin::change_application(&host, &id_of(&id, "application")?, change).await?)))
}

/// `DELETE /applications/{id}`
pub(super) async fn remove(State(host): State<Arc<Host>>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    admin::delete_application(&host, &id_of(&id, "application")?).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize)]
pub(super) struct SecretView {
    client_secret: String,
}

/// `POST /applications/{id}/secret`: a new client secret, shown this once.
pub(super) async fn secret(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<SecretView>), Problem> {
    let secret = admin::create_secret(&host, &id_of(&id, "application")?).await?;
    Ok((StatusCode::CREATED, Json(SecretView { client_secret: secret.expose().to_owned() })))
}
