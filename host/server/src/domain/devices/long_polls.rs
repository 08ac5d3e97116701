//! The pending long polls of devices. Each device can have only a few.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use assent_model::id::DeviceId;

/// The largest number of pending requests of a device. An app needs one. A second one may wait on a lost connection.
const MOST: usize = 2;

/// The pending requests by device, the oldest first.
#[derive(Debug, Default)]
pub struct LongPolls(Mutex<HashMap<DeviceId, VecDeque<Arc<Notify>>>>);

impl LongPolls {
    fn waiting(&self) -> MutexGuard<'_, HashMap<DeviceId, VecDeque<Arc<Notify>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request of a device. If the device has too many, the oldest is replaced.
    pub fn begin(&self, device: DeviceId) -> LongPoll<'_> {
        let replaced = Arc::<Notify>::default();
        let mut waiting = self.waiting();
        let of_device = waiting.entry(device).or_default();
        of_device.push_back(Arc::clone(&replaced));
        if of_device.len() > MOST
            && let Some(oldest) = of_device.pop_front()
        {
            oldest.notify_one();
        }
        LongPoll {
            polls: self,
            device,
            replaced,
        }
    }
}

/// A pending request.
#[derive(Debug)]
pub struct LongPoll<'a> {
    polls: &'a LongPolls,
    device: DeviceId,
    replaced: Arc<Notify>,
}

impl LongPoll<'_> {
    /// Waits until newer requests of the device replace this one.
    pub async fn replaced(&self) {
        self.replaced.notified().await;
    }
}

impl Drop for LongPoll<'_> {
    fn drop(&mut self) {
        let mut waiting = self.polls.waiting();
        if let Some(of_device) = waiting.get_mut(&self.device) {
            of_device.retain(|other| !Arc::ptr_eq(other, &self.replaced));
            if of_device.is_empty() {
                waiting.remove(&self.device);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use assent_model::clock::Timestamp;
    use assent_model::entropy::SystemEntropy;
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn the_newest_requests_of_a_device_replace_the_oldest() {
        let polls = LongPolls::default();
        let [device, other] =
            [(); 2].map(|()| DeviceId::new(Timestamp::from_millis(1), &SystemEntropy));
        let waits = |poll: &LongPoll<'_>| poll.replaced().now_or_never().is_none();
        let (first, second) = (polls.begin(device), polls.begin(device));
        let of_other = polls.begin(other);
        assert!(waits(&first) && waits(&second) && waits(&of_other));
        let third = polls.begin(device);
        assert!(!waits(&first) && waits(&second) && waits(&third) && waits(&of_other));
        drop((first, second));
        let fourth = polls.begin(device);
        assert!(waits(&third) && waits(&fourth));
        drop((third, fourth, of_other));
        assert!(polls.waiting().is_empty());
    }
}
