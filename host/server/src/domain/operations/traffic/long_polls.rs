//! The pending long polls: of devices, and of applications for the results of back-channel requests. They are bounded
//! for each device or request, and in total.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The pending long polls by the key of their owner.
#[derive(Debug)]
pub struct LongPolls<K> {
    /// The largest number for each key.
    most_each: usize,
    /// The largest number in total.
    most: usize,
    waiting: Mutex<Waiting<K>>,
}

#[derive(Debug)]
struct Waiting<K> {
    /// The pending polls, the oldest first.
    by_key: HashMap<K, VecDeque<Arc<Notify>>>,
    count: usize,
}

impl<K: Copy + Eq + Hash> LongPolls<K> {
    /// Returns an empty set with these bounds.
    pub fn new(most_each: usize, most: usize) -> Self {
        Self {
            most_each,
            most,
            waiting: Mutex::new(Waiting {
                by_key: HashMap::new(),
                count: 0,
            }),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<K>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a poll. If its key has too many, the oldest is replaced. `None` if there are too many in total.
    pub fn begin(&self, key: K) -> Option<LongPoll<'_, K>> {
        let replaced = Arc::<Notify>::default();
        let mut waiting = self.waiting();
        if waiting.count >= self.most {
            return None;
        }
        waiting.count += 1;
        let of_key = waiting.by_key.entry(key).or_default();
        of_key.push_back(Arc::clone(&replaced));
        if of_key.len() > self.most_each
            && let Some(oldest) = of_key.pop_front()
        {
            oldest.notify_one();
        }
        Some(LongPoll {
            polls: self,
            key,
            replaced,
        })
    }
}

/// A pending poll.
#[derive(Debug)]
pub struct LongPoll<'a, K: Copy + Eq + Hash> {
    polls: &'a LongPolls<K>,
    key: K,
    replaced: Arc<Notify>,
}

impl<K: Copy + Eq + Hash> LongPoll<'_, K> {
    /// Waits until newer polls with the same key replace this one.
    pub async fn replaced(&self) {
        self.replaced.notified().await;
    }
}

impl<K: Copy + Eq + Hash> Drop for LongPoll<'_, K> {
    fn drop(&mut self) {
        let mut waiting = self.polls.waiting();
        waiting.count = waiting.count.saturating_sub(1);
        if let Some(of_key) = waiting.by_key.get_mut(&self.key) {
            of_key.retain(|other| !Arc::ptr_eq(other, &self.replaced));
            if of_key.is_empty() {
                waiting.by_key.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn waits(poll: &LongPoll<'_, u8>) -> bool {
        poll.replaced().now_or_never().is_none()
    }

    #[tokio::test]
    async fn the_newest_polls_of_a_key_replace_the_oldest() {
        let polls = LongPolls::new(2, usize::MAX);
        let begin = |key| polls.begin(key).expect("a place");
        let (first, second, of_other) = (begin(1), begin(1), begin(2));
        assert!(waits(&first) && waits(&second) && waits(&of_other));
        let third = begin(1);
        assert!(!waits(&first) && waits(&second) && waits(&third) && waits(&of_other));
        drop((first, second));
        let fourth = begin(1);
        assert!(waits(&third) && waits(&fourth));
        drop((third, fourth, of_other));
        let waiting = polls.waiting();
        assert!(waiting.by_key.is_empty() && waiting.count == 0);
    }

    #[tokio::test]
    async fn the_total_is_bounded() {
        let polls = LongPolls::new(1, 2);
        let first = polls.begin(1).expect("a place");
        let second = polls.begin(2).expect("a place");
        assert!(polls.begin(3).is_none());
        assert!(waits(&first) && waits(&second));
        drop(first);
        assert!(polls.begin(3).is_some());
    }
}
