//! This run of the server process, as it is registered in the database.

use std::time::Duration;

use tokio::sync::{Mutex, OnceCell};
use tokio::time::Instant;

use crate::engine::clock_guard::ClockGuard;
use crate::engine::connect::Database;
use crate::engine::connections::{Connections, Lease};
use crate::engine::sql;
use crate::engine::sql::{DatabaseKind, QueryAs, statement};
use assent_model::clock::{Clock, Timestamp};

/// The release of this program.
const RELEASE: &str = env!("CARGO_PKG_VERSION");
/// The time limit for recording that this run ends.
const NOTE: Duration = Duration::from_secs(2);

/// The result of a heartbeat.
pub(crate) struct Heartbeat {
    /// By how many milliseconds the database's clock is ahead.
    pub(crate) difference: i64,
    /// Whether a newer release removed parts of the schema that this release uses.
    pub(crate) contracted: bool,
}

/// This run.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: String,
    pub(crate) kind: DatabaseKind,
    /// The newest migration that this release knows.
    schema_version: i64,
    /// The name of the machine.
    host: String,
    /// The fingerprint of its master key.
    master_key: String,
    /// Separate connections, so that readiness does not fail because other statements wait for connections.
    connections: Connections,
    pub(crate) start: OnceCell<RunStart>,
    /// The time of the last successful probe, and the difference of the clocks that it measured.
    pub(crate) last: Mutex<Option<(Instant, i64)>>,
}

#[derive(Debug)]
pub(crate) struct RunStart {
    pub(crate) started_at: Timestamp,
    pub(crate) at: Instant,
    pub(crate) guard: ClockGuard,
}

impl Instance {
    pub(crate) fn new(id: String, master_key: &str, database: &Database) -> Self {
        Self {
            id,
            kind: database.kind,
            schema_version: database.schema_version,
            host: host_name(),
            master_key: master_key.to_owned(),
            connections: database.probe.clone(),
            start: OnceCell::new(),
            last: Mutex::new(None),
        }
    }

    /// A connection for a short statement, separate from those of requests.
    pub(crate) async fn lease(&self) -> sql::Result<Lease> {
        self.connections.lease().await
    }

    /// The connections for probes.
    pub(crate) const fn connections(&self) -> &Connections {
        &self.connections
    }

    pub(crate) async fn close(&self) {
        // Without this record, contracting migrations wait until the heartbeat is old.
        if self.start.initialized() {
            let _ = tokio::time::timeout(NOTE, self.note_end()).await;
        }
        // The result of an earlier probe does not hold any more.
        *self.last.lock().await = None;
        self.connections.close().await;
    }

    async fn note_end(&self) -> sql::Result<()> {
        let mut lease = self.connections.lease().await?;
        let noted = sql::query("UPDATE instances SET ended_at = seen_at WHERE id = $1")
            .bind(&self.id)
            .execute(&mut *lease)
            .await;
        lease.end(noted.as_ref().err());
        noted.map(drop)
    }

    /// The statement that writes the heartbeat. It returns the database's time in milliseconds (on SQLite, `now`), and
    /// whether a newer release contracted the schema. PostgreSQL writes its own time, because `assent migrate` compares
    /// it with the database's clock.
    pub(crate) fn heartbeat(&self, started_at: Timestamp, now: Timestamp) -> QueryAs<(i64, bool)> {
        let statement = sql::query_as(match self.kind {
            DatabaseKind::Sqlite => statement!(SEEN, "$7, $8", UPDATE, "seen_at", CONTRACTED),
            DatabaseKind::Postgres => {
                statement!(SEEN, CLOCK, ", ", CLOCK, UPDATE, CLOCK, CONTRACTED)
            }
        })
        .bind(&self.id)
        .bind(RELEASE)
        .bind(&self.host)
        .bind(std::process::id())
        .bind(self.schema_version)
        .bind(&self.master_key);
        match self.kind {
            DatabaseKind::Sqlite => statement.bind(started_at.millis()).bind(now.millis()),
            DatabaseKind::Postgres => statement,
        }
    }

    /// Writes the heartbeat, and compares the clocks.
    pub(crate) async fn compare(
        &self,
        started_at: Timestamp,
        clock: &dyn Clock,
    ) -> sql::Result<Heartbeat> {
        let mut lease = self.connections.lease().await?;
        let now = clock.now();
        let before = now.millis();
        let seen = self.heartbeat(started_at, now).fetch_one(&mut *lease).await;
        let after = clock.now().millis();
        lease.end(seen.as_ref().err());
        let (theirs, contracted) = seen?;
        Ok(Heartbeat {
            // The database read its clock between the two times.
            difference: theirs - theirs.clamp(before, after.max(before)),
            contracted,
        })
    }
}

/// PostgreSQL's time in milliseconds.
const CLOCK: &str = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
const SEEN: &str =
    "INSERT INTO instances (id, release, host, process_id, schema_version, master_key, started_at, seen_at)
     VALUES ($1, $2, $3, $4, $5, $6, ";
const UPDATE: &str = ") ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at RETURNING ";
/// A version up to the newest known one is always known.
const CONTRACTED: &str =
    ", (SELECT COUNT(*) FROM schema_migrations WHERE kind = 'contract' AND version > $5) > 0";

/// The name of this machine; empty if the system does not return it.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}
