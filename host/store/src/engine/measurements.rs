//! The measurements of the store since the process started: its queue, transactions and statements, and the events that
//! were committed to the audit log.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use assent_model::audit::Event;
use assent_telemetry::{Histogram, Scale};

/// The value while the database has not answered the last probe.
const NO_ANSWER: i64 = i64::MIN;

/// The measurements of one database.
#[derive(Debug)]
pub(crate) struct Measurements {
    /// How long writes waited in the queue.
    pub(crate) queue_waits: Histogram,
    /// How many writes share a transaction.
    pub(crate) batch_sizes: Histogram,
    /// How long transactions took, from `BEGIN` to their end.
    pub(crate) transactions: Histogram,
    /// How long `COMMIT` took.
    pub(crate) commits: Histogram,
    /// How long statements took.
    pub(crate) statements: Histogram,
    /// How long callers waited for a connection if none was free.
    pub(crate) connection_waits: Histogram,
    /// Writes that did not begin in time.
    pub(crate) busy: AtomicU64,
    /// Writes that failed because of the database, or with an unknown outcome.
    pub(crate) unavailable: AtomicU64,
    /// By how many milliseconds the database's clock was ahead at the last probe, or [`NO_ANSWER`].
    clock_difference: AtomicI64,
    /// The committed entries of the audit log, by the position of their event in [`Event::ALL`].
    pub(crate) events: [AtomicU64; Event::ALL.len()],
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
    /// Counts the committed entries with these events.
    pub(crate) fn count_events(&self, committed: &[Event]) {
        for event in committed {
            if let Some(count) = self.events.get(*event as usize) {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Records the result of a probe: the difference of the clocks in milliseconds, or `None` if the database did not
    /// answer.
    pub(crate) fn note_probe(&self, difference: Option<i64>) {
        let difference = difference.unwrap_or(NO_ANSWER);
        self.clock_difference.store(difference, Ordering::Relaxed);
    }

    /// By how many milliseconds the database's clock was ahead at the last probe; `None` if the database did not
    /// answer it.
    pub(crate) fn clock_difference(&self) -> Option<i64> {
        match self.clock_difference.load(Ordering::Relaxed) {
            NO_ANSWER => None,
            difference => Some(difference),
        }
    }
}
