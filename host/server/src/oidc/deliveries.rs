//! The worker of an outbox of deliveries to applications.
//!
//! Pending deliveries are in the database, so they survive a restart, and several instances share the work. A lease
//! protects each attempt.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tracing::{Instrument, Span};

use crate::domain::Services;
use crate::domain::operations::telemetry::metrics::DeliveryAttempt;
use crate::domain::operations::wakeups::Wakeup;
use assent_model::clock::Timestamp;
use assent_model::id::Did;
use assent_model::outbox::DeliverySettlement;
use assent_plugin_host::egress::{EgressError, EgressResponse};
use assent_store::StoreError;

/// The interval between queries of the database without a wake-up: another instance may have added a delivery, or a
/// backoff has expired.
const POLL_INTERVAL: Duration = Duration::from_secs(3);
/// The maximum number of simultaneous attempts.
const ATTEMPTS: usize = 256;
/// The maximum number of simultaneous attempts for one application.
const ATTEMPTS_EACH: usize = 32;

/// An outbox.
pub(super) trait Outbox: Send + Sync + 'static {
    /// A delivery that was claimed for an attempt.
    type Delivery: Send + 'static;
    /// The name in the log.
    const NAME: &'static str;
    /// The wake-up after a new or changed delivery.
    const WAKEUP: Wakeup;

    /// Returns the applications with a due delivery, the oldest first.
    fn due(services: &Services) -> impl Future<Output = Result<Vec<Did>, StoreError>> + Send;

    /// Claims the oldest due delivery of an application.
    fn claim(
        services: &Services,
        application: &Did,
    ) -> impl Future<Output = Result<Option<Self::Delivery>, StoreError>> + Send;

    /// Makes one attempt, and stores its outcome.
    fn attempt(
        services: Arc<Services>,
        delivery: Self::Delivery,
    ) -> impl Future<Output = ()> + Send + 'static;

    /// Returns the span of an attempt.
    fn span(services: &Services) -> Span;
}

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AttemptOutcome {
    /// The application accepted the delivery.
    Done,
    /// There is no recipient: the application was deleted, or no longer has an address.
    NoReceiver,
    /// The application rejected the delivery. It would reject another attempt as well.
    Refused(String),
    /// The egress rules forbid the address. This stays so until an operator or administrator changes it.
    OutOfReach(String),
    /// A retry may succeed.
    Failed(String),
}

impl AttemptOutcome {
    /// Returns the response of the application, or the outcome without one.
    pub(super) fn response_of(
        sent: Result<EgressResponse, EgressError>,
    ) -> Result<EgressResponse, Self> {
        sent.map_err(|failure| match failure {
            EgressError::Refused(why) => Self::OutOfReach(why),
            failure => Self::Failed(failure.to_string()),
        })
    }

    /// Returns what is counted and stored. `again` is the time of the next attempt after a failure; `None` if this was
    /// the last one.
    pub(super) const fn settlement(
        &self,
        again: Option<Timestamp>,
    ) -> (DeliveryAttempt, DeliverySettlement) {
        match (self, again) {
            (Self::Done, _) => (DeliveryAttempt::Delivered, DeliverySettlement::Delivered),
            (Self::NoReceiver, _) => (DeliveryAttempt::Delivered, DeliverySettlement::Abandoned),
            (Self::Failed(_), Some(again)) => (
                DeliveryAttempt::Repeated,
                DeliverySettlement::RetryAt(again),
            ),
            (Self::Refused(_) | Self::OutOfReach(_) | Self::Failed(_), _) => {
                (DeliveryAttempt::GivenUp, DeliverySettlement::Abandoned)
            }
        }
    }
}

/// The attempts of this instance, and the order of the next ones.
#[derive(Default)]
struct Work {
    /// The current attempts.
    under_way: JoinSet<Did>,
    /// The number of current attempts for each application.
    busy: HashMap<Did, usize>,
    /// The order of the next attempts. Each waiting application has one turn before any other has a second one. So
    /// applications that are slow, or have many pending deliveries, delay others for one round at most.
    turns: VecDeque<Did>,
}

impl Work {
    fn release(&mut self, application: &Did) {
        if let Some(count) = self.busy.get_mut(application) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.busy.remove(application);
            }
        }
    }
}

/// Delivers, until the task is dropped. Attempts in progress end with it, and are retried after their lease.
pub(super) async fn run<O: Outbox>(services: Arc<Services>) {
    let mut work = Work::default();
    loop {
        let begun = match begin::<O>(&services, &mut work).await {
            Ok(begun) => begun,
            Err(error) => {
                tracing::warn!(outbox = O::NAME, %error, "due deliveries not read");
                false
            }
        };
        // More deliveries may be due for the same applications.
        if begun {
            continue;
        }
        tokio::select! {
            () = services.wakeups.received(O::WAKEUP) => {}
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            Some(ended) = work.under_way.join_next() => match ended {
                Ok(application) => work.release(&application),
                // A panic does not name its application. After all attempts have ended, no application has one.
                Err(_) if work.under_way.is_empty() => work.busy.clear(),
                Err(_) => {}
            },
        }
    }
}

/// Continues the round, or begins the next one, as far as there is capacity. Returns whether more work may be possible
/// at once.
async fn begin<O: Outbox>(services: &Arc<Services>, work: &mut Work) -> Result<bool, StoreError> {
    if work.under_way.len() >= ATTEMPTS {
        return Ok(false);
    }
    if work.turns.is_empty() {
        work.turns = O::due(services).await?.into();
    }
    let mut begun = false;
    while work.under_way.len() < ATTEMPTS {
        let Some(application) = work.turns.pop_front() else {
            break;
        };
        let count = work.busy.get(&application).copied().unwrap_or_default();
        if count >= most_for_one(work.under_way.len()) {
            continue;
        }
        // If another instance was faster, more work may be possible, too.
        begun = true;
        let Some(delivery) = O::claim(services, &application).await? else {
            continue;
        };
        work.busy.insert(application.clone(), count + 1);
        let attempt = O::attempt(Arc::clone(services), delivery);
        let attempt = async move {
            attempt.await;
            application
        };
        work.under_way.spawn(attempt.instrument(O::span(services)));
    }
    Ok(begun)
}

/// The number of attempts up to which an application may have a further one. It is at most the number of free places.
/// So the last places are for applications with few attempts or none, and a few slow applications can never take all.
const fn most_for_one(under_way: usize) -> usize {
    let free = ATTEMPTS.saturating_sub(under_way);
    if free < ATTEMPTS_EACH {
        free
    } else {
        ATTEMPTS_EACH
    }
}

/// Returns the application's text about a rejection, truncated for the log.
pub(super) fn in_one_line(body: &[u8]) -> String {
    String::from_utf8_lossy(body)
        .chars()
        .filter(|c| !c.is_control())
        .take(200)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The attempts of applications that never respond, in the rounds of [`begin`].
    fn never_responding(applications: usize) -> Vec<usize> {
        let mut attempts = vec![0; applications];
        loop {
            let before = attempts.clone();
            for application in 0..applications {
                let under_way = attempts.iter().sum();
                if under_way < ATTEMPTS && attempts[application] < most_for_one(under_way) {
                    attempts[application] += 1;
                }
            }
            if before == attempts {
                return attempts;
            }
        }
    }

    #[test]
    fn slow_applications_leave_slots_for_others() {
        assert_eq!(never_responding(1), [ATTEMPTS_EACH]);
        assert_eq!(never_responding(4), [ATTEMPTS_EACH; 4]);
        for applications in [8, 20, 100] {
            let attempts = never_responding(applications);
            let under_way: usize = attempts.iter().sum();
            assert!(
                most_for_one(under_way) > 0,
                "{applications} applications used all slots"
            );
            let (least, most) = (attempts.iter().min(), attempts.iter().max());
            assert!(most.unwrap() - least.unwrap() <= 1, "{attempts:?}");
        }
    }
}
