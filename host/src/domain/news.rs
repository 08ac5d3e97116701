//! News: what a person's devices tell them of a change of their devices, keys and codes, so that nobody gets a way in unseen.
//!
//! They are entries of the audit log. Each device shows them until its owner has seen them there; a push message only says
//! that there are some.

use std::sync::Arc;
use std::time::Duration;

use super::signals::Signal;
use super::{Broken, Host, channels};
use crate::id::{AuditId, DeviceId, UserId};
use crate::model::audit::Entry;
use crate::model::device::Device;

/// How long there are news of what happened.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How many a device is told at once, the oldest first.
const MOST: u32 = 20;

/// What a device's owner has not seen on it yet, but for what they did with it, the oldest first.
pub async fn of(host: &Host, device: &Device) -> Result<Vec<Entry>, Broken> {
    // Not what led to this device itself.
    let since = (device.created_at + Duration::from_millis(1)).max(host.now() - KEPT);
    Ok(host.store.news(device.user_id, device.id, since, MOST).await?)
}

/// The owner has seen what there is up to this entry.
pub async fn seen(host: &Host, device: &Device, last: AuditId) -> Result<(), Broken> {
    Ok(host.store.see_news(device.id, last).await?)
}

/// Has the person's devices told that there are news; not the one that did it.
pub fn tell(host: &Arc<Host>, user: UserId, but: Option<DeviceId>) {
    host.signals.send(Signal::News(user));
    // Whoever did it does not wait for the channels.
    tokio::spawn(channels::tell_news(Arc::clone(host), user, but));
}
