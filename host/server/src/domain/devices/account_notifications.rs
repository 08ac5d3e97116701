//! Account notifications (NIST SP 800-63B-4 section 4.6): a user's other devices show each change of devices, keys and
//! recovery codes. Therefore an attacker cannot gain access without the user noticing.
//!
//! The notifications are entries of the audit log. Each device shows them until the user has read them there. A push
//! message only says that there are some.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::approvals::account_notice;
use crate::domain::{InternalError, Services};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::device::Device;
use assent_model::id::{AuditId, DeviceId, UserId};

/// The time for which a notification is shown.
const RETENTION: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The number of notifications in one response, the oldest first.
const MOST: u32 = 20;

/// Returns the earliest time of the notifications that are shown at `now`.
pub fn shown_since(now: Timestamp) -> Timestamp {
    now - RETENTION
}

/// Returns the notifications that the owner has not read on this device, the oldest first. They do not include changes
/// that were made with this device.
pub async fn unread_notifications(
    services: &Services,
    device: &Device,
) -> Result<Vec<Entry>, InternalError> {
    // Changes that led to the enrolment of this device are not included.
    let since = (device.created_at + Duration::from_millis(1)).max(shown_since(services.now()));
    Ok(services
        .store
        .account_notifications(device.user_id, device.id, since, MOST)
        .await?)
}

/// Records that the owner has read the notifications up to this entry.
pub async fn mark_read(
    services: &Services,
    device: &Device,
    last: AuditId,
) -> Result<(), InternalError> {
    Ok(services
        .store
        .mark_notifications_read(device.id, last)
        .await?)
}

/// Notifies the user's devices of new notifications, except the device that made the change.
pub fn notify(services: &Arc<Services>, user: UserId, but: Option<DeviceId>) {
    // The request that made the change does not wait for the channels.
    tokio::spawn(account_notice::send_account_notifications(
        Arc::clone(services),
        user,
        but,
    ));
}
