//! The sign-in with a passkey on the login page (W3C Web Authentication Level 3, section 7.2).
//!
//! The page requests a discoverable credential, so it sends no credential ids for a name (`allowCredentials` is always
//! empty), real or fake. The page and its challenge do not depend on a name, so they cannot reveal one. Only the holder
//! of an agreed passkey can find out that it is one.
//!
//! The browser's assertion is valid once, for this sign-in and its browser's cookie. All rejections look the same to
//! the browser. The log has the reason.

use webauthn_rs::prelude::{
    DiscoverableAuthentication, PublicKeyCredential, RequestChallengeResponse, WebauthnError,
};

use crate::domain::approvals::receipt::{AnswerSource, UsedPasskey, receipt_of};
use crate::domain::approvals::{purpose, record};
use crate::domain::devices::passkey::{from_stored, passkey_error, report_clone, to_stored};
use crate::domain::devices::passkey_agreement::user_handle;
use crate::domain::devices::relying_party::RelyingParty;
use crate::domain::{InternalError, Services};
use assent_model::approval::{Approval, ApprovalStage, ApprovalSubject, Approver, PromptDetails};
use assent_model::audit::{Actor, AuditContext, Origin};
use assent_model::authorization_details::requested::DetailsTexts;
use assent_model::device::Device;
use assent_model::id::ApprovalId;
use assent_model::login::{BrowserContext, Login};
use assent_model::passkey::{DevicePasskey, PasskeyUse};
use assent_model::secret::Digest;
use assent_model::session::Acr;
use assent_model::statement::Decision;
use assent_model::user::{LifecycleState, User};
use assent_store::{PasskeyApproval, PasskeyApprovalOutcome, StoreError};
use assent_telemetry::SPANS;

/// Returns whether the login page offers a passkey. The server must have a domain, the application must have the
/// setting and be enabled, and the request must permit it. This does not depend on a name.
pub async fn is_offered(services: &Services, login: &Login) -> Result<bool, InternalError> {
    if services.passkeys.is_none() || !login.request.admits(Acr::PhishingResistant) {
        return Ok(false);
    }
    let Some(id) = login.request.application() else {
        return Ok(false);
    };
    let found = services.store.registered(id).await?;
    Ok(found.is_some_and(|found| found.is_enabled() && found.permits_passkeys()))
}

/// Returns a new challenge for a login page, in place of the previous one: `PublicKeyCredentialRequestOptions` (section
/// 5.5). It expires with the sign-in, because the browser's list of passkeys waits as long as the page. Returns `None`
/// if the page may not request a passkey, or the sign-in does not wait for its user.
///
/// # Errors
/// If the database fails, or the challenge cannot be created.
pub async fn challenge(
    services: &Services,
    login: &Login,
) -> Result<Option<Box<RequestChallengeResponse>>, InternalError> {
    let Some(RelyingParty(webauthn)) = &services.passkeys else {
        return Ok(None);
    };
    if !is_offered(services, login).await? {
        return Ok(None);
    }
    let (options, state) = webauthn
        .start_discoverable_authentication()
        .map_err(passkey_error)?;
    let state = serde_json::to_string(&state).map_err(passkey_error)?;
    let begun = services
        .store
        .begin_sign_in_ceremony(login.id, login.browser, state, services.now())
        .await?;
    Ok(begun.then(|| Box::new(options)))
}

/// A passkey assertion of the browser.
#[derive(Clone, Debug)]
pub struct PasskeyAnswer {
    /// The assertion.
    pub assertion: PublicKeyCredential,
    /// Whether the passkey is in the browser's own device, according to the browser. If it is in another device, its
    /// owner may not be the user of the browser. The page then names the account before the user is signed in.
    pub is_same_device: bool,
}

/// The outcome of an assertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasskeySignInOutcome {
    /// The sign-in is approved.
    Approved,
    /// The sign-in is not approved.
    Rejected,
    /// The login page has no pending challenge. Another request may be using it at the moment.
    NoChallenge,
    /// The sign-in does not wait for its user any more.
    NotOpen,
}

/// Processes the assertion for the challenge of a login page. `context` is the browser's description of itself.
#[tracing::instrument(target = SPANS, skip_all, name = "sign_in.passkey")]
pub async fn answer(
    services: &Services,
    login: &Login,
    answer: &PasskeyAnswer,
    context: BrowserContext,
    from: Origin,
) -> Result<PasskeySignInOutcome, InternalError> {
    if !is_offered(services, login).await? {
        return Ok(PasskeySignInOutcome::Rejected);
    }
    // The challenge is claimed first, so that it accepts one assertion even if a later step fails.
    let state = services
        .store
        .claim_sign_in_ceremony(login.id, login.browser, services.now())
        .await?;
    let Some(state) = state else {
        reject(login, "no pending challenge");
        return Ok(PasskeySignInOutcome::NoChallenge);
    };
    let state: DiscoverableAuthentication = serde_json::from_str(&state)
        .map_err(|_| StoreError::Internal("the state of a passkey ceremony is unreadable"))?;
    let Some(owner) = owner_of(services, &answer.assertion).await? else {
        return Ok(reject(login, "no active device with an agreed passkey"));
    };
    let by = AuditContext::new(Actor::Device(owner.device.id), from);
    let Some(used) = verify(services, login, &owner, answer, state, &by).await? else {
        return Ok(PasskeySignInOutcome::Rejected);
    };
    let approval = new_approval(services, login, &owner, answer.is_same_device, context).await?;
    let source = AnswerSource::Passkey {
        device: &owner.device,
        passkey: UsedPasskey {
            assertion: &answer.assertion,
            credential: &used.credential,
        },
    };
    let now = services.now();
    let receipt = receipt_of(services, &approval, Decision::Approve, source, now).await?;
    let mut entry = record::passkey_entry(services, &approval, &by);
    if let Some(receipt) = &receipt {
        entry = entry.with("receipt", receipt.digest().to_text());
    }
    let request = PasskeyApproval {
        entry,
        receipt,
        user: owner.user.id,
        device: owner.device.id,
        used,
        approval,
    };
    let outcome = services
        .store
        .approve_by_passkey(request, services.now())
        .await?;
    Ok(match outcome {
        PasskeyApprovalOutcome::Approved => {
            tracing::info!(login = %login.id, device = %owner.device.id, "sign-in approved by passkey");
            PasskeySignInOutcome::Approved
        }
        PasskeyApprovalOutcome::Rejected => reject(login, "the user may not sign in with it"),
        PasskeyApprovalOutcome::NotOpen => PasskeySignInOutcome::NotOpen,
    })
}

fn reject(login: &Login, reason: &'static str) -> PasskeySignInOutcome {
    tracing::warn!(login = %login.id, reason, "passkey sign-in rejected");
    PasskeySignInOutcome::Rejected
}

/// The owner of a passkey.
struct PasskeyOwner {
    passkey: DevicePasskey,
    device: Device,
    user: User,
}

/// Returns the owner of an assertion's passkey, if the owner agreed to sign in with it. The authenticator returns the
/// user handle of a discoverable credential (section 7.2, step 6), which must be that of the device.
async fn owner_of(
    services: &Services,
    assertion: &PublicKeyCredential,
) -> Result<Option<PasskeyOwner>, InternalError> {
    let found = services
        .store
        .passkey_by_credential(assertion.get_credential_id())
        .await?;
    let handle = assertion.get_user_unique_id();
    let Some(passkey) = found.filter(|passkey| {
        passkey.sign_in.is_agreed()
            && handle == Some(user_handle(passkey.device_id).as_bytes().as_slice())
    }) else {
        return Ok(None);
    };
    let Some(device) = services
        .store
        .device(passkey.device_id)
        .await?
        .filter(|device| device.revoked_at.is_none())
    else {
        return Ok(None);
    };
    let user = services
        .store
        .user(device.user_id)
        .await?
        .filter(|user| user.state == LifecycleState::Active);
    Ok(user.map(|user| PasskeyOwner {
        passkey,
        device,
        user,
    }))
}

/// Verifies an assertion: type, challenge, origin, RP ID, user presence and verification, signature and counter
/// (section 7.2, steps 7 to 22). Returns `None` if it is invalid.
async fn verify(
    services: &Services,
    login: &Login,
    owner: &PasskeyOwner,
    answer: &PasskeyAnswer,
    state: DiscoverableAuthentication,
    by: &AuditContext,
) -> Result<Option<PasskeyUse>, InternalError> {
    let Some(RelyingParty(webauthn)) = &services.passkeys else {
        return Ok(None);
    };
    if is_cross_origin(&answer.assertion) {
        reject(login, "in a frame of another origin");
        return Ok(None);
    }
    let mut credential = from_stored(&owner.passkey.credential)?;
    let verified =
        webauthn.finish_discoverable_authentication_v2(&answer.assertion, state, &credential);
    match verified {
        // The library checks user verification if it was required. It is checked again here, because the approval
        // depends on it.
        Ok(shown) if shown.user_verified() && credential.update_credential(&shown).is_some() => {
            Ok(Some(PasskeyUse {
                credential: to_stored(&credential)?,
                counter: shown.counter(),
            }))
        }
        Ok(_) => {
            reject(login, "without user verification");
            Ok(None)
        }
        Err(error) => {
            tracing::warn!(login = %login.id, device = %owner.device.id, %error, "passkey sign-in rejected");
            if matches!(error, WebauthnError::CredentialPossibleCompromise) {
                report_clone(services, &owner.device, by).await?;
            }
            Ok(None)
        }
    }
}

/// Returns whether the browser reports that the page was in a frame of another origin (section 7.2, step 10). No page
/// of a sign-in may be framed.
fn is_cross_origin(assertion: &PublicKeyCredential) -> bool {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ClientData {
        #[serde(default)]
        cross_origin: bool,
    }
    serde_json::from_slice::<ClientData>(&assertion.response.client_data_json)
        .is_ok_and(|data| data.cross_origin)
}

/// Returns the approval in its stored form.
async fn new_approval(
    services: &Services,
    login: &Login,
    owner: &PasskeyOwner,
    is_same_device: bool,
    context: BrowserContext,
) -> Result<Approval, InternalError> {
    let now = services.now();
    let name = owner.user.name.as_str();
    Ok(Approval {
        id: ApprovalId::new(now, &*services.entropy),
        subject: ApprovalSubject::SignIn(login.id),
        user_id: Some(owner.user.id),
        name_digest: Digest::sha256(name.as_bytes()),
        browser: login.browser,
        scanned_by: Some(owner.device.id),
        is_same_browser: is_same_device,
        number: None,
        shown: PromptDetails {
            application: login.request.application().cloned(),
            application_name: purpose::application_name(services, login).await?,
            account: name.to_owned(),
            browser: context,
            // A passkey on the login page shows no details, so no request with details reaches this.
            details: DetailsTexts::default(),
        },
        requested_at: now,
        expires_at: now + services.settings.lifetimes.approval.get(),
        attempts_left: 0,
        stage: ApprovalStage::Approved {
            by: Approver::Passkey(owner.device.id),
            at: now,
        },
    })
}
