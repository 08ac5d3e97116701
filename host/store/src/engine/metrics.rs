//! The metrics of an instance's use of the database.

use std::sync::atomic::{AtomicU64, Ordering};

use assent_model::audit::Event;
use assent_telemetry::{Family, label, number};

use crate::Store;

impl Store {
    /// The metrics of this instance's use of the database.
    pub fn metrics(&self) -> Vec<Family> {
        let measured = &*self.measurements;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let events = Event::ALL.iter().zip(&measured.events);
        let difference = measured.clock_difference();
        vec![
            Family::gauge(
                "assent_database_up",
                "1 if the database accepted a write at the last probe, otherwise 0",
                f64::from(u8::from(difference.is_some())),
            ),
            Family::gauges(
                "assent_database_clock_difference_seconds",
                "By how much the clock of PostgreSQL is ahead of this machine's",
                difference.map(|millis| (Vec::new(), number(millis) / 1000.0)),
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
                "How long write transactions took",
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
                "The time that operations waited for a free connection",
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
        ]
    }

    /// The numbers of used and of idle connections, by purpose.
    fn connection_counts(&self) -> Vec<(&'static str, &'static str, u32)> {
        [
            ("read", self.readers.lists()),
            ("lookup", self.readers.lookups()),
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
