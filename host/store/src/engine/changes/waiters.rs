//! The requests of this instance that wait for changes, indexed by these changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use assent_model::change::Change;
use assent_model::clock::Timestamp;

/// Wakes one waiting request.
pub(crate) type Waker = Arc<Notify>;

/// The waiting requests.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    waiting: Mutex<Waiting>,
    /// Wakes the poller when the first request waits.
    first: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    last_id: u64,
    wakers: HashMap<u64, Waker>,
    by_change: HashMap<Change, Vec<u64>>,
    by_deadline: BTreeMap<(Timestamp, u64), Waker>,
}

impl Waiting {
    fn wake(&self, change: &Change) {
        for id in self.by_change.get(change).into_iter().flatten() {
            if let Some(waker) = self.wakers.get(id) {
                waker.notify_one();
            }
        }
    }
}

impl Waiters {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request that waits for any of these changes.
    pub(crate) fn listen(self: &Arc<Self>, changes: Vec<Change>) -> ChangeListener {
        let waker = Waker::default();
        let mut waiting = self.waiting();
        waiting.last_id += 1;
        let id = waiting.last_id;
        waiting.wakers.insert(id, Arc::clone(&waker));
        for change in &changes {
            waiting.by_change.entry(*change).or_default().push(id);
        }
        drop(waiting);
        self.first.notify_one();
        ChangeListener {
            waiters: Arc::clone(self),
            id,
            changes,
            waker,
        }
    }

    /// Wakes the requests that wait for these changes.
    pub(crate) fn wake(&self, changes: &[Change]) {
        if changes.is_empty() {
            return;
        }
        let waiting = self.waiting();
        for change in changes {
            waiting.wake(change);
        }
    }

    /// Wakes the requests with a deadline at or before `now`.
    pub(crate) fn wake_due(&self, now: Timestamp) {
        let mut waiting = self.waiting();
        while let Some(first) = waiting.by_deadline.first_entry() {
            if first.key().0 > now {
                break;
            }
            first.remove().notify_one();
        }
    }

    /// The wakers of all waiting requests.
    pub(crate) fn wakers(&self) -> Vec<Waker> {
        self.waiting().wakers.values().cloned().collect()
    }

    /// The number of waiting requests.
    pub(crate) fn count(&self) -> usize {
        self.waiting().wakers.len()
    }

    /// Returns once a request waits.
    pub(crate) async fn first(&self) {
        while self.count() == 0 {
            self.first.notified().await;
        }
    }
}

/// A request that waits for changes. It misses no change after its creation, so it must be created before the state is
/// read that the changes concern.
#[derive(Debug)]
pub struct ChangeListener {
    waiters: Arc<Waiters>,
    id: u64,
    changes: Vec<Change>,
    waker: Waker,
}

impl ChangeListener {
    /// Returns when one of the changes was made, or may have been made, since the last call. Otherwise returns shortly
    /// after `deadline`, by the clock of the poller.
    pub async fn changed(&mut self, deadline: Option<Timestamp>) {
        let key = deadline.map(|deadline| (deadline, self.id));
        if let Some(key) = key {
            let waker = Arc::clone(&self.waker);
            self.waiters.waiting().by_deadline.insert(key, waker);
        }
        let _removal = key.map(|key| DeadlineRemoval {
            waiters: &self.waiters,
            key,
        });
        self.waker.notified().await;
    }
}

/// Removes a deadline, even if its request stops waiting.
struct DeadlineRemoval<'a> {
    waiters: &'a Waiters,
    key: (Timestamp, u64),
}

impl Drop for DeadlineRemoval<'_> {
    fn drop(&mut self) {
        self.waiters.waiting().by_deadline.remove(&self.key);
    }
}

impl Drop for ChangeListener {
    fn drop(&mut self) {
        let mut waiting = self.waiters.waiting();
        waiting.wakers.remove(&self.id);
        for change in &self.changes {
            if let Some(ids) = waiting.by_change.get_mut(change) {
                ids.retain(|id| *id != self.id);
                if ids.is_empty() {
                    waiting.by_change.remove(change);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use assent_model::entropy::SystemEntropy;
    use assent_model::id::{ApprovalId, UserId};
    use futures_util::FutureExt;

    use super::*;

    fn woken(listener: &mut ChangeListener) -> bool {
        listener.changed(None).now_or_never().is_some()
    }

    #[tokio::test]
    async fn a_change_wakes_only_its_listeners() {
        let waiters = Arc::new(Waiters::default());
        let now = Timestamp::from_millis(1);
        let approval = Change::Approval(ApprovalId::new(now, &SystemEntropy));
        let inbox = Change::Inbox(UserId::new(now, &SystemEntropy));
        let mut page = waiters.listen(vec![approval]);
        let mut device = waiters.listen(vec![inbox, approval]);
        let mut other = waiters.listen(vec![inbox]);
        waiters.wake(&[approval]);
        assert_eq!(
            [&mut page, &mut device, &mut other].map(woken),
            [true, true, false]
        );
        waiters.wake(&[inbox]);
        assert_eq!(
            [&mut page, &mut device, &mut other].map(woken),
            [false, true, true]
        );
        assert_eq!(waiters.count(), 3);
        drop((page, device, other));
        let waiting = waiters.waiting();
        assert!(waiting.wakers.is_empty() && waiting.by_change.is_empty());
    }

    #[tokio::test]
    async fn a_deadline_wakes_its_request_and_is_removed_with_it() {
        let waiters = Arc::new(Waiters::default());
        let mut listener = waiters.listen(Vec::new());
        let deadline = Timestamp::from_millis(10);
        {
            let mut waiting = Box::pin(listener.changed(Some(deadline)));
            assert!((&mut waiting).now_or_never().is_none());
            waiters.wake_due(Timestamp::from_millis(9));
            assert!((&mut waiting).now_or_never().is_none());
            waiters.wake_due(deadline);
            assert!((&mut waiting).now_or_never().is_some());
        }
        assert!(listener.changed(Some(deadline)).now_or_never().is_none());
        assert!(waiters.waiting().by_deadline.is_empty());
    }

    #[tokio::test]
    async fn the_first_request_wakes_the_poller() {
        let waiters = Arc::new(Waiters::default());
        let mut first = Box::pin(waiters.first());
        assert!((&mut first).now_or_never().is_none());
        let listener = waiters.listen(Vec::new());
        assert!((&mut first).now_or_never().is_some());
        drop(listener);
        assert!(waiters.first().now_or_never().is_none());
    }
}
