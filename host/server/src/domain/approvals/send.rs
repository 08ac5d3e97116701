//! The delivery of approval requests to their users, each through the first channel that begins.
//!
//! The instance that stored a request sends it at once. A request that a cooldown held is sent by any instance after
//! the cooldown. If the sending instance stops, another one sends the request after the lease expired or was returned.
//! A request may therefore be sent twice. Push messages about one request replace each other on the device.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tracing::Instrument;

use crate::domain::approvals::channel::{binding, callback_url};
use crate::domain::approvals::purpose;
use crate::domain::mail::letter::language_of;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{InternalError, Services, browser_words};
use crate::keys::vapid;
use assent_model::approval::{Approval, ApprovalStage};
use assent_model::clock::Timestamp;
use assent_model::delivery::{Delivery, Recipient};
use assent_model::device::{Device, PushSubscription};
use assent_model::id::{ApprovalId, DeliveryId, UserId};
use assent_model::language::Language;
use assent_plugin_host::{
    ChannelFailure, ChannelFailureKind, ChannelInfo, ChannelRequest, Notice, Question,
    StartedRequest, Trust,
};

/// The interval at which the lease is extended while a request is sent.
const EXTENSION: Duration = Duration::from_secs(2);
/// The largest number of requests of other instances that this instance sends at the same time.
const AT_ONCE: usize = 64;
/// The shortest time between two polls of a channel about one request.
const LEAST: Duration = Duration::from_millis(250);
/// The longest time between two polls.
const MOST: Duration = Duration::from_secs(30);

/// Sends a request that this instance stored, in the background.
pub(super) fn send_stored(
    services: &Arc<Services>,
    user: UserId,
    approval: Approval,
    trusted: &'static [Trust],
) {
    let id = approval.id;
    let held = Arc::clone(services);
    spawn(services, id, async move {
        carry_request(&held, user, &approval, trusted).await
    });
}

/// Sends requests with an expired lease: requests that another instance did not send, and requests that a cooldown
/// held.
pub(super) async fn take_over(services: &Arc<Services>) -> Result<(), InternalError> {
    services.store.release_held_requests(services.now()).await?;
    let busy = services.leased_work.leases().dispatches.len();
    let room = AT_ONCE.saturating_sub(busy);
    if room == 0 {
        return Ok(());
    }
    let claimed = services
        .store
        .claim_dispatches(room, services.now())
        .await?;
    for id in claimed {
        tracing::info!(approval = %id, "sending an approval request from the outbox");
        let held = Arc::clone(services);
        spawn(services, id, async move { carry_stored(&held, id).await });
    }
    Ok(())
}

async fn carry_stored(services: &Services, id: ApprovalId) -> Result<(), InternalError> {
    let Some(approval) = services.store.approval(id).await? else {
        return Ok(());
    };
    let (Some(user), ApprovalStage::Requested) =
        (approval.user_id, approval.stage_at(services.now()))
    else {
        return Ok(());
    };
    let Some(trusted) = purpose::channels_of(services, &approval).await? else {
        return Ok(());
    };
    carry_request(services, user, &approval, trusted).await
}

/// Sends a request under its lease, and then removes it from the outbox.
fn spawn(
    services: &Arc<Services>,
    id: ApprovalId,
    carrying: impl Future<Output = Result<(), InternalError>> + Send + 'static,
) {
    let held = Arc::clone(services);
    let sending = async move {
        let services = held;
        let extending = async {
            loop {
                tokio::time::sleep(EXTENSION).await;
                if let Err(error) = services.store.extend_dispatch(id, services.now()).await {
                    tracing::warn!(approval = %id, %error, "lease on an approval request not extended");
                }
            }
        };
        let sent = tokio::select! {
            sent = carrying => sent,
            () = extending => return,
        };
        let ended = match sent {
            Ok(()) => services.store.end_dispatch(id).await.map_err(Into::into),
            // The row remains, so an instance tries again after the lease.
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::warn!(approval = %id, %error, "approval request not sent, retrying later");
        }
        services.leased_work.leases().dispatches.remove(&id);
    };
    let mut leases = services.leased_work.leases();
    leases.dispatches.insert(id);
    while leases.senders.try_join_next().is_some() {}
    leases.senders.spawn(sending.in_current_span());
}

/// Delivers a pending approval request to its user, through the first channel that begins.
///
/// # Errors
/// If the database fails. The request may have been delivered.
async fn carry_request(
    services: &Services,
    user: UserId,
    approval: &Approval,
    trusted: &[Trust],
) -> Result<(), InternalError> {
    let id = approval.id;
    let mut failed = Vec::new();
    let mut without_address = Vec::new();
    for channel in services
        .plugins
        .channels_for(approval.shown.application.as_ref())
    {
        if !trusted.contains(&channel.trust) {
            continue;
        }
        // The previous channel may have taken a long time.
        if !is_open(services, id).await? {
            return Ok(());
        }
        match begin_at(services, user, approval, &channel).await {
            Ok(BeginOutcome::Carried) => return Ok(()),
            // Usual for a user who permits no notifications.
            Ok(BeginOutcome::NoAddress) => without_address.push(channel.name.clone()),
            Ok(BeginOutcome::Failed(why)) => failed.push(why),
            Err(error) => failed.push(format!("channel `{}`: {error}", channel.name)),
        }
    }
    if !failed.is_empty() {
        let (why, without_address) = (failed.join("; "), without_address.join(", "));
        tracing::warn!(
            approval = %id, reason = why, without_address,
            "no approval channel accepted the request, devices find it by polling"
        );
    } else if !without_address.is_empty() {
        let channels = without_address.join(", ");
        tracing::info!(
            approval = %id, channels,
            "no approval channel has a subscription or identifier of the user, devices find the request by polling"
        );
    }
    Ok(())
}

async fn is_open(services: &Services, id: ApprovalId) -> Result<bool, InternalError> {
    let found = services.store.approval(id).await?;
    Ok(found.is_some_and(|approval| approval.stage_at(services.now()) == ApprovalStage::Requested))
}

/// The outcome of an attempt with one channel.
enum BeginOutcome {
    /// The channel carries the request.
    Carried,
    /// The channel has no address for this user.
    NoAddress,
    /// The attempt failed. The text is the end of a sentence with the reason.
    Failed(String),
}

async fn begin_at(
    services: &Services,
    user: UserId,
    approval: &Approval,
    channel: &ChannelInfo,
) -> Result<BeginOutcome, InternalError> {
    match channel.trust {
        Trust::Verified => notify(services, user, approval, channel).await,
        Trust::Delegated => question(services, user, approval, channel).await,
    }
}

/// Sends a notice to each of the user's devices with a push subscription.
async fn notify(
    services: &Services,
    user: UserId,
    approval: &Approval,
    channel: &ChannelInfo,
) -> Result<BeginOutcome, InternalError> {
    let devices = services.store.devices_of(user).await?;
    let woken = devices
        .iter()
        .filter_map(|device| Some((device, device.push.as_ref()?)));
    let callback_url = callback_url(services, &channel.name)?;
    let began = join_all(
        woken.map(|(device, push)| wake(services, approval, channel, device, push, &callback_url)),
    )
    .await;
    let mut outcome = BeginOutcome::NoAddress;
    for one in began {
        match one? {
            BeginOutcome::Carried => outcome = BeginOutcome::Carried,
            failed @ BeginOutcome::Failed(_) if matches!(outcome, BeginOutcome::NoAddress) => {
                outcome = failed;
            }
            BeginOutcome::Failed(_) | BeginOutcome::NoAddress => {}
        }
    }
    Ok(outcome)
}

async fn wake(
    services: &Services,
    approval: &Approval,
    channel: &ChannelInfo,
    device: &Device,
    push: &PushSubscription,
    callback_url: &str,
) -> Result<BeginOutcome, InternalError> {
    let message = serde_json::json!({
        "version": 1,
        "kind": "approval",
        "request": approval.id,
        "application": approval.shown.application_name,
        "expires": approval.expires_at.seconds(),
    });
    let Some(sealed) = vapid::seal(push, message.to_string().as_bytes()) else {
        return Ok(BeginOutcome::NoAddress);
    };
    let notice = Notice {
        request_id: approval.id.to_string(),
        expires_at: approval.expires_at,
        address: push.endpoint.clone(),
        sealed,
        collapse_key: device.id.to_string(),
        callback_url: callback_url.to_owned(),
    };
    match services
        .plugins
        .begin(&channel.name, ChannelRequest::Notice(notice))
        .await
    {
        Ok(begun) => {
            tracing::info!(
                approval = %approval.id, channel = channel.name, device = %device.id,
                "device notified"
            );
            store_delivery(
                services,
                approval,
                channel,
                Recipient::Device(device.id),
                begun,
            )
            .await?;
            Ok(BeginOutcome::Carried)
        }
        Err(failure) => {
            if matches!(failure.kind, ChannelFailureKind::Gone) {
                // The device may have a new subscription, which this channel did not try.
                let removed = services.store.remove_push(device.id, push.clone()).await?;
                tracing::info!(device = %device.id, removed, "push subscription expired");
            }
            Ok(not_begun(approval, &failure))
        }
    }
}

/// Sends the approval request to the vendor, if an administrator set the user's identifier there.
async fn question(
    services: &Services,
    user: UserId,
    approval: &Approval,
    channel: &ChannelInfo,
) -> Result<BeginOutcome, InternalError> {
    let addresses = services.store.external_authenticators(user).await?;
    let Some(known) = addresses
        .into_iter()
        .find(|known| known.channel == channel.name)
    else {
        return Ok(BeginOutcome::NoAddress);
    };
    let shown = &approval.shown;
    let user = services.store.user(user).await?;
    let language = user.map_or_else(Language::default, |user| language_of(services, &user));
    let browser = browser_words::translated_words(services, &shown.browser, language);
    let question = Question {
        request_id: approval.id.to_string(),
        expires_at: approval.expires_at,
        address: known.identifier.clone(),
        application: shown.application_name.clone(),
        account: shown.account.clone(),
        place: browser.place,
        browser: browser.browser,
        binding: binding(services, approval.id)?,
        callback_url: callback_url(services, &channel.name)?,
    };
    match services
        .plugins
        .begin(&channel.name, ChannelRequest::Question(question))
        .await
    {
        Ok(begun) => {
            tracing::info!(approval = %approval.id, channel = channel.name, "approval request sent to the vendor");
            store_delivery(
                services,
                approval,
                channel,
                Recipient::Vendor {
                    identifier: known.identifier,
                },
                begun,
            )
            .await?;
            Ok(BeginOutcome::Carried)
        }
        Err(failure) => Ok(not_begun(approval, &failure)),
    }
}

fn not_begun(approval: &Approval, failure: &ChannelFailure) -> BeginOutcome {
    tracing::info!(
        approval = %approval.id, channel = failure.channel, reason = %failure.kind,
        "approval channel failed to begin"
    );
    BeginOutcome::Failed(failure.to_string())
}

/// Stores the data with which the channel is polled for the state of the request, if the channel requests that. If the
/// approval was decided in the meantime, cancels the request at the channel.
async fn store_delivery(
    services: &Services,
    approval: &Approval,
    channel: &ChannelInfo,
    recipient: Recipient,
    begun: StartedRequest,
) -> Result<(), InternalError> {
    let Some(first) = begun.poll_after else {
        return Ok(());
    };
    let now = services.now();
    let purpose = sealed_for(approval.id, &channel.name);
    let delivery = Delivery {
        id: DeliveryId::new(now, &*services.entropy),
        approval: approval.id,
        channel: channel.name.clone(),
        recipient,
        handle: services.seal(&purpose, &begun.handle)?,
    };
    let due = next(now, first, approval.expires_at);
    if services.store.add_delivery(delivery, due, now).await? {
        services.wakeups.send(Wakeup::Carried);
    } else if let Err(failure) = services.plugins.cancel(&channel.name, begun.handle).await {
        tracing::info!(approval = %approval.id, %failure, "delivery not cancelled");
    }
    Ok(())
}

/// Returns the context in which the handle of a request is sealed, so that the handle of another row cannot replace it.
pub(crate) fn sealed_for(approval: ApprovalId, channel: &str) -> String {
    format!("approval delivery {approval} {channel}")
}

/// Returns the time of the next step: after the time that the channel requests, within bounds, and not after the
/// expiry.
pub(crate) fn next(now: Timestamp, after: Duration, end: Timestamp) -> Timestamp {
    (now + after.clamp(LEAST, MOST)).min(end)
}
