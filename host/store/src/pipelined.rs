//! Connections to PostgreSQL over which several short statements are under way at a time. Each statement is sent without
//! a wait for the answers to those before it, so a connection serves more than one statement for each round trip.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::connections::Epoch;
use crate::sql::{self, Connection, Options};
use assent_model::deadline::QUEUE_DEADLINE;

/// How many statements are under way over one connection at most.
const MOST: usize = 64;
/// How long statements under way may take once the connections are closed, and how long closing one may take.
const CLOSE: Duration = Duration::from_secs(10);

/// A bounded number of shared connections, opened on demand.
#[derive(Clone)]
pub(crate) struct PipelinedConnections {
    options: Options,
    epoch: Epoch,
    slots: Arc<[Slot]>,
}

struct Slot {
    places: Semaphore,
    /// With the epoch in which it was opened.
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

    /// A handle of the connection with the fewest statements under way, so that one which hangs delays few.
    ///
    /// # Errors
    /// If none is free in time, or none can be opened.
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
        let mut kept = slot.connection.lock().await;
        let now = self.epoch.now();
        if let Some((epoch, connection)) = kept.as_ref().filter(|(epoch, _)| *epoch == now)
            && let Some(connection) = connection.share()
        {
            return Ok(SharedHandle {
                connection,
                epoch: *epoch,
                _place: place,
            });
        }
        *kept = None;
        let opened = self.options.connect().await?;
        let connection = opened.share().ok_or(sql::Error::NoneFree)?;
        *kept = Some((now, opened));
        Ok(SharedHandle {
            connection,
            epoch: now,
            _place: place,
        })
    }

    /// The connection was lost, so others that were opened before probably are as well.
    pub(crate) fn end_epoch(&self, opened: u64) {
        self.epoch.end(opened);
    }

    /// Waits for statements under way, and closes the connections.
    pub(crate) async fn close(&self) {
        for slot in self.slots.iter() {
            let all = u32::try_from(MOST).unwrap_or(u32::MAX);
            let all = timeout(CLOSE, slot.places.acquire_many(all)).await;
            slot.places.close();
            drop(all);
            if let Some((_, connection)) = slot.connection.lock().await.take() {
                // The server may be silent: then the connection is dropped.
                let _ = timeout(CLOSE, connection.close()).await;
            }
        }
    }
}
