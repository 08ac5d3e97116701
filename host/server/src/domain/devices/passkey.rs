//! Passkeys: adding one to a device, requesting its assertion for an approval, and removing it (W3C Web Authentication
//! Level 3, sections 7.1 and 7.2).
//!
//! This server creates the challenge of each ceremony, stores it for one device and one purpose, and accepts it once.
//! The purpose of an approval is the text that the device signed. The stored row of the device determines whether its
//! passkey is required.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use webauthn_rs::prelude::{
    AuthenticatorAttachment, CreationChallengeResponse, Passkey, PasskeyAuthentication,
    PasskeyRegistration, PublicKeyCredential, RegisterPublicKeyCredential,
    RequestChallengeResponse, Uuid, Webauthn, WebauthnError,
};

use crate::domain::devices::account_notifications;
use crate::domain::devices::relying_party::{PATIENCE, RelyingParty};
use crate::domain::{InternalError, Services, audit};
use assent_model::audit::{Actor, AuditContext, Entry, Event};
use assent_model::device::Device;
use assent_model::id::DeviceId;
use assent_model::passkey::{
    DevicePasskey, PasskeyCredential, PasskeyPurpose, PasskeySignIn, PasskeyUse,
};
use assent_model::receipt::content::approval_challenge;
use assent_store::{DeviceWrite, PasskeyUseOutcome, StoreError};

/// The passkey of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasskeyStatus {
    /// This server has an IP address in place of a domain, so passkeys are impossible.
    Impossible,
    /// The device has none.
    None,
    /// The device has one, which each approval requires.
    Set(PasskeySignIn),
}

/// Returns the status of a device's passkey.
pub async fn passkey_status(
    services: &Services,
    device: &Device,
) -> Result<PasskeyStatus, InternalError> {
    Ok(match services.store.passkey(device.id).await? {
        Some(passkey) => PasskeyStatus::Set(passkey.sign_in),
        None if services.passkeys.is_some() => PasskeyStatus::None,
        None => PasskeyStatus::Impossible,
    })
}

/// The outcome of a request to add a passkey.
#[derive(Debug)]
pub enum Offer {
    /// The options with which the browser creates the passkey: `PublicKeyCredentialCreationOptions` (section 5.4).
    Make(Box<CreationChallengeResponse>),
    /// The device has a passkey already.
    HasOne,
    /// This server has an IP address in place of a domain.
    Impossible,
}

/// Begins to add a passkey to a device.
///
/// The user handle is the identifier of the device. Otherwise two devices of a user on one phone would overwrite each
/// other's passkey.
///
/// # Errors
/// If the database fails, or the challenge for a passkey cannot be created.
pub async fn offer(services: &Services, device: &Device) -> Result<Offer, InternalError> {
    let Some(RelyingParty(webauthn)) = &services.passkeys else {
        return Ok(Offer::Impossible);
    };
    if services.store.passkey(device.id).await?.is_some() {
        return Ok(Offer::HasOne);
    }
    let handle = Uuid::from_bytes(*device.id.as_bytes());
    let (options, state) = start_registration(services, webauthn, device, handle).await?;
    begin(services, device.id, PasskeyPurpose::Add, &state, PATIENCE).await?;
    Ok(Offer::Make(Box::new(options)))
}

/// Returns the options of a new passkey with this user handle, and the state of its ceremony.
pub(super) async fn start_registration(
    services: &Services,
    webauthn: &Webauthn,
    device: &Device,
    handle: Uuid,
) -> Result<(CreationChallengeResponse, PasskeyRegistration), InternalError> {
    let user = services
        .store
        .user(device.user_id)
        .await?
        .ok_or(StoreError::Internal("a device has no user"))?;
    let (mut options, state) = webauthn
        .start_passkey_registration(handle, user.name.as_str(), user.display_name(), None)
        .map_err(passkey_error)?;
    // Requests the phone's own authenticator and not a security key. This is a preference, which the browser
    // implements.
    if let Some(selection) = &mut options.public_key.authenticator_selection {
        selection.authenticator_attachment = Some(AuthenticatorAttachment::Platform);
    }
    Ok((options, state))
}

/// The outcome of the creation of a passkey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasskeyAddition {
    /// Each approval of the device requires the passkey from now on.
    Added,
    /// The response does not match a pending ceremony.
    Refused,
    /// The device has a passkey already, or another device has this one.
    Taken,
}

impl PasskeyAddition {
    pub(super) fn of_write(
        written: Result<DeviceWrite, StoreError>,
    ) -> Result<Self, InternalError> {
        match written {
            Ok(DeviceWrite::Done) => Ok(Self::Added),
            Ok(DeviceWrite::Inactive) => Ok(Self::Refused),
            Err(StoreError::Taken(_)) => Ok(Self::Taken),
            Err(error) => Err(error.into()),
        }
    }
}

/// Adds the passkey that the browser made (section 7.1).
pub async fn add(
    services: &Arc<Services>,
    device: &Device,
    made: &RegisterPublicKeyCredential,
    by: &AuditContext,
) -> Result<PasskeyAddition, InternalError> {
    let Some(RelyingParty(webauthn)) = &services.passkeys else {
        return Ok(PasskeyAddition::Refused);
    };
    let Some(state) =
        claim::<PasskeyRegistration>(services, device.id, PasskeyPurpose::Add).await?
    else {
        let known = services.store.passkey(device.id).await?;
        return Ok(repeated_addition(known.as_ref(), made));
    };
    let Some(credential) = finish_registration(webauthn, device, made, &state) else {
        return Ok(PasskeyAddition::Refused);
    };
    let passkey = DevicePasskey {
        device_id: device.id,
        credential: to_stored(&credential)?,
        counter: 0,
        added_at: services.now(),
        sign_in: PasskeySignIn::Unavailable,
    };
    let entries = vec![entry(services, Event::PasskeyAdded, device, by)];
    let written = services.store.add_passkey(passkey, entries).await;
    let outcome = PasskeyAddition::of_write(written)?;
    if outcome == PasskeyAddition::Added {
        tracing::info!(device = %device.id, "passkey added");
        account_notifications::notify(services, device.user_id, Some(device.id));
    }
    Ok(outcome)
}

/// Verifies the browser's response to the creation of a passkey. Returns `None` if it is not valid.
pub(super) fn finish_registration(
    webauthn: &Webauthn,
    device: &Device,
    made: &RegisterPublicKeyCredential,
    state: &PasskeyRegistration,
) -> Option<Passkey> {
    let finished = webauthn.finish_passkey_registration(made, state);
    finished
        .inspect_err(
            |error| tracing::warn!(device = %device.id, %error, "passkey registration rejected"),
        )
        .ok()
}

/// Returns the result of an addition without a pending ceremony. If the device has this very passkey, the response to
/// its addition may have been lost. The device signed the call, and nothing changes.
pub(super) fn repeated_addition(
    known: Option<&DevicePasskey>,
    made: &RegisterPublicKeyCredential,
) -> PasskeyAddition {
    let is_known = known.is_some_and(|known| known.credential.id == made.raw_id);
    match is_known {
        true => PasskeyAddition::Added,
        false => PasskeyAddition::Refused,
    }
}

/// The confirmation of a call by the device's passkey.
#[derive(Debug)]
pub enum PasskeyConfirmation {
    /// The passkey confirmed the call, or the device has none.
    Yes,
    /// An assertion is required first: `PublicKeyCredentialRequestOptions` (section 5.5).
    Required(Box<RequestChallengeResponse>),
    /// The assertion is invalid.
    Refused,
}

impl From<PasskeyUseOutcome> for PasskeyConfirmation {
    fn from(outcome: PasskeyUseOutcome) -> Self {
        match outcome {
            PasskeyUseOutcome::Accepted => Self::Yes,
            PasskeyUseOutcome::Rejected => Self::Refused,
        }
    }
}

/// Removes a device's passkey, after a valid assertion. Without a passkey it does nothing.
///
/// # Errors
/// If the database or the cryptographic library fails, or the challenge for a passkey cannot be created.
pub async fn remove(
    services: &Arc<Services>,
    device: &Device,
    assertion: Option<&PublicKeyCredential>,
    by: &AuditContext,
) -> Result<PasskeyConfirmation, InternalError> {
    let purpose = PasskeyPurpose::Remove;
    let used = match ask(services, device, purpose, assertion, PATIENCE, by).await? {
        AssertionCheck::NoPasskey => return Ok(PasskeyConfirmation::Yes),
        AssertionCheck::Required(options) => return Ok(PasskeyConfirmation::Required(options)),
        AssertionCheck::Refused => return Ok(PasskeyConfirmation::Refused),
        AssertionCheck::Shown(used) => used,
    };
    let entries = vec![entry(services, Event::PasskeyRemoved, device, by)];
    let outcome = services
        .store
        .remove_passkey(device.id, *used, entries)
        .await?;
    let removed = outcome == PasskeyUseOutcome::Accepted;
    tracing::info!(device = %device.id, removed, "passkey removed");
    if removed {
        account_notifications::notify(services, device.user_id, Some(device.id));
    }
    Ok(outcome.into())
}

/// Confirms a call with the device's passkey, if the device has one. Otherwise an attacker could create a link for
/// another device, which has no passkey.
///
/// # Errors
/// If the database fails, or the challenge for a passkey cannot be created.
pub async fn confirm(
    services: &Services,
    device: &Device,
    call: &str,
    assertion: Option<&PublicKeyCredential>,
    by: &AuditContext,
) -> Result<PasskeyConfirmation, InternalError> {
    let purpose = PasskeyPurpose::Call(call);
    Ok(
        match ask(services, device, purpose, assertion, PATIENCE, by).await? {
            AssertionCheck::NoPasskey => PasskeyConfirmation::Yes,
            AssertionCheck::Required(options) => PasskeyConfirmation::Required(options),
            AssertionCheck::Refused => PasskeyConfirmation::Refused,
            AssertionCheck::Shown(used) => {
                services.store.use_passkey(device.id, *used).await?.into()
            }
        },
    )
}

/// The outcome of a check of a device's passkey.
#[derive(Debug)]
pub(crate) enum AssertionCheck {
    /// The device has none, so none is required.
    NoPasskey,
    /// An assertion is required. The value has the options for the browser's `navigator.credentials.get`.
    Required(Box<RequestChallengeResponse>),
    /// The assertion is valid, with user verification.
    Shown(Box<PasskeyUse>),
    /// The assertion is not a valid response to the challenge for this purpose.
    Refused,
}

/// Requests an assertion of a device's passkey, or verifies the assertion for the previous challenge (section 7.2).
pub(crate) async fn ask(
    services: &Services,
    device: &Device,
    purpose: PasskeyPurpose<'_>,
    assertion: Option<&PublicKeyCredential>,
    patience: Duration,
    by: &AuditContext,
) -> Result<AssertionCheck, InternalError> {
    let Some(DevicePasskey { credential, .. }) = services.store.passkey(device.id).await? else {
        return Ok(AssertionCheck::NoPasskey);
    };
    let mut credential = from_stored(&credential)?;
    // If the server has an IP address in place of the passkey's domain, no browser finds the passkey. It is required
    // nevertheless.
    let Some(RelyingParty(webauthn)) = &services.passkeys else {
        return Ok(AssertionCheck::Refused);
    };
    let Some(assertion) = assertion else {
        let known = [credential];
        let (mut options, state) = webauthn
            .start_passkey_authentication(&known)
            .map_err(passkey_error)?;
        let mut state = serde_json::to_value(&state).map_err(passkey_error)?;
        if let PasskeyPurpose::Approve(statement) = purpose {
            bind_challenge(&mut options, &mut state, statement)?;
        }
        begin(services, device.id, purpose, &state, patience.min(PATIENCE)).await?;
        return Ok(AssertionCheck::Required(Box::new(options)));
    };
    let Some(state) = claim::<PasskeyAuthentication>(services, device.id, purpose).await? else {
        tracing::warn!(device = %device.id, "passkey assertion rejected: no pending ceremony");
        return Ok(AssertionCheck::Refused);
    };
    match webauthn.finish_passkey_authentication(assertion, &state) {
        // The library checks user verification if it was required. It is checked again here, because the approval
        // depends on it.
        Ok(shown) if shown.user_verified() => {
            if credential.update_credential(&shown).is_none() {
                return Ok(AssertionCheck::Refused);
            }
            Ok(AssertionCheck::Shown(Box::new(PasskeyUse {
                credential: to_stored(&credential)?,
                counter: shown.counter(),
            })))
        }
        Ok(_) => Ok(AssertionCheck::Refused),
        Err(error) => {
            tracing::warn!(device = %device.id, %error, "passkey assertion rejected");
            if matches!(error, WebauthnError::CredentialPossibleCompromise) {
                report_clone(services, device, by).await?;
            }
            Ok(AssertionCheck::Refused)
        }
    }
}

/// Binds a new challenge to the text that it approves, so that the assertion in a receipt proves the approval of this
/// text to everyone. The library creates the random bytes of the challenge, and has no function for further ones.
fn bind_challenge(
    options: &mut RequestChallengeResponse,
    state: &mut Value,
    statement: &str,
) -> Result<(), InternalError> {
    let random = &mut options.public_key.challenge;
    let stored = state.pointer_mut("/ast/challenge");
    let stored = stored
        .filter(|stored| stored.as_str() == Some(URL_SAFE_NO_PAD.encode(&*random).as_str()))
        .ok_or_else(|| passkey_error("the state of the library has no challenge"))?;
    *random = approval_challenge(random, statement);
    *stored = URL_SAFE_NO_PAD.encode(&*random).into();
    Ok(())
}

pub(super) async fn begin<S: Serialize>(
    services: &Services,
    device: DeviceId,
    purpose: PasskeyPurpose<'_>,
    state: &S,
    patience: Duration,
) -> Result<(), InternalError> {
    let state = serde_json::to_string(state).map_err(passkey_error)?;
    Ok(services
        .store
        .begin_ceremony(device, purpose.digest(), state, services.now() + patience)
        .await?)
}

/// Records that a passkey's counter decreased. A copy may have signed as this device, so this device receives a
/// notification too.
pub(crate) async fn report_clone(
    services: &Services,
    device: &Device,
    by: &AuditContext,
) -> Result<(), InternalError> {
    let by = AuditContext::new(Actor::Server, by.origin.clone());
    let entry = entry(services, Event::PasskeyCloneSuspected, device, &by);
    Ok(services.store.append_audit(vec![entry]).await?)
}

pub(super) async fn claim<S: DeserializeOwned>(
    services: &Services,
    device: DeviceId,
    purpose: PasskeyPurpose<'_>,
) -> Result<Option<S>, InternalError> {
    let state = services
        .store
        .claim_ceremony(device, purpose.digest(), services.now())
        .await?;
    let state = state.map(|state| serde_json::from_str(&state)).transpose();
    Ok(state.map_err(|_| StoreError::Internal("the state of a passkey ceremony is unreadable"))?)
}

pub(crate) fn to_stored(credential: &Passkey) -> Result<PasskeyCredential, InternalError> {
    Ok(PasskeyCredential {
        id: credential.cred_id().to_vec(),
        record: serde_json::to_string(credential).map_err(passkey_error)?,
    })
}

/// Returns a stored credential in the form of the library.
pub(crate) fn from_stored(credential: &PasskeyCredential) -> Result<Passkey, InternalError> {
    let unreadable = |_| StoreError::Internal("the record of a passkey is unreadable");
    Ok(serde_json::from_str(&credential.record).map_err(unreadable)?)
}

pub(crate) fn passkey_error(error: impl std::fmt::Display) -> InternalError {
    InternalError::Passkey(error.to_string())
}

/// Returns an audit entry about a device's passkey.
pub(super) fn entry(
    services: &Services,
    event: Event,
    device: &Device,
    by: &AuditContext,
) -> Entry {
    audit::entry(services, event, by)
        .about(device.user_id)
        .with("device", device.id.to_string())
        .personal("name", device.name.as_str())
}
