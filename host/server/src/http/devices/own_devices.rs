//! The part of the authenticator's interface by which people look after their devices: all of them, another one, recovery codes,
//! and what is new.
//!
//! Whoever has only a browser's session gets nothing here: what lets somebody in later is made with a device alone, and with its
//! passkey where it has one.

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::devices::device::{OwnDevice, Renaming};
use crate::domain::devices::{account_notifications, device, recovery};
use crate::http::devices::authenticator::{
    BAD_NAME, Failure, Reply, SignedCall, confirmed, parse, qr_code,
};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::{AuditId, DeviceId};
use assent_model::recovery::{CodesOfDevice, RecoveryCode};

/// `GET /authenticator/api/devices`: the person's devices, and how many recovery codes they have left.
pub(crate) async fn list(call: SignedCall) -> Reply {
    let devices = device::all_of(&call.host, call.device.user_id).await?;
    let devices: Vec<Value> = devices
        .iter()
        .map(
            |OwnDevice {
                 device,
                 used_at,
                 has_passkey,
             }| {
                json!({
                    "id": device.id,
                    "name": device.name,
                    "enrolled_at": device.created_at.seconds(),
                    "used_at": used_at.map(Timestamp::seconds),
                    "passkey": has_passkey,
                    "this": device.id == call.device.id,
                })
            },
        )
        .collect();
    let left = recovery::left(&call.host, call.device.user_id).await?;
    Ok(Json(json!({"devices": devices, "recovery_codes": left})).into_response())
}

#[derive(Deserialize)]
struct Rename {
    name: String,
}

/// `PATCH /authenticator/api/devices/{id}`: the person names one of their devices anew.
pub(crate) async fn rename(Path(id): Path<String>, call: SignedCall) -> Reply {
    let Rename { name } = parse(&call.body)?;
    let id: DeviceId = id.parse().map_err(|_| UNKNOWN)?;
    match device::rename(&call.host, call.device.user_id, id, &name, &call.by()).await? {
        Renaming::Done => Ok(StatusCode::NO_CONTENT.into_response()),
        Renaming::BadName => Err(BAD_NAME),
        Renaming::Unknown => Err(UNKNOWN),
    }
}

const UNKNOWN: Failure = Failure::new(
    StatusCode::NOT_FOUND,
    "unknown_device_id",
    "You have no such device.",
);

/// `DELETE /authenticator/api/devices/{id}`: the person removes one of their devices.
pub(crate) async fn revoke(Path(id): Path<String>, call: SignedCall) -> Reply {
    let id: DeviceId = id.parse().map_err(|_| UNKNOWN)?;
    let found = device::of_owner(&call.host, call.device.user_id, id)
        .await?
        .ok_or(UNKNOWN)?;
    // Else whoever can use this device and not its passkey would take the others away, which tell of it.
    if id != call.device.id {
        confirmed(&call, &format!("DELETE /devices/{id}")).await?;
    }
    device::revoke(&call.host, &found, CodesOfDevice::End, &call.by())
        .await?
        .ok_or(UNKNOWN)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `POST /authenticator/api/devices/enrolment-links`: a link that enrols another device of the person.
pub(crate) async fn enrolment_link(call: SignedCall) -> Reply {
    confirmed(&call, "POST /devices/enrolment-links").await?;
    within_limit(&call)?;
    let made = device::link_another(&call.host, &call.device, &call.by()).await?;
    let (link, until) = made.ok_or(CLOSED)?;
    let body = json!({
        "link": link,
        "link_qr": qr_code(&link),
        "created_at": call.host.now().seconds(),
        "expires_at": until.seconds(),
    });
    Ok((StatusCode::CREATED, Json(body)).into_response())
}

/// `POST /authenticator/api/recovery-codes`: new codes in place of those before. They are told this once.
pub(crate) async fn recovery_codes(call: SignedCall) -> Reply {
    confirmed(&call, "POST /recovery-codes").await?;
    within_limit(&call)?;
    let codes = recovery::make(&call.host, &call.device, call.origin.clone())
        .await?
        .ok_or(CLOSED)?;
    let codes: Vec<String> = codes.iter().map(RecoveryCode::shown).collect();
    Ok((StatusCode::CREATED, Json(json!({"codes": codes}))).into_response())
}

/// Counts what a device makes, and what others are told of, to its limit.
fn within_limit(call: &SignedCall) -> Result<(), Failure> {
    let taken = call
        .host
        .rate_limits
        .actions_per_device
        .take(&call.device.id, call.host.now());
    taken.map_err(|exhausted| TOO_MANY_CALLS.with("retry_after", json!(exhausted.seconds())))
}

const CLOSED: Failure = Failure::new(
    StatusCode::FORBIDDEN,
    "closed",
    "Your account can't be used. Ask your administrator.",
);

const TOO_MANY_CALLS: Failure = Failure::new(
    StatusCode::TOO_MANY_REQUESTS,
    "too_many_calls",
    "This phone did that so often that it was refused this time. Wait a minute and try again.",
);

/// What a device tells its owner of an entry.
pub(crate) fn notification(entry: &Entry) -> Value {
    json!({
        "id": entry.id,
        "event": entry.event.as_str(),
        "at": entry.at.seconds(),
        "name": entry.personal.get("name"),
    })
}

#[derive(Deserialize)]
struct Seen {
    last: AuditId,
}

/// `POST /authenticator/api/notifications/read`: the person has seen the notifications up to `last`.
pub(crate) async fn notifications_read(call: SignedCall) -> Reply {
    let Seen { last } = parse(&call.body)?;
    account_notifications::mark_read(&call.host, &call.device, last).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
