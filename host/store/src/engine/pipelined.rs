//! Connections to PostgreSQL that execute several short statements at a time. Each statement is sent without a wait for
//! the results of those before it. So a connection executes more than one statement in each round trip.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::engine::sql;
use crate::engine::sql::{Connection, Options};
use assent_model::clock::QUEUE_DEADLINE;

/// The most running statements on one connection.
const MOST: usize = 64;
/// The time limit for running statements after the connections are closed, and for closing a connection.
const CLOSE: Duration = Duration::from_secs(10);

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

/// A bounded number of shared connections, opened on demand.
#[derive(Clone)]
pub(crate) struct PipelinedConnections {
    options: Options,
    epoch: Epoch,
    slots: Arc<[Slot]>,
}

struct Slot {
    places: Semaphore,
    /// The connection, with the epoch in which it was opened.
    connection: Mutex<Option<(u64, Connection)>>,
}

/// A handle for one statement.
pub(crate) struct SharedHandle<'c> {
    pub(crate) connection: Connection,
    /// The epoch of the connection.
    pub(crate) epoch: u64,
    _place: SemaphorePermit<'c>,
}

impl std::fmt::Debug for PipelinedConnections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PipelinedConnections")
            .finish_non_exhaustive()
    }
}

impl PipelinedConnections {
    /// Up to `count` connections.
    pub(crate) fn new(options: Options, epoch: Epoch, count: u32) -> Self {
        let slot = || Slot {
            places: Semaphore::new(MOST),
            connection: Mutex::default(),
        };
        Self {
            options,
            epoch,
            slots: (0..count).map(|_| slot()).collect(),
        }
    }

    /// Returns a handle of the connection with the fewest running statements, so that a connection that hangs delays
    /// few of them.
    ///
    /// # Errors
    /// If no connection is free in time, or none can be opened.
    pub(crate) async fn handle(&self) -> sql::Result<SharedHandle<'_>> {
        let slot = self
            .slots
            .iter()
            .max_by_key(|slot| slot.places.available_permits())
            .ok_or(sql::Error::NoneFree)?;
        let place = timeout(QUEUE_DEADLINE, slot.places.acquire())
            .await
            .map_err(|_| sql::Error::NoneFree)?
            .map_err(|_| sql::Error::Closed)?;
        let mut cached = slot.connection.lock().await;
        let now = self.epoch.now();
        if let Some((epoch, connection)) = cached.as_ref().filter(|(epoch, _)| *epoch == now)
            && let Some(connection) = connection.share()
        {
            return Ok(SharedHandle {
                connection,
                epoch: *epoch,
                _place: place,
            });
        }
        *cached = None;
        let opened = self.options.connect().await?;
        let connection = opened.share().ok_or(sql::Error::NoneFree)?;
        *cached = Some((now, opened));
        Ok(SharedHandle {
            connection,
            epoch: now,
            _place: place,
        })
    }

    /// The number of running statements.
    pub(crate) fn under_way(&self) -> u32 {
        let places = self
            .slots
            .iter()
            .map(|slot| slot.places.available_permits());
        let under_way: usize = places.map(|free| MOST.saturating_sub(free)).sum();
        u32::try_from(under_way).unwrap_or(u32::MAX)
    }

    /// Ends the epoch, because the connection was lost: others that were opened before are probably lost as well.
    pub(crate) fn end_epoch(&self, opened: u64) {
        self.epoch.end(opened);
    }

    /// Waits for running statements, and closes the connections.
    pub(crate) async fn close(&self) {
        for slot in self.slots.iter() {
            let all = u32::try_from(MOST).unwrap_or(u32::MAX);
            let all = timeout(CLOSE, slot.places.acquire_many(all)).await;
            slot.places.close();
            drop(all);
            if let Some((_, connection)) = slot.connection.lock().await.take() {
                // If the server does not respond, the connection is dropped.
                let _ = timeout(CLOSE, connection.close()).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::future::join_all;

    use crate::engine::connect::Database;

    use super::*;

    /// The number, and the process id of the session that answered.
    async fn look_up(database: &Database, number: i64) -> sql::Result<(i64, i64)> {
        sql::query_as("SELECT 100 / (100 / $1), CAST(pg_backend_pid() AS BIGINT)")
            .bind(number)
            .fetch_one(database.readers.lookups())
            .await
    }

    #[tokio::test]
    async fn lookups_share_connections_and_fail_by_themselves() {
        let database = Database::empty_postgres("shared", "-c geqo=on").await;
        let numbers = [1, 2, 4, 0, 5, 10, 20].into_iter().cycle().take(210);
        let results = join_all(numbers.clone().map(|number| look_up(&database, number))).await;
        let mut sessions = Vec::new();
        for (number, result) in numbers.zip(results) {
            match result {
                Ok((answer, session)) => {
                    assert_eq!(answer, number);
                    sessions.push(session);
                }
                Err(error) => assert_eq!(number, 0, "{error:?}"),
            }
        }
        assert_eq!(sessions.len(), 180);
        sessions.sort_unstable();
        sessions.dedup();
        let slots = database.readers.pipelined().unwrap().slots.len();
        assert!(sessions.len() <= slots, "{sessions:?} of {slots}");
        database.readers.close().await;
        assert!(matches!(
            look_up(&database, 1).await,
            Err(sql::Error::Closed)
        ));
    }

    #[tokio::test]
    async fn a_list_that_takes_long_delays_no_lookup() {
        let database = Database::empty_postgres("lists", "-c geqo=on").await;
        let slow = sql::query("SELECT pg_sleep(60)");
        let lists = (0..20).map(|_| slow.clone().execute(&database.readers));
        let mut lists = pin!(join_all(lists));
        let lookups = join_all((0..20).map(|_| look_up(&database, 1)));
        tokio::select! {
            _ = &mut lists => panic!("the lists are read"),
            answers = lookups => assert!(answers.iter().all(Result::is_ok), "{answers:?}"),
        }
    }

    #[tokio::test]
    async fn a_lost_connection_is_replaced() {
        let database = Database::empty_postgres("lost", "-c geqo=on").await;
        let (_, before) = look_up(&database, 1).await.unwrap();
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";
        sql::query(end).execute(&database.readers).await.unwrap();
        let answers = join_all((0..20).map(|_| look_up(&database, 1))).await;
        for answer in answers {
            assert_ne!(answer.unwrap().1, before);
        }
    }
}
