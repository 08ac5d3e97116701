//! The devices of a user, as the user manages them: all of them, another one, recovery codes, and notifications.
//!
//! A browser's session does not authorise these calls. New credentials for later sign-ins are created only with a
//! device, and with its passkey if it has one.

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::devices::device::{DeviceToRevoke, OwnDevice, RenameOutcome, enrolment};
use crate::domain::devices::{account_notifications, device, recovery};
use crate::domain::operations::traffic::rate_limits::limit::Limit;
use crate::http::devices::device_api_error::{DeviceApiError, parse};
use crate::http::devices::enrolments::qr_code;
use crate::http::devices::error_code::ErrorCode;
use crate::http::devices::passkeys::{Confirmation, require_confirmation};
use crate::http::devices::signed_call::SignedCall;
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::{AuditId, DeviceId, RecoveryBatchId};
use assent_model::recovery::{CodesOfDevice, RecoveryCode};

/// A device of the user.
#[derive(Serialize, ToSchema)]
#[schema(as = Device)]
pub(super) struct DeviceView {
    /// The device's id.
    #[schema(value_type = String, pattern = "^[0-9a-f]{32}$")]
    id: DeviceId,
    /// Its name.
    name: String,
    /// When it was enrolled, in seconds since the epoch.
    enrolled_at: i64,
    /// When it last decided a request, in seconds since the epoch; `null` if it never did.
    #[schema(required)]
    used_at: Option<i64>,
    /// Whether it approves only with a passkey.
    has_passkey: bool,
    /// Whether the user agreed to sign in with the passkey on login pages.
    passkey_sign_in: bool,
    /// Whether it is the device that calls.
    is_current: bool,
}

/// The devices of the user.
#[derive(Serialize, ToSchema)]
pub(super) struct Devices {
    /// The last enrolled first.
    devices: Vec<DeviceView>,
    /// The number of unused recovery codes.
    recovery_codes: u32,
}

/// List the user's devices, and count the recovery codes.
#[utoipa::path(get, path = "/devices", operation_id = "devices.list",
    responses((status = 200, description = "The devices.", body = Devices)))]
pub(super) async fn list(call: SignedCall) -> Result<Json<Devices>, DeviceApiError> {
    let view = |OwnDevice {
                    device,
                    used_at,
                    has_passkey,
                    passkey_sign_in,
                    origin: _,
                }| DeviceView {
        id: device.id,
        enrolled_at: device.created_at.seconds(),
        used_at: used_at.map(Timestamp::seconds),
        has_passkey,
        passkey_sign_in,
        is_current: device.id == call.device.id,
        name: device.name,
    };
    let devices = device::all_of(&call.services, call.device.user_id).await?;
    Ok(Json(Devices {
        devices: devices.into_iter().map(view).collect(),
        recovery_codes: recovery::remaining_codes(&call.services, call.device.user_id).await?,
    }))
}

/// A new name of a device.
#[derive(Deserialize, ToSchema)]
pub(super) struct DeviceName {
    /// 1 to 80 characters, none of them a control character.
    name: String,
}

/// Rename a device of the user. A device may call this 10 times an hour.
#[utoipa::path(patch, path = "/devices/{id}", operation_id = "devices.rename", request_body = DeviceName,
    params(("id" = String, Path, description = "The device's id.")),
    responses((status = 204, description = "The device has the name.")))]
pub(super) async fn rename(
    Path(id): Path<String>,
    call: SignedCall,
) -> Result<StatusCode, DeviceApiError> {
    let DeviceName { name } = parse(&call.body)?;
    let id: DeviceId = id.parse().map_err(|_| ErrorCode::DeviceNotFound)?;
    within(&call.services.rate_limits.renames_per_device, &call)?;
    match device::rename(
        &call.services,
        call.device.user_id,
        id,
        &name,
        &call.audit_context(),
    )
    .await?
    {
        RenameOutcome::Done => Ok(StatusCode::NO_CONTENT),
        RenameOutcome::BadName => Err(ErrorCode::InvalidName.into()),
        RenameOutcome::Unknown => Err(ErrorCode::DeviceNotFound.into()),
    }
}

/// Remove a device of the user. The passkey of the device that calls must confirm the removal of another one. A
/// repeated call changes nothing.
#[utoipa::path(delete, path = "/devices/{id}", operation_id = "devices.remove", request_body = Option<Confirmation>,
    params(("id" = String, Path, description = "The device's id.")),
    responses((status = 204, description = "The device is revoked. The browsers that it signed in are signed out.")))]
pub(super) async fn revoke(
    Path(id): Path<String>,
    call: SignedCall,
) -> Result<StatusCode, DeviceApiError> {
    let id: DeviceId = id.parse().map_err(|_| ErrorCode::DeviceNotFound)?;
    let found = match device::to_revoke(&call.services, call.device.user_id, id).await? {
        DeviceToRevoke::Found(found) => found,
        DeviceToRevoke::Revoked => return Ok(StatusCode::NO_CONTENT),
        DeviceToRevoke::Unknown => return Err(ErrorCode::DeviceNotFound.into()),
    };
    // Otherwise an attacker who can use this device without its passkey could remove the other devices, which receive
    // notifications.
    if id != call.device.id {
        require_confirmation(&call, &format!("DELETE /devices/{id}")).await?;
    }
    device::revoke(
        &call.services,
        &found,
        CodesOfDevice::End,
        &call.audit_context(),
    )
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A link that enrols another device of the user.
#[derive(Serialize, ToSchema)]
pub(super) struct DeviceEnrolmentLink {
    /// The link.
    link: String,
    /// The link as a QR code, an SVG image; `null` if it is too long for one.
    #[schema(required)]
    link_qr: Option<String>,
    /// When it was created, in seconds since the epoch.
    created_at: i64,
    /// When it expires, in seconds since the epoch.
    expires_at: i64,
}

/// Create a link that enrols another device of the user. It ends the earlier unused link of this device.
#[utoipa::path(post, path = "/devices/enrolment-links", operation_id = "devices.enrolment-links.create",
    request_body = Option<Confirmation>,
    responses((status = 201, description = "The link, valid once and for 15 minutes at \
         most.", body = DeviceEnrolmentLink)))]
pub(super) async fn enrolment_link(
    call: SignedCall,
) -> Result<(StatusCode, Json<DeviceEnrolmentLink>), DeviceApiError> {
    require_confirmation(&call, "POST /devices/enrolment-links").await?;
    within(&call.services.rate_limits.actions_per_device, &call)?;
    let made = enrolment::link_another(&call.services, &call.device, &call.audit_context()).await?;
    let (link, until) = made.ok_or(ErrorCode::UserInactive)?;
    let body = DeviceEnrolmentLink {
        link_qr: qr_code(&link),
        link,
        created_at: call.services.now().seconds(),
        expires_at: until.seconds(),
    };
    Ok((StatusCode::CREATED, Json(body)))
}

/// New recovery codes.
#[derive(Serialize, ToSchema)]
pub(super) struct RecoveryCodes {
    /// The id that confirms them.
    #[schema(value_type = String, pattern = "^[0-9a-f]{32}$")]
    id: RecoveryBatchId,
    /// The codes, which the server shows only now.
    codes: Vec<String>,
    /// When they can no longer be confirmed, in seconds since the epoch.
    expires_at: i64,
}

/// Create recovery codes, which are valid once the user confirms that they are saved. The former ones stay valid until
/// then.
#[utoipa::path(post, path = "/recovery-codes", operation_id = "recovery-codes.create",
    request_body = Option<Confirmation>,
    responses((status = 201, description = "The codes, each valid once.", body = RecoveryCodes)))]
pub(super) async fn recovery_codes(
    call: SignedCall,
) -> Result<(StatusCode, Json<RecoveryCodes>), DeviceApiError> {
    require_confirmation(&call, "POST /recovery-codes").await?;
    within(&call.services.rate_limits.actions_per_device, &call)?;
    let created = recovery::create_on_device(&call.services, &call.device)
        .await?
        .ok_or(ErrorCode::UserInactive)?;
    let body = RecoveryCodes {
        id: created.batch,
        codes: created.codes.iter().map(RecoveryCode::grouped).collect(),
        expires_at: created.expires_at.seconds(),
    };
    Ok((StatusCode::CREATED, Json(body)))
}

/// Confirm that the user saved new recovery codes, within 30 minutes. They replace the former ones. A repeated call
/// changes nothing.
#[utoipa::path(post, path = "/recovery-codes/{id}/confirm", operation_id = "recovery-codes.confirm",
    params(("id" = String, Path, description = "The id of the codes.")),
    responses((status = 204, description = "The codes are valid, and the former ones are not.")))]
pub(super) async fn confirm_recovery_codes(
    Path(id): Path<String>,
    call: SignedCall,
) -> Result<StatusCode, DeviceApiError> {
    let gone = ErrorCode::RecoveryCodesNotFound;
    let id: RecoveryBatchId = id.parse().map_err(|_| gone)?;
    let (user, device) = (call.device.user_id, call.device.id);
    match recovery::confirm(
        &call.services,
        user,
        Some(device),
        id,
        &call.audit_context(),
    )
    .await?
    {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(gone.into()),
    }
}

/// Counts a call toward a limit of its device.
fn within(limit: &Limit<DeviceId>, call: &SignedCall) -> Result<(), DeviceApiError> {
    limit
        .count_call(&call.device.id, call.services.now())
        .map_err(|exhausted| DeviceApiError::from(ErrorCode::TooManyCalls).retry_after(exhausted))
}

/// A notification of a change to the user's account.
#[derive(Serialize, ToSchema)]
pub(super) struct AccountNotification {
    /// Its id. The ids grow with time.
    #[schema(value_type = String)]
    id: AuditId,
    /// The event in the audit log, such as `device.enrolled`.
    event: String,
    /// When it happened, in seconds since the epoch.
    at: i64,
    /// The name of the device that it is about; `null` without one.
    #[schema(required)]
    name: Option<String>,
}

/// The notification of an entry.
pub(super) fn notification(entry: &Entry) -> AccountNotification {
    let name = entry.personal.get("name").and_then(|name| name.as_str());
    AccountNotification {
        id: entry.id,
        event: entry.event.as_str().to_owned(),
        at: entry.at.seconds(),
        name: name.map(str::to_owned),
    }
}

/// The notifications that the user has read.
#[derive(Deserialize, ToSchema)]
pub(super) struct ReadNotifications {
    /// The id of the last one.
    #[schema(value_type = String)]
    last: AuditId,
}

/// Mark the notifications up to `last` as read.
#[utoipa::path(post, path = "/notifications/read", operation_id = "notifications.mark-read",
    request_body = ReadNotifications,
    responses((status = 204, description = "They are not listed any more.")))]
pub(super) async fn notifications_read(call: SignedCall) -> Result<StatusCode, DeviceApiError> {
    let ReadNotifications { last } = parse(&call.body)?;
    account_notifications::mark_read(&call.services, &call.device, last).await?;
    Ok(StatusCode::NO_CONTENT)
}
