//! The calling device itself: its push subscription, and its removal.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::devices::device;
use crate::http::devices::device_api_error::{DeviceApiError, parse};
use crate::http::devices::error_code::ErrorCode;
use crate::http::devices::signed_call::SignedCall;
use assent_model::device::PushSubscription;
use assent_model::recovery::CodesOfDevice;

/// The address to which the device receives push messages. Further members are rejected.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Push)]
pub(crate) struct PushBody {
    /// The subscription; only an explicit `null` removes it.
    // The function makes the member required. A member that is missing or mistyped must not remove the subscription.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required)]
    pub(crate) subscription: Option<PushSubscription>,
}

/// Set or remove the push subscription of the device.
#[utoipa::path(put, path = "/device/push", operation_id = "device.push.set", request_body = PushBody,
    responses((status = 204, description = "The server has the subscription, or none.")))]
pub(super) async fn set_push(call: SignedCall) -> Result<StatusCode, DeviceApiError> {
    let SignedCall {
        services,
        device,
        body,
        ..
    } = call;
    let PushBody { subscription } = parse(&body)?;
    if device::set_push(&services, &device, subscription).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(ErrorCode::InvalidSubscription.into())
    }
}

/// Remove the device that calls.
#[utoipa::path(delete, path = "/device", operation_id = "device.remove",
    responses((status = 204, description = "The device is revoked. The browsers that it signed in are signed out.")))]
pub(super) async fn remove(call: SignedCall) -> Result<StatusCode, DeviceApiError> {
    device::revoke(
        &call.services,
        &call.device,
        CodesOfDevice::End,
        &call.audit_context(),
    )
    .await?;
    Ok(StatusCode::NO_CONTENT)
}
