//! A connection to PostgreSQL.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgRow, PgSslMode};
use sqlx::{
    Arguments, AssertSqlSafe, ConnectOptions, Connection, Either, Executor, PgConnection, Row,
    TypeInfo, ValueRef,
};
use url::Url;

use super::authority;
use super::error::{Error, Result};
use super::libpq;
use super::query::{DatabaseKind, Query};
use super::row::{Columns, Rows};
use super::session_limits::{self, POOLER, READ};
use super::value::{Argument, Value};
use crate::engine::postgres_url::{Host, PostgresSettings, TargetSession, TlsMode};

/// The number of prepared statements that a connection caches. There are about 600 texts.
const STATEMENTS: usize = 1024;

/// The time limit for opening a connection.
pub(super) const CONNECT: Duration = Duration::from_secs(5);

/// The time limit for the response to nothing, which needs no work of the server.
const RESPONSE: Duration = Duration::from_secs(1);

/// How often to ask whether a session still executes a statement without a time limit.
const ASKED_EVERY: Duration = Duration::from_secs(10);
/// How often in a row it may not execute it, until its response is lost.
const FAILURES: u32 = 3;

/// The settings for connections to a server.
#[derive(Clone)]
pub(super) struct PostgresOptions {
    url: PostgresSettings,
    /// The options for each host of the URL, in its order.
    hosts: Vec<PgConnectOptions>,
    /// The place in the URL's file of the authority that issued the certificate of the last host. The driver accepts
    /// one authority.
    authority: Arc<AtomicUsize>,
    /// The time limit for the response to a statement.
    answer_limit: Option<Duration>,
    /// The limits that each session must have.
    limits: Vec<(String, String)>,
}

impl PostgresOptions {
    /// Parses a URL. `session` are settings of each session in the form of libpq's `options`, which precede those of
    /// the URL.
    pub(super) fn parse(url: &str, session: &str, answer_limit: Option<Duration>) -> Result<Self> {
        let url = PostgresSettings::parse(url).map_err(Error::Settings)?;
        reject_environment().map_err(Error::Settings)?;
        // An operator who sets `statement_timeout` may allow longer statements, so there is no limit then.
        let is_own = session_limits::sets(&url.options, "statement_timeout");
        let answer_limit = answer_limit.filter(|_| !is_own);
        let limits = session_limits::parse_limits(session, &url.options);
        let hosts = url
            .hosts
            .iter()
            .map(|host| options_for(host, &url, session));
        Ok(Self {
            hosts: hosts.collect::<Result<_>>()?,
            authority: Arc::default(),
            answer_limit,
            limits,
            url,
        })
    }

    /// The environment for PostgreSQL's own programs.
    pub(super) fn variables(&self) -> Vec<(&'static str, OsString)> {
        libpq::variables(&self.url)
    }

    /// Connects to the first host that accepts the connection and has the wanted role.
    pub(super) async fn connect(&self) -> Result<PostgresConnection> {
        let mut last = Error::Settings("the URL names no host".to_owned());
        // A host that does not respond leaves time for the next one.
        let share = CONNECT / u32::try_from(self.hosts.len()).unwrap_or(1).max(1);
        let limit = self.url.connect_timeout.map_or(share, |own| own.min(share));
        for (options, host) in self.hosts.iter().zip(&self.url.hosts) {
            let connecting = self.connect_to(options, host);
            let connected = tokio::time::timeout(limit, connecting).await;
            match connected.unwrap_or(Err(Error::TimedOut("opening a connection"))) {
                Ok(connection) => return Ok(connection),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn connect_to(
        &self,
        options: &PgConnectOptions,
        host: &Host,
    ) -> Result<PostgresConnection> {
        let mut connection = self.open(options, host).await.map_err(connect_error)?;
        let patience = match self.answer_limit {
            Some(limit) => Patience::Limited(limit),
            None => Patience::WhileExecuting(Box::new(Session {
                server: self.clone(),
                options: options.clone(),
                host: host.clone(),
                process: sqlx::query_scalar("SELECT pg_backend_pid()")
                    .persistent(false)
                    .fetch_one(&mut connection)
                    .await?,
            })),
        };
        let mut connection = PostgresConnection {
            connection,
            patience,
        };
        self.check_role(&mut connection).await?;
        self.check_limits(&mut connection).await?;
        Ok(connection)
    }

    /// Opens a connection to a server whose certificate is from one of the URL's authorities.
    async fn open(
        &self,
        options: &PgConnectOptions,
        host: &Host,
    ) -> std::result::Result<PgConnection, sqlx::Error> {
        let (Host::Tcp(name, port), [_, ..]) = (host, self.url.tls.roots.as_slice()) else {
            return options.connect().await;
        };
        let roots = &self.url.tls.roots;
        let connect = async |place: usize| match roots.get(place) {
            Some(root) => {
                let options = options.clone().ssl_root_cert_from_pem(root.clone());
                options.connect().await
            }
            None => options.connect().await,
        };
        let known = self.authority.load(Ordering::Relaxed);
        let connected = connect(known).await;
        if roots.len() == 1 || !matches!(connected, Err(sqlx::Error::Tls(_))) {
            return connected;
        }
        match authority::find(name, *port, roots).await {
            Some(found) if found != known => {
                self.authority.store(found, Ordering::Relaxed);
                connect(found).await
            }
            _ => connected,
        }
    }

    /// Fails if the server is a standby and the URL wants a primary, or the other way round.
    async fn check_role(&self, connection: &mut PostgresConnection) -> Result<()> {
        let wants_writes = match self.url.session {
            TargetSession::Any => return Ok(()),
            TargetSession::ReadWrite => true,
            TargetSession::ReadOnly => false,
        };
        let rows = connection.simple("SHOW transaction_read_only").await?;
        let is_writable = rows
            .first()
            .and_then(|row| row.first())
            .is_some_and(|it| it == "off");
        match is_writable == wants_writes {
            true => Ok(()),
            false => Err(Error::Lost(format!(
                "the server's session is {}",
                if is_writable {
                    "read-write"
                } else {
                    "read-only"
                }
            ))),
        }
    }

    /// Fails if the session lacks a limit. The statement is not prepared, so that it is executed behind every pooler.
    async fn check_limits(&self, connection: &mut PostgresConnection) -> Result<()> {
        if self.limits.is_empty() {
            return Ok(());
        }
        let rows = connection.simple(READ).await?;
        let pairs = rows.into_iter().filter_map(|row| {
            let mut values = row.into_iter();
            Some((values.next()?, values.next()?))
        });
        session_limits::missing_limit(&self.limits, &pairs.collect::<Vec<_>>())
            .map_or(Ok(()), |reason| Err(Error::Settings(reason)))
    }
}

/// The variables that the driver reads in addition to the URL, and that nothing in the URL replaces.
const VARIABLES: [&str; 4] = ["PGOPTIONS", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY"];

/// Fails if the environment would change the connection. Another program on this machine may use these variables.
fn reject_environment() -> std::result::Result<(), String> {
    match VARIABLES
        .iter()
        .find(|name| std::env::var_os(name).is_some())
    {
        None => Ok(()),
        Some(name) => Err(format!(
            "the environment variable {name} would change the connection; remove it, and set its value in the URL"
        )),
    }
}

/// Returns the options for a host. They replace everything that the driver reads from the environment and from the
/// user's file of passwords.
fn options_for(host: &Host, url: &PostgresSettings, session: &str) -> Result<PgConnectOptions> {
    let settings = match url.options.as_str() {
        "" => session.to_owned(),
        own => format!("{session} {own}"),
    };
    // The driver has another function for settings, but it does not accept them as one text.
    let mut base =
        Url::parse("postgres://localhost").map_err(|error| Error::Settings(error.to_string()))?;
    base.query_pairs_mut()
        .append_pair("password", url.password.as_deref().unwrap_or_default())
        .append_pair("options", &settings);
    let mut options = PgConnectOptions::from_url(&base)?
        .username(&url.user)
        .database(&url.database)
        .application_name("assent")
        .statement_cache_capacity(STATEMENTS)
        // A pooler such as PgBouncer rejects it, and no column has such a number.
        .extra_float_digits(None)
        .disable_statement_logging();
    let (name, port) = match host {
        Host::Tcp(name, port) => (name, *port),
        // A local socket has no TLS.
        Host::Socket(folder, port) => {
            let options = options.socket(folder).port(*port);
            return Ok(options.ssl_mode(PgSslMode::Disable));
        }
    };
    options = options.host(name).port(port).ssl_mode(match url.tls.mode {
        TlsMode::Disable => PgSslMode::Disable,
        TlsMode::Prefer => PgSslMode::Prefer,
        TlsMode::Require => PgSslMode::Require,
        TlsMode::Verify => PgSslMode::VerifyFull,
    });
    if let Some((certificate, key)) = &url.tls.identity {
        options = options
            .ssl_client_cert_from_pem(certificate)
            .ssl_client_key_from_pem(key);
    }
    Ok(options)
}

/// Returns the error of an attempt to connect. PgBouncer rejects `options`, unless it is configured to ignore them.
fn connect_error(error: sqlx::Error) -> Error {
    let text = error.to_string();
    match text.contains("unsupported startup parameter") {
        true => Error::Settings(format!("{text}: {POOLER}")),
        false => error.into(),
    }
}

/// What a test of a connection found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Liveness {
    /// The server responds.
    Responds,
    /// The connection was closed.
    Closed,
    /// The server does not respond in time, or the network loses everything.
    Silent,
}

/// How long the response to a statement may take.
enum Patience {
    Limited(Duration),
    /// As long as the session executes the statement. The driver sets no TCP keepalive, so another connection asks.
    WhileExecuting(Box<Session>),
}

/// The session of a connection.
struct Session {
    server: PostgresOptions,
    options: PgConnectOptions,
    host: Host,
    process: i32,
}

impl Session {
    /// Asks the server for the state of the session. `None` if the server does not respond.
    async fn state(&self) -> Option<SessionState> {
        let asked = tokio::time::timeout(CONNECT, async {
            let mut other = self.server.open(&self.options, &self.host).await?;
            // The state is unknown if the server does not track it.
            let found: Option<i64> = sqlx::query_scalar(
                "SELECT COUNT(*) FROM pg_stat_activity WHERE pid = $1 AND state NOT LIKE 'idle%'",
            )
            .bind(self.process)
            .fetch_one(&mut other)
            .await?;
            // The answer counts in any case.
            let _ = other.close().await;
            Ok::<_, sqlx::Error>(found)
        });
        match asked.await {
            Ok(Ok(Some(0))) => Some(SessionState::Idle),
            // The server responds, for example that it has too many connections.
            Ok(Ok(_) | Err(sqlx::Error::Database(_))) => Some(SessionState::Executing),
            Ok(Err(_)) | Err(_) => None,
        }
    }
}

/// What a session does.
enum SessionState {
    Executing,
    /// It has ended, or has sent its response.
    Idle,
}

impl Patience {
    /// Waits for a response. A frozen server keeps its connections open and sends nothing, not even the error of its
    /// own statement timeout.
    async fn wait<T>(&self, answer: impl Future<Output = Result<T>>) -> Result<T> {
        let session = match self {
            Self::Limited(limit) => {
                let answered = tokio::time::timeout(*limit, answer).await;
                return answered.unwrap_or(Err(Error::TimedOut("the database's answer")));
            }
            Self::WhileExecuting(session) => session,
        };
        let mut answer = std::pin::pin!(answer);
        let mut failures = 0;
        while failures < FAILURES {
            if let Ok(answered) = tokio::time::timeout(ASKED_EVERY, &mut answer).await {
                return answered;
            }
            match session.state().await {
                Some(SessionState::Executing) => failures = 0,
                Some(SessionState::Idle) | None => failures += 1,
            }
        }
        Err(Error::Lost("the server does not respond".to_owned()))
    }
}

/// A connection.
pub(super) struct PostgresConnection {
    connection: PgConnection,
    patience: Patience,
}

impl PostgresConnection {
    pub(super) async fn run(&mut self, query: &Query) -> Result<Rows> {
        let executing = execute(&mut self.connection, query);
        self.patience.wait(executing).await
    }

    /// Executes a statement that is not prepared. Returns the rows as texts.
    async fn simple(&mut self, text: &'static str) -> Result<Vec<Vec<String>>> {
        let executing = sqlx::raw_sql(text).fetch_all(&mut self.connection);
        let rows = self.patience.wait(async { Ok(executing.await?) }).await?;
        let texts = |row: &PgRow| {
            let values = (0..row.len()).map(|place| row.try_get_unchecked(place));
            values.collect::<std::result::Result<_, _>>()
        };
        Ok(rows
            .iter()
            .map(texts)
            .collect::<std::result::Result<_, _>>()?)
    }

    /// Executes statements without arguments.
    pub(super) async fn batch(&mut self, text: &str) -> Result<()> {
        let executing = sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut self.connection);
        let executed = async { Ok(executing.await?) };
        self.patience.wait(executed).await.map(drop)
    }

    /// Whether statements have the time limits of this program, and not those of the URL.
    pub(super) const fn has_limits(&self) -> bool {
        matches!(self.patience, Patience::Limited(_))
    }

    /// Asks the server for a response to nothing.
    pub(super) async fn test(&mut self) -> Liveness {
        match tokio::time::timeout(RESPONSE, self.connection.ping()).await {
            Ok(Ok(())) => Liveness::Responds,
            Ok(Err(_)) => Liveness::Closed,
            Err(_) => Liveness::Silent,
        }
    }

    /// Ends the session.
    pub(super) async fn close(self) {
        // The connection is closed in any case.
        let _ = self.connection.close().await;
    }
}

async fn execute(connection: &mut PgConnection, query: &Query) -> Result<Rows> {
    let mut arguments = PgArguments::default();
    for argument in &query.arguments {
        bind(&mut arguments, argument)?;
    }
    let statement = sqlx::query_with(query.text.to_sqlx(DatabaseKind::Postgres), arguments);
    let mut results = connection.fetch_many(statement.persistent(query.prepared_once));
    let mut rows = Rows::default();
    // After an error the rest is read all the same, so that the next statement finds nothing of this one.
    let mut outcome = Ok(());
    while let Some(result) = results.try_next().await? {
        match result {
            Either::Left(done) => rows.affected = done.rows_affected(),
            Either::Right(row) => {
                let values = (0..row.len()).map(|place| value_of(&row, place));
                match values.collect() {
                    Ok(values) => rows.rows.push(values),
                    Err(error) => outcome = Err(error),
                }
                rows.columns = Columns::Postgres(row);
            }
        }
    }
    outcome.map(|()| rows)
}

fn bind(arguments: &mut PgArguments, argument: &Argument) -> Result<()> {
    match argument {
        Argument::Integer(value) => arguments.add(*value),
        Argument::Text(value) => arguments.add(value.as_deref()),
        Argument::Bytes(value) => arguments.add(value.as_deref()),
    }
    .map_err(|error| Error::Mismatch(error.to_string()))
}

fn value_of(row: &PgRow, place: usize) -> Result<Value> {
    let value = row.try_get_raw(place)?;
    if value.is_null() {
        return Ok(Value::Null);
    }
    let kind = value.type_info();
    Ok(match kind.name() {
        "INT8" => Value::Integer(row.try_get_unchecked(place)?),
        "INT4" => Value::Integer(row.try_get_unchecked::<i32, _>(place)?.into()),
        "INT2" => Value::Integer(row.try_get_unchecked::<i16, _>(place)?.into()),
        "BOOL" => Value::Integer(row.try_get_unchecked::<bool, _>(place)?.into()),
        "BYTEA" => Value::Bytes(row.try_get_unchecked(place)?),
        "VOID" => Value::Null,
        "TEXT" | "VARCHAR" | "NAME" | "CHAR" | "BPCHAR" | "UNKNOWN" => {
            Value::Text(row.try_get_unchecked(place)?)
        }
        other => return Err(Error::Mismatch(format!("a column has {other}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_url_take_precedence() {
        let options = PostgresOptions::parse(
            "postgres://u@h/d?host=/tmp/x&options=-c%20statement_timeout%3D1&sslmode=disable",
            "-c statement_timeout=5000",
            Some(Duration::from_secs(10)),
        )
        .unwrap();
        assert_eq!(
            options.hosts[0].get_options(),
            Some("-c statement_timeout=5000 -c statement_timeout=1")
        );
        assert_eq!(options.answer_limit, None);
    }
}
