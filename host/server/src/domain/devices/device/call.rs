//! Signed calls of devices.

use crate::domain::{InternalError, Services};
use assent_model::clock::Timestamp;
use assent_model::device::Device;
use assent_model::id::DeviceId;
use assent_model::statement::CallStatement;

/// The largest tolerated difference between a device's clock and the server's, in seconds.
const CLOCK_TOLERANCE: i64 = 60;

/// A received call of the authenticator API.
#[derive(Clone, Copy, Debug)]
pub struct DeviceCall<'a> {
    /// The device that the call names.
    pub device: DeviceId,
    /// The time of the device's clock, in seconds since the epoch.
    pub time: i64,
    /// The signature of the [`CallStatement`].
    pub signature: &'a [u8],
    /// The HTTP method, in upper case.
    pub method: &'a str,
    /// The path, without the query.
    pub path: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// The caller of the authenticator API.
#[derive(Debug)]
pub enum DeviceCaller {
    /// An authenticated device.
    Device(Box<Device>),
    /// An unknown or revoked device, or a signature with another key.
    Unknown,
    /// A device with a wrong clock. The value is the server's time, which the response contains.
    WrongClock(Timestamp),
}

/// Authenticates the device of a call.
pub async fn caller(
    services: &Services,
    call: DeviceCall<'_>,
) -> Result<DeviceCaller, InternalError> {
    let found = services
        .store
        .device(call.device)
        .await?
        .filter(|device| device.revoked_at.is_none());
    let Some(device) = found else {
        return Ok(DeviceCaller::Unknown);
    };
    let statement = CallStatement {
        issuer: &services.issuer,
        device: call.device,
        time: call.time,
        method: call.method,
        path: call.path,
        body: call.body,
    };
    if !device.key.verifies(&statement.text(), call.signature) {
        return Ok(DeviceCaller::Unknown);
    }
    let now = services.now();
    if (now.seconds().saturating_sub(call.time)).saturating_abs() > CLOCK_TOLERANCE {
        return Ok(DeviceCaller::WrongClock(now));
    }
    Ok(DeviceCaller::Device(Box::new(device)))
}
