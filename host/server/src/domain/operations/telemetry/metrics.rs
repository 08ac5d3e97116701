//! The metrics of this instance, except those of the store and the plugins.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock, PoisonError};

use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing_appender::non_blocking::ErrorCounter;

use crate::domain::operations::traffic::request_metrics::RequestMetrics;
use assent_model::approval::{Approval, ApprovalSubject};
use assent_model::audit::Event;
use assent_model::clock::Timestamp;
use assent_store::Backlogs;
use assent_telemetry::{Family, Histogram, Scale};

/// The metrics.
#[derive(Debug, Default)]
pub struct Metrics {
    /// The metrics of responses.
    pub requests: RequestMetrics,
    /// The metrics of approvals.
    pub approvals: ApprovalMetrics,
    /// The numbers of attempts to deliver logout tokens.
    pub logouts: DeliveryCounts,
    /// The numbers of attempts to deliver the results of back-channel requests.
    pub results: DeliveryCounts,
    /// The certificates of the listeners, set when the instance begins to serve.
    pub certificates: OnceLock<Vec<ListenerCertificate>>,
    /// The backlogs of the database, and the time of their count.
    pub(crate) backlogs: Mutex<Option<(Instant, Backlogs)>>,
}

/// The certificate of a listener.
pub struct ListenerCertificate {
    /// The table of the listener in the settings.
    pub table: &'static str,
    /// Returns the expiry of the current certificate, if it is known.
    pub expires_at: Box<dyn Fn() -> Option<Timestamp> + Send + Sync>,
}

impl std::fmt::Debug for ListenerCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ListenerCertificate")
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}

/// The events that count as decisions, with their labels. After a wrong number the request may still be pending.
const DECISIONS: [(Event, &str); 4] = [
    (Event::SignInApproved, "approved"),
    (Event::SignInDenied, "denied"),
    (Event::SignInReported, "reported"),
    (Event::NumberMatchFailed, "number_mismatch"),
];

/// The metrics of approvals with one kind of subject.
#[derive(Debug)]
struct SubjectMetrics {
    requested: AtomicU64,
    decisions: [Histogram; DECISIONS.len()],
}

impl Default for SubjectMetrics {
    fn default() -> Self {
        Self {
            requested: AtomicU64::new(0),
            decisions: DECISIONS.map(|_| Histogram::new(Scale::Decision)),
        }
    }
}

/// The numbers of requests that reach a device, and the times to their decisions.
#[derive(Debug, Default)]
pub struct ApprovalMetrics {
    sign_ins: SubjectMetrics,
    actions: SubjectMetrics,
    backchannel: SubjectMetrics,
    device_authorizations: SubjectMetrics,
    caller_checks: SubjectMetrics,
}

impl ApprovalMetrics {
    fn metrics_of(&self, subject: &ApprovalSubject) -> &SubjectMetrics {
        match subject {
            ApprovalSubject::SignIn(_) => &self.sign_ins,
            ApprovalSubject::ProtectedAction { .. } => &self.actions,
            ApprovalSubject::Backchannel { .. } | ApprovalSubject::SecondApproval { .. } => {
                &self.backchannel
            }
            ApprovalSubject::DeviceAuthorization { .. } => &self.device_authorizations,
            ApprovalSubject::CallerCheck { .. } => &self.caller_checks,
        }
    }

    /// Counts a request that was sent to the devices of a user.
    pub fn count_request(&self, approval: &Approval) {
        self.metrics_of(&approval.subject)
            .requested
            .fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the decision of this event at this time.
    pub fn count_decision(&self, approval: &Approval, event: Event, now: Timestamp) {
        let times = &self.metrics_of(&approval.subject).decisions;
        let mut times = DECISIONS.iter().zip(times);
        if let Some((_, times)) = times.find(|((decision, _), _)| *decision == event) {
            times.record_time(now.remaining(approval.requested_at));
        }
    }

    pub(crate) fn families(&self) -> [Family; 2] {
        let subjects = [
            ("sign_in", &self.sign_ins),
            ("protected_action", &self.actions),
            ("backchannel", &self.backchannel),
            ("device_authorization", &self.device_authorizations),
            ("caller_check", &self.caller_checks),
        ];
        let label = |subject: &str| ("subject", subject.to_owned());
        let requested = subjects.map(|(subject, metrics)| {
            (
                vec![label(subject)],
                metrics.requested.load(Ordering::Relaxed),
            )
        });
        let decided = subjects.into_iter().flat_map(|(subject, metrics)| {
            DECISIONS
                .into_iter()
                .zip(&metrics.decisions)
                .map(move |((_, decision), times)| {
                    let decision = ("decision", decision.to_owned());
                    (vec![label(subject), decision], times.buckets())
                })
        });
        [
            Family::counters(
                "assent_approval_requests",
                "Approval requests that were sent to the devices of a user",
                requested,
            ),
            Family::histograms(
                "assent_approval_decision_seconds",
                "How long users took from the request to their decision, by decision",
                decided,
            ),
        ]
    }
}

/// The outcome of an attempt to deliver something to an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeliveryAttempt {
    /// The application accepted the delivery, or needs none.
    Delivered,
    /// The attempt failed, and is repeated.
    Repeated,
    /// The attempt failed, and the delivery is abandoned.
    GivenUp,
}

impl DeliveryAttempt {
    const ALL: [Self; 3] = [Self::Delivered, Self::Repeated, Self::GivenUp];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Repeated => "repeated",
            Self::GivenUp => "given_up",
        }
    }
}

/// The numbers of attempts to deliver to applications, by outcome.
#[derive(Debug, Default)]
pub struct DeliveryCounts([AtomicU64; DeliveryAttempt::ALL.len()]);

impl DeliveryCounts {
    /// Counts an attempt.
    pub fn count(&self, outcome: DeliveryAttempt) {
        if let Some(count) = self.0.get(outcome as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the counters with this name and description.
    pub(crate) fn family(&self, name: &'static str, help: &'static str) -> Family {
        let counts = DeliveryAttempt::ALL.into_iter().zip(&self.0);
        let samples = counts.map(|(outcome, count)| {
            let labels = vec![("outcome", outcome.as_str().to_owned())];
            (labels, count.load(Ordering::Relaxed))
        });
        Family::counters(name, help, samples)
    }
}

/// Counts the log lines that no reader received.
#[derive(Clone, Debug)]
pub struct LostLogLines {
    dropped: ErrorCounter,
    unwritten: Arc<AtomicU64>,
}

impl LostLogLines {
    /// Returns the sum of the lines that were dropped because too many waited, and of `unwritten` lines.
    pub const fn new(dropped: ErrorCounter, unwritten: Arc<AtomicU64>) -> Self {
        Self { dropped, unwritten }
    }

    /// Returns the number of lost lines.
    pub fn count(&self) -> u64 {
        let dropped = u64::try_from(self.dropped.dropped_lines()).unwrap_or(u64::MAX);
        dropped.saturating_add(self.unwritten.load(Ordering::Relaxed))
    }
}

/// The number of restarts of each background task, by its name.
#[derive(Debug, Default)]
pub struct TaskRestarts(std::sync::Mutex<BTreeMap<&'static str, u64>>);

impl TaskRestarts {
    /// Registers a task that was not restarted yet.
    pub fn register(&self, task: &'static str) {
        self.restarts().entry(task).or_default();
    }

    /// Counts a restart of a task.
    pub fn count(&self, task: &'static str) {
        *self.restarts().entry(task).or_default() += 1;
    }

    /// Returns the restarts of all tasks.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.restarts().clone()
    }

    fn restarts(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
