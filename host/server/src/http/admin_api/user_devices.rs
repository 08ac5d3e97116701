//! The devices and recovery codes of a user.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::admin::{EnrolDevice, EnrolmentLink, RevokeDevice};
use crate::domain::devices::device::OwnDevice;
use crate::domain::devices::recovery;
use crate::domain::{Host, admin};
use crate::http::admin_api::context::Context;
use crate::http::admin_api::input::List;
use crate::http::admin_api::values::{id_of, moment};
use crate::http::problem::Problem;

/// A link that enrols a phone.
#[derive(Serialize, ToSchema)]
#[schema(as = Enrolment)]
pub(super) struct EnrolmentView {
    /// The link, shown this once. It is good for one phone.
    link: String,
    #[schema(format = DateTime)]
    expires_at: String,
}

/// Make a link by which the person enrols one phone.
#[utoipa::path(
    post,
    path = "/users/{id}/enrolments",
    responses((status = 201, description = "The link.", body = EnrolmentView))
)]
pub(super) async fn enrol(
    context: Context,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<EnrolmentView>), Problem> {
    let EnrolmentLink { link, expires_at } = context.run(EnrolDevice(id_of(&id, "user")?)).await?;
    let view = EnrolmentView {
        link,
        expires_at: moment(expires_at),
    };
    Ok((StatusCode::CREATED, Json(view)))
}

/// A phone that a person approves with.
#[derive(Serialize, ToSchema)]
#[schema(as = Device)]
pub(super) struct DeviceView {
    id: String,
    name: String,
    /// Whether it is told of requests by push.
    has_push: bool,
    /// Whether it approves only after face, finger or PIN.
    has_passkey: bool,
    #[schema(format = DateTime)]
    created_at: String,
    /// When it last decided something.
    #[schema(format = DateTime)]
    used_at: Option<String>,
}

/// List a person's phones.
#[utoipa::path(
    get,
    path = "/users/{id}/devices",
    responses((status = 200, description = "All that are not revoked.", body = List<DeviceView>))
)]
pub(super) async fn devices(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
) -> Result<Json<List<DeviceView>>, Problem> {
    let show = |OwnDevice {
                    device,
                    used_at,
                    has_passkey,
                }| DeviceView {
        id: device.id.to_string(),
        name: device.name,
        has_push: device.push.is_some(),
        has_passkey,
        created_at: moment(device.created_at),
        used_at: used_at.map(moment),
    };
    let devices = admin::devices(&host, id_of(&id, "user")?).await?;
    Ok(Json(List::whole(devices.into_iter().map(show))))
}

/// Revoke a phone.
///
/// The sessions that it approved end, and so do the recovery codes that it made.
#[utoipa::path(delete, path = "/devices/{id}", responses((status = 204, description = "Revoked.")))]
pub(super) async fn revoke_device(
    context: Context,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    context.run(RevokeDevice(id_of(&id, "device")?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A person's recovery codes.
#[derive(Serialize, ToSchema)]
pub(super) struct RecoveryCodes {
    /// How many there are that were not used.
    left: u32,
}

/// Count a person's recovery codes.
#[utoipa::path(
    get,
    path = "/users/{id}/recovery-codes",
    responses((status = 200, description = "How many are left.", body = RecoveryCodes))
)]
pub(super) async fn recovery_codes(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
) -> Result<Json<RecoveryCodes>, Problem> {
    let user = admin::user(&host, id_of(&id, "user")?).await?;
    Ok(Json(RecoveryCodes {
        left: recovery::left(&host, user.id).await?,
    }))
}
