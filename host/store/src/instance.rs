//! This run of the server process, as the database knows it.

use tokio::sync::{Mutex, OnceCell};
use tokio::time::Instant;

use crate::clock_guard::ClockGuard;
use crate::connections::Connections;
use crate::sql;
use crate::sql::DatabaseKind;
use assent_model::clock::{Clock, Timestamp};

/// This run.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: String,
    pub(crate) kind: DatabaseKind,
    /// Of its own, so that readiness does not fail because others wait for connections.
    connections: Connections,
    pub(crate) start: OnceCell<RunStart>,
    /// When the last probe succeeded, and its difference of the clocks.
    pub(crate) last: Mutex<Option<(Instant, i64)>>,
}

#[derive(Debug)]
pub(crate) struct RunStart {
    pub(crate) started_at: Timestamp,
    pub(crate) at: Instant,
    pub(crate) guard: ClockGuard,
}

impl Instance {
    pub(crate) fn new(id: String, kind: DatabaseKind, connections: Connections) -> Self {
        Self {
            id,
            kind,
            connections,
            start: OnceCell::new(),
            last: Mutex::new(None),
        }
    }

    pub(crate) async fn close(&self) {
        // What an earlier probe found is not true any more.
        *self.last.lock().await = None;
        self.connections.close().await;
    }

    /// Writes the row of this run, and compares the clocks: by how many milliseconds PostgreSQL's is ahead.
    pub(crate) async fn compare(
        &self,
        started_at: Timestamp,
        clock: &dyn Clock,
    ) -> sql::Result<i64> {
        let mut lease = self.connections.lease().await?;
        let before = clock.now().millis();
        let seen = sql::query_as(SEEN)
            .bind(self.id.clone())
            .bind(started_at.millis())
            .bind(before)
            .fetch_one(&mut *lease)
            .await;
        let after = clock.now().millis();
        lease.end(seen.as_ref().err());
        let (theirs,): (i64,) = seen?;
        // It answered at some moment in between.
        Ok(theirs - theirs.clamp(before, after.max(before)))
    }
}

const SEEN: &str = "INSERT INTO instances (id, started_at, seen_at) VALUES ($1, $2, $3)
     ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
     RETURNING CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
