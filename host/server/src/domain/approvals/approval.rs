//! Approval requests to the devices of a user, and their answers.

use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{InternalError, Services, audit};
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::change::Change;
use assent_model::device::Device;
use assent_model::id::ApprovalId;

/// Waits until an approval is no longer pending: it was decided, or it expired.
///
/// # Errors
/// If the store fails.
pub async fn decided(services: &Services, approval: ApprovalId) -> Result<(), InternalError> {
    let mut listener = services.store.listen([Change::Approval(approval)]);
    loop {
        let found = services.store.approval(approval).await?;
        let Some(found) = found.filter(|found| found.stage_at(services.now()).is_waiting()) else {
            return Ok(());
        };
        listener.changed(Some(found.expires_at)).await;
    }
}

/// Cancels a pending request, because the user cancelled the sign-in in the browser.
///
/// # Errors
/// If the store fails.
pub async fn cancel(services: &Services, approval: ApprovalId) -> Result<(), InternalError> {
    Ok(services
        .store
        .cancel_approval(approval, services.now())
        .await?)
}

/// Ends the cooldown of a device's user at the user's request, and sends the requests that it held. Returns whether
/// there was a cooldown.
///
/// # Errors
/// If the database fails.
pub async fn lift_cooldown(
    services: &Services,
    device: &Device,
    from: Origin,
) -> Result<bool, InternalError> {
    let by = AuditContext::new(Actor::Device(device.id), from);
    let entry = audit::entry(services, Event::CooldownLifted, &by).about(device.user_id);
    let lifted = services
        .store
        .lift_cooldown(device.user_id, entry, services.now())
        .await?;
    if lifted {
        services.wakeups.send(Wakeup::Carried);
    }
    Ok(lifted)
}
