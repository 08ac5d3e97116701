//! The devices and recovery codes of a user.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::admin::{EndEnrolmentLink, EnrolDevice, EnrolmentLink, RevokeDevice};
use crate::domain::audit::moment_text;
use crate::domain::devices::device::OwnDevice;
use crate::domain::devices::recovery;
use crate::domain::{Services, admin};
use crate::http::admin_api::context::Context;
use crate::http::admin_api::input::{List, id_of};
use crate::http::admin_api::invitations::{InvitationMessage, message};
use crate::http::devices::qr_code;
use crate::http::problem::Problem;
use assent_model::device::EnrolledBy;
use assent_model::user::LifecycleState;

/// A link that enrols a device.
#[derive(Serialize, ToSchema)]
#[schema(as = Enrolment)]
pub(super) struct EnrolmentView {
    /// The link. Only this response contains it. It enrols one device.
    link: String,
    #[schema(format = DateTime)]
    expires_at: String,
    /// The link as a QR code, an SVG image.
    qr_code: Option<String>,
    /// A message for an invited user with the link, in the user's language.
    message: Option<InvitationMessage>,
}

/// Create a link that enrols one device of a user.
#[utoipa::path(
    post,
    path = "/users/{id}/enrolments",
    responses((status = 201, description = "The link.", body = EnrolmentView))
)]
pub(super) async fn enrol(
    context: Context,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<EnrolmentView>), Problem> {
    let (user, created) = context.run(EnrolDevice(id_of(&id, "user")?)).await?;
    let EnrolmentLink { link, expires_at } = created;
    let is_invited = user.state == LifecycleState::Invited;
    let message = is_invited.then(|| message(&context.0.services, &user, &link, expires_at));
    let view = EnrolmentView {
        qr_code: qr_code(&link),
        message,
        link,
        expires_at: moment_text(expires_at),
    };
    Ok((StatusCode::CREATED, Json(view)))
}

/// An enrolment link that can still be used. Its text is not stored.
#[derive(Serialize, ToSchema)]
#[schema(as = OpenLink)]
pub(super) struct OpenLinkView {
    id: String,
    by: EnrolledBy,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    expires_at: String,
}

/// List the enrolment links with which a device of a user can be enrolled now.
#[utoipa::path(
    get,
    path = "/users/{id}/enrolments",
    responses((status = 200, description = "The open links, the oldest first.", body = List<OpenLinkView>))
)]
pub(super) async fn open_links(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<Json<List<OpenLinkView>>, Problem> {
    let links = admin::open_links(&services, id_of(&id, "user")?).await?;
    Ok(Json(List::whole(links.into_iter().map(|link| {
        OpenLinkView {
            id: link.id.to_string(),
            by: link.by,
            created_at: moment_text(link.created_at),
            expires_at: moment_text(link.expires_at),
        }
    }))))
}

/// End an open enrolment link of a user.
#[utoipa::path(
    delete,
    path = "/users/{id}/enrolments/{enrolment}",
    responses((status = 204, description = "The link enrols no device any more."))
)]
pub(super) async fn end_link(
    context: Context,
    Path((id, link)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let command = EndEnrolmentLink {
        user: id_of(&id, "user")?,
        link: id_of(&link, "open enrolment link")?,
    };
    context.no_content(command).await
}

/// A device with which a user approves.
#[derive(Serialize, ToSchema)]
#[schema(as = Device)]
pub(super) struct DeviceView {
    id: String,
    name: String,
    /// Whether push messages notify it of requests.
    has_push: bool,
    /// Whether each approval requires the device's passkey.
    has_passkey: bool,
    /// Whether the user agreed to sign in with the passkey on login pages.
    passkey_sign_in: bool,
    #[schema(format = DateTime)]
    created_at: String,
    /// When it last decided a request.
    #[schema(format = DateTime)]
    used_at: Option<String>,
    /// How the link that enrolled it reached the user.
    enrolled_by: EnrolledBy,
    /// When that link was sent, or created if it was not sent by email.
    #[schema(format = DateTime)]
    link_issued_at: String,
    /// The IP address from which it enrolled.
    enrolled_from: Option<String>,
}

/// List a user's devices.
#[utoipa::path(
    get,
    path = "/users/{id}/devices",
    responses((status = 200, description = "All devices that are not revoked.", body = List<DeviceView>))
)]
pub(super) async fn devices(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<Json<List<DeviceView>>, Problem> {
    let show = |OwnDevice {
                    device,
                    used_at,
                    has_passkey,
                    passkey_sign_in,
                    origin,
                }| DeviceView {
        id: device.id.to_string(),
        name: device.name,
        has_push: device.push.is_some(),
        has_passkey,
        passkey_sign_in,
        created_at: moment_text(device.created_at),
        used_at: used_at.map(moment_text),
        enrolled_by: origin.by,
        link_issued_at: moment_text(origin.link_issued_at),
        enrolled_from: origin.address,
    };
    let devices = admin::devices(&services, id_of(&id, "user")?).await?;
    Ok(Json(List::whole(devices.into_iter().map(show))))
}

/// Revoke a device.
///
/// Ends the sessions that the device approved, and revokes the recovery codes that it created.
#[utoipa::path(delete, path = "/devices/{id}", responses((status = 204, description = "Revoked.")))]
pub(super) async fn revoke_device(
    context: Context,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    context
        .no_content(RevokeDevice(id_of(&id, "device")?))
        .await
}

/// A user's recovery codes.
#[derive(Serialize, ToSchema)]
pub(super) struct RecoveryCodes {
    /// The number of unused codes.
    unused: u32,
}

/// Count a user's recovery codes.
#[utoipa::path(
    get,
    path = "/users/{id}/recovery-codes",
    responses((status = 200, description = "The number of unused recovery codes.", body = RecoveryCodes))
)]
pub(super) async fn recovery_codes(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<Json<RecoveryCodes>, Problem> {
    let user = admin::user(&services, id_of(&id, "user")?).await?;
    Ok(Json(RecoveryCodes {
        unused: recovery::remaining_codes(&services, user.id).await?,
    }))
}
