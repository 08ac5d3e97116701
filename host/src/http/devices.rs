//! The part of the authenticator's interface by which people look after their devices: all of them, another one, recovery codes,
//! and what is new.
//!
//! Whoever has only a browser's session gets nothing here: what lets somebody in later is made with a device alone.

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value, json};

use super::authenticator::{Failure, Reply, SignedCall, parse, qr_code};
use crate::domain::{device, news, recovery};
use crate::id::{AuditId, DeviceId};
use crate::model::audit::{Actor, Entry};
use crate::model::recovery::RecoveryCode;

/// `GET /authenticator/api/devices`: the person's devices, and how many recovery codes they have left.
pub(super) async fn list(call: SignedCall) -> Reply {
    let devices = device::all_of(&call.host, call.device.user_id).await?;
    let devices: Vec<Value> = devices
        .iter()
        .map(|device| {
            json!({
                "id": device.id,
                "name": device.name,
                "enrolled_at": device.created_at.seconds(),
                "this": device.id == call.device.id,
            })
        })
        .collect();
    let left = recovery::left(&call.host, call.device.user_id).await?;
    Ok(Json(json!({"devices": devices, "recovery_codes": left})).into_response())
}

/// `DELETE /authenticator/api/devices/{id}`: the person removes one of their devices.
pub(super) async fn revoke(Path(id): Path<String>, call: SignedCall) -> Reply {
    let unknown = || Failure::new(StatusCode::NOT_FOUND, "unknown_device_id", "You have no such device.");
    let id: DeviceId = id.parse().map_err(|_| unknown())?;
    let found = device::of_owner(&call.host, call.device.user_id, id).await?.ok_or_else(unknown)?;
    if device::revoke(&call.host, &found, &call.by()).await? {
        Ok(StatusCode::NO_CONTENT.into_response())
    } else {
        Err(unknown())
    }
}

/// `POST /authenticator/api/devices/link`: a link that enrols another device of the person.
pub(super) async fn link(call: SignedCall) -> Reply {
    let closed = Failure::new(StatusCode::FORBIDDEN, "closed", "Your account can't be used. Ask your administrator.");
    let made = device::link_another(&call.host, &call.device, &call.by()).await?;
    let (link, until) = made.ok_or(closed)?;
    let body = json!({"link": link, "link_qr": qr_code(&link), "expires_at": until.seconds()});
    Ok((StatusCode::CREATED, Json(body)).into_response())
}

/// `POST /authenticator/api/recovery-codes`: new codes in place of those before. They are told this once.
pub(super) async fn recovery_codes(call: SignedCall) -> Reply {
    let codes = recovery::make(&call.host, &call.device, call.origin.clone()).await?;
    let codes: Vec<String> = codes.iter().map(RecoveryCode::shown).collect();
    Ok((StatusCode::CREATED, Json(json!({"codes": codes}))).into_response())
}

/// What a device tells its owner of an entry.
pub(super) fn news(entry: &Entry) -> Value {
    json!({
        "id": entry.id,
        "event": entry.event.as_str(),
        "at": entry.at.seconds(),
        "name": entry.personal.get("name"),
        "by_administrator": matches!(entry.actor, Actor::Administrator(_) | Actor::Host),
    })
}

#[derive(Deserialize)]
struct Seen {
    last: AuditId,
}

/// `POST /authenticator/api/news/seen`: the person has seen the news up to `last`.
pub(super) async fn news_seen(call: SignedCall) -> Reply {
    let Seen { last } = parse(&call.body)?;
    news::seen(&call.host, &call.device, last).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
