//! The examination of a database by `assent doctor`.

use std::time::{Duration, Instant};

use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind};

/// The number of measured round trips.
const ROUND_TRIPS: usize = 21;
/// The time limit of the check of SQLite's file.
const CHECK: Duration = Duration::from_secs(20);
/// The oldest supported release of PostgreSQL, as `server_version_num`.
const OLDEST_POSTGRES: i64 = 130_000;

/// The result of the examination.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// The product and its version.
    pub product: String,
    /// The median time of the simplest statement.
    pub round_trip: Duration,
    /// The clock of PostgreSQL, in milliseconds since 1970. SQLite has none.
    pub clock: Option<i64>,
    /// The problems that an operator should correct.
    pub problems: Vec<DatabaseProblem>,
}

/// A problem that an operator should correct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseProblem {
    /// SQLite's file could not be checked within this time.
    NotChecked(Duration),
    /// SQLite's file is damaged. The first finding of `PRAGMA quick_check`.
    Damaged(String),
    /// A committed change can be lost in a crash, because this setting is off.
    NotDurable(&'static str),
    /// Dead rows are not removed.
    AutovacuumOff,
    /// Writes are rejected: a standby, or `default_transaction_read_only`.
    ReadOnly,
    /// The release is too old.
    OldRelease,
    /// The limit of connections is lower than two instances need, and two of them run during an upgrade.
    FewConnections {
        /// The limit, without the connections that are reserved for superusers.
        limit: i64,
        /// The number that two instances need.
        needed: i64,
    },
    /// The role of the connection is a superuser.
    Superuser,
    /// The connection to another machine is not encrypted.
    Unencrypted,
}

crate::engine::sql::row! {
    struct PostgresState {
        version: String,
        version_number: i64,
        fsync: String,
        full_page_writes: String,
        synchronous_commit: String,
        autovacuum: String,
        read_only: String,
        standby: i64,
        connection_limit: i64,
        superuser: i64,
        encrypted: i64,
        address: String,
        clock: i64,
    }
}

/// Examines a database over a connection. An instance opens this many connections.
pub(crate) async fn examine(
    kind: DatabaseKind,
    connection: &mut Connection,
    connections: i64,
) -> sql::Result<Diagnosis> {
    let mut times = Vec::with_capacity(ROUND_TRIPS);
    for _ in 0..ROUND_TRIPS {
        let begun = Instant::now();
        let (_,): (i64,) = sql::query_as("SELECT 1")
            .fetch_one(&mut *connection)
            .await?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let round_trip = times.get(ROUND_TRIPS / 2).copied().unwrap_or_default();
    let (product, clock, problems) = match kind {
        DatabaseKind::Sqlite => {
            let (version,): (String,) = sql::query_as("SELECT sqlite_version()")
                .fetch_one(&mut *connection)
                .await?;
            let damage = sqlite_damage(connection).await?;
            (
                format!("SQLite {version}"),
                None,
                damage.into_iter().collect(),
            )
        }
        DatabaseKind::Postgres => {
            let state = postgres_state(&mut *connection).await?;
            let product = format!("PostgreSQL {}", state.version);
            (product, Some(state.clock), problems_of(&state, connections))
        }
    };
    Ok(Diagnosis {
        product,
        round_trip,
        clock,
        problems,
    })
}

/// Checks SQLite's file, for a limited time: a large file would take minutes.
async fn sqlite_damage(connection: &mut Connection) -> sql::Result<Option<DatabaseProblem>> {
    let deadline = Instant::now() + CHECK;
    connection.set_deadline(Some(deadline));
    let checked: sql::Result<(String,)> = sql::query_as("PRAGMA quick_check(1)")
        .fetch_one(&mut *connection)
        .await;
    connection.set_deadline(None);
    match checked {
        Ok((text,)) if text == "ok" => Ok(None),
        Ok((text,)) => Ok(Some(DatabaseProblem::Damaged(text))),
        Err(_) if Instant::now() >= deadline => Ok(Some(DatabaseProblem::NotChecked(CHECK))),
        Err(error) => Err(error),
    }
}

async fn postgres_state(connection: &mut Connection) -> sql::Result<PostgresState> {
    sql::query_as(
        "SELECT current_setting('server_version') AS version,
            current_setting('server_version_num')::bigint AS version_number,
            current_setting('fsync') AS fsync,
            current_setting('full_page_writes') AS full_page_writes,
            current_setting('synchronous_commit') AS synchronous_commit,
            current_setting('autovacuum') AS autovacuum,
            current_setting('default_transaction_read_only') AS read_only,
            pg_is_in_recovery()::int::bigint AS standby,
            current_setting('max_connections')::bigint
                - current_setting('superuser_reserved_connections')::bigint AS connection_limit,
            COALESCE((SELECT rolsuper::int::bigint FROM pg_roles WHERE rolname = current_user), 0) AS superuser,
            COALESCE((SELECT ssl::int::bigint FROM pg_stat_ssl WHERE pid = pg_backend_pid()), 0) AS encrypted,
            COALESCE(host(inet_server_addr()), '') AS address,
            (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint AS clock",
    )
    .fetch_one(&mut *connection)
    .await
}

/// The problems, the most severe first.
fn problems_of(state: &PostgresState, connections: i64) -> Vec<DatabaseProblem> {
    let is_off = |value: &str| value == "off";
    // Two instances run side by side during an upgrade.
    let needed = 2 * connections;
    // The address is empty for a socket on this machine.
    let is_remote = state
        .address
        .parse::<std::net::IpAddr>()
        .is_ok_and(|address| !address.is_loopback());
    let found = [
        (
            state.version_number < OLDEST_POSTGRES,
            DatabaseProblem::OldRelease,
        ),
        (
            state.standby == 1 || state.read_only == "on",
            DatabaseProblem::ReadOnly,
        ),
        (is_off(&state.fsync), DatabaseProblem::NotDurable("fsync")),
        (
            is_off(&state.full_page_writes),
            DatabaseProblem::NotDurable("full_page_writes"),
        ),
        (
            is_off(&state.synchronous_commit),
            DatabaseProblem::NotDurable("synchronous_commit"),
        ),
        (is_off(&state.autovacuum), DatabaseProblem::AutovacuumOff),
        (
            state.connection_limit < needed,
            DatabaseProblem::FewConnections {
                limit: state.connection_limit,
                needed,
            },
        ),
        (
            is_remote && state.encrypted == 0,
            DatabaseProblem::Unencrypted,
        ),
        (state.superuser == 1, DatabaseProblem::Superuser),
    ];
    let found = found.into_iter().filter(|(applies, _)| *applies);
    found.map(|(_, problem)| problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healthy() -> PostgresState {
        let on = || "on".to_owned();
        PostgresState {
            version: "15.1".to_owned(),
            version_number: 150_001,
            fsync: on(),
            full_page_writes: on(),
            synchronous_commit: on(),
            autovacuum: on(),
            read_only: "off".to_owned(),
            standby: 0,
            connection_limit: 97,
            superuser: 0,
            encrypted: 1,
            address: "192.0.2.1".to_owned(),
            clock: 0,
        }
    }

    #[test]
    fn each_setting_that_endangers_data_is_a_problem() {
        assert_eq!(problems_of(&healthy(), 10), []);
        let off = || "off".to_owned();
        let mut state = healthy();
        (state.fsync, state.synchronous_commit) = (off(), off());
        assert_eq!(
            problems_of(&state, 10),
            [
                DatabaseProblem::NotDurable("fsync"),
                DatabaseProblem::NotDurable("synchronous_commit")
            ]
        );
        // The default with a synchronous replica does not lose acknowledged writes.
        let mut state = healthy();
        state.synchronous_commit = "remote_write".to_owned();
        assert_eq!(problems_of(&state, 10), []);
        let mut state = healthy();
        (state.standby, state.version_number) = (1, 120_000);
        assert_eq!(
            problems_of(&state, 10),
            [DatabaseProblem::OldRelease, DatabaseProblem::ReadOnly]
        );
        let few = DatabaseProblem::FewConnections {
            limit: 97,
            needed: 98,
        };
        assert_eq!(problems_of(&healthy(), 49), [few]);
    }

    #[test]
    fn only_connections_to_other_machines_must_be_encrypted() {
        for (address, is_problem) in [
            ("", false),
            ("127.0.0.1", false),
            ("::1", false),
            ("10.0.0.7", true),
        ] {
            let mut state = healthy();
            (state.encrypted, state.address) = (0, address.to_owned());
            let found = problems_of(&state, 10).contains(&DatabaseProblem::Unencrypted);
            assert_eq!(found, is_problem, "{address}");
        }
    }
}
