//! The part of a claim mapper's places that UserInfo and introspection may use.
//!
//! Whoever has an access token calls them as often as they like, and sign-ins of every application wait for the same places. So those
//! calls wait in a queue of their own, and run in half of the places at most.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::fault::Fault;
use super::spec::Limits;

/// Half of the places of a plugin.
#[derive(Debug)]
pub(super) struct Share {
    /// A permit for each call that runs or waits.
    admitted: Semaphore,
    /// A permit for each call that runs, or waits for the plugin.
    running: Semaphore,
    wait: Duration,
}

/// A place of a call, until it is dropped.
#[derive(Debug)]
pub(super) struct Place<'a> {
    _admitted: SemaphorePermit<'a>,
    _running: SemaphorePermit<'a>,
}

impl Share {
    /// Half of what these limits allow, one call at least.
    pub(super) fn half_of(limits: &Limits) -> Self {
        let places = |count: u32| Semaphore::new(usize::try_from(count).unwrap_or(Semaphore::MAX_PERMITS));
        let running = (limits.concurrency / 2).max(1);
        Self {
            admitted: places(running.saturating_add(limits.waiting / 2)),
            running: places(running),
            wait: limits.wait,
        }
    }

    /// Waits for a place as long as the plugin's limits say.
    pub(super) async fn enter(&self) -> Result<Place<'_>, Fault> {
        let admitted = self.admitted.try_acquire().map_err(|_| Fault::Busy)?;
        match tokio::time::timeout(self.wait, self.running.acquire()).await {
            Ok(Ok(running)) => Ok(Place { _admitted: admitted, _running: running }),
            _ => Err(Fault::Busy),
        }
    }
}
