//! Devices: their enrolment, their calls and their push subscriptions.

pub mod call;
pub mod enrolment;

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::approvals::prompt::{Prompt, prompts_of};
use crate::domain::devices::account_notifications;
use crate::domain::devices::device::enrolment::LONGEST_NAME;
use crate::domain::operations::traffic::long_polls::LongPoll;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{InternalError, Services, audit};
use crate::keys::vapid::seal;
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::device::{Device, DeviceOrigin, PushSubscription};
use assent_model::id::{ApprovalId, AuditId, DeviceId, UserId};
use assent_model::language::Language;
use assent_model::name::display_text;
use assent_model::recovery::CodesOfDevice;
use assent_model::saml::SessionEnd;
use assent_model::user::{LifecycleState, User};
use assent_store::{DeviceWrite, StoreError, UserGuard};

/// The outcome of renaming a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenameOutcome {
    /// The device has the new name.
    Done,
    /// The name is blank, too long or has control characters.
    BadName,
    /// The user has no such device.
    Unknown,
}

/// Renames a user's device.
pub async fn rename(
    services: &Services,
    owner: UserId,
    id: DeviceId,
    name: &str,
    by: &AuditContext,
) -> Result<RenameOutcome, InternalError> {
    let Some(device) = of_owner(services, owner, id).await? else {
        return Ok(RenameOutcome::Unknown);
    };
    let Some(name) = display_text(name, LONGEST_NAME) else {
        return Ok(RenameOutcome::BadName);
    };
    let entry = audit::entry(services, Event::DeviceRenamed, by)
        .about(owner)
        .with("device", id.to_string())
        .personal("name", device.name.as_str())
        .personal("new_name", name.as_str());
    let renamed = services
        .store
        .rename_device_of(owner, id, name, entry)
        .await?;
    Ok(match renamed {
        DeviceWrite::Done => RenameOutcome::Done,
        DeviceWrite::Inactive => RenameOutcome::Unknown,
    })
}

/// The pending requests and notifications of a device's owner.
#[derive(Debug)]
pub struct DeviceInbox {
    /// The owner.
    pub user: User,
    /// The name of the device, which may have been changed elsewhere.
    pub device_name: String,
    /// The pending requests, the oldest first, each with the digest of the application's logo, if it has one.
    pub pending: Vec<(Prompt, Option<String>)>,
    /// The notifications that the owner has not read yet, the oldest first.
    pub notifications: Vec<Entry>,
    /// The end of the cooldown, if the owner denied or reported a request.
    pub cooldown_until: Option<Timestamp>,
}

/// Returns the pending requests of a device's owner, and the notifications. It waits up to `patience` seconds while the
/// pending requests are those that the device shows, `seen`, and there are no notifications after `known`. `None` if
/// the device is revoked. The requests are in `language`.
pub async fn request(
    services: &Services,
    device: &Device,
    patience: u32,
    seen: &HashSet<ApprovalId>,
    known: Option<AuditId>,
    language: Language,
) -> Result<Option<DeviceInbox>, InternalError> {
    let shown = seen.iter().copied().map(Change::Approval);
    let awaited = shown.chain([Change::Inbox(device.user_id)]);
    let mut listener = services.store.listen(awaited);
    // The timeout uses the machine's clock and not the server's, so that a test that stops the latter does not stop
    // this.
    let mut timeout = pin!(tokio::time::sleep(Duration::from_secs(patience.into())));
    let mut interrupts = pin!(services.draining.interrupts());
    let poll = (patience > 0)
        .then(|| services.long_polls.begin(device.id))
        .flatten();
    let mut is_interrupted = poll.is_none();
    loop {
        let now = services.now();
        let since = account_notifications::shown_since(now);
        let summary = services.store.inbox_summary(device.id, now, since).await?;
        let Some(summary) = summary else {
            return Ok(None);
        };
        let pending = if summary.has_requests {
            let pending = services
                .store
                .pending_approvals(device.user_id, now)
                .await?;
            prompts_of(services, pending, language).await?
        } else {
            Vec::new()
        };
        let notifications = if summary.has_notifications {
            account_notifications::unread_notifications(services, device).await?
        } else {
            Vec::new()
        };
        let has_contents = !pending.is_empty() || !notifications.is_empty();
        // A device that was revoked in the meantime receives nothing.
        if has_contents && is_revoked(services, device.id).await? {
            return Ok(None);
        }
        let is_seen = |prompt: &Prompt| seen.contains(&prompt.approval.id);
        let changed = pending.len() != seen.len() || !pending.iter().all(is_seen);
        let has_new_notification = notifications
            .last()
            .is_some_and(|last| known.is_none_or(|known| last.id > known));
        let over = summary.user.state != LifecycleState::Active || is_interrupted;
        if changed || has_new_notification || over {
            return Ok(Some(DeviceInbox {
                user: summary.user,
                device_name: summary.device_name,
                pending: with_logos(services, pending).await?,
                notifications,
                cooldown_until: summary.cooldown_until,
            }));
        }
        let next_end = pending
            .iter()
            .map(|prompt| prompt.approval.expires_at)
            .min();
        tokio::select! {
            () = listener.changed(next_end) => {}
            () = &mut timeout => is_interrupted = true,
            () = &mut interrupts => is_interrupted = true,
            () = wait_for_replacement(poll.as_ref()) => is_interrupted = true,
        }
    }
}

async fn is_revoked(services: &Services, id: DeviceId) -> Result<bool, InternalError> {
    let current = services.store.device(id).await?;
    Ok(current.is_none_or(|device| device.revoked_at.is_some()))
}

async fn wait_for_replacement(poll: Option<&LongPoll<'_, DeviceId>>) {
    match poll {
        Some(poll) => poll.replaced().await,
        None => std::future::pending().await,
    }
}

async fn with_logos(
    services: &Services,
    pending: Vec<Prompt>,
) -> Result<Vec<(Prompt, Option<String>)>, InternalError> {
    let mut shown = Vec::with_capacity(pending.len());
    for prompt in pending {
        let logo = match &prompt.approval.shown.application {
            Some(application) => services.store.logo_digest(application).await?,
            None => None,
        };
        shown.push((prompt, logo));
    }
    Ok(shown)
}

/// Sets or removes the push subscription of a device. Returns `false` if the subscription is invalid.
pub async fn set_push(
    services: &Services,
    device: &Device,
    push: Option<PushSubscription>,
) -> Result<bool, InternalError> {
    if let Some(push) = &push {
        let fits = push.endpoint.len() <= 2000
            && url::Url::parse(&push.endpoint).is_ok_and(|url| url.has_host());
        if !fits || seal(push, b"{}").is_none() {
            return Ok(false);
        }
    }
    services.store.set_push(device.id, push).await?;
    Ok(true)
}

/// A user's device that is not revoked.
#[derive(Clone, Debug)]
pub struct OwnDevice {
    /// The device.
    pub device: Device,
    /// The time of the device's last decision, if there is one.
    pub used_at: Option<Timestamp>,
    /// Whether each approval requires the device's passkey.
    pub has_passkey: bool,
    /// Whether the passkey may sign in without an approval request.
    pub passkey_sign_in: bool,
    /// The link and the request of the enrolment.
    pub origin: DeviceOrigin,
}

/// Returns the devices of a user, the last enrolled first.
pub async fn all_of(services: &Services, user: UserId) -> Result<Vec<OwnDevice>, InternalError> {
    let devices = services.store.devices_of(user).await?.into_iter().rev();
    let uses = services.store.device_uses(user).await?;
    let passkeys = services.store.passkeys_of(user).await?;
    let mut origins = services.store.device_origins(user).await?;
    let own = |device: Device| {
        Some(OwnDevice {
            used_at: uses.get(&device.id).copied(),
            has_passkey: passkeys.contains_key(&device.id),
            passkey_sign_in: passkeys
                .get(&device.id)
                .is_some_and(|passkey| passkey.is_agreed()),
            // A device that was revoked between the queries is not in this list.
            origin: origins.remove(&device.id)?,
            device,
        })
    };
    Ok(devices.filter_map(own).collect())
}

/// Returns the device with this identifier, if it belongs to this user and is not revoked.
pub async fn of_owner(
    services: &Services,
    user: UserId,
    id: DeviceId,
) -> Result<Option<Device>, InternalError> {
    let found = services.store.device(id).await?;
    Ok(found.filter(|device| device.user_id == user && device.revoked_at.is_none()))
}

/// The result of a search for a device that its owner removes.
#[derive(Debug)]
pub enum DeviceToRevoke {
    /// The device.
    Found(Box<Device>),
    /// The device was removed before. The response to that may have been lost.
    Revoked,
    /// The user has no such device.
    Unknown,
}

/// Searches the device that this user removes.
pub async fn to_revoke(
    services: &Services,
    user: UserId,
    id: DeviceId,
) -> Result<DeviceToRevoke, InternalError> {
    let found = services.store.device(id).await?;
    Ok(match found.filter(|device| device.user_id == user) {
        None => DeviceToRevoke::Unknown,
        Some(device) if device.revoked_at.is_some() => DeviceToRevoke::Revoked,
        Some(device) => DeviceToRevoke::Found(Box::new(device)),
    })
}

/// Revokes a device, and signs out the browsers that it signed in. `None` if it was revoked before.
pub async fn revoke(
    services: &Arc<Services>,
    device: &Device,
    codes: CodesOfDevice,
    by: &AuditContext,
) -> Result<Option<SessionEnd>, InternalError> {
    Ok(revoke_of(services, device, device.user_id, codes, by).await?)
}

/// Revokes a device like [`revoke`], if its owner still has the expected version.
///
/// # Errors
/// [`StoreError::Stale`] if the owner changed.
pub async fn revoke_of(
    services: &Arc<Services>,
    device: &Device,
    owner: impl Into<UserGuard>,
    codes: CodesOfDevice,
    by: &AuditContext,
) -> Result<Option<SessionEnd>, StoreError> {
    let entry = revocation_entry(services, device, by);
    let ended = services
        .store
        .revoke_device_of(owner, device.id, codes, entry, services.now())
        .await?;
    if ended.is_some() {
        tracing::info!(device = %device.id, "device revoked");
        services.wakeups.send(Wakeup::LoggedOut);
        account_notifications::notify(services, device.user_id, Some(device.id));
    }
    Ok(ended)
}

/// Returns the entry of the audit log about the revocation of a device.
pub fn revocation_entry(services: &Services, device: &Device, by: &AuditContext) -> Entry {
    audit::entry(services, Event::DeviceRevoked, by)
        .about(device.user_id)
        .with("device", device.id.to_string())
        .personal("name", device.name.as_str())
}
