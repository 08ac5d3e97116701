//! A connection to PostgreSQL.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::ffi::OsString;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use futures_util::TryStreamExt;
use openssl::ssl::{SslConnector, SslFiletype, SslMethod, SslVerifyMode};
use postgres_openssl::MakeTlsConnector;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, NoTls, RowStream, SimpleQueryMessage, Statement};

use super::error::{Code, Error, Result};
use super::libpq::{self, UrlSettings};
use super::query::Query;
use super::row::Rows;
use super::session_limits::{self, POOLER, READ};
use super::value::{Argument, Value};
use crate::engine::database_url::PostgresUrl;

/// How long the operating system waits for an acknowledgement before it closes a connection.
const USER_TIMEOUT: Duration = Duration::from_secs(10);
/// The TCP keepalive settings: the idle time before the first probe, the interval, and the number of probes.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(5), Duration::from_secs(2), 3);

/// The settings for connections to a server.
#[derive(Clone)]
pub(super) struct PostgresOptions {
    config: Config,
    tls: Option<MakeTlsConnector>,
    /// The time limit for the response to a statement.
    answer_limit: Option<Duration>,
    /// The limits that each session must have.
    limits: Vec<(String, String)>,
    /// The settings for PostgreSQL's own programs.
    url: UrlSettings,
}

/// The verification of a server's certificate.
#[derive(Clone, Copy, PartialEq)]
enum Verification {
    None,
    Authority,
    AuthorityAndName,
}

impl PostgresOptions {
    /// Parses a URL. In addition to the parameters of tokio-postgres, it may contain `sslmode` with all values of libpq
    /// except `allow`, `sslrootcert`, `sslcert` and `sslkey`. `session` are settings of each session, which precede
    /// those of the URL.
    pub(super) fn parse(url: &str, session: &str, answer_limit: Option<Duration>) -> Result<Self> {
        let settings = |reason: String| Error::Settings(reason);
        let url = PostgresUrl::split(url).map_err(settings)?;
        let (mut mode, mut root, mut certificate, mut key) = (None, None, None, None);
        let mut others = Vec::new();
        for (name, value) in url.parameters.clone() {
            match name.as_str() {
                "sslmode" => mode = Some(value),
                "sslrootcert" => root = Some(value),
                "sslcert" => certificate = Some(value),
                "sslkey" => key = Some(value),
                _ => others.push((name, value)),
            }
        }
        let mut config: Config = url
            .with(others)
            .parse()
            .map_err(|error: tokio_postgres::Error| settings(error_text(&error)))?;
        let own = config.get_options().unwrap_or_default();
        let url_settings = UrlSettings {
            options: own.to_owned(),
            ssl_mode: mode.clone(),
            root_certificate: root.clone(),
            certificate: certificate.clone(),
            key: key.clone(),
        };
        // An operator who sets `statement_timeout` may allow longer statements, so there is no limit then.
        let answer_limit = answer_limit.filter(|_| !own.contains("statement_timeout"));
        let limits = session_limits::parse_limits(session, own);
        let options = match own {
            "" => session.to_owned(),
            own => format!("{session} {own}"),
        };
        let (idle, interval, retries) = KEEPALIVE;
        config
            .options(options)
            .application_name("assent")
            .tcp_user_timeout(USER_TIMEOUT)
            .keepalives_idle(idle)
            .keepalives_interval(interval)
            .keepalives_retries(retries);
        let (ssl_mode, verification) = match mode.as_deref().unwrap_or("prefer") {
            "disable" => (SslMode::Disable, Verification::None),
            "prefer" => (SslMode::Prefer, Verification::None),
            // As in libpq: with a root certificate, it must have issued the server's certificate.
            "require" if root.is_some() => (SslMode::Require, Verification::Authority),
            "require" => (SslMode::Require, Verification::None),
            "verify-ca" => (SslMode::Require, Verification::Authority),
            "verify-full" => (SslMode::Require, Verification::AuthorityAndName),
            other => {
                return Err(settings(format!(
                    "sslmode must be disable, prefer, require, verify-ca or verify-full, not {other:?}"
                )));
            }
        };
        config.ssl_mode(ssl_mode);
        // A local socket has no TLS, and reading the authorities of the system takes longer than the connection.
        let is_local = config
            .get_hosts()
            .iter()
            .all(|host| matches!(host, Host::Unix(_)));
        let is_plain = match ssl_mode {
            SslMode::Disable => true,
            SslMode::Prefer => is_local && !config.get_hosts().is_empty(),
            _ => false,
        };
        let tls = (!is_plain)
            .then(|| connector(verification, root, certificate, key))
            .transpose()?;
        Ok(Self {
            config,
            tls,
            answer_limit,
            limits,
            url: url_settings,
        })
    }

    /// Fails if the session lacks a limit. The statement is not prepared, so that it is executed behind every pooler.
    async fn check_limits(&self, client: &Client) -> Result<()> {
        if self.limits.is_empty() {
            return Ok(());
        }
        let messages = client.simple_query(READ).await?;
        let found: Vec<(String, String)> = messages
            .iter()
            .filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => {
                    Some((row.get(0)?.to_owned(), row.get(1)?.to_owned()))
                }
                _ => None,
            })
            .collect();
        session_limits::missing_limit(&self.limits, &found)
            .map_or(Ok(()), |reason| Err(Error::Settings(reason)))
    }

    /// The environment for PostgreSQL's own programs.
    pub(super) fn variables(&self) -> Vec<(&'static str, OsString)> {
        libpq::variables(&self.config, &self.url)
    }

    pub(super) async fn connect(&self) -> Result<PostgresConnection> {
        let (client, task) = match &self.tls {
            Some(tls) => {
                let connected = self.config.connect(tls.clone()).await;
                let (client, connection) = connected.map_err(connect_error)?;
                (client, tokio::spawn(finish(connection)))
            }
            None => {
                let connected = self.config.connect(NoTls).await;
                let (client, connection) = connected.map_err(connect_error)?;
                (client, tokio::spawn(finish(connection)))
            }
        };
        self.check_limits(&client).await?;
        Ok(PostgresConnection {
            client: Arc::new(client),
            task: Some(task),
            answer_limit: self.answer_limit,
            statements: Arc::default(),
        })
    }
}

/// Returns the error of an attempt to connect. PgBouncer rejects `options`, unless it is configured to ignore them.
fn connect_error(error: tokio_postgres::Error) -> Error {
    let text = error_text(&error);
    match text.contains("unsupported startup parameter") {
        true => Error::Settings(format!("{text}: {POOLER}")),
        false => error.into(),
    }
}

/// Processes a connection's traffic until the client is dropped.
async fn finish(connection: impl Future<Output = std::result::Result<(), tokio_postgres::Error>>) {
    if let Err(error) = connection.await {
        tracing::debug!(
            error = error_text(&error),
            "a connection to PostgreSQL ended"
        );
    }
}

fn connector(
    verification: Verification,
    root: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
) -> Result<MakeTlsConnector> {
    let cannot = |what: &str| {
        let what = what.to_owned();
        move |error: openssl::error::ErrorStack| {
            Error::Settings(format!("cannot use {what}: {error}"))
        }
    };
    let mut builder = SslConnector::builder(SslMethod::tls_client()).map_err(cannot("TLS"))?;
    if let Some(root) = root {
        builder.set_ca_file(&root).map_err(cannot(&root))?;
    }
    if let Some(certificate) = certificate {
        builder
            .set_certificate_chain_file(&certificate)
            .map_err(cannot(&certificate))?;
    }
    if let Some(key) = key {
        builder
            .set_private_key_file(&key, SslFiletype::PEM)
            .map_err(cannot(&key))?;
    }
    if verification == Verification::None {
        builder.set_verify(SslVerifyMode::NONE);
    }
    let mut connector = MakeTlsConnector::new(builder.build());
    if verification != Verification::AuthorityAndName {
        connector.set_callback(|connection, _| {
            connection.set_verify_hostname(false);
            Ok(())
        });
    }
    Ok(connector)
}

/// A connection.
pub(super) struct PostgresConnection {
    client: Arc<Client>,
    /// The task that processes the traffic; `None` for additional handles.
    task: Option<JoinHandle<()>>,
    answer_limit: Option<Duration>,
    /// The prepared statements by their texts. The texts are constants of the program, so their number is limited.
    /// Several handles that need the same statement wait until it is prepared, and continue in the order of their
    /// arrival.
    statements: Arc<Mutex<HashMap<String, PreparedStatement>>>,
}

#[derive(Clone)]
struct PreparedStatement {
    statement: Statement,
    columns: Arc<[String]>,
}

impl PostgresConnection {
    /// Another handle for the same session. Statements of several handles are sent without waiting for each other's
    /// responses (pipelining), in the order of their execution.
    pub(super) fn share(&self) -> Self {
        Self {
            client: Arc::clone(&self.client),
            task: None,
            answer_limit: self.answer_limit,
            statements: Arc::clone(&self.statements),
        }
    }

    pub(super) async fn run(&mut self, query: &Query) -> Result<Rows> {
        in_time(self.answer_limit, self.execute(query)).await
    }

    async fn execute(&mut self, query: &Query) -> Result<Rows> {
        let text = query.text.as_str();
        if !query.prepared_once {
            let typed = query.arguments.iter().map(|one| (one, type_of(one)));
            let stream = self.client.query_typed_raw(text, typed).await?;
            return collect(stream, None).await;
        }
        let PreparedStatement { statement, columns } = self.prepare_statement(text, query).await?;
        if statement.params().len() != query.arguments.len() {
            return Err(Error::Mismatch(format!(
                "the statement has {} placeholders and {} arguments",
                statement.params().len(),
                query.arguments.len()
            )));
        }
        let stream = self.client.query_raw(&statement, &query.arguments).await?;
        collect(stream, Some(columns)).await
    }

    async fn prepare_statement(&self, text: &str, query: &Query) -> Result<PreparedStatement> {
        let mut statements = self.statements.lock().await;
        if let Some(prepared) = statements.get(text) {
            return Ok(prepared.clone());
        }
        let types: Vec<Type> = query.arguments.iter().map(type_of).collect();
        let statement = self.client.prepare_typed(text, &types).await?;
        let prepared = PreparedStatement {
            columns: names(statement.columns()),
            statement,
        };
        statements.insert(text.to_owned(), prepared.clone());
        Ok(prepared)
    }

    /// Executes statements without arguments.
    pub(super) async fn batch(&mut self, text: &str) -> Result<()> {
        in_time(self.answer_limit, async {
            Ok(self.client.batch_execute(text).await?)
        })
        .await
    }

    /// Ends the session, and waits until the server is notified.
    pub(super) async fn close(self) {
        drop(self.client);
        if let Some(task) = self.task {
            // It fails only after a panic, and then the connection is closed too.
            let _ = task.await;
        }
    }
}

/// Waits for a response. A frozen server keeps its connections open and sends nothing, not even the error of its own
/// statement timeout.
async fn in_time<T>(limit: Option<Duration>, answer: impl Future<Output = Result<T>>) -> Result<T> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, answer)
            .await
            .unwrap_or(Err(Error::TimedOut("the database's answer"))),
        None => answer.await,
    }
}

/// Collects the rows. If the columns are unknown, they are those of the first row.
async fn collect(stream: RowStream, mut columns: Option<Arc<[String]>>) -> Result<Rows> {
    let mut stream = pin!(stream);
    let mut rows = Vec::new();
    while let Some(row) = stream.try_next().await? {
        columns.get_or_insert_with(|| names(row.columns()));
        let mut values = Vec::with_capacity(row.len());
        for place in 0..row.len() {
            values.push(row.try_get::<_, Value>(place)?);
        }
        rows.push(values);
    }
    Ok(Rows {
        columns: columns.unwrap_or_default(),
        rows,
        affected: stream.rows_affected().unwrap_or(0),
    })
}

fn names(columns: &[tokio_postgres::Column]) -> Arc<[String]> {
    columns.iter().map(|one| one.name().to_owned()).collect()
}

fn type_of(argument: &Argument) -> Type {
    match argument {
        Argument::Integer(_) => Type::INT8,
        Argument::Text(_) => Type::TEXT,
        Argument::Bytes(_) => Type::BYTEA,
    }
}

type Boxed = Box<dyn StdError + Sync + Send>;

impl ToSql for Argument {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Boxed> {
        match self {
            Self::Integer(Some(value)) => value.to_sql(kind, out),
            Self::Text(Some(text)) => text.as_ref().to_sql(kind, out),
            Self::Bytes(Some(bytes)) => bytes.to_sql(kind, out),
            Self::Integer(None) | Self::Text(None) | Self::Bytes(None) => Ok(IsNull::Yes),
        }
    }

    fn accepts(_: &Type) -> bool {
        // The statement is prepared with the types of its arguments.
        true
    }

    to_sql_checked!();
}

// It hides the values of the statement, because some of them are secrets.
impl std::fmt::Debug for Argument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> std::result::Result<Self, Boxed> {
        Ok(match *kind {
            Type::INT8 => Self::Integer(i64::from_sql(kind, raw)?),
            Type::INT4 => Self::Integer(i32::from_sql(kind, raw)?.into()),
            Type::INT2 => Self::Integer(i16::from_sql(kind, raw)?.into()),
            Type::BOOL => Self::Integer(bool::from_sql(kind, raw)?.into()),
            Type::BYTEA => Self::Bytes(Vec::from_sql(kind, raw)?),
            Type::VOID => Self::Null,
            _ => Self::Text(String::from_sql(kind, raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> std::result::Result<Self, Boxed> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        matches!(
            *kind,
            Type::INT8 | Type::INT4 | Type::INT2 | Type::BOOL | Type::BYTEA | Type::VOID
        ) || <String as FromSql>::accepts(kind)
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(database) = error.as_db_error() {
            return Self::Database {
                code: Code::Postgres(database.code().code().to_owned()),
                message: database.message().to_owned(),
            };
        }
        let conversion = std::error::Error::source(&error)
            .is_some_and(|source| source.is::<tokio_postgres::types::WrongType>());
        if conversion {
            Self::Mismatch(error_text(&error))
        } else {
            Self::Lost(error_text(&error))
        }
    }
}

/// The error with its causes.
fn error_text(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
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
            options.config.get_options(),
            Some("-c statement_timeout=5000 -c statement_timeout=1")
        );
        assert!(options.tls.is_none());
        assert_eq!(options.answer_limit, None);
    }

    #[test]
    fn an_unknown_parameter_is_an_error() {
        for url in [
            "postgres://h/d?sslmode=allow",
            "postgres://h/d?nonsense=1",
            "postgres://h/d?sslrootcert=/no/such&sslmode=verify-full",
        ] {
            assert!(
                matches!(
                    PostgresOptions::parse(url, "", None),
                    Err(Error::Settings(_))
                ),
                "{url}"
            );
        }
    }
}
