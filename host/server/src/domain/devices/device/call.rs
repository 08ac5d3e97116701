//! Signed calls of devices.

use crate::domain::{InternalError, Services};
use assent_model::clock::Timestamp;
use assent_model::device::Device;
use assent_model::id::DeviceId;
use assent_model::statement::CallStatement;

/// How far a device's clock may be from ours, in seconds.
const CLOCK_TOLERANCE: i64 = 60;

/// A call of the authenticator's interface, as it came.
#[derive(Clone, Copy, Debug)]
pub struct DeviceCall<'a> {
    /// The device that it says it is of.
    pub device: DeviceId,
    /// The device's idea of the time, in seconds since the epoch.
    pub time: i64,
    /// The signature of the [`CallStatement`].
    pub signature: &'a [u8],
    /// The HTTP method, in capitals.
    pub method: &'a str,
    /// The path, without the query.
    pub path: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// Whose call it is.
#[derive(Debug)]
pub enum DeviceCaller {
    /// This device's.
    Device(Box<Device>),
    /// Nobody's that we know: no such device, a revoked one, or a signature of another key.
    Unknown,
    /// A device's whose clock is too far off, which is told ours.
    WrongClock(Timestamp),
}

/// Finds out which device a call is of.
///
/// # Errors
/// If the database fails.
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
