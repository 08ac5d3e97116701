//! What the store measures since the process started: its queue, transactions and statements, and the events that were
//! committed to the audit log.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use assent_model::audit::Event;
use assent_telemetry::{Family, Histogram, Label, Scale};

use crate::{Store, StoreError};

/// In place of a difference: the database has not answered the last probe.
const NO_ANSWER: i64 = i64::MIN;

/// The measurements of one database.
#[derive(Debug)]
pub(crate) struct Measurements {
    /// How long writes waited for their turn.
    pub(crate) queue_waits: Histogram,
    /// How many writes share a transaction.
    pub(crate) batch_sizes: Histogram,
    /// How long transactions took, from `BEGIN` to their end.
    pub(crate) transactions: Histogram,
    /// How long `COMMIT` took.
    pub(crate) commits: Histogram,
    /// How long statements took.
    pub(crate) statements: Histogram,
    /// How long those waited who found no connection free.
    pub(crate) connection_waits: Histogram,
    /// Writes that did not begin in time.
    busy: AtomicU64,
    /// Writes that failed because the database did, or with an unknown outcome.
    unavailable: AtomicU64,
    /// By how many milliseconds the database's clock was ahead at the last probe, or [`NO_ANSWER`].
    clock_difference: AtomicI64,
    /// The committed entries of the audit log, by the place of their event in [`Event::ALL`].
    events: [AtomicU64; Event::ALL.len()],
}

impl Default for Measurements {
    fn default() -> Self {
        Self {
            queue_waits: Histogram::new(Scale::Statement),
            batch_sizes: Histogram::new(Scale::Batch),
            transactions: Histogram::new(Scale::Statement),
            commits: Histogram::new(Scale::Statement),
            statements: Histogram::new(Scale::Statement),
            connection_waits: Histogram::new(Scale::Statement),
            busy: AtomicU64::new(0),
            unavailable: AtomicU64::new(0),
            clock_difference: AtomicI64::new(NO_ANSWER),
            events: [const { AtomicU64::new(0) }; Event::ALL.len()],
        }
    }
}

impl Measurements {
    /// Entries with these events were committed.
    pub(crate) fn count_events(&self, committed: &[Event]) {
        for event in committed {
            if let Some(count) = self.events.get(*event as usize) {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The database answered a probe with this difference of the clocks in milliseconds, or did not answer.
    pub(crate) fn note_probe(&self, difference: Option<i64>) {
        let difference = difference.unwrap_or(NO_ANSWER);
        self.clock_difference.store(difference, Ordering::Relaxed);
    }

    /// A write failed.
    pub(crate) fn count_failure(&self, error: &StoreError) {
        match error {
            StoreError::Busy(_) => self.busy.fetch_add(1, Ordering::Relaxed),
            error if error.is_outage() => self.unavailable.fetch_add(1, Ordering::Relaxed),
            _ => return,
        };
    }
}

impl Store {
    /// The metrics of this instance's use of the database.
    pub fn metrics(&self) -> Vec<Family> {
        let measured = &*self.measurements;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let events = Event::ALL.iter().zip(&measured.events);
        let difference = match measured.clock_difference.load(Ordering::Relaxed) {
            NO_ANSWER => None,
            difference => Some(difference),
        };
        vec![
            Family::gauge(
                "assent_database_up",
                "1 if the database took a write at the last probe, otherwise 0",
                f64::from(u8::from(difference.is_some())),
            ),
            Family::gauges(
                "assent_database_clock_difference_seconds",
                "By how much the clock of PostgreSQL is ahead of this machine's",
                difference.map(|millis| (Vec::new(), in_seconds(millis))),
            ),
            Family::counters(
                "assent_audit_entries",
                "Entries of the audit log that this instance committed",
                events.map(|(event, count)| (label("event", event.as_str()), read(count))),
            ),
            Family::gauges(
                "assent_store_queued_writes",
                "Writes in the queue",
                [("all", &self.writer), ("approvals", &self.approval_writer)]
                    .map(|(queue, writer)| (label("queue", queue), writer.queue_length())),
            ),
            Family::histogram(
                "assent_store_queue_duration_seconds",
                "How long writes waited for their turn",
                measured.queue_waits.buckets(),
            ),
            Family::histogram(
                "assent_store_batch_size",
                "How many writes shared a transaction",
                measured.batch_sizes.buckets(),
            ),
            Family::histogram(
                "assent_store_transaction_duration_seconds",
                "How long transactions that write took",
                measured.transactions.buckets(),
            ),
            Family::histogram(
                "assent_store_commit_duration_seconds",
                "How long commits took",
                measured.commits.buckets(),
            ),
            Family::histogram(
                "assent_store_statement_duration_seconds",
                "How long statements took",
                measured.statements.buckets(),
            ),
            Family::counters(
                "assent_store_failed_writes",
                "Writes that were rejected because the queue was too long, or failed because of the database",
                [
                    ("busy", &measured.busy),
                    ("unavailable", &measured.unavailable),
                ]
                .map(|(reason, count)| (label("reason", reason), read(count))),
            ),
            Family::histogram(
                "assent_store_connection_wait_seconds",
                "How long those waited who found no connection free",
                measured.connection_waits.buckets(),
            ),
            Family::gauges(
                "assent_store_connections",
                "Connections to the database",
                self.connection_counts()
                    .into_iter()
                    .map(|(purpose, state, count)| {
                        let labels =
                            vec![("purpose", purpose.to_owned()), ("state", state.to_owned())];
                        (labels, f64::from(count))
                    }),
            ),
            Family::gauge(
                "assent_store_pipelined_lookups",
                "Lookups under way over shared connections to PostgreSQL",
                f64::from(self.readers.lookups_under_way()),
            ),
        ]
    }

    /// How many connections of each purpose are in use and idle.
    fn connection_counts(&self) -> Vec<(&'static str, &'static str, u32)> {
        [
            ("read", self.readers.list_connections()),
            ("write", self.writer.connections()),
            ("probe", self.instance.connections()),
        ]
        .into_iter()
        .flat_map(|(purpose, connections)| {
            let (in_use, idle) = connections.counts();
            [(purpose, "in_use", in_use), (purpose, "idle", idle)]
        })
        .collect()
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a measurement needs no more digits than a float has"
)]
fn in_seconds(millis: i64) -> f64 {
    millis as f64 / 1000.0
}

fn label(name: &'static str, value: &str) -> Vec<Label> {
    vec![(name, value.to_owned())]
}
