//! The connections to the database. They live long and are neither tested nor replaced while they work. A connection is
//! closed when its use fails because of the connection, passes its time limit, or is cancelled: nobody knows what such
//! a connection would answer next. The next use opens another.
//!
//! sqlx's own pool is not used. It asks the server before and after each use whether the connection works, which costs
//! two round trips and loses a place for ever if the server is silent (transact-rs/sqlx#4349), and the task that closes
//! idle connections can spin (transact-rs/sqlx#3645).

use std::future::ready;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryFutureExt, TryStreamExt};
use sqlx::any::{AnyArguments, AnyQueryResult, AnyRow, AnyStatement, AnyTypeInfo};
use sqlx::{Any, AnyConnection, Connection, Either, Execute, Executor, SqlStr};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use crate::connector::Connector;
use crate::error::{is_connection_lost, is_outage};

/// How long to wait for a connection that others use.
const WAIT: Duration = Duration::from_secs(5);
/// How long a read may take, from the wait for a connection to the last row.
const READ: Duration = Duration::from_secs(6);
/// How long uses under way may take once the connections are closed, and how long closing one may take.
const CLOSE: Duration = Duration::from_secs(10);

/// Counts the times that a connection of this database was lost. What was opened before the last time is not used
/// again: after a fail-over it may lead to the former primary.
#[derive(Clone, Debug, Default)]
pub(crate) struct Epoch(Arc<AtomicU64>);

impl Epoch {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Ends the epoch, if it still is the one in which the lost connection was opened.
    fn end(&self, opened: u64) {
        let _ = self
            .0
            .compare_exchange(opened, opened + 1, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// A bounded number of connections for one purpose.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    connector: Connector,
    epoch: Epoch,
    size: u32,
    places: Arc<Semaphore>,
    /// Those that nobody uses, with the epoch in which they were opened.
    idle: Mutex<Vec<(u64, AnyConnection)>>,
}

impl Connections {
    /// Up to `size` connections, opened on demand.
    pub(crate) fn new(connector: Connector, epoch: Epoch, size: u32) -> Self {
        Self {
            shared: Arc::new(Shared {
                connector,
                epoch,
                size,
                places: Arc::new(Semaphore::new(size as usize)),
                idle: Mutex::default(),
            }),
        }
    }

    /// A connection for one use: an idle one, or a new one.
    ///
    /// # Errors
    /// If none is free in time, or none can be opened.
    pub(crate) async fn lease(&self) -> sqlx::Result<Lease> {
        let place = timeout(WAIT, Arc::clone(&self.shared.places).acquire_owned())
            .await
            .map_err(|_| sqlx::Error::PoolTimedOut)?
            .map_err(|_| sqlx::Error::PoolClosed)?;
        let (epoch, connection) = match self.shared.take_idle() {
            Some(found) => found,
            None => {
                let epoch = self.shared.epoch.now();
                (epoch, self.shared.connector.connect().await?)
            }
        };
        Ok(Lease {
            connection,
            epoch,
            shared: Arc::clone(&self.shared),
            _place: place,
        })
    }

    /// Waits for uses under way, and closes all connections.
    pub(crate) async fn close(&self) {
        let all = timeout(CLOSE, self.shared.places.acquire_many(self.shared.size)).await;
        self.shared.places.close();
        drop(all);
        let idle = std::mem::take(&mut *self.shared.idle());
        for (_, connection) in idle {
            // An error or a silent server: then it is dropped.
            let _ = timeout(CLOSE, connection.close()).await;
        }
    }
}

impl Shared {
    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<(u64, AnyConnection)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection that was used last. All of former epochs are dropped.
    fn take_idle(&self) -> Option<(u64, AnyConnection)> {
        let now = self.epoch.now();
        let mut idle = self.idle();
        let found = idle.pop_if(|(epoch, _)| *epoch == now);
        let old = if found.is_none() {
            std::mem::take(&mut *idle)
        } else {
            Vec::new()
        };
        drop(idle);
        drop(old);
        found
    }
}

/// A connection in use. Dropping it closes the connection; [`Lease::give_back`] keeps the connection for the next use.
#[derive(Debug)]
pub(crate) struct Lease {
    connection: AnyConnection,
    epoch: u64,
    shared: Arc<Shared>,
    /// Dropped last, so that there are never more connections than places.
    _place: OwnedSemaphorePermit,
}

impl Lease {
    /// The use is complete, and no transaction is open.
    pub(crate) fn give_back(self) {
        if self.epoch == self.shared.epoch.now() && !self.shared.places.is_closed() {
            self.shared.idle().push((self.epoch, self.connection));
        }
    }

    /// The connection was lost, so others that were opened before probably are as well.
    pub(crate) fn end_epoch(self) {
        self.shared.epoch.end(self.epoch);
    }

    /// Gives the connection back, or closes it, depending on how its use ended.
    pub(crate) fn end(self, error: Option<&sqlx::Error>) {
        match error {
            Some(error) if is_connection_lost(error) => self.end_epoch(),
            Some(error) if is_outage(error) => drop(self),
            _ => self.give_back(),
        }
    }
}

impl Deref for Lease {
    type Target = AnyConnection;
    fn deref(&self) -> &AnyConnection {
        &self.connection
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut AnyConnection {
        &mut self.connection
    }
}

/// The connections that read. `&Readers` executes statements that only read: one whose connection was lost is executed
/// a second time.
#[derive(Clone, Debug)]
pub(crate) struct Readers(Connections);

/// A statement that can be executed more than once.
struct RepeatableRead {
    sql: SqlStr,
    arguments: Option<AnyArguments>,
    persistent: bool,
}

impl RepeatableRead {
    fn from_query<'q, E: Execute<'q, Any>>(mut query: E) -> sqlx::Result<Self> {
        Ok(Self {
            arguments: query.take_arguments().map_err(sqlx::Error::Encode)?,
            persistent: query.persistent(),
            sql: query.sql(),
        })
    }

    fn run<'c>(
        &self,
        connection: &'c mut AnyConnection,
        rows: RowCount,
    ) -> BoxFuture<'c, ReadResult> {
        let Some(given) = &self.arguments else {
            return connection.run(sqlx::raw_sql(self.sql.clone()), rows);
        };
        let mut arguments = AnyArguments::default();
        arguments.values.0.clone_from(&given.values.0);
        let query =
            sqlx::query_with::<Any, _>(self.sql.clone(), arguments).persistent(self.persistent);
        connection.run(query, rows)
    }
}

#[derive(Clone, Copy)]
enum RowCount {
    /// The first row.
    One,
    All,
}

type StatementPart = Either<AnyQueryResult, AnyRow>;
type ReadResult = sqlx::Result<Vec<StatementPart>>;

trait Run<'c> {
    fn run<'q: 'c, E: Execute<'q, Any> + 'q>(
        self,
        query: E,
        rows: RowCount,
    ) -> BoxFuture<'c, ReadResult>;
}

impl<'c> Run<'c> for &'c mut AnyConnection {
    fn run<'q: 'c, E: Execute<'q, Any> + 'q>(
        self,
        query: E,
        rows: RowCount,
    ) -> BoxFuture<'c, ReadResult> {
        match rows {
            RowCount::One => Box::pin(
                self.fetch_optional(query)
                    .map_ok(|row| row.into_iter().map(Either::Right).collect()),
            ),
            RowCount::All => Box::pin(self.fetch_many(query).try_collect()),
        }
    }
}

impl Readers {
    pub(crate) fn new(connections: Connections) -> Self {
        Self(connections)
    }

    pub(crate) async fn close(&self) {
        self.0.close().await;
    }

    async fn read(&self, statement: sqlx::Result<RepeatableRead>, rows: RowCount) -> ReadResult {
        let statement = statement?;
        let deadline = Instant::now() + READ;
        match self.read_once(&statement, rows, deadline).await {
            // The time limit is one for both, since somebody waits.
            Err(error) if is_connection_lost(&error) && Instant::now() < deadline => {
                self.read_once(&statement, rows, deadline).await
            }
            outcome => outcome,
        }
    }

    async fn read_once(
        &self,
        statement: &RepeatableRead,
        rows: RowCount,
        deadline: Instant,
    ) -> ReadResult {
        let mut lease = timeout_at(deadline, self.0.lease())
            .await
            .map_err(|_| too_long())??;
        let Ok(outcome) = timeout_at(deadline, statement.run(&mut lease, rows)).await else {
            lease.end_epoch();
            return Err(too_long());
        };
        lease.end(outcome.as_ref().err());
        outcome
    }
}

fn too_long() -> sqlx::Error {
    sqlx::Error::Io(std::io::Error::new(
        std::io::ErrorKind::TimedOut,
        "the database did not answer in time",
    ))
}

const ONE_CONNECTION: &str = "statements are prepared by one connection, not by all";

impl<'c> Executor<'c> for &'c Readers {
    type Database = Any;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, sqlx::Result<StatementPart>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Any>,
    {
        let statement = RepeatableRead::from_query(query);
        // All rows are collected first, since a read that is repeated must not return a row twice.
        stream::once(self.read(statement, RowCount::All))
            .map_ok(|steps| stream::iter(steps.into_iter().map(Ok)))
            .try_flatten()
            .boxed()
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, sqlx::Result<Option<AnyRow>>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Any>,
    {
        let statement = RepeatableRead::from_query(query);
        Box::pin(self.read(statement, RowCount::One).map_ok(|steps| {
            steps.into_iter().find_map(|step| match step {
                Either::Right(row) => Some(row),
                Either::Left(_) => None,
            })
        }))
    }

    fn prepare_with<'e>(
        self,
        _sql: SqlStr,
        _parameters: &'e [AnyTypeInfo],
    ) -> BoxFuture<'e, sqlx::Result<AnyStatement>>
    where
        'c: 'e,
    {
        Box::pin(ready(Err(sqlx::Error::Protocol(ONE_CONNECTION.to_owned()))))
    }

    fn describe<'e>(self, _sql: SqlStr) -> BoxFuture<'e, sqlx::Result<sqlx::Describe<Any>>>
    where
        'c: 'e,
    {
        Box::pin(ready(Err(sqlx::Error::Protocol(ONE_CONNECTION.to_owned()))))
    }
}
