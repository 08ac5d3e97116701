//! The connections to the database. They live long, and are neither tested nor replaced while they work. A connection
//! is closed if its use fails because of the connection, exceeds its time limit, or is cancelled. The next response on
//! such a connection would be unpredictable. The next use opens another one.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tokio::time::{Instant, timeout, timeout_at};
use tracing::Instrument;
use tracing::instrument::WithSubscriber;

use crate::engine::measurements::Measurements;
use crate::engine::sql;
use crate::engine::sql::{Connection, Executor, Liveness, Options, Query, Rows};
use assent_model::clock::QUEUE_DEADLINE;

/// The time limit of a read, from the wait for a connection to the last row.
const READ: Duration = Duration::from_secs(6);
/// The time limit for running uses after the connections are closed, and for closing a connection.
const CLOSE: Duration = Duration::from_secs(10);
/// How long a connection may be idle and be used without a test. A network that drops a connection silently would cost
/// its next use the whole time limit.
const UNTESTED: Duration = Duration::from_secs(10);
/// How much earlier than its use SQLite's statement ends. So the caller gets the database's error, and the time limit
/// of the use remains for a disk that does not respond.
const MARGIN: Duration = Duration::from_secs(1);

/// Counts how often a connection of this database was lost. Connections that were opened before the last loss are not
/// used again, because after a fail-over they may lead to the former primary.
#[derive(Clone, Debug, Default)]
pub(crate) struct Epoch(Arc<AtomicU64>);

impl Epoch {
    pub(crate) fn now(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Ends the epoch in which the lost connection was opened, if it has not ended yet.
    pub(crate) fn end(&self, opened: u64) {
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
    options: Options,
    epoch: Epoch,
    size: u32,
    places: Arc<Semaphore>,
    idle: Mutex<Vec<Idle>>,
}

/// An unused connection.
#[derive(Debug)]
struct Idle {
    connection: Connection,
    /// The epoch in which it was opened.
    epoch: u64,
    since: Instant,
}

impl Connections {
    /// Up to `size` connections, opened on demand.
    pub(crate) fn new(options: Options, epoch: Epoch, size: u32) -> Self {
        Self {
            shared: Arc::new(Shared {
                options,
                epoch,
                size,
                places: Arc::new(Semaphore::new(size as usize)),
                idle: Mutex::default(),
            }),
        }
    }

    pub(crate) fn measurements(&self) -> &Arc<Measurements> {
        self.shared.options.measurements()
    }

    /// The numbers of used and of idle connections.
    pub(crate) fn counts(&self) -> (u32, u32) {
        let free = u32::try_from(self.shared.places.available_permits()).unwrap_or(u32::MAX);
        let idle = u32::try_from(self.shared.idle().len()).unwrap_or(u32::MAX);
        (self.shared.size.saturating_sub(free), idle)
    }

    /// Returns a connection for one use: an idle one, or a new one.
    ///
    /// # Errors
    /// If no connection is free in time, or none can be opened.
    pub(crate) async fn lease(&self) -> sql::Result<Lease> {
        let place = match Arc::clone(&self.shared.places).try_acquire_owned() {
            Ok(place) => place,
            Err(TryAcquireError::Closed) => return Err(sql::Error::Closed),
            Err(TryAcquireError::NoPermits) => {
                let begun = Instant::now();
                let free = Arc::clone(&self.shared.places).acquire_owned();
                let place = timeout(QUEUE_DEADLINE, free).await;
                let waits = &self.measurements().connection_waits;
                waits.record_time(begun.elapsed());
                place
                    .map_err(|_| sql::Error::NoneFree)?
                    .map_err(|_| sql::Error::Closed)?
            }
        };
        let (epoch, connection) = match self.shared.take_usable().await {
            Some(found) => found,
            None => {
                let epoch = self.shared.epoch.now();
                (epoch, self.shared.options.connect().await?)
            }
        };
        Ok(Lease {
            connection,
            epoch,
            shared: Arc::clone(&self.shared),
            _place: place,
        })
    }

    async fn lease_until(&self, deadline: Instant) -> sql::Result<Lease> {
        let lease = timeout_at(deadline, self.lease()).await;
        lease.map_err(|_| TOO_LONG)?
    }

    /// Waits for running uses, and closes all connections.
    pub(crate) async fn close(&self) {
        let all = timeout(CLOSE, self.shared.places.acquire_many(self.shared.size)).await;
        self.shared.places.close();
        drop(all);
        let idle = std::mem::take(&mut *self.shared.idle());
        for Idle { connection, .. } in idle {
            // If the server does not respond, the connection is dropped.
            let _ = timeout(CLOSE, connection.close()).await;
        }
    }
}

impl Shared {
    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an idle connection whose server responds, with its epoch.
    async fn take_usable(&self) -> Option<(u64, Connection)> {
        while let Some(mut idle) = self.take_idle() {
            let tested = match idle.since.elapsed() > UNTESTED {
                true => idle.connection.test().await,
                false => Liveness::Responds,
            };
            match tested {
                Liveness::Responds => {
                    idle.connection.begin_use();
                    return Some((idle.epoch, idle.connection));
                }
                // A proxy closes idle connections; the others may be usable.
                Liveness::Closed => {}
                Liveness::Silent => self.epoch.end(idle.epoch),
            }
        }
        None
    }

    /// Returns the connection that was used last. Drops all connections of earlier epochs.
    fn take_idle(&self) -> Option<Idle> {
        let now = self.epoch.now();
        let mut idle = self.idle();
        let found = idle.pop_if(|last| last.epoch == now);
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

/// A connection in use. Dropping it closes the connection; [`Lease::give_back`] returns the connection for the next
/// use.
#[derive(Debug)]
pub(crate) struct Lease {
    connection: Connection,
    epoch: u64,
    shared: Arc<Shared>,
    /// Dropped last, so that there are never more connections than permits.
    _place: OwnedSemaphorePermit,
}

impl Lease {
    /// Sets the time at which this use ends.
    pub(crate) fn end_statements_before(&mut self, deadline: Instant) {
        let end = deadline.into_std().checked_sub(MARGIN);
        self.connection.set_deadline(end);
    }

    /// Returns the connection after a complete use. No transaction may be open.
    pub(crate) fn give_back(self) {
        if self.epoch == self.shared.epoch.now() && !self.shared.places.is_closed() {
            self.shared.idle().push(Idle {
                connection: self.connection,
                epoch: self.epoch,
                since: Instant::now(),
            });
        }
    }

    /// Closes the connection, whose use took too long. If the database did not answer, it may be frozen. Then the other
    /// connections are unusable too, and each would cost a time limit.
    pub(crate) fn abandon(self) {
        if self.connection.is_silent() {
            self.end_epoch();
        }
    }

    /// Executes a statement that only reads, and returns the connection.
    async fn read(mut self, query: &Query, deadline: Instant) -> sql::Result<Rows> {
        self.end_statements_before(deadline);
        let Ok(outcome) = timeout_at(deadline, self.run(query)).await else {
            self.abandon();
            return Err(TOO_LONG);
        };
        self.end(outcome.as_ref().err());
        outcome
    }

    /// Ends the epoch, because the connection was lost: others that were opened before are probably lost as well.
    pub(crate) fn end_epoch(self) {
        self.shared.epoch.end(self.epoch);
    }

    /// Returns the connection, or closes it, depending on how its use ended.
    pub(crate) fn end(self, error: Option<&sql::Error>) {
        match error {
            Some(error) if error.is_connection_lost() => self.end_epoch(),
            Some(error) if error.is_outage() => drop(self),
            _ => self.give_back(),
        }
    }
}

impl Deref for Lease {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

/// The connections that read. `&Readers` executes statements that only read, and [`Readers::lookups`] those that read a
/// few rows by their keys. They have connections of their own, so that a slow list does not delay a lookup.
#[derive(Clone, Debug)]
pub(crate) struct Readers {
    lists: Connections,
    lookups: Connections,
}

impl Readers {
    pub(crate) const fn new(lists: Connections, lookups: Connections) -> Self {
        Self { lists, lookups }
    }

    /// Returns the executor of statements that read a few rows by their keys.
    pub(crate) const fn lookups(&self) -> &Connections {
        &self.lookups
    }

    /// The connections that read lists.
    pub(crate) const fn lists(&self) -> &Connections {
        &self.lists
    }

    pub(crate) async fn close(&self) {
        self.lists.close().await;
        self.lookups.close().await;
    }
}

impl Executor for &Readers {
    async fn run(self, query: &Query) -> sql::Result<Rows> {
        self.lists.run(query).await
    }
}

/// Executes statements that only read. If a connection was lost, its statement is executed a second time. The read has
/// a task of its own, so that a caller that goes away neither closes the connection nor leaves its session behind.
impl Executor for &Connections {
    async fn run(self, query: &Query) -> sql::Result<Rows> {
        let deadline = Instant::now() + READ;
        let lease = self.lease_until(deadline).await?;
        let (connections, query) = (self.clone(), query.clone());
        let read = async move {
            match lease.read(&query, deadline).await {
                // Both attempts share one time limit, because a caller waits.
                Err(error) if error.is_connection_lost() && Instant::now() < deadline => {
                    let lease = connections.lease_until(deadline).await?;
                    lease.read(&query, deadline).await
                }
                outcome => outcome,
            }
        };
        let read = tokio::spawn(read.in_current_span().with_current_subscriber());
        // The task ends early only if the runtime ends.
        read.await.unwrap_or(Err(sql::Error::Closed))
    }
}

const TOO_LONG: sql::Error = sql::Error::TimedOut("reading the database");

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::future::join_all;

    use crate::engine::connect::Database;

    use super::*;

    /// The process id of the session that answered.
    async fn look_up(database: &Database) -> sql::Result<i64> {
        let (session,): (i64,) = sql::query_as("SELECT CAST(pg_backend_pid() AS BIGINT)")
            .fetch_one(database.readers.lookups())
            .await?;
        Ok(session)
    }

    #[tokio::test]
    async fn a_list_that_takes_long_delays_no_lookup() {
        let database = Database::empty_postgres("lists", "-c geqo=on").await;
        let slow = sql::query("SELECT pg_sleep(60)");
        let lists = (0..20).map(|_| slow.clone().execute(&database.readers));
        let mut lists = pin!(join_all(lists));
        let lookups = join_all((0..20).map(|_| look_up(&database)));
        tokio::select! {
            _ = &mut lists => panic!("the lists are read"),
            answers = lookups => assert!(answers.iter().all(Result::is_ok), "{answers:?}"),
        }
    }

    #[tokio::test]
    async fn a_lost_connection_is_replaced() {
        let database = Database::empty_postgres("lost", "-c geqo=on").await;
        let before = look_up(&database).await.unwrap();
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";
        sql::query(end).execute(&database.readers).await.unwrap();
        let answers = join_all((0..20).map(|_| look_up(&database))).await;
        for answer in answers {
            assert_ne!(answer.unwrap(), before);
        }
    }

    #[tokio::test]
    async fn a_cancelled_read_keeps_its_connection() {
        let database = Database::empty_postgres("cancelled", "-c geqo=on").await;
        let before = look_up(&database).await.unwrap();
        let slow = sql::query("SELECT pg_sleep(0.2)");
        let slow = slow.execute(database.readers.lookups());
        assert!(timeout(Duration::from_millis(10), slow).await.is_err());
        while database.readers.lookups().counts().0 > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(look_up(&database).await.unwrap(), before);
    }
}
