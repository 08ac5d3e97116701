//! A connection to either database.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::{Error, Result};
use super::postgres::{CONNECT, Liveness, PostgresConnection, PostgresOptions};
use super::query::{DatabaseKind, Executor, Query};
use super::row::Rows;
use super::sqlite::SqliteConnection;
use crate::engine::measurements::Measurements;

/// How long a server that works is silent at most: its `statement_timeout`.
const SILENCE: Duration = Duration::from_secs(5);

/// The options for connections to one database.
#[derive(Clone)]
pub struct Options {
    target: Target,
    /// The measurements into which connections record the times of their statements.
    measurements: Arc<Measurements>,
}

#[derive(Clone)]
enum Target {
    Sqlite(PathBuf, Option<Duration>),
    Postgres(Box<PostgresOptions>),
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").finish_non_exhaustive()
    }
}

impl Options {
    /// Returns the options for SQLite's file. A statement may take as long as `statement_limit`.
    pub fn sqlite(file: impl Into<PathBuf>, statement_limit: Option<Duration>) -> Self {
        Self::new(Target::Sqlite(file.into(), statement_limit))
    }

    /// Returns the options for PostgreSQL at this URL. `session` are settings of each session in the form of libpq's
    /// `options`; those of the URL take precedence. The response to a statement may take as long as `answer_limit`,
    /// unless the URL sets its own `statement_timeout`.
    ///
    /// # Errors
    /// [`Error::Settings`] if the URL is invalid.
    pub fn postgres(url: &str, session: &str, answer_limit: Option<Duration>) -> Result<Self> {
        PostgresOptions::parse(url, session, answer_limit)
            .map(|options| Self::new(Target::Postgres(Box::new(options))))
    }

    fn new(target: Target) -> Self {
        Self {
            target,
            measurements: Arc::default(),
        }
    }

    /// The measurements into which connections record the times of their statements.
    pub(crate) const fn measurements(&self) -> &Arc<Measurements> {
        &self.measurements
    }

    /// The environment variables with which PostgreSQL's own programs connect to the same database. One of them may be
    /// a password. Empty for SQLite.
    pub fn postgres_variables(&self) -> Vec<(&'static str, OsString)> {
        match &self.target {
            Target::Sqlite(..) => Vec::new(),
            Target::Postgres(options) => options.variables(),
        }
    }

    /// Opens a connection, within five seconds.
    pub async fn connect(&self) -> Result<Connection> {
        let driver = match &self.target {
            Target::Sqlite(file, limit) => {
                Driver::Sqlite(SqliteConnection::open(file, *limit).await?)
            }
            Target::Postgres(options) => {
                let connected = tokio::time::timeout(CONNECT, options.connect()).await;
                Driver::Postgres(connected.map_err(|_| Error::TimedOut("opening a connection"))??)
            }
        };
        Ok(Connection {
            driver,
            heard: Instant::now(),
            measurements: Arc::clone(&self.measurements),
        })
    }
}

/// A connection.
pub struct Connection {
    driver: Driver,
    /// When the database answered last.
    heard: Instant,
    measurements: Arc<Measurements>,
}

enum Driver {
    Sqlite(SqliteConnection),
    Postgres(PostgresConnection),
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

impl Connection {
    pub(crate) const fn kind(&self) -> DatabaseKind {
        match self.driver {
            Driver::Sqlite(_) => DatabaseKind::Sqlite,
            Driver::Postgres(_) => DatabaseKind::Postgres,
        }
    }

    /// Executes statements without arguments, such as `BEGIN`.
    pub async fn batch(&mut self, text: &str) -> Result<()> {
        let outcome = match &mut self.driver {
            Driver::Sqlite(connection) => Box::pin(connection.batch(text)).await,
            Driver::Postgres(connection) => Box::pin(connection.batch(text)).await,
        };
        self.heard = Instant::now();
        outcome
    }

    /// Sets the time at which SQLite's statements end. PostgreSQL's statements have the limits of their session.
    pub(crate) const fn set_deadline(&mut self, deadline: Option<Instant>) {
        if let Driver::Sqlite(connection) = &mut self.driver {
            connection.set_deadline(deadline);
        }
    }

    /// Tests whether the server responds. SQLite has no server.
    pub(crate) async fn test(&mut self) -> Liveness {
        match &mut self.driver {
            Driver::Sqlite(_) => Liveness::Responds,
            Driver::Postgres(connection) => connection.test().await,
        }
    }

    /// Whether the server was silent for longer than it may execute a statement.
    pub(crate) fn is_silent(&self) -> bool {
        match &self.driver {
            Driver::Sqlite(_) => false,
            Driver::Postgres(connection) => {
                connection.has_limits() && self.heard.elapsed() >= SILENCE
            }
        }
    }

    /// Begins a use of the connection.
    pub(crate) fn begin_use(&mut self) {
        self.set_deadline(None);
        self.heard = Instant::now();
    }

    /// Ends the session.
    pub async fn close(self) {
        match self.driver {
            Driver::Sqlite(connection) => connection.close().await,
            Driver::Postgres(connection) => connection.close().await,
        }
    }
}

impl Executor for &mut Connection {
    async fn run(self, query: &Query) -> Result<Rows> {
        tracing::trace!(target: "assent_store::sql", statement = query.text.as_str());
        #[cfg(debug_assertions)]
        query.check_arguments()?;
        let begun = Instant::now();
        let outcome = match &mut self.driver {
            // The futures are boxed, because they are large and part of each caller's future otherwise.
            Driver::Sqlite(connection) => Box::pin(connection.run(query)).await,
            Driver::Postgres(connection) => Box::pin(connection.run(query)).await,
        };
        self.measurements.statements.record_time(begun.elapsed());
        self.heard = Instant::now();
        outcome
    }
}
