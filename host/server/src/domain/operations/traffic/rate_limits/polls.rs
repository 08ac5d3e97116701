//! The intervals at which clients poll the token endpoint for back-channel requests (OpenID CIBA Core 1.0 section 11).
//!
//! The intervals protect this instance from clients that poll too fast. They decide nothing else, so each instance
//! counts separately and keeps them in memory: a poll of a pending request writes nothing.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use assent_model::bounded_cache::BoundedCache;
use assent_model::clock::Timestamp;
use assent_model::id::BackchannelRequestId;

/// The number of requests whose polls are counted at least.
const REQUESTS: usize = 50_000;
/// The increase of the interval by each poll that came too early.
const STEP: Duration = Duration::from_secs(5);
/// The longest interval.
const LONGEST: Duration = Duration::from_secs(60);

/// The polls of back-channel requests.
#[derive(Debug)]
pub struct PollIntervals {
    /// The interval of a request without early polls.
    interval: Duration,
    polls: Mutex<BoundedCache<BackchannelRequestId, Poll>>,
}

/// The polls of one request so far.
#[derive(Clone, Copy, Debug)]
struct Poll {
    /// The earliest time of the next poll.
    next: Timestamp,
    /// The interval.
    interval: Duration,
}

/// A poll came before the end of the interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyPoll;

impl PollIntervals {
    /// Returns the intervals with this one at the beginning.
    pub fn new(interval: Duration) -> Self {
        Self {
            interval,
            polls: Mutex::new(BoundedCache::new(REQUESTS)),
        }
    }

    /// Counts a poll of a pending request. The first may come at once.
    ///
    /// # Errors
    /// [`EarlyPoll`] if it came before the end of the interval. The interval is longer then.
    pub fn count_poll(
        &self,
        request: BackchannelRequestId,
        now: Timestamp,
    ) -> Result<(), EarlyPoll> {
        let mut polls = self.polls.lock().unwrap_or_else(PoisonError::into_inner);
        let before = polls.get(&request);
        let is_early = before.is_some_and(|before| now < before.next);
        let interval = before.map_or(self.interval, |before| before.interval);
        let interval = match is_early {
            true => (interval + STEP).min(LONGEST.max(interval)),
            false => interval,
        };
        let next = now + interval;
        polls.insert(request, Poll { next, interval });
        match is_early {
            true => Err(EarlyPoll),
            false => Ok(()),
        }
    }

    /// Begins the interval again, because a poll was answered only now.
    pub fn note_answer(&self, request: BackchannelRequestId, now: Timestamp) {
        let mut polls = self.polls.lock().unwrap_or_else(PoisonError::into_inner);
        let before = polls.get(&request);
        let interval = before.map_or(self.interval, |before| before.interval);
        let next = now + interval;
        polls.insert(request, Poll { next, interval });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assent_model::entropy::SystemEntropy;

    #[test]
    fn the_interval_counts_from_the_answer() {
        let start = Timestamp::from_millis(1_700_000_000_000);
        let at = |seconds| start + Duration::from_secs(seconds);
        let request = BackchannelRequestId::new(start, &SystemEntropy);
        let polls = PollIntervals::new(Duration::from_secs(5));
        assert_eq!(polls.count_poll(request, at(0)), Ok(()));
        polls.note_answer(request, at(30));
        assert_eq!(polls.count_poll(request, at(34)), Err(EarlyPoll));
        polls.note_answer(request, at(60));
        assert_eq!(polls.count_poll(request, at(70)), Ok(()));
    }

    #[test]
    fn an_early_poll_makes_the_interval_longer() {
        let start = Timestamp::from_millis(1_700_000_000_000);
        let at = |seconds| start + Duration::from_secs(seconds);
        let request = BackchannelRequestId::new(start, &SystemEntropy);
        let other = BackchannelRequestId::new(start, &SystemEntropy);
        let polls = PollIntervals::new(Duration::from_secs(5));
        assert_eq!(polls.count_poll(request, at(0)), Ok(()));
        assert_eq!(polls.count_poll(other, at(0)), Ok(()));
        assert_eq!(polls.count_poll(request, at(5)), Ok(()));
        assert_eq!(polls.count_poll(request, at(9)), Err(EarlyPoll));
        // Ten seconds since the early poll.
        assert_eq!(polls.count_poll(request, at(18)), Err(EarlyPoll));
        assert_eq!(polls.count_poll(request, at(33)), Ok(()));
        assert_eq!(polls.count_poll(other, at(33)), Ok(()));
        for early in 0..30 {
            assert_eq!(polls.count_poll(request, at(34 + early)), Err(EarlyPoll));
        }
        assert_eq!(polls.count_poll(request, at(63 + 60)), Ok(()));
    }
}
