//! Opening one connection: its settings, and how long that may take.

use std::str::FromStr;
use std::time::Duration;

use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, ConnectOptions};

/// How long opening a connection may take.
const CONNECT: Duration = Duration::from_secs(5);

/// The settings of each session on PostgreSQL. A statement that takes too long, waits too long for a lock, or leaves
/// its transaction idle (because its instance is frozen, or cut off) must not hold up other instances. The server
/// notices by `tcp_*` that an instance is gone, and gives up its locks.
const SESSION: &str = "-c statement_timeout=5000 -c lock_timeout=4000 -c idle_in_transaction_session_timeout=2000 \
     -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 -c tcp_user_timeout=10000";

/// The settings of the session that migrates: its statements may take as long as they need.
const MIGRATION: &str = "-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=60000 \
     -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3";

/// SQLite: writers do not block readers, and a commit is on the disk before it is acknowledged. Deleted and erased
/// values are overwritten, not left in free space. The wait for another process is shorter than the limit of a batch.
const PRAGMAS: [&str; 4] = [
    "PRAGMA busy_timeout = 8000",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
];

/// Which database it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum DatabaseKind {
    Sqlite,
    Postgres,
}

/// Opens connections to one database.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    kind: DatabaseKind,
    options: AnyConnectOptions,
    migration: AnyConnectOptions,
}

impl Connector {
    /// For the database at `url`, as the driver expects it.
    pub(crate) fn new(kind: DatabaseKind, url: &str) -> sqlx::Result<Self> {
        let plain =
            AnyConnectOptions::from_str(url)?.log_statements(tracing::log::LevelFilter::Trace);
        let (options, migration) = match kind {
            DatabaseKind::Sqlite => (plain.clone(), plain),
            DatabaseKind::Postgres => (
                with_options(&plain, SESSION),
                with_options(&plain, MIGRATION),
            ),
        };
        Ok(Self {
            kind,
            options,
            migration,
        })
    }

    /// Opens a connection, within the time limit.
    pub(crate) async fn connect(&self) -> sqlx::Result<AnyConnection> {
        self.connect_with(&self.options).await
    }

    /// Opens a connection whose statements have no time limit.
    pub(crate) async fn connect_for_migration(&self) -> sqlx::Result<AnyConnection> {
        self.connect_with(&self.migration).await
    }

    async fn connect_with(&self, options: &AnyConnectOptions) -> sqlx::Result<AnyConnection> {
        let connecting = async {
            let mut connection = options.connect().await?;
            if self.kind == DatabaseKind::Sqlite {
                for pragma in PRAGMAS {
                    execute_when_free(&mut connection, pragma).await?;
                }
            }
            Ok(connection)
        };
        match tokio::time::timeout(CONNECT, connecting).await {
            Ok(connected) => connected,
            Err(_) => Err(sqlx::Error::Io(std::io::Error::new(
                std::io::ErrorKind::TimedOut,
                "opening a connection took too long",
            ))),
        }
    }
}

/// The same, with these settings of the session. Those of the URL come later, so they take precedence.
fn with_options(plain: &AnyConnectOptions, session: &str) -> AnyConnectOptions {
    let mut options = plain.clone();
    let pairs: Vec<(String, String)> = plain
        .database_url
        .query_pairs()
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    options
        .database_url
        .query_pairs_mut()
        .clear()
        .append_pair("options", session)
        .extend_pairs(pairs);
    options
}

/// Changing the journal mode does not wait for another process that does the same, so it is tried again.
async fn execute_when_free(
    connection: &mut AnyConnection,
    pragma: &'static str,
) -> sqlx::Result<()> {
    for _ in 0..50 {
        match sqlx::raw_sql(pragma).execute(&mut *connection).await {
            Err(sqlx::Error::Database(error)) if error.message().contains("locked") => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            other => return other.map(drop),
        }
    }
    sqlx::raw_sql(pragma).execute(connection).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_url_take_precedence() {
        let connector = Connector::new(
            DatabaseKind::Postgres,
            "postgres://u@h/d?host=/tmp/x&options=-c%20statement_timeout%3D1",
        )
        .unwrap();
        let pairs: Vec<(String, String)> = connector
            .options
            .database_url
            .query_pairs()
            .into_owned()
            .collect();
        assert_eq!(pairs[0], ("options".to_owned(), SESSION.to_owned()));
        assert_eq!(pairs[1], ("host".to_owned(), "/tmp/x".to_owned()));
        assert_eq!(
            pairs[2],
            ("options".to_owned(), "-c statement_timeout=1".to_owned())
        );
    }
}
