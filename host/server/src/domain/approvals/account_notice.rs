//! Push messages to devices about account notifications.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use crate::domain::Services;
use crate::domain::approvals::channel::callback_url;
use crate::keys::vapid;
use assent_model::device::{Device, PushSubscription};
use assent_model::id::{DeliveryId, DeviceId, UserId};
use assent_plugin_host::{ChannelInfo, ChannelRequest, Notice, Trust};

/// The time for which the delivery of a push message about an account notification is useful.
const NOTIFICATION_FRESH: Duration = Duration::from_secs(24 * 60 * 60);

/// Wakes the user's devices for account notifications, except the device that caused them.
///
/// The channels are tried in the operator's order. If a channel does not reach a device, the next channel is tried for
/// it. A channel that is restricted to applications receives no account notifications, because they belong to no
/// application. The devices read the notifications themselves from this server.
pub(crate) async fn send_account_notifications(
    services: Arc<Services>,
    user: UserId,
    but: Option<DeviceId>,
) {
    let devices = match services.store.devices_of(user).await {
        Ok(devices) => devices,
        Err(error) => return tracing::warn!(%user, %error, "account notification failed"),
    };
    let recipients = devices.iter().filter(|device| Some(device.id) != but);
    let mut left: Vec<_> = recipients
        .filter_map(|device| Some((device, device.push.as_ref()?)))
        .collect();
    for channel in services
        .plugins
        .channels_for(None)
        .iter()
        .filter(|channel| channel.trust == Trust::Verified)
    {
        let began = join_all(
            left.iter()
                .map(|(device, push)| notify_device(&services, channel, device, push)),
        )
        .await;
        left = left
            .into_iter()
            .zip(began)
            .filter_map(|(device, began)| (!began).then_some(device))
            .collect();
        if left.is_empty() {
            return;
        }
    }
}

/// Returns whether the channel accepts the message for this device.
async fn notify_device(
    services: &Services,
    channel: &ChannelInfo,
    device: &Device,
    push: &PushSubscription,
) -> bool {
    let message = serde_json::json!({"version": 1, "kind": "account-notification"});
    let Some(sealed) = vapid::seal(push, message.to_string().as_bytes()) else {
        return false;
    };
    let id = DeliveryId::new(services.now(), &*services.entropy).to_string();
    let Ok(callback_url) = callback_url(services, &channel.name) else {
        return false;
    };
    let notice = Notice {
        expires_at: services.now() + NOTIFICATION_FRESH,
        address: push.endpoint.clone(),
        sealed,
        // A message replaces an earlier message about notifications, but not a message about a request.
        collapse_key: format!("n{}", device.id).chars().take(32).collect(),
        callback_url,
        request_id: id,
    };
    match services
        .plugins
        .begin(&channel.name, ChannelRequest::Notice(notice))
        .await
    {
        Ok(_) => true,
        Err(failure) => {
            tracing::info!(device = %device.id, %failure, "account notification of a device failed");
            false
        }
    }
}
