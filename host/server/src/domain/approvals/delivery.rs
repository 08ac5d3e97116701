//! The processing of requests that channels carry: polling the channels for their state, and cancelling ended requests.
//! Requests that another instance stored and did not send are sent from here.
//!
//! The pending work is stored in the database, so that it survives the server and several instances share it. By a
//! lease, one instance at a time processes a request. A waiting request uses no thread and no instance of the plugin,
//! only its row.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::task::JoinSet;
use tracing::Instrument;

use crate::domain::approvals::lease::Leases;
use crate::domain::approvals::receipt::{AnswerSource, receipt_of};
use crate::domain::approvals::record::audit_note;
use crate::domain::approvals::send::{next, sealed_for};
use crate::domain::approvals::{answer, send};
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{InternalError, Services};
use assent_model::approval::{Approval, ApprovalStage};
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::clock::Timestamp;
use assent_model::delivery::{Delivery, LeasedDelivery, Recipient, Ruling};
use assent_model::id::DeliveryId;
use assent_model::statement::Decision;
use assent_plugin_host::{ChannelFailureKind, ChannelState, Trust};
use assent_store::AnswerOutcome;
use assent_telemetry::ROOT_SPANS;

/// The interval between reads of the database without a wake-up. Another instance may have stopped, or decided an
/// approval.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The largest number of concurrently processed requests of one channel, which is the number of concurrent calls of a
/// channel.
const MAX_CONCURRENT: usize = 512;
/// The number of requests that one statement claims.
const CLAIMED: usize = 64;
/// The pause after a failed poll.
const PAUSE: Duration = Duration::from_secs(5);
/// The pause after a failure of the database or the server itself.
const RETRY: Duration = Duration::from_secs(1);
/// The timeout of one poll.
const QUESTION: Duration = Duration::from_secs(25);
/// The length of this instance's lease on a request, which is longer than a poll may take.
const LEASE: Duration = Duration::from_secs(35);

/// The current work of this instance.
#[derive(Default)]
struct Work {
    under_way: JoinSet<String>,
    /// The number of tasks by channel.
    busy: HashMap<String, usize>,
}

impl Work {
    fn room(&self, channel: &str) -> usize {
        MAX_CONCURRENT.saturating_sub(self.busy.get(channel).copied().unwrap_or_default())
    }

    fn begin(&mut self, services: &Arc<Services>, leased: LeasedDelivery) {
        *self
            .busy
            .entry(leased.delivery.channel.clone())
            .or_default() += 1;
        let sampler = &services.span_sampler;
        let span =
            sampler.background(|| tracing::info_span!(target: ROOT_SPANS, "approval.delivery"));
        let processing = process(Arc::clone(services), leased).instrument(span);
        self.under_way.spawn(processing);
    }

    fn ended(&mut self, channel: &str) {
        if let Some(count) = self.busy.get_mut(channel) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.busy.remove(channel);
            }
        }
    }
}

/// Processes requests until the task is dropped. Its pending work ends with it, and is repeated after the lease.
pub async fn run(services: Arc<Services>) {
    let mut work = Work::default();
    loop {
        let pause = match claim(&services, &mut work).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!(%error, "due deliveries of approval channels not read");
                POLL_INTERVAL
            }
        };
        if pause.is_zero() {
            continue;
        }
        tokio::select! {
            () = services.wakeups.received(Wakeup::Carried) => {}
            () = tokio::time::sleep(pause) => {}
            Some(ended) = work.under_way.join_next() => match ended {
                Ok(channel) => work.ended(&channel),
                // The channel of a panicked task is unknown. As soon as all tasks have ended, no channel is busy.
                Err(_) if work.under_way.is_empty() => work.busy.clear(),
                Err(_) => {}
            },
        }
    }
}

/// Starts the due work, as far as there is capacity. Returns the known time without further work. Without due work it
/// needs only one statement.
async fn claim(services: &Arc<Services>, work: &mut Work) -> Result<Duration, InternalError> {
    let now = services.now();
    let next = services.store.channel_work().await?;
    if next.dispatch.is_some_and(|dispatch| dispatch <= now) {
        send::take_over(services).await?;
    }
    if next.delivery.is_some_and(|delivery| delivery <= now)
        && claim_deliveries(services, work).await?
    {
        return Ok(Duration::ZERO);
    }
    let future = [next.delivery, next.dispatch].into_iter().flatten();
    let next = future.filter(|next| *next > now).min();
    Ok(next.map_or(POLL_INTERVAL, |next| next.remaining(now).min(POLL_INTERVAL)))
}

/// Claims due deliveries. Returns whether it started any.
async fn claim_deliveries(
    services: &Arc<Services>,
    work: &mut Work,
) -> Result<bool, InternalError> {
    let mut begun = false;
    for channel in services.store.due_channels(services.now()).await? {
        // Another instance may have a channel that this instance does not have.
        if services.plugins.channel_info(&channel).is_none() {
            continue;
        }
        let room = work.room(&channel).min(CLAIMED);
        if room == 0 {
            continue;
        }
        for leased in services
            .store
            .claim_deliveries(&channel, room, LEASE, services.now())
            .await?
        {
            begun = true;
            let mut leases = services.leased_work.leases();
            leases.deliveries.insert(leased.delivery.id, leased.clone());
            drop(leases);
            work.begin(services, leased);
        }
    }
    Ok(begun)
}

/// Processes one request, and stores the time of the next step. Returns the channel.
async fn process(services: Arc<Services>, leased: LeasedDelivery) -> String {
    let delivery = &leased.delivery;
    let (id, approval, channel) = (delivery.id, delivery.approval, delivery.channel.clone());
    let done = async {
        if let Some(again) = step(&services, delivery).await? {
            services.store.release_delivery(&leased, again).await?;
        }
        Ok::<_, InternalError>(())
    };
    if let Err(error) = done.await {
        tracing::warn!(
            delivery = %id, %approval, channel, %error,
            "delivery not processed, retrying later"
        );
        // A retry may succeed soon, so the lease is returned before its end.
        tokio::time::sleep(RETRY).await;
        if let Err(error) = services
            .store
            .release_delivery(&leased, services.now())
            .await
        {
            tracing::warn!(delivery = %id, %error, "lease on a delivery not returned");
        }
        services.wakeups.send(Wakeup::Carried);
    }
    services.leased_work.leases().deliveries.remove(&id);
    channel
}

/// Returns the leases of this instance, so that another instance continues at once. Call it only when no task uses the
/// leases any more.
pub async fn return_leases(services: &Services) {
    let leases = std::mem::take(&mut *services.leased_work.leases());
    let Leases {
        deliveries,
        dispatches,
        mut senders,
    } = leases;
    senders.shutdown().await;
    let now = services.now();
    let deliveries = deliveries
        .values()
        .map(async |leased| services.store.release_delivery(leased, now).await);
    let dispatches = dispatches
        .into_iter()
        .map(async |approval| services.store.release_dispatch(approval).await);
    let (deliveries, dispatches) = futures_util::join!(join_all(deliveries), join_all(dispatches));
    for returned in deliveries.into_iter().chain(dispatches) {
        if let Err(error) = returned {
            tracing::warn!(%error, "lease of an approval channel not returned");
        }
    }
}

/// Performs the next step of a request. Returns the time of the next one. `None` if there is none.
async fn step(
    services: &Services,
    delivery: &Delivery,
) -> Result<Option<Timestamp>, InternalError> {
    // The row of a delivery is deleted with its approval.
    let Some(approval) = services.store.approval(delivery.approval).await? else {
        return Ok(None);
    };
    if approval.stage_at(services.now()) != ApprovalStage::Requested {
        take_back(services, delivery).await?;
        return Ok(None);
    }
    if !is_in_force(services, delivery, &approval) {
        tracing::warn!(
            approval = %approval.id, channel = delivery.channel,
            "approval channel no longer configured for the application, delivery ended"
        );
        services.store.end_delivery(delivery.id).await?;
        return Ok(None);
    }
    let handle = handle(services, delivery)?;
    let polled =
        tokio::time::timeout(QUESTION, services.plugins.poll(&delivery.channel, handle)).await;
    let after = match polled {
        Ok(Ok(state)) => match process_state(services, delivery, &approval, state).await? {
            Some(after) => after,
            None => return Ok(None),
        },
        Ok(Err(failure)) => match failure.kind {
            ChannelFailureKind::RetryAfter(after) => after,
            _ => PAUSE,
        },
        Err(_) => {
            tracing::warn!(approval = %approval.id, channel = delivery.channel, "approval channel status timed out");
            PAUSE
        }
    };
    Ok(Some(next(services.now(), after, approval.expires_at)))
}

/// Returns whether the current settings permit the channel to carry this request, with the same trust as when the
/// request began.
fn is_in_force(services: &Services, delivery: &Delivery, approval: &Approval) -> bool {
    let trust = match delivery.recipient {
        Recipient::Device(_) => Trust::Verified,
        Recipient::Vendor { .. } => Trust::Delegated,
    };
    let serving = services
        .plugins
        .channels_for(approval.shown.application.as_ref());
    serving
        .iter()
        .any(|channel| channel.name == delivery.channel && channel.trust == trust)
}

/// Processes a state that a channel returned. Returns the time until the next poll. `None` if there is none.
async fn process_state(
    services: &Services,
    delivery: &Delivery,
    approval: &Approval,
    state: ChannelState,
) -> Result<Option<Duration>, InternalError> {
    let ruling = match (state, &delivery.recipient) {
        (ChannelState::Pending(after), _) => return Ok(Some(after)),
        (ChannelState::Evidence(proof), Recipient::Device(device)) => {
            let (channel, request) = (&delivery.channel, approval.id);
            let decision =
                answer::accept_answer(services, channel, &proof, request, *device).await?;
            if decision.is_none() {
                return Ok(Some(PAUSE));
            }
            services.store.end_delivery(delivery.id).await?;
            return Ok(None);
        }
        // Without the device's proof this ends only the delivery by the channel. The page still waits for another
        // answer or the expiry, as it does for a name that no user has.
        (ChannelState::Denied, Recipient::Device(_)) | (ChannelState::Expired, _) => {
            tracing::info!(approval = %approval.id, channel = delivery.channel, "approval channel gave up the request");
            services.store.end_delivery(delivery.id).await?;
            return Ok(None);
        }
        (ChannelState::Approved, Recipient::Vendor { .. }) => Ruling::Approved,
        (ChannelState::Denied, Recipient::Vendor { .. }) => Ruling::Denied,
        (ChannelState::Approved, Recipient::Device(_))
        | (ChannelState::Evidence(_), Recipient::Vendor { .. }) => {
            tracing::warn!(
                plugin = delivery.channel, approval = %approval.id,
                "approval channel returned an outcome that its kind does not permit"
            );
            return Ok(Some(PAUSE));
        }
    };
    // The settings may have changed during the poll.
    if !is_in_force(services, delivery, approval) {
        return Ok(Some(Duration::ZERO));
    }
    rule(services, delivery.id, approval, &delivery.channel, ruling).await?;
    Ok(None)
}

async fn rule(
    services: &Services,
    delivery: DeliveryId,
    approval: &Approval,
    channel: &str,
    ruling: Ruling,
) -> Result<(), InternalError> {
    let (event, decision) = match ruling {
        Ruling::Approved => (Event::SignInApproved, Decision::Approve),
        Ruling::Denied => (Event::SignInDenied, Decision::Deny),
    };
    let by = AuditContext::new(Actor::Channel(channel.to_owned()), Origin::NONE);
    let now = services.now();
    let source = AnswerSource::Channel(channel);
    let receipt = receipt_of(services, approval, decision, source, now).await?;
    let note = audit_note(services, event, approval, &by).with_receipt(receipt);
    let outcome = services
        .store
        .rule_on_approval(delivery, ruling, note, now)
        .await?;
    let counted = outcome == AnswerOutcome::Counted;
    if counted {
        let approvals = &services.metrics.approvals;
        approvals.count_decision(approval, event, services.now());
    }
    tracing::info!(approval = %approval.id, channel, ruling = ruling.as_str(), counted, "vendor decided");
    Ok(())
}

/// Cancels a request at the channel once its approval has ended, if the channel supports that. It does so only once.
async fn take_back(services: &Services, delivery: &Delivery) -> Result<(), InternalError> {
    if !services.store.end_delivery(delivery.id).await? {
        return Ok(());
    }
    let handle = handle(services, delivery)?;
    match tokio::time::timeout(QUESTION, services.plugins.cancel(&delivery.channel, handle)).await {
        Ok(Ok(())) => {
            tracing::debug!(approval = %delivery.approval, channel = delivery.channel, "delivery cancelled");
        }
        Ok(Err(failure)) => {
            tracing::info!(approval = %delivery.approval, %failure, "delivery not cancelled");
        }
        Err(_) => {
            tracing::info!(approval = %delivery.approval, channel = delivery.channel, "delivery not cancelled in time");
        }
    }
    Ok(())
}

fn handle(services: &Services, delivery: &Delivery) -> Result<Vec<u8>, InternalError> {
    let purpose = sealed_for(delivery.approval, &delivery.channel);
    Ok(services
        .sealing_keys
        .open(&purpose, &delivery.handle)?
        .to_vec())
}
