//! Looking after requests that channels have begun: asking how they stand, and taking back those that are over.
//! Requests that another instance stored and did not send are sent from here.
//!
//! What is to be done waits in the database, so it outlives the server, and several hosts share it; each request is one
//! host's at a time, by a lease. A request that waits holds no thread and no instance of the plugin, only its row.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::task::JoinSet;
use tracing::Instrument;

use crate::domain::approvals::channel_proofs::{self, EvidenceOutcome};
use crate::domain::approvals::delivery_timing::{next, sealed_for};
use crate::domain::approvals::dispatch;
use crate::domain::approvals::leased_work::Leases;
use crate::domain::operations::metrics::DecisionKind;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{InternalError, Services};
use assent_model::approval::{Approval, ApprovalStage};
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::clock::Timestamp;
use assent_model::delivery::{Delivery, LeasedDelivery, Recipient, Ruling};
use assent_model::id::DeliveryId;
use assent_plugin_host::{ChannelFailureKind, ChannelState, Trust};
use assent_store::RulingOutcome;
use assent_telemetry::ROOT_SPANS;

/// How often the database is looked at without a signal: another instance may have stopped, or an approval was decided
/// there.
const LOOK: Duration = Duration::from_secs(1);
/// How many requests of one channel are looked after at once: as many as a channel's calls run at once.
const AT_ONCE: usize = 512;
/// How many are claimed by one statement.
const CLAIMED: usize = 64;
/// The pause after a question that failed.
const PAUSE: Duration = Duration::from_secs(5);
/// The pause after the database or the server itself failed.
const RETRY: Duration = Duration::from_secs(1);
/// How long one question may take.
const QUESTION: Duration = Duration::from_secs(25);
/// How long a request is this server's: longer than a question may take.
const LEASE: Duration = Duration::from_secs(35);

/// What this server is at.
#[derive(Default)]
struct Work {
    under_way: JoinSet<String>,
    /// How many of them each channel has.
    busy: HashMap<String, usize>,
}

impl Work {
    fn room(&self, channel: &str) -> usize {
        AT_ONCE.saturating_sub(self.busy.get(channel).copied().unwrap_or_default())
    }

    fn begin(&mut self, services: &Arc<Services>, leased: LeasedDelivery) {
        *self
            .busy
            .entry(leased.delivery.channel.clone())
            .or_default() += 1;
        let sampler = &services.span_sampler;
        let span =
            sampler.background(|| tracing::info_span!(target: ROOT_SPANS, "approval.delivery"));
        let looking_after = look_after(Arc::clone(services), leased).instrument(span);
        self.under_way.spawn(looking_after);
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

/// Looks after requests, until the task is dropped. What is under way ends with it, and is begun anew after its lease.
pub async fn run(services: Arc<Services>) {
    let mut work = Work::default();
    loop {
        let pause = match claim(&services, &mut work).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!(%error, "due deliveries of approval channels not read");
                LOOK
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
                // One that panicked does not say whose it was: once all have ended, nobody is busy.
                Err(_) if work.under_way.is_empty() => work.busy.clear(),
                Err(_) => {}
            },
        }
    }
}

/// Begins what is due, as far as there is room. How long there is nothing more to do, as far as is known. Without work
/// it is one statement.
async fn claim(services: &Arc<Services>, work: &mut Work) -> Result<Duration, InternalError> {
    let now = services.now();
    let next = services.store.channel_work().await?;
    if next.dispatch.is_some_and(|dispatch| dispatch <= now) {
        dispatch::take_over(services).await?;
    }
    if next.delivery.is_some_and(|delivery| delivery <= now)
        && claim_deliveries(services, work).await?
    {
        return Ok(Duration::ZERO);
    }
    let future = [next.delivery, next.dispatch].into_iter().flatten();
    let next = future.filter(|next| *next > now).min();
    Ok(next.map_or(LOOK, |next| next.remaining(now).min(LOOK)))
}

/// Whether it began any.
async fn claim_deliveries(
    services: &Arc<Services>,
    work: &mut Work,
) -> Result<bool, InternalError> {
    let mut begun = false;
    for channel in services.store.due_channels(services.now()).await? {
        // Another instance may have a channel that this one does not.
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

/// Looks after one request, and keeps when to do so again. The channel.
async fn look_after(services: Arc<Services>, leased: LeasedDelivery) -> String {
    let delivery = &leased.delivery;
    let (id, approval, channel) = (delivery.id, delivery.approval, delivery.channel.clone());
    let done = async {
        if let Some(again) = step(&services, delivery).await? {
            services.store.release_delivery(&leased, again).await?;
        }
        Ok::<_, InternalError>(())
    };
    if let Err(error) = done.await {
        tracing::warn!(delivery = %id, %approval, channel, %error, "delivery not processed, retrying \
             later");
        // Whatever failed may work again soon, so nobody waits for the end of the lease.
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

/// Returns the leases of this instance, so that another one continues at once. Call it when no task uses them any more.
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

/// Takes a request one step further. When to look after it again; `None` if that is never.
async fn step(
    services: &Services,
    delivery: &Delivery,
) -> Result<Option<Timestamp>, InternalError> {
    // Without its approval the row is gone as well.
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
    let asked =
        tokio::time::timeout(QUESTION, services.plugins.poll(&delivery.channel, handle)).await;
    let after = match asked {
        Ok(Ok(state)) => match heard(services, delivery, &approval, state).await? {
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

/// Whether the settings in force let the channel carry such a request, and have it believed as when the request began.
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

/// Takes what a channel says of a request. After what time to ask it again; `None` if that is never.
async fn heard(
    services: &Services,
    delivery: &Delivery,
    approval: &Approval,
    state: ChannelState,
) -> Result<Option<Duration>, InternalError> {
    let ruling = match (state, &delivery.recipient) {
        (ChannelState::Pending(after), _) => return Ok(Some(after)),
        (ChannelState::Evidence(proof), Recipient::Device(device)) => {
            let (channel, request) = (&delivery.channel, approval.id);
            let outcome =
                channel_proofs::accept_answer(services, channel, &proof, request, *device).await?;
            if outcome == EvidenceOutcome::Ignored {
                return Ok(Some(PAUSE));
            }
            services.store.end_delivery(delivery.id).await?;
            return Ok(None);
        }
        // Without the device's proof this is the channel's own affair: it carries the request no longer. The page waits
        // on, for another answer or to its end: as it would for a name that nobody has.
        (ChannelState::Denied, Recipient::Device(_)) | (ChannelState::Expired, _) => {
            tracing::info!(approval = %approval.id, channel = delivery.channel, "approval channel gave up the request");
            services.store.end_delivery(delivery.id).await?;
            return Ok(None);
        }
        (ChannelState::Approved, Recipient::Vendor { .. }) => Ruling::Approved,
        (ChannelState::Denied, Recipient::Vendor { .. }) => Ruling::Denied,
        (ChannelState::Approved, Recipient::Device(_))
        | (ChannelState::Evidence(_), Recipient::Vendor { .. }) => {
            tracing::warn!(plugin = delivery.channel, approval = %approval.id, "approval channel returned an outcome \
                that its kind does not permit");
            return Ok(Some(PAUSE));
        }
    };
    // The settings may have been changed while the vendor was asked.
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
    let event = match ruling {
        Ruling::Approved => Event::SignInApproved,
        Ruling::Denied => Event::SignInDenied,
    };
    let by = AuditContext::new(Actor::Channel(channel.to_owned()), Origin::NOWHERE);
    let noted = crate::domain::approvals::approval::audit_note(services, event, approval, &by);
    let outcome = services
        .store
        .rule_on_approval(delivery, ruling, noted, services.now())
        .await?;
    let counted = outcome == RulingOutcome::Counted;
    if counted {
        let decision = match ruling {
            Ruling::Approved => DecisionKind::Approved,
            Ruling::Denied => DecisionKind::Denied,
        };
        let approvals = &services.metrics.approvals;
        approvals.count_decision(approval, decision, services.now());
    }
    tracing::info!(approval = %approval.id, channel, ?ruling, counted, "vendor decided");
    Ok(())
}

/// Takes back a request whose approval is over, once, if the channel can.
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
