//! The way back for a person who has no authenticator any more: codes that they were given while they had one.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::devices::{account_notifications, device};
use crate::domain::{InternalError, Services, audit};
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::clock::Timestamp;
use assent_model::device::{Device, LinkMaker};
use assent_model::id::{DeviceId, RecoveryBatchId, RecoveryCodeId, UserId};
use assent_model::name::LoginName;
use assent_model::recovery::{CODES, RecoveryCode};
use assent_model::secret::Digest;
use assent_store::{CodesConfirmation, DeviceWrite, Recovery, Transition};

/// How long the link is good that a code gives, at most: whoever has it goes on at once.
const LINK: Duration = Duration::from_secs(15 * 60);

/// For how long new codes can be confirmed.
pub const CONFIRMATION: Duration = Duration::from_secs(30 * 60);

/// New codes of a user, which their user confirms before they are valid.
#[derive(Debug)]
pub struct NewCodes {
    /// What confirms them.
    pub batch: RecoveryBatchId,
    /// The codes, which are shown once.
    pub codes: Vec<RecoveryCode>,
    /// The time from which on they cannot be confirmed any more.
    pub expires_at: Timestamp,
}

/// Random codes of a user, and what the store keeps of them.
pub fn random_codes(
    services: &Services,
    user: UserId,
    now: Timestamp,
) -> (Vec<RecoveryCode>, Vec<(RecoveryCodeId, Digest)>) {
    let codes: Vec<RecoveryCode> = (0..CODES)
        .map(|_| RecoveryCode::random(&*services.entropy))
        .collect();
    let kept = codes.iter().map(|code| {
        let id = RecoveryCodeId::new(now, &*services.entropy);
        (id, code.digest(user))
    });
    let kept = kept.collect();
    (codes, kept)
}

/// Creates codes of the owner of a device. The earlier ones stay valid until the device confirms the new ones. `None`
/// if the owner may not sign in.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn create_on_device(
    services: &Services,
    device: &Device,
) -> Result<Option<NewCodes>, InternalError> {
    let now = services.now();
    let batch = RecoveryBatchId::new(now, &*services.entropy);
    let (codes, kept) = random_codes(services, device.user_id, now);
    let owner = (device.user_id, device.id);
    let written = services
        .store
        .add_pending_recovery_codes(owner, batch, kept, now)
        .await?;
    Ok((written == DeviceWrite::Done).then(|| NewCodes {
        batch,
        codes,
        expires_at: now + CONFIRMATION,
    }))
}

/// Confirms that the codes of a batch are saved: they are valid from now on, and the earlier ones are not. Returns
/// whether they are valid. `device` is set if a device confirms.
///
/// # Errors
/// If the database fails.
pub async fn confirm(
    services: &Arc<Services>,
    (user, device): (UserId, Option<DeviceId>),
    batch: RecoveryBatchId,
    by: &AuditContext,
) -> Result<bool, InternalError> {
    let entry = audit::entry(services, Event::RecoveryCodesCreated, by)
        .about(user)
        .with("codes", CODES);
    let since = services.now() - CONFIRMATION;
    let confirmed = services
        .store
        .confirm_recovery_codes((user, device), batch, since, entry)
        .await?;
    match confirmed {
        CodesConfirmation::NotPending => Ok(false),
        CodesConfirmation::Repeated => Ok(true),
        CodesConfirmation::Done => {
            let device_id = device.map(|id| id.to_string());
            tracing::info!(%user, device = device_id, "recovery codes created");
            account_notifications::notify(services, user, device);
            Ok(true)
        }
    }
}

/// How many codes a person has that were not used.
///
/// # Errors
/// If the database fails.
pub async fn left(services: &Services, user: UserId) -> Result<u32, InternalError> {
    Ok(services.store.recovery_codes_left(user).await?)
}

/// Uses up a code of whoever has this name: the path of the link that enrols another authenticator. `None` if it is
/// none of theirs, was used, or they may not sign in; what is done is the same for a name that nobody has.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn redeem(
    services: &Arc<Services>,
    name: &LoginName,
    typed: &str,
    from: Origin,
) -> Result<Option<String>, InternalError> {
    let now = services.now();
    let known = services
        .store
        .user_by_login(name)
        .await?
        .map(|user| user.id);
    let user = known.unwrap_or_else(|| UserId::new(now, &*services.entropy));
    // What is no code is looked for as well, and not found.
    let code =
        RecoveryCode::parse(typed).unwrap_or_else(|| RecoveryCode::random(&*services.entropy));
    let (mut enrolment, token) = device::prepare_enrolment(services, user);
    enrolment.expires_at = enrolment.expires_at.min(now + LINK);
    enrolment.created_by = Some(LinkMaker::Code);
    let by = AuditContext::new(Actor::Server, from);
    let used = audit::entry(services, Event::RecoveryCodeUsed, &by).about(user);
    let mut refused = audit::entry(services, Event::RecoveryFailed, &by);
    refused.user = known;
    let recovery = Recovery {
        used: used.with("enrolment", enrolment.id.to_string()),
        refused,
        enrolment,
    };
    let recovered = services
        .store
        .recover(code.digest(user), recovery, now)
        .await?;
    if recovered == Transition::NotOpen {
        return Ok(None);
    }
    tracing::info!(%user, "recovery code used");
    account_notifications::notify(services, user, None);
    Ok(Some(device::enrolment_path(&token)))
}
