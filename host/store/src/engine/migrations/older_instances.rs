//! The instances of earlier releases that run.

use std::time::Duration;

use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind};

/// How long after its last heartbeat an instance counts as ended. It is six times the interval of heartbeats.
pub const HEARTBEAT_LIMIT: Duration = Duration::from_secs(120);

/// A running instance of an earlier release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OlderInstance {
    /// The id of the run.
    pub id: String,
    /// Its release.
    pub release: String,
    /// The name of its machine; empty if it is unknown.
    pub host: String,
    /// The process id on that machine.
    pub process_id: i64,
    /// Seconds since its last heartbeat, by the database's clock.
    pub silent_for: i64,
}

impl std::fmt::Display for OlderInstance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            id,
            release,
            host,
            process_id,
            silent_for,
        } = self;
        let host = if host.is_empty() { "unknown" } else { host };
        write!(
            f,
            "release {release} on host {host} (process {process_id}, instance {id}), last heartbeat {silent_for} s ago"
        )
    }
}

crate::engine::sql::row! {
    struct InstanceRow of instances {
        id: String,
        release: String,
        host: String,
        process_id: i64,
        seen_at: i64,
    }
}

/// The time in milliseconds, by the clock of heartbeats: PostgreSQL's clock, or for SQLite the machine's.
async fn heartbeat_clock(kind: DatabaseKind, connection: &mut Connection) -> sql::Result<i64> {
    let clock = match kind {
        DatabaseKind::Sqlite => "SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000",
        DatabaseKind::Postgres => {
            "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
        }
    };
    let (now,): (i64,) = sql::query_as(clock).fetch_one(connection).await?;
    Ok(now)
}

/// The running instances that do not know migration `version`.
pub(crate) async fn find(
    kind: DatabaseKind,
    connection: &mut Connection,
    version: i64,
) -> sql::Result<Vec<OlderInstance>> {
    let now = heartbeat_clock(kind, connection).await?;
    let limit = i64::try_from(HEARTBEAT_LIMIT.as_millis()).unwrap_or(i64::MAX);
    let rows: Vec<InstanceRow> = sql::query_as(sql::statement!(
        "SELECT ",
        InstanceRow::COLUMNS,
        " FROM instances WHERE schema_version < $1 AND ended_at IS NULL AND seen_at BETWEEN $2 AND $3 ORDER BY id"
    ))
    .bind(version)
    .bind(now - limit)
    .bind(now + limit)
    .fetch_all(connection)
    .await?;
    let older = rows.into_iter().map(|row| OlderInstance {
        id: row.id,
        release: row.release,
        host: row.host,
        process_id: row.process_id,
        silent_for: (now - row.seen_at).max(0) / 1000,
    });
    Ok(older.collect())
}

/// A running instance.
pub(crate) struct RunningInstance {
    /// The id of its run.
    pub(crate) id: String,
    /// The fingerprint of its master key.
    pub(crate) master_key: String,
}

/// The running instances: those with a heartbeat within [`HEARTBEAT_LIMIT`].
pub(crate) async fn running(
    kind: DatabaseKind,
    connection: &mut Connection,
) -> sql::Result<Vec<RunningInstance>> {
    let now = heartbeat_clock(kind, connection).await?;
    let limit = i64::try_from(HEARTBEAT_LIMIT.as_millis()).unwrap_or(i64::MAX);
    let rows: Vec<(String, String)> = sql::query_as(
        "SELECT id, master_key FROM instances WHERE ended_at IS NULL AND seen_at BETWEEN $1 AND $2",
    )
    .bind(now - limit)
    .bind(now + limit)
    .fetch_all(connection)
    .await?;
    let instances = rows
        .into_iter()
        .map(|(id, master_key)| RunningInstance { id, master_key });
    Ok(instances.collect())
}
