//! Account recovery for a user without a device, with recovery codes that the user saved before.

use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::domain::devices::account_notifications;
use crate::domain::devices::device::enrolment;
use crate::domain::{InternalError, Services, audit};
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::clock::Timestamp;
use assent_model::device::{Device, LinkMaker};
use assent_model::id::{DeviceId, EnrolmentId, RecoveryBatchId, RecoveryCodeId, UserId};
use assent_model::name::LoginName;
use assent_model::recovery::{CODES, RecoveryCode};
use assent_model::secret::{Digest, Secret, Token};
use assent_model::token::prefix;
use assent_store::{CodeUse, CodesConfirmation, DeviceWrite, Recovery, StoreError};

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
pub fn random_codes(services: &Services, user: UserId, now: Timestamp) -> NewRecoveryCodes {
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

/// Returns the codes of a batch for the browser with this secret, and their stored form. They are derived, so that the
/// page that shows them can show them again while they are pending, and no table has them. As for the secrets of a
/// sign-in, a copy of the database with the root secret is not sufficient to derive them.
pub fn derived_codes(
    services: &Services,
    user: UserId,
    batch: RecoveryBatchId,
    browser: &Secret,
    now: Timestamp,
) -> Result<NewRecoveryCodes, InternalError> {
    let (mut codes, mut digests) = (Vec::new(), Vec::new());
    for index in 0..CODES {
        let parts = [
            &batch.as_bytes()[..],
            &index.to_be_bytes(),
            browser.expose().as_bytes(),
        ];
        let message = Zeroizing::new(parts.concat());
        let secret = Zeroizing::new(services.root_secret.derive("recovery code", &message)?);
        let (bytes, _) = secret
            .split_first_chunk()
            .ok_or(StoreError::Internal("a derived secret is too short"))?;
        let code = RecoveryCode::derived(bytes);
        let id = RecoveryCodeId::new(now, &*services.entropy);
        digests.push((id, code.digest(user)));
        codes.push(code);
    }
    Ok((codes, digests))
}

/// Codes, and their stored form.
pub type NewRecoveryCodes = (Vec<RecoveryCode>, Vec<(RecoveryCodeId, Digest)>);

/// Creates codes for the owner of a device. The earlier ones stay valid until the device confirms the new ones. Returns
/// `None` if the owner may not sign in.
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
pub async fn confirm(
    services: &Arc<Services>,
    user: UserId,
    device: Option<DeviceId>,
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
pub async fn remaining_codes(services: &Services, user: UserId) -> Result<u32, InternalError> {
    Ok(services.store.recovery_codes_left(user).await?)
}

/// Uses up a code of the user with this name. Returns the path of the link that enrols another device. `browser` is the
/// digest of the browser's cookie: the same browser gets the same link again for the same code, because the response
/// may have been lost, or the form was sent twice. The link's secret is derived, so no table has it.
///
/// Returns `None` if the user does not have the code, has used it, or may not sign in. The queries are the same for a
/// name that no user has.
pub async fn redeem(
    services: &Arc<Services>,
    name: &LoginName,
    typed: &str,
    browser: Digest,
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
    let code = code.digest(user);
    let (mut enrolment, _) = enrolment::prepare_enrolment(services, user);
    let token = link_token(services, enrolment.id, code, browser)?;
    enrolment.digest = token.digest();
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
    let is_own = {
        let services = Arc::clone(services);
        move |id: EnrolmentId, digest: Digest| {
            link_token(&services, id, code, browser).is_ok_and(|token| token.digest() == digest)
        }
    };
    match services
        .store
        .recover(code, recovery, Arc::new(is_own), now)
        .await?
    {
        CodeUse::NotOpen => return Ok(None),
        CodeUse::Repeated(id) => {
            let token = link_token(services, id, code, browser)?;
            return Ok(Some(enrolment::enrolment_path(&token)));
        }
        CodeUse::Done => {}
    }
    tracing::info!(%user, "recovery code used");
    account_notifications::notify(services, user, None);
    Ok(Some(enrolment::enrolment_path(&token)))
}

fn link_token(
    services: &Services,
    id: EnrolmentId,
    code: Digest,
    browser: Digest,
) -> Result<Token, InternalError> {
    let message = [&id.as_bytes()[..], code.as_bytes(), browser.as_bytes()].concat();
    let secret = services.root_secret.derive("recovery link", &message)?;
    Ok(Token::derived_for_people(
        prefix::ENROLMENT,
        id.as_bytes(),
        &secret,
    ))
}
