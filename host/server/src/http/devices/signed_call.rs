//! Calls that an enrolled device signed.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, OriginalUri, Request};
use axum::http::header::AUTHORIZATION;

use crate::domain::Services;
use crate::domain::devices::device::call;
use crate::domain::devices::device::call::{DeviceCall, DeviceCaller};
use crate::http::context::origin_of;
use crate::http::cookies::Cookie;
use crate::http::devices::device_api_error::DeviceApiError;
use crate::http::devices::error_code::ErrorCode;
use assent_model::audit::{Actor, AuditContext, Origin};
use assent_model::device::{CallCredentials, Device};
use assent_model::secret::Digest;

/// A call that an enrolled device signed.
pub(crate) struct SignedCall {
    pub(crate) services: Arc<Services>,
    pub(crate) device: Device,
    pub(crate) origin: Origin,
    /// The digest of the browser cookie, if the device sends it.
    pub(crate) browser: Option<Digest>,
    pub(crate) body: Bytes,
}

impl SignedCall {
    /// The device and the origin of the call.
    pub(crate) fn audit_context(&self) -> AuditContext {
        AuditContext::new(Actor::Device(self.device.id), self.origin.clone())
    }
}

impl FromRequest<Arc<Services>> for SignedCall {
    type Rejection = DeviceApiError;

    async fn from_request(
        request: Request,
        services: &Arc<Services>,
    ) -> Result<Self, DeviceApiError> {
        let (parts, body) = request.into_parts();
        // A nested route sees only its part of the path, but the device signed the complete path.
        let path = parts
            .extensions
            .get::<OriginalUri>()
            .map_or(parts.uri.path(), |uri| uri.path())
            .to_owned();
        let origin = origin_of(services, &parts.extensions, &parts.headers);
        let browser = Cookie::Browser
            .read(services, &parts.headers)
            .map(|secret| secret.digest());
        let (method, header) = (
            parts.method.clone(),
            parts.headers.get(AUTHORIZATION).cloned(),
        );
        let body = Bytes::from_request(Request::from_parts(parts, body), services)
            .await
            .map_err(|_| ErrorCode::InvalidRequest)?;
        let header = header
            .as_ref()
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let Some(CallCredentials {
            device,
            time,
            signature,
        }) = CallCredentials::parse(header)
        else {
            return Err(ErrorCode::DeviceNotEnrolled.into());
        };
        let call = DeviceCall {
            device,
            time,
            signature: &signature,
            method: method.as_str(),
            path: &path,
            body: &body,
        };
        match call::caller(services, call).await? {
            DeviceCaller::Device(device) => Ok(Self {
                services: Arc::clone(services),
                device: *device,
                origin,
                browser,
                body,
            }),
            DeviceCaller::Unknown => Err(ErrorCode::DeviceNotEnrolled.into()),
            DeviceCaller::WrongClock(now) => {
                Err(DeviceApiError::from(ErrorCode::ClockDifference).with_server_time(now))
            }
        }
    }
}
