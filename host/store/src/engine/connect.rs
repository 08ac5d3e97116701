//! Opening the database. Only this module chooses between SQLite and PostgreSQL.

use std::num::NonZeroU32;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::Duration;

use crate::engine::connections::{Connections, Epoch, Readers};
use crate::engine::database_url::{sqlite_file, sqlite_path, without_password};
use crate::engine::migrations;
use crate::engine::migrations::MigrationPolicy;
use crate::engine::migrations::applied;
use crate::engine::migrations::list::{MIGRATIONS, schema_version};
use crate::engine::migrations::migration::{Migration, MigrationOutcome};
use crate::engine::partitions;
use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind, Options};
use crate::operations::backup::reject_unfinished_restore;
use crate::operations::diagnosis;
use crate::operations::diagnosis::Diagnosis;
use crate::{Result, StoreError};

/// The settings of each session on PostgreSQL. A statement that takes too long, waits too long for a lock, or leaves
/// its transaction idle must not hold up other instances. A transaction stays idle if its instance is frozen or cut
/// off. With `tcp_*` the server detects that an instance is gone, and releases its locks. Statements are short, so to
/// compile them (`jit`) would take ten times as long as to run them.
const SESSION: &str = "-c client_min_messages=warning -c jit=off \
     -c statement_timeout=5000 -c lock_timeout=4000 -c idle_in_transaction_session_timeout=2000 \
     -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 -c tcp_user_timeout=10000";

/// How long the response to a statement may take. It is longer than `statement_timeout`, which a frozen server does not
/// apply.
const ANSWER: Duration = Duration::from_secs(10);

/// The settings of the session that migrates: its statements may take as long as they need.
const MIGRATION: &str = "-c client_min_messages=warning \
     -c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=60000 \
     -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3";

/// The connections of an instance besides those that read and write: for approval requests, probes, and the audit root.
const OTHERS: u32 = 3;

/// How to open a database.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseOptions {
    /// The number of connections to open.
    pub connections: ConnectionCounts,
    /// When to apply migrations.
    pub migrate: MigrationPolicy,
    /// The migrations of this release.
    pub migrations: &'static [Migration],
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        Self {
            connections: ConnectionCounts::default(),
            migrate: MigrationPolicy::default(),
            migrations: MIGRATIONS,
        }
    }
}

/// An open database with a current schema.
#[derive(Debug)]
pub struct Database {
    pub(crate) readers: Readers,
    pub(crate) writers: Connections,
    /// For [`Store::probe`](crate::Store::probe) and the signing of the audit root.
    pub(crate) probe: Connections,
    /// For the checkpoints of SQLite's log.
    pub(crate) checkpoints: Option<Connections>,
    pub(crate) kind: DatabaseKind,
    /// The newest migration that this release knows.
    pub(crate) schema_version: i64,
    /// The number of connections that write: one for SQLite, which permits one writer at a time.
    pub(crate) writer_count: u32,
    /// The statement that begins a transaction with writes.
    pub(crate) begin: &'static str,
}

/// The most connections to open; by default it depends on the number of cores.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionCounts {
    /// Connections that read, at least 2; by default twice the number of cores, and at least 4, on PostgreSQL 16. Half
    /// of them carry lookups, and the others read lists.
    pub read: Option<NonZeroU32>,
    /// Connections that write, on PostgreSQL; by default twice the number of cores. SQLite permits one writer at a
    /// time.
    pub write: Option<NonZeroU32>,
}

impl ConnectionCounts {
    fn for_kind(self, kind: DatabaseKind) -> (u32, u32) {
        let cores = std::thread::available_parallelism()
            .ok()
            .and_then(|cores| u32::try_from(cores.get()).ok())
            .unwrap_or(1);
        // On PostgreSQL a connection waits for the network most of the time.
        let (reads, writes) = match kind {
            DatabaseKind::Sqlite => ((2 * cores).max(4), 1),
            DatabaseKind::Postgres => ((2 * cores).max(16), 2 * cores),
        };
        let write = self.write.filter(|_| kind == DatabaseKind::Postgres);
        (
            self.read.map_or(reads, NonZeroU32::get),
            write.map_or(writes, NonZeroU32::get),
        )
    }
}

impl Database {
    /// Opens the database at `url` (`sqlite://path` or `postgres://...`) with the default options.
    ///
    /// # Errors
    /// [`StoreError::Open`] if the database cannot be opened, or its schema is not that of this release.
    pub async fn open(url: &str) -> Result<Self> {
        open(url, DatabaseOptions::default()).await
    }

    /// Opens the database at `url`. Creates SQLite's file, and applies migrations, if the options permit it. Several
    /// instances may do so at the same time.
    ///
    /// # Errors
    /// [`StoreError::Open`] if the database cannot be opened, or its schema is not that of this release.
    pub async fn open_with(url: &str, options: DatabaseOptions) -> Result<Self> {
        open(url, options).await
    }

    /// Applies the migrations that the database at `url` lacks. Contracting ones are postponed while instances of
    /// earlier releases run.
    ///
    /// # Errors
    /// [`StoreError::Open`] if the database cannot be opened, a migration fails, or a newer release contracted the
    /// schema. The migrations that were applied before the error are complete; the next call continues.
    pub async fn migrate(url: &str, migrations: &[Migration]) -> Result<MigrationOutcome> {
        let target = Target::of(url)?;
        let mut connection = target.connect_to_migrate().await?;
        let outcome =
            migrations::apply(target.kind, &mut connection, &target.migration, migrations).await;
        connection.close().await;
        outcome.map_err(|error| target.open_error(error.to_string()))
    }

    /// The migrations that the database at `url` lacks. Changes nothing, and creates no file.
    ///
    /// # Errors
    /// [`StoreError::Open`] if the database cannot be opened, or a newer release contracted the schema.
    pub async fn pending_migrations(url: &str, migrations: &[Migration]) -> Result<Vec<Migration>> {
        if sqlite_file(url).is_some_and(|file| !file.exists()) {
            return Ok(migrations.to_vec());
        }
        let target = Target::of(url)?;
        let mut connection = target.connect_to_migrate().await?;
        let found = applied::plan(target.kind, &mut connection, migrations).await;
        connection.close().await;
        let found = found.map_err(|error| target.open_error(error.to_string()))?;
        Ok(found
            .pending
            .into_iter()
            .map(|pending| pending.migration)
            .collect())
    }

    /// Checks the URL of a database, and the certificates that a PostgreSQL URL names. It does not connect.
    ///
    /// # Errors
    /// [`StoreError::Open`] if the URL is invalid.
    pub fn check_url(url: &str) -> Result<()> {
        match sqlite_file(url) {
            Some(_) => Ok(()),
            None => Target::of(url).map(drop),
        }
    }

    /// Examines the database at `url`, as an instance with this many connections uses it. Changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Open`] if the database does not exist or cannot be opened.
    pub async fn diagnose(url: &str, connections: ConnectionCounts) -> Result<Diagnosis> {
        if sqlite_file(url).is_some_and(|file| !file.exists()) {
            return Err(failure(url, "there is no such file".to_owned()));
        }
        let target = Target::of(url)?;
        let failed = |error: sql::Error| target.open_error(error.to_string());
        let mut connection = target.options.connect().await.map_err(failed)?;
        reject_unfinished_restore(&mut connection)
            .await
            .map_err(|reason| target.open_error(reason))?;
        let (read, write) = connections.for_kind(target.kind);
        let found = diagnosis::examine(
            target.kind,
            &mut connection,
            i64::from(read + write + OTHERS),
        )
        .await;
        connection.close().await;
        found.map_err(failed)
    }
}

/// A database, and how to connect to it.
pub(crate) struct Target<'u> {
    url: &'u str,
    pub(crate) kind: DatabaseKind,
    /// The options for the server.
    options: Options,
    /// The options for migrations.
    pub(crate) migration: Options,
}

impl<'u> Target<'u> {
    /// The target for `url`. Creates SQLite's file.
    pub(crate) fn of(url: &'u str) -> Result<Self> {
        let failed = |reason: String| failure(url, reason);
        let (kind, options, migration) = match url.split_once(':').map(|(scheme, _)| scheme) {
            Some("sqlite") => {
                let file = prepare_file(url).map_err(failed)?;
                let options = |limit| Options::sqlite(file.clone(), limit);
                (DatabaseKind::Sqlite, options(Some(ANSWER)), options(None))
            }
            Some("postgres" | "postgresql") => {
                let options = |session, limit| {
                    Options::postgres(url, session, limit)
                        .map_err(|error| failed(error.to_string()))
                };
                (
                    DatabaseKind::Postgres,
                    options(SESSION, Some(ANSWER))?,
                    options(MIGRATION, None)?,
                )
            }
            _ => {
                return Err(failed(
                    "expected sqlite://path/to/file or postgres://user@host/database".to_owned(),
                ));
            }
        };
        Ok(Self {
            url,
            kind,
            options,
            migration,
        })
    }

    fn open_error(&self, reason: String) -> StoreError {
        failure(self.url, reason)
    }

    /// Opens a connection without time limits, and checks that the database may be used.
    pub(crate) async fn connect_to_migrate(&self) -> Result<Connection> {
        let connected = self.migration.connect().await;
        let mut connection = connected.map_err(|error| self.open_error(error.to_string()))?;
        let checked = check(&mut connection).await;
        checked.map_err(|reason| self.open_error(reason))?;
        Ok(connection)
    }
}

pub(crate) fn failure(url: &str, reason: String) -> StoreError {
    StoreError::Open {
        url: without_password(url),
        reason,
    }
}

async fn open(url: &str, options: DatabaseOptions) -> Result<Database> {
    let target = Target::of(url)?;
    let kind = target.kind;
    if kind == DatabaseKind::Postgres {
        check_sessions(&target)
            .await
            .map_err(|reason| target.open_error(reason))?;
    }
    let mut first = target.connect_to_migrate().await?;
    let prepared = migrations::prepare(
        kind,
        &mut first,
        &target.migration,
        options.migrations,
        options.migrate,
    )
    .await;
    if prepared.is_ok() && kind == DatabaseKind::Postgres {
        partitions::try_to_ensure(&mut first)
            .await
            .map_err(|error| target.open_error(error.to_string()))?;
    }
    first.close().await;
    prepared.map_err(|error| target.open_error(error.to_string()))?;
    let (reader_count, writer_count) = options.connections.for_kind(kind);
    let epoch = Epoch::default();
    let connections = |count| Connections::new(target.options.clone(), epoch.clone(), count);
    // On PostgreSQL one more connection writes approval requests, one batch at a time.
    let writers = connections(writer_count + u32::from(kind == DatabaseKind::Postgres));
    let lookups = (reader_count / 2).max(1);
    let lists = reader_count.saturating_sub(lookups).max(1);
    let readers = Readers::new(connections(lists), connections(lookups));
    // On PostgreSQL the audit root is signed over another connection, so that a slow signature delays no readiness
    // check.
    let probe = connections(1 + u32::from(kind == DatabaseKind::Postgres));
    let checkpoints = (kind == DatabaseKind::Sqlite).then(|| connections(1));
    let begin = match kind {
        // A deferred transaction that read first could not begin to write while another one writes.
        DatabaseKind::Sqlite => "BEGIN IMMEDIATE",
        DatabaseKind::Postgres => "BEGIN",
    };
    Ok(Database {
        readers,
        writers,
        probe,
        checkpoints,
        kind,
        schema_version: schema_version(options.migrations),
        writer_count,
        begin,
    })
}

/// Checks that the database may be used.
async fn check(connection: &mut Connection) -> std::result::Result<(), String> {
    reject_unfinished_restore(connection).await?;
    check_order(connection).await
}

/// Checks that two connections are two sessions. A pooler in transaction mode would execute the statements of both in
/// one session, so that prepared statements are missing or belong to another instance.
async fn check_sessions(target: &Target<'_>) -> std::result::Result<(), String> {
    const POOLED: &str = "a pooler such as PgBouncer in transaction mode is in between; Assent needs sessions of its \
                          own, so connect to PostgreSQL itself, or use a pooler in session mode, as \
                          docs/operators/database.md shows";
    let failed = |error: sql::Error| error.to_string();
    let mut one = target.options.connect().await.map_err(failed)?;
    let mut other = target.options.connect().await.map_err(failed)?;
    let mut sessions = Vec::new();
    for connection in [&mut one, &mut other] {
        // A prepared statement would fail behind such a pooler.
        let query = sql::query_as("SELECT pg_backend_pid()::int8").persistent(false);
        let (session,): (i64,) = query.fetch_one(connection).await.map_err(failed)?;
        sessions.push(session);
    }
    one.close().await;
    other.close().await;
    match sessions.as_slice() {
        [one, other] if one != other => Ok(()),
        _ => Err(POOLED.to_owned()),
    }
}

/// Checks that the database sorts text by its bytes. Row ids are texts in the order of time, and retention deletes rows
/// in that order. A database that sorts by the rules of a language may use another order: in Danish, "aa" comes after
/// "z".
pub(crate) async fn check_order(connection: &mut Connection) -> std::result::Result<(), String> {
    let question = "SELECT CASE WHEN '9' < 'a' AND 'aa' < 'ab' AND 'a9' < 'aa' AND 'ae' < 'af' THEN 1 ELSE 0 END";
    let (sorted,): (i64,) = sql::query_as(question)
        .fetch_one(connection)
        .await
        .map_err(|error| error.to_string())?;
    if sorted == 1 {
        return Ok(());
    }
    Err("its collation sorts texts by the rules of a language; create it with `createdb --template=template0 \
         --locale=C.UTF-8`"
        .to_owned())
}

/// Prepares SQLite's file: creates it and its folder if they are missing. It holds personal data, so only its owner may
/// read it. SQLite creates the other files with the same mode.
fn prepare_file(url: &str) -> std::result::Result<PathBuf, String> {
    let path = sqlite_path(url)?;
    let cannot = |error: std::io::Error| format!("cannot create {}: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(cannot)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&path)
        .map_err(cannot)?;
    Ok(path)
}

#[cfg(test)]
impl Database {
    /// An empty database on PostgreSQL for a unit test. `session` are the settings of each session.
    pub(crate) async fn empty_postgres(name: &str, session: &str) -> Self {
        use assent_model::clock::Timestamp;
        use assent_model::entropy::SystemEntropy;
        use assent_model::id::SessionId;

        let cluster = std::env::var("ASSENT_TEST_POSTGRES").expect(
            "ASSENT_TEST_POSTGRES is not set: run the tests with `make test` or `scripts/with-postgres`",
        );
        let random = SessionId::new(Timestamp::from_millis(1), &SystemEntropy).to_string();
        let name = format!("{name}_{}", random.replace('-', "_"));
        let mut maintenance = Options::postgres(&cluster, "", None)
            .unwrap()
            .connect()
            .await
            .unwrap();
        maintenance
            .batch(&format!("CREATE DATABASE {name}"))
            .await
            .unwrap();
        let mut url = url::Url::parse(&cluster).unwrap();
        url.set_path(&name);
        url.query_pairs_mut().append_pair("options", session);
        Self::open(url.as_str()).await.unwrap()
    }
}
