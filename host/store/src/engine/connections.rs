//! The connections to the database. They live long, and are neither tested nor replaced while they work. A connection
//! is closed if its use fails because of the connection, exceeds its time limit, or is cancelled. The next response on
//! such a connection would be unpredictable. The next use opens another one.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tokio::time::{Instant, timeout, timeout_at};

use crate::engine::measurements::Measurements;
use crate::engine::pipelined::{Epoch, PipelinedConnections};
use crate::engine::sql;
use crate::engine::sql::{Connection, Executor, Options, Query, Rows};
use assent_model::clock::QUEUE_DEADLINE;

/// The time limit of a read, from the wait for a connection to the last row.
const READ: Duration = Duration::from_secs(6);
/// The time limit for running uses after the connections are closed, and for closing a connection.
const CLOSE: Duration = Duration::from_secs(10);

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
    /// The unused connections, each with the epoch in which it was opened.
    idle: Mutex<Vec<(u64, Connection)>>,
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
        let (epoch, connection) = match self.shared.take_idle() {
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

    /// Waits for running uses, and closes all connections.
    pub(crate) async fn close(&self) {
        let all = timeout(CLOSE, self.shared.places.acquire_many(self.shared.size)).await;
        self.shared.places.close();
        drop(all);
        let idle = std::mem::take(&mut *self.shared.idle());
        for (_, connection) in idle {
            // If the server does not respond, the connection is dropped.
            let _ = timeout(CLOSE, connection.close()).await;
        }
    }
}

impl Shared {
    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<(u64, Connection)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection that was used last. Drops all connections of earlier epochs.
    fn take_idle(&self) -> Option<(u64, Connection)> {
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
    /// Returns the connection after a complete use. No transaction may be open.
    pub(crate) fn give_back(self) {
        if self.epoch == self.shared.epoch.now() && !self.shared.places.is_closed() {
            self.shared.idle().push((self.epoch, self.connection));
        }
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

/// The connections that read. `&Readers` executes statements that only read. If a connection was lost, its statement is
/// executed a second time.
///
/// PostgreSQL has other connections for lookups, [`Readers::lookups`], so that a slow list does not delay a lookup.
#[derive(Clone, Debug)]
pub(crate) struct Readers {
    connections: Connections,
    pipelined: Option<PipelinedConnections>,
}

/// Executes statements that read a few rows by their keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lookups<'r>(&'r Readers);

impl Readers {
    pub(crate) fn new(connections: Connections, pipelined: Option<PipelinedConnections>) -> Self {
        Self {
            connections,
            pipelined,
        }
    }

    /// Returns the executor of statements that read a few rows by their keys.
    pub(crate) const fn lookups(&self) -> Lookups<'_> {
        Lookups(self)
    }

    /// The connections that read lists; on SQLite, the connections for all reads.
    pub(crate) const fn list_connections(&self) -> &Connections {
        &self.connections
    }

    /// The number of running lookups on shared connections.
    pub(crate) fn lookups_under_way(&self) -> u32 {
        self.pipelined
            .as_ref()
            .map_or(0, PipelinedConnections::under_way)
    }

    #[cfg(test)]
    pub(crate) const fn pipelined(&self) -> Option<&PipelinedConnections> {
        self.pipelined.as_ref()
    }

    pub(crate) async fn close(&self) {
        self.connections.close().await;
        if let Some(pipelined) = &self.pipelined {
            pipelined.close().await;
        }
    }

    async fn read_once(&self, query: &Query, deadline: Instant) -> sql::Result<Rows> {
        let mut lease = timeout_at(deadline, self.connections.lease())
            .await
            .map_err(|_| TOO_LONG)??;
        lease.set_deadline(Some(deadline.into_std()));
        let Ok(outcome) = timeout_at(deadline, lease.run(query)).await else {
            lease.end_epoch();
            return Err(TOO_LONG);
        };
        lease.end(outcome.as_ref().err());
        outcome
    }
}

/// Executes a lookup on a connection that carries others at the same time.
async fn look_up_once(
    pipelined: &PipelinedConnections,
    query: &Query,
    deadline: Instant,
) -> sql::Result<Rows> {
    let mut handle = timeout_at(deadline, pipelined.handle())
        .await
        .map_err(|_| TOO_LONG)??;
    let Ok(outcome) = timeout_at(deadline, handle.connection.run(query)).await else {
        pipelined.end_epoch(handle.epoch);
        return Err(TOO_LONG);
    };
    if outcome.as_ref().is_err_and(sql::Error::is_connection_lost) {
        pipelined.end_epoch(handle.epoch);
    }
    outcome
}

const TOO_LONG: sql::Error = sql::Error::TimedOut("reading the database");

impl Executor for &Readers {
    async fn run(self, query: &Query) -> sql::Result<Rows> {
        let deadline = Instant::now() + READ;
        match self.read_once(query, deadline).await {
            // Both attempts share one time limit, because a caller waits.
            Err(error) if error.is_connection_lost() && Instant::now() < deadline => {
                self.read_once(query, deadline).await
            }
            outcome => outcome,
        }
    }
}

impl Executor for Lookups<'_> {
    async fn run(self, query: &Query) -> sql::Result<Rows> {
        let Some(pipelined) = &self.0.pipelined else {
            return self.0.run(query).await;
        };
        let deadline = Instant::now() + READ;
        match look_up_once(pipelined, query, deadline).await {
            Err(error) if error.is_connection_lost() && Instant::now() < deadline => {
                look_up_once(pipelined, query, deadline).await
            }
            outcome => outcome,
        }
    }
}
