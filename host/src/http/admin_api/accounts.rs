//! Accounts: people in applications.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};

use super::{List, Page, id_of, moment, parse};
use crate::domain::Host;
use crate::domain::admin::{self, AccountChange};
use crate::http::problem::Problem;
use crate::model::account::Account;
use crate::model::audit::By;
use crate::model::user::LifeState;

/// An account as the API shows it.
#[derive(Serialize)]
pub(super) struct AccountView {
    id: String,
    user_id: String,
    application_id: String,
    name: String,
    roles: Vec<String>,
    short_code: String,
    state: LifeState,
    created_at: String,
}

fn view(account: Account) -> AccountView {
    AccountView {
        id: account.id.to_string(),
        user_id: account.user_id.to_string(),
        application_id: account.application_id.to_string(),
        name: account.name,
        roles: account.roles,
        short_code: account.short_code,
        state: account.state,
        created_at: moment(account.created_at),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    user_id: String,
    name: Option<String>,
    roles: Option<Vec<String>>,
    state: Option<LifeState>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    name: Option<String>,
    roles: Option<Vec<String>>,
    state: Option<LifeState>,
}

/// `POST /applications/{id}/accounts`
pub(super) async fn create(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    Path(application): Path<String>,
    body: Bytes,
) -> Result<(StatusCode, Json<AccountView>), Problem> {
    let Create { user_id, name, roles, state } = parse(&body)?;
    let change = AccountChange { name, roles, state };
    let application = id_of(&application, "application")?;
    let account = admin::create_account(&host, id_of(&user_id, "user")?, &application, change, &by).await?;
    Ok((StatusCode::CREATED, Json(view(account))))
}

/// `GET /applications/{id}/accounts`
pub(super) async fn list(
    State(host): State<Arc<Host>>,
    Path(application): Path<String>,
    page: Page,
) -> Result<Json<List<AccountView>>, Problem> {
    let application = id_of(&application, "application")?;
    let rows = admin::accounts(&host, &application, page.after()?, page.limit + 1).await?;
    Ok(Json(List::of(rows, page.limit, |row| row.id.to_string(), view)))
}

/// `GET /accounts/{id}`
pub(super) async fn read(State(host): State<Arc<Host>>, Path(id): Path<String>) -> Result<Json<AccountView>, Problem> {
    Ok(Json(view(admin::account(&host, id_of(&id, "account")?).await?)))
}

/// `PATCH /accounts/{id}`
pub(super) async fn change(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<AccountView>, Problem> {
    let Change { name, roles, state } = parse(&body)?;
    let change = AccountChange { name, roles, state };
    Ok(Json(view(admin::change_account(&host, id_of(&id, "account")?, change, &by).await?)))
}

/// `DELETE /accounts/{id}`
pub(super) async fn remove(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    admin::delete_account(&host, id_of(&id, "account")?, &by).await?;
    Ok(StatusCode::NO_CONTENT)
}
