//! The passkey of a device. The app passes options to `PublicKeyCredential.parseCreationOptionsFromJSON` and
//! `parseRequestOptionsFromJSON`, and sends the credential as its `toJSON` returns it.

use axum::Json;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use webauthn_rs::prelude::{
    CreationChallengeResponse, PublicKeyCredential, RegisterPublicKeyCredential,
};

use crate::domain::devices::passkey::{Offer, PasskeyAddition, PasskeyConfirmation, PasskeyStatus};
use crate::domain::devices::passkey_agreement::AgreementOutcome;
use crate::domain::devices::passkey_schemas::{
    self, PasskeyAssertion, PasskeyCreationOptions, PasskeyRegistration,
};
use crate::domain::devices::{passkey, passkey_agreement};
use crate::http::devices::device_api_error::{DeviceApiError, parse};
use crate::http::devices::error_code::ErrorCode;
use crate::http::devices::signed_call::SignedCall;
use assent_model::passkey::PasskeySignIn;

/// Whether the device approves with a passkey.
#[derive(Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PasskeyState {
    /// The device has one, and approves only with it.
    Set,
    /// The device has one, and the user agreed to sign in with it on login pages.
    SignsIn,
    /// The device has none.
    None,
    /// The issuer has an IP address instead of a domain name, so the device cannot have one.
    Unsupported,
}

impl From<PasskeyStatus> for PasskeyState {
    fn from(standing: PasskeyStatus) -> Self {
        match standing {
            PasskeyStatus::Set(PasskeySignIn::Agreed { .. }) => Self::SignsIn,
            PasskeyStatus::Set(PasskeySignIn::Unavailable | PasskeySignIn::Declined) => Self::Set,
            PasskeyStatus::None => Self::None,
            PasskeyStatus::Impossible => Self::Unsupported,
        }
    }
}

/// The options with which the browser creates the passkey.
#[derive(Serialize, ToSchema)]
pub(super) struct PasskeyOffer {
    #[serde(serialize_with = "passkey_schemas::creation_options")]
    #[schema(value_type = PasskeyCreationOptions)]
    options: Box<CreationChallengeResponse>,
}

/// Begin to add a passkey to the device.
#[utoipa::path(post, path = "/device/passkey", operation_id = "device.passkey.offer",
    responses((
        status = 200,
        description = "The options with which the browser creates the passkey.",
        body = PasskeyOffer
    ))
)]
pub(super) async fn offer(call: SignedCall) -> Result<Json<PasskeyOffer>, DeviceApiError> {
    match passkey::offer(&call.services, &call.device).await? {
        Offer::Make(options) => Ok(Json(PasskeyOffer { options })),
        Offer::HasOne => Err(ErrorCode::PasskeyExists.into()),
        Offer::Impossible => Err(ErrorCode::PasskeysUnsupported.into()),
    }
}

/// Add the passkey that the browser created.
#[utoipa::path(put, path = "/device/passkey", operation_id = "device.passkey.add", request_body = PasskeyRegistration,
    responses((status = 204, description = "The device approves only with the passkey from now on.")))]
pub(super) async fn add(call: SignedCall) -> Result<StatusCode, DeviceApiError> {
    let made: RegisterPublicKeyCredential = parse(&call.body)?;
    let audit = call.audit_context();
    addition_status(passkey::add(&call.services, &call.device, &made, &audit).await?)
}

fn addition_status(addition: PasskeyAddition) -> Result<StatusCode, DeviceApiError> {
    match addition {
        PasskeyAddition::Added => Ok(StatusCode::NO_CONTENT),
        PasskeyAddition::Refused => Err(ErrorCode::InvalidPasskey.into()),
        PasskeyAddition::Taken => Err(ErrorCode::PasskeyExists.into()),
    }
}

/// How the agreement continues.
#[derive(Serialize, ToSchema)]
pub(super) struct PasskeyAgreement {
    /// The options with which the browser creates a passkey that login pages find; `null` if the passkey of the device
    /// signs in from now on.
    #[serde(serialize_with = "passkey_schemas::optional_creation_options")]
    #[schema(value_type = Option<PasskeyCreationOptions>, required)]
    options: Option<Box<CreationChallengeResponse>>,
}

/// Agree to sign in with the passkey of the device on login pages. The passkey that the device has must confirm it.
/// Login pages may need another passkey, which then takes its place.
#[utoipa::path(post, path = "/device/passkey/sign-in", operation_id = "device.passkey.sign-in.allow",
    request_body = Option<Confirmation>,
    responses((status = 200, description = "How the agreement continues.", body = PasskeyAgreement)))]
pub(super) async fn allow_sign_in(
    call: SignedCall,
) -> Result<Json<PasskeyAgreement>, DeviceApiError> {
    let Confirmation { passkey } = Confirmation::read(&call)?;
    let outcome = passkey_agreement::agree(
        &call.services,
        &call.device,
        passkey.as_ref(),
        &call.audit_context(),
    )
    .await?;
    match outcome {
        AgreementOutcome::Create(options) => Ok(Json(PasskeyAgreement {
            options: Some(options),
        })),
        AgreementOutcome::Agreed => Ok(Json(PasskeyAgreement { options: None })),
        AgreementOutcome::Required(options) => Err(DeviceApiError::passkey_required(options)),
        AgreementOutcome::Refused => Err(ErrorCode::InvalidPasskey.into()),
        AgreementOutcome::Impossible => Err(ErrorCode::PasskeysUnsupported.into()),
    }
}

/// Add the passkey that the browser created for the agreement, in place of the one before.
#[utoipa::path(put, path = "/device/passkey/sign-in", operation_id = "device.passkey.sign-in.add",
    request_body = PasskeyRegistration,
    responses((status = 204, description = "The passkey confirms approvals, and signs in on login pages.")))]
pub(super) async fn add_for_sign_in(call: SignedCall) -> Result<StatusCode, DeviceApiError> {
    let made: RegisterPublicKeyCredential = parse(&call.body)?;
    let audit = call.audit_context();
    addition_status(passkey_agreement::add(&call.services, &call.device, &made, &audit).await?)
}

/// Withdraw the agreement to sign in with the passkey of the device. The passkey still confirms approvals.
#[utoipa::path(delete, path = "/device/passkey/sign-in", operation_id = "device.passkey.sign-in.stop",
    responses((status = 204, description = "The passkey signs in nowhere.")))]
pub(super) async fn stop_sign_in(call: SignedCall) -> Result<StatusCode, DeviceApiError> {
    let device = &call.device;
    let from = Some(device.id);
    passkey_agreement::withdraw(
        &call.services,
        device.user_id,
        device,
        from,
        &call.audit_context(),
    )
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The body of a call that a passkey confirms. Without a passkey there need be no body.
#[derive(Default, Deserialize, ToSchema)]
pub(super) struct Confirmation {
    /// The assertion of the device's passkey, if it has one.
    #[schema(value_type = Option<PasskeyAssertion>)]
    passkey: Option<PublicKeyCredential>,
}

impl Confirmation {
    fn read(call: &SignedCall) -> Result<Self, DeviceApiError> {
        if call.body.is_empty() {
            Ok(Self::default())
        } else {
            let confirmation: Option<Self> = parse(&call.body)?;
            Ok(confirmation.unwrap_or_default())
        }
    }
}

/// Requires a confirmation of this call by the device's passkey, if the device has one. Without the confirmation the
/// response is `passkey_required`.
pub(super) async fn require_confirmation(
    call: &SignedCall,
    name: &str,
) -> Result<(), DeviceApiError> {
    let Confirmation { passkey } = Confirmation::read(call)?;
    let confirmation = passkey::confirm(
        &call.services,
        &call.device,
        name,
        passkey.as_ref(),
        &call.audit_context(),
    )
    .await?;
    require_yes(confirmation)
}

fn require_yes(confirmation: PasskeyConfirmation) -> Result<(), DeviceApiError> {
    match confirmation {
        PasskeyConfirmation::Yes => Ok(()),
        PasskeyConfirmation::Required(options) => Err(DeviceApiError::passkey_required(options)),
        PasskeyConfirmation::Refused => Err(ErrorCode::InvalidPasskey.into()),
    }
}

/// Remove the device's passkey, with its assertion.
#[utoipa::path(post, path = "/device/passkey/removal", operation_id = "device.passkey.remove",
    request_body = Option<Confirmation>,
    responses((status = 204, description = "The device has no passkey.")))]
pub(super) async fn remove(call: SignedCall) -> Result<StatusCode, DeviceApiError> {
    let Confirmation { passkey } = Confirmation::read(&call)?;
    let audit = call.audit_context();
    let confirmation =
        passkey::remove(&call.services, &call.device, passkey.as_ref(), &audit).await?;
    require_yes(confirmation)?;
    Ok(StatusCode::NO_CONTENT)
}
