//! Enrolment: the link, and the device that it enrols.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::Services;
use crate::domain::devices::device::enrolment;
use crate::domain::devices::device::enrolment::{EnrolOutcome, EnrolmentRequest, LinkRejection};
use crate::domain::devices::passkey;
use crate::http::context::RequestOrigin;
use crate::http::devices::device_api_error::{DeviceApiError, parse};
use crate::http::devices::error_code::ErrorCode;
use crate::http::devices::passkeys::PasskeyState;
use assent_model::device::DeviceKey;
use assent_model::id::DeviceId;
use assent_plugin_host::Trust;

/// The token of an enrolment link.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct EnrolmentToken {
    /// The part of the link after `#enrol=`.
    pub(crate) token: String,
}

/// The data of an enrolment link.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct EnrolmentPreview {
    /// The name of the organisation that operates the server.
    pub(crate) operator: String,
    /// The issuer's URL, which the device's signatures cover.
    pub(crate) issuer: String,
    /// The user's name.
    pub(crate) account: String,
    /// The user's display name.
    pub(crate) display_name: String,
    /// When the link expires, in seconds since the epoch.
    pub(crate) expires_at: i64,
    /// The link as a QR code, an SVG image; `null` if it is too long for one.
    #[schema(required)]
    pub(crate) link_qr: Option<String>,
}

/// Preview an enrolment link. The link stays valid.
#[utoipa::path(post, path = "/enrolments/preview", operation_id = "enrolments.preview", request_body = EnrolmentToken,
    responses((status = 200, description = "The data of the enrolment link.", body = EnrolmentPreview)))]
pub(super) async fn preview(
    State(services): State<Arc<Services>>,
    body: Bytes,
) -> Result<Json<EnrolmentPreview>, DeviceApiError> {
    let EnrolmentToken { token } = parse(&body)?;
    let (enrolment, user) = enrolment::find_enrolment(&services, &token)
        .await?
        .map_err(rejected)?;
    let link = format!("{}/authenticator#enrol={token}", services.settings.origin());
    Ok(Json(EnrolmentPreview {
        operator: services.settings.operator.clone(),
        issuer: services.issuer.clone(),
        account: user.name.to_string(),
        display_name: user.display_name().to_owned(),
        expires_at: enrolment.expires_at.seconds(),
        link_qr: qr_code(&link),
    }))
}

/// Returns the link as a QR code for a device's camera, in SVG; `None` if it is too long for one.
pub(crate) fn qr_code(link: &str) -> Option<String> {
    let code = qrcode::QrCode::new(link).ok()?;
    Some(
        code.render::<qrcode::render::svg::Color<'_>>()
            .min_dimensions(220, 220)
            .build(),
    )
}

/// A device to enrol.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Enrolment)]
pub(crate) struct EnrolmentBody {
    /// The token of the link.
    pub(crate) token: String,
    /// The name of the device: 1 to 80 characters.
    pub(crate) device_name: String,
    /// The public key of the device.
    pub(crate) public_key: DeviceKey,
    /// The signature of the enrolment statement: ECDSA with SHA-256, `r` and `s` of 32 bytes each, base64url.
    pub(crate) signature: String,
}

/// An enrolled device.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct EnrolledDevice {
    /// The device's id.
    #[schema(value_type = String, pattern = "^[0-9a-f]{32}$")]
    pub(crate) device_id: DeviceId,
    /// Its name. It differs from the requested one if another device of the user has that.
    pub(crate) device_name: String,
    /// The user's name.
    pub(crate) account: String,
    /// The user's display name.
    pub(crate) display_name: String,
    /// The issuer's URL.
    pub(crate) issuer: String,
    /// The name of the organisation that operates the server.
    pub(crate) operator: String,
    /// The server's key for push subscriptions (RFC 8292), base64url; `null` if the server sends no push messages.
    #[schema(required)]
    pub(crate) push_key: Option<String>,
    pub(crate) passkey: PasskeyState,
    /// Whether a recovery code created the link.
    pub(crate) recovered: bool,
}

const fn rejected(why: LinkRejection) -> ErrorCode {
    match why {
        LinkRejection::Damaged => ErrorCode::LinkDamaged,
        LinkRejection::Unknown => ErrorCode::LinkNotFound,
        LinkRejection::Used => ErrorCode::LinkUsed,
        LinkRejection::Expired => ErrorCode::LinkExpired,
        LinkRejection::Withdrawn => ErrorCode::LinkWithdrawn,
    }
}

/// Enrol a device with an enrolment link, which is used up. A repeated call with the same link and the same key returns
/// the same device, so a client keeps its key until it has the response.
#[utoipa::path(post, path = "/enrolments", operation_id = "enrolments.create", request_body = EnrolmentBody,
    responses((status = 201, description = "The enrolled device.", body = EnrolledDevice)))]
pub(super) async fn enrol(
    State(services): State<Arc<Services>>,
    RequestOrigin(from): RequestOrigin,
    body: Bytes,
) -> Result<(StatusCode, Json<EnrolledDevice>), DeviceApiError> {
    let enrolment: EnrolmentBody = parse(&body)?;
    let request = EnrolmentRequest {
        token: enrolment.token,
        device_name: enrolment.device_name,
        key: enrolment.public_key,
        // Text that is not base64url becomes an empty signature, which is never valid.
        signature: URL_SAFE_NO_PAD
            .decode(enrolment.signature)
            .unwrap_or_default(),
    };
    match enrolment::enrol(&services, &request, from).await? {
        EnrolOutcome::Done {
            device,
            user,
            recovered,
        } => {
            let enrolled = EnrolledDevice {
                device_id: device.id,
                account: user.name.to_string(),
                display_name: user.display_name().to_owned(),
                issuer: services.issuer.clone(),
                operator: services.settings.operator.clone(),
                push_key: push_key(&services).map(str::to_owned),
                passkey: passkey::passkey_status(&services, &device).await?.into(),
                recovered,
                device_name: device.name,
            };
            Ok((StatusCode::CREATED, Json(enrolled)))
        }
        EnrolOutcome::Rejected(why) => Err(rejected(why).into()),
        EnrolOutcome::BadProof => Err(ErrorCode::InvalidProof.into()),
        EnrolOutcome::BadName => Err(ErrorCode::InvalidName.into()),
        EnrolOutcome::TooMany => Err(ErrorCode::TooManyDevices.into()),
        EnrolOutcome::KeyTaken => Err(ErrorCode::KeyInUse.into()),
    }
}

/// Returns the key for push subscriptions, if a channel uses them.
fn push_key(services: &Services) -> Option<&str> {
    let notified = services
        .plugins
        .channels()
        .iter()
        .any(|channel| channel.trust == Trust::Verified);
    notified.then(|| services.push_key.public_key())
}
