//! The leases of this instance on the work of approval channels. An instance that stops returns them, so that another
//! one continues at once.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::task::JoinSet;

use assent_model::delivery::LeasedDelivery;
use assent_model::id::{ApprovalId, DeliveryId};

/// What this instance has leased.
#[derive(Debug, Default)]
pub struct LeasedWork(Mutex<Leases>);

/// The leases.
#[derive(Debug, Default)]
pub(super) struct Leases {
    /// The deliveries that a channel is asked about.
    pub(super) deliveries: HashMap<DeliveryId, LeasedDelivery>,
    /// The requests that are sent.
    pub(super) dispatches: HashSet<ApprovalId>,
    /// The tasks that send them.
    pub(super) senders: JoinSet<()>,
}

impl LeasedWork {
    pub(super) fn leases(&self) -> MutexGuard<'_, Leases> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
