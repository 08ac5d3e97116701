//! Users, their devices and their enrolments.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{List, Page, id_of, moment, parse};
use crate::domain::Host;
use crate::domain::admin::{self, UserChange};
use crate::http::problem::Problem;
use crate::model::audit::By;
use crate::model::device::Device;
use crate::model::user::{ConsoleRole, LifeState, Profile, User};

/// A user as the API shows it.
#[derive(Serialize)]
pub(super) struct UserView {
    id: String,
    did: String,
    sub: String,
    name: String,
    email: Option<String>,
    profile: Profile,
    console_role: Option<ConsoleRole>,
    state: LifeState,
    created_at: String,
    updated_at: String,
}

fn view(user: User) -> UserView {
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

/// What creates or changes a user. Where a user is changed, what is missing stays as it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    name: Option<String>,
    email: Option<String>,
    profile: Option<Map<String, Value>>,
    #[serde(default, deserialize_with = "present")]
    console_role: Option<Option<ConsoleRole>>,
    state: Option<LifeState>,
}

/// Tells `null` from a missing member.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Option<ConsoleRole>>, D::Error> {
    Option::deserialize(value).map(Some)
}

fn change_of(body: &Bytes) -> Result<UserChange, Problem> {
    let Change { name, email, profile, console_role, state } = parse(body)?;
    Ok(UserChange { name, email, profile, console_role, state })
}

/// `POST /users`
pub(super) async fn create(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    body: Bytes,
) -> Result<(StatusCode, Json<UserView>), Problem> {
    let user = admin::create_user(&host, change_of(&body)?, &by).await?;
    Ok((StatusCode::CREATED, Json(view(user))))
}

/// `GET /users`
pub(super) async fn list(State(host): State<Arc<Host>>, page: Page) -> Result<Json<List<UserView>>, Problem> {
    let rows = admin::users(&host, page.after()?, page.limit + 1).await?;
    Ok(Json(List::of(rows, page.limit, |row| row.user.id.to_string(), |row| view(row.user))))
}

/// `GET /users/{id}`
pub(super) async fn read(State(host): State<Arc<Host>>, Path(id): Path<String>) -> Result<Json<UserView>, Problem> {
    Ok(Json(view(admin::user(&host, id_of(&id, "user")?).await?)))
}

/// `PATCH /users/{id}`
pub(super) async fn change(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<UserView>, Problem> {
    Ok(Json(view(admin::change_user(&host, id_of(&id, "user")?, change_of(&body)?, &by).await?)))
}

/// `DELETE /users/{id}`
pub(super) async fn remove(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    admin::delete_user(&host, id_of(&id, "user")?, &by).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /users/{id}/erase`: erases what says who a terminated user was.
pub(super) async fn erase(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    Path(id): Path<String>,
) -> Result<Json<UserView>, Problem> {
    Ok(Json(view(admin::erase_user(&host, id_of(&id, "user")?, &by).await?)))
}

#[derive(Serialize)]
pub(super) struct EnrolmentView {
    link: String,
    expires_at: String,
}

/// `POST /users/{id}/enrolments`: a link by which the person enrols one authenticator, shown this once.
pub(super) async fn enrol(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<EnrolmentView>), Problem> {
    let (link, until) = admin::create_enrolment(&host, id_of(&id, "user")?, &by).await?;
    Ok((StatusCode::CREATED, Json(EnrolmentView { link, expires_at: moment(until) })))
}

/// A device as the API shows it.
#[derive(Serialize)]
pub(super) struct DeviceView {
    id: String,
    name: String,
    has_push: bool,
    created_at: String,
}

/// `GET /users/{id}/devices`
pub(super) async fn devices(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
) -> Result<Json<List<DeviceView>>, Problem> {
    let show = |device: Device| DeviceView {
        id: device.id.to_string(),
        name: device.name,
        has_push: device.push.is_some(),
        created_at: moment(device.created_at),
    };
    let devices = admin::devices(&host, id_of(&id, "user")?).await?;
    Ok(Json(List { items: devices.into_iter().map(show).collect(), next: None }))
}

/// `DELETE /devices/{id}`
pub(super) async fn revoke_device(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    admin::revoke_device(&host, id_of(&id, "device")?, &by).await?;
    Ok(StatusCode::NO_CONTENT)
}
