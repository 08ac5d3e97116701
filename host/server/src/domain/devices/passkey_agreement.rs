//! The user's agreement to sign in with a device's passkey on login pages, without an approval.
//!
//! The device's key signs the calls, and the existing passkey of the device confirms them. Login pages find only
//! discoverable credentials (W3C Web Authentication Level 3, section 6.2.2). Passkeys for approvals are not
//! discoverable, because a password manager would offer them on pages where they are useless. The agreement therefore
//! creates another passkey.
//!
//! The user handle of the new passkey differs from that of the previous one, so an authenticator does not overwrite the
//! previous one. If the server never receives the new passkey, the device can still approve with the previous one.

use std::sync::Arc;

use webauthn_rs::prelude::{
    CreationChallengeResponse, PasskeyRegistration, PublicKeyCredential,
    RegisterPublicKeyCredential, RequestChallengeResponse, Uuid,
};
use webauthn_rs_proto::ResidentKeyRequirement;

use crate::domain::devices::account_notifications;
use crate::domain::devices::passkey::{
    AssertionCheck, PasskeyAddition, ask, begin, claim, entry, finish_registration,
    repeated_addition, start_registration, to_stored,
};
use crate::domain::devices::relying_party::{PATIENCE, RelyingParty};
use crate::domain::{InternalError, Services};
use assent_model::audit::{AuditContext, Event};
use assent_model::device::Device;
use assent_model::id::{DeviceId, UserId};
use assent_model::passkey::{DevicePasskey, PasskeyPurpose, PasskeySignIn};
use assent_store::PasskeyUseOutcome;

/// The call that the passkey of the device confirms.
const CALL: &str = "sign in with the passkey";

/// The outcome of a request to sign in with the device's passkey.
#[derive(Debug)]
pub enum AgreementOutcome {
    /// The browser must create a discoverable passkey first: `PublicKeyCredentialCreationOptions` (section 5.4).
    Create(Box<CreationChallengeResponse>),
    /// The passkey signs in from now on.
    Agreed,
    /// The passkey must confirm the agreement first: `PublicKeyCredentialRequestOptions` (section 5.5).
    Required(Box<RequestChallengeResponse>),
    /// The assertion is not valid.
    Refused,
    /// This server has an IP address in place of a domain, so passkeys are impossible.
    Impossible,
}

/// Records the agreement, if the device's passkey can sign in. Otherwise begins to create a passkey that can.
///
/// # Errors
/// If the database fails, or the options of a passkey cannot be created.
pub async fn agree(
    services: &Arc<Services>,
    device: &Device,
    assertion: Option<&PublicKeyCredential>,
    by: &AuditContext,
) -> Result<AgreementOutcome, InternalError> {
    if services.passkeys.is_none() {
        return Ok(AgreementOutcome::Impossible);
    }
    let Some(known) = services.store.passkey(device.id).await? else {
        return create(services, device, None).await;
    };
    if known.sign_in.is_agreed() {
        return Ok(AgreementOutcome::Agreed);
    }
    let purpose = PasskeyPurpose::Call(CALL);
    let used = match ask(services, device, purpose, assertion, PATIENCE, by).await? {
        AssertionCheck::Shown(used) => *used,
        AssertionCheck::Required(options) => return Ok(AgreementOutcome::Required(options)),
        AssertionCheck::Refused | AssertionCheck::NoPasskey => {
            return Ok(AgreementOutcome::Refused);
        }
    };
    if known.sign_in == PasskeySignIn::Unavailable {
        return match services.store.use_passkey(device.id, used).await? {
            PasskeyUseOutcome::Accepted => {
                create(services, device, Some(known.credential.id.as_slice())).await
            }
            PasskeyUseOutcome::Rejected => Ok(AgreementOutcome::Refused),
        };
    }
    let entries = vec![entry(services, Event::PasskeySignInAllowed, device, by)];
    let agreed = services
        .store
        .allow_passkey_sign_in(device.id, used, services.now(), entries)
        .await?;
    Ok(match agreed {
        PasskeyUseOutcome::Accepted => {
            notify_allowed(services, device);
            AgreementOutcome::Agreed
        }
        PasskeyUseOutcome::Rejected => AgreementOutcome::Refused,
    })
}

/// Returns the options of a discoverable passkey that replaces the one with the credential id `replaces`.
async fn create(
    services: &Services,
    device: &Device,
    replaces: Option<&[u8]>,
) -> Result<AgreementOutcome, InternalError> {
    let Some(RelyingParty(webauthn)) = &services.passkeys else {
        return Ok(AgreementOutcome::Impossible);
    };
    let handle = user_handle(device.id);
    let (mut options, state) = start_registration(services, webauthn, device, handle).await?;
    if let Some(selection) = &mut options.public_key.authenticator_selection {
        selection.resident_key = Some(ResidentKeyRequirement::Required);
        selection.require_resident_key = true;
    }
    let purpose = PasskeyPurpose::AddForSignIn(replaces);
    begin(services, device.id, purpose, &state, PATIENCE).await?;
    Ok(AgreementOutcome::Create(Box::new(options)))
}

/// Returns the user handle of a device's discoverable passkey. Outside of this server it identifies no user (section
/// 14.6.1).
pub(crate) fn user_handle(device: DeviceId) -> Uuid {
    let digest = openssl::sha::sha256(&[b"sign-in passkey ", &device.as_bytes()[..]].concat());
    Uuid::from_bytes(*digest.first_chunk().unwrap_or(&[0; 16]))
}

/// Adds the passkey that the browser created for the agreement (section 7.1), in place of the previous one.
pub async fn add(
    services: &Arc<Services>,
    device: &Device,
    made: &RegisterPublicKeyCredential,
    by: &AuditContext,
) -> Result<PasskeyAddition, InternalError> {
    let Some(RelyingParty(webauthn)) = &services.passkeys else {
        return Ok(PasskeyAddition::Refused);
    };
    // The purpose names the passkey that confirmed the agreement, so no other one is replaced.
    let known = services.store.passkey(device.id).await?;
    let replaces = known.as_ref().map(|known| known.credential.id.as_slice());
    let purpose = PasskeyPurpose::AddForSignIn(replaces);
    let Some(state) = claim::<PasskeyRegistration>(services, device.id, purpose).await? else {
        let agreed = known.as_ref().filter(|known| known.sign_in.is_agreed());
        return Ok(repeated_addition(agreed, made));
    };
    let properties = made.extensions.cred_props.as_ref();
    if properties.is_some_and(|properties| properties.rk == Some(false)) {
        tracing::warn!(device = %device.id, "passkey registration rejected: not discoverable");
        return Ok(PasskeyAddition::Refused);
    }
    let Some(credential) = finish_registration(webauthn, device, made, &state) else {
        return Ok(PasskeyAddition::Refused);
    };
    let now = services.now();
    let passkey = DevicePasskey {
        device_id: device.id,
        credential: to_stored(&credential)?,
        counter: 0,
        added_at: now,
        sign_in: PasskeySignIn::Agreed { at: now },
    };
    let replaced = replaces.map(<[u8]>::to_vec);
    let mut entries = vec![entry(services, Event::PasskeySignInAllowed, device, by)];
    if replaced.is_none() {
        entries.insert(0, entry(services, Event::PasskeyAdded, device, by));
    }
    let written = services
        .store
        .add_sign_in_passkey(passkey, replaced, entries)
        .await;
    let outcome = PasskeyAddition::of_write(written)?;
    if outcome == PasskeyAddition::Added {
        notify_allowed(services, device);
    }
    Ok(outcome)
}

fn notify_allowed(services: &Arc<Services>, device: &Device) {
    tracing::info!(device = %device.id, "passkey sign-in allowed");
    account_notifications::notify(services, device.user_id, Some(device.id));
}

/// Withdraws the agreement for a device of this user. The passkey remains for approvals. `from_device` receives no
/// notification. Returns whether there was an agreement.
///
/// # Errors
/// If the database fails, or the audit log cannot be extended.
pub async fn withdraw(
    services: &Arc<Services>,
    user: UserId,
    device: &Device,
    from_device: Option<DeviceId>,
    by: &AuditContext,
) -> Result<bool, InternalError> {
    let entries = vec![entry(services, Event::PasskeySignInStopped, device, by)];
    let stopped = services
        .store
        .stop_passkey_sign_in(user, device.id, services.now(), entries)
        .await?;
    if stopped {
        tracing::info!(device = %device.id, "passkey sign-in stopped");
        account_notifications::notify(services, user, from_device);
    }
    Ok(stopped)
}
