//! The way back for a person who has no authenticator any more: codes that they were given while they had one.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::devices::{account_notifications, device};
use crate::domain::{InternalError, Services, audit};
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::device::{Device, LinkMaker};
use assent_model::id::{RecoveryCodeId, UserId};
use assent_model::name::LoginName;
use assent_model::recovery::{CODES, RecoveryCode};
use assent_store::{DeviceWrite, Recovery, Transition};

/// How long the link is good that a code gives, at most: whoever has it goes on at once.
const LINK: Duration = Duration::from_secs(15 * 60);

/// Gives the owner of a device new codes, in place of those they had. They are shown once. `None` if the owner may not
/// sign in.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn make(
    services: &Arc<Services>,
    device: &Device,
    from: Origin,
) -> Result<Option<Vec<RecoveryCode>>, InternalError> {
    let now = services.now();
    let codes: Vec<RecoveryCode> = (0..CODES)
        .map(|_| RecoveryCode::random(&*services.entropy))
        .collect();
    let kept = codes.iter().map(|code| {
        (
            RecoveryCodeId::new(now, &*services.entropy),
            code.digest(device.user_id),
        )
    });
    let by = AuditContext::new(Actor::Device(device.id), from);
    let entry = audit::entry(services, Event::RecoveryCodesCreated, &by)
        .about(device.user_id)
        .with("codes", CODES);
    let whose = (device.user_id, device.id);
    let written = services
        .store
        .set_recovery_codes(whose, kept.collect(), entry, now)
        .await?;
    if written == DeviceWrite::Inactive {
        return Ok(None);
    }
    tracing::info!(user = %device.user_id, device = %device.id, "recovery codes created");
    account_notifications::notify(services, device.user_id, Some(device.id));
    Ok(Some(codes))
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
