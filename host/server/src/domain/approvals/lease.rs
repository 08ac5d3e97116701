//! The leases of this instance on the work of approval channels. An instance that stops returns them, so that another
//! one continues at once.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::task::JoinSet;

use assent_model::delivery::LeasedDelivery;
use assent_model::id::{ApprovalId, DeliveryId};

/// The leases of this instance.
#[derive(Debug, Default)]
pub struct LeasedWork(Mutex<Leases>);

/// The leases by kind of work.
#[derive(Debug, Default)]
pub(super) struct Leases {
    /// The deliveries that are polled.
    pub(super) deliveries: HashMap<DeliveryId, LeasedDelivery>,
    /// The requests that are being sent.
    pub(super) dispatches: HashSet<ApprovalId>,
    /// The tasks that send them.
    pub(super) senders: JoinSet<()>,
}

impl LeasedWork {
    pub(super) fn leases(&self) -> MutexGuard<'_, Leases> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
