//! Account recovery for a user without a device, with recovery codes that the user saved before.

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

/// The largest lifetime of the link that a code creates. It is short, because the user continues at once.
const LINK: Duration = Duration::from_secs(15 * 60);

/// The time within which new codes can be confirmed.
pub const CONFIRMATION: Duration = Duration::from_secs(30 * 60);

/// New codes of a user, who must confirm them before they are valid.
#[derive(Debug)]
pub struct NewCodes {
    /// The identifier with which the user confirms the codes.
    pub batch: RecoveryBatchId,
    /// The codes, which are shown only once.
    pub codes: Vec<RecoveryCode>,
    /// The time after which the codes cannot be confirmed any more.
    pub expires_at: Timestamp,
}

/// Returns random codes of a user, and their stored form.
pub fn random_codes(
    services: &Services,
    user: UserId,
    now: Timestamp,
) -> (Vec<RecoveryCode>, Vec<(RecoveryCodeId, Digest)>) {
    let codes: Vec<RecoveryCode> = (0..CODES)
        .map(|_| RecoveryCode::random(&*services.entropy))
        .collect();
    let digests = codes.iter().map(|code| {
        let id = RecoveryCodeId::new(now, &*services.entropy);
        (id, code.digest(user))
    });
    let digests = digests.collect();
    (codes, digests)
}

/// Creates codes for the owner of a device. The earlier ones stay valid until the device confirms the new ones. Returns
/// `None` if the owner may not sign in.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn create_on_device(
    services: &Services,
    device: &Device,
) -> Result<Option<NewCodes>, InternalError> {
    let now = services.now();
    let batch = RecoveryBatchId::new(now, &*services.entropy);
    let (codes, digests) = random_codes(services, device.user_id, now);
    let owner = (device.user_id, device.id);
    let written = services
        .store
        .add_pending_recovery_codes(owner, batch, digests, now)
        .await?;
    Ok((written == DeviceWrite::Done).then(|| NewCodes {
        batch,
        codes,
        expires_at: now + CONFIRMATION,
    }))
}

/// Confirms that the codes of a batch are saved: they become valid, and the earlier ones invalid. Returns whether they
/// are valid. `device` is set if a device confirms.
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

/// Returns the number of a user's unused codes.
///
/// # Errors
/// If the database fails.
pub async fn remaining_codes(services: &Services, user: UserId) -> Result<u32, InternalError> {
    Ok(services.store.recovery_codes_left(user).await?)
}

/// Uses up a code of the user with this name. Returns the path of the link that enrols another device.
///
/// Returns `None` if the user does not have the code, has used it, or may not sign in. The queries are the same for a
/// name that no user has.
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
    // A malformed code is looked up too, without a result, so that the queries are the same.
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
