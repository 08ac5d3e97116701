//! A token bucket for each key, and places that are held.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::config::Rate;
use assent_model::bounded_cache::BoundedCache;
use assent_model::clock::Timestamp;

/// How many keys a limit knows at least. Whoever has more addresses than this is not held up by a limit for each.
const KEYS: usize = 50_000;
/// How long the log is quiet about a limit after it said that it is reached, in milliseconds.
const BETWEEN_WARNINGS: i64 = 60_000;

/// A limit is reached: how long until it would not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitError(pub(super) Duration);

impl RateLimitError {
    /// What holds it up is over in a moment.
    pub const SOON: Self = Self(Duration::from_secs(1));

    /// Free again within this time.
    pub const fn within(time: Duration) -> Self {
        Self(time)
    }

    /// In seconds, rounded up: the value of `Retry-After` (RFC 9110 section 10.2.3).
    pub const fn seconds(self) -> u64 {
        self.0.as_millis().div_ceil(1000) as u64
    }
}

/// A limit for each key of one kind.
#[derive(Debug)]
pub struct Limit<K> {
    /// What the settings call it.
    pub(super) name: &'static str,
    /// Microseconds between two at the limit's pace; 0 where there is no limit.
    pub(super) interval: i64,
    /// How many microseconds a key may be ahead of that pace.
    pub(super) tolerance: i64,
    /// When each key would be as if it had never come, in microseconds.
    pub(super) free_at: Mutex<BoundedCache<K, i64>>,
    /// Until when the log says nothing of it, in milliseconds.
    pub(super) quiet_until: AtomicI64,
    /// How many it rejected.
    rejected: AtomicU64,
}

impl<K: Clone + Debug + Eq + Hash> Limit<K> {
    /// A limit of this rate.
    pub fn new(name: &'static str, rate: Rate) -> Self {
        let interval = if rate.per_minute == 0 {
            0
        } else {
            60_000_000 / i64::from(rate.per_minute)
        };
        Self::paced(name, interval, rate.burst)
    }

    /// A limit of this number per hour, at least one, and as many at once after a quiet hour.
    pub fn per_hour(name: &'static str, number: u32) -> Self {
        let number = number.max(1);
        Self::paced(name, 3_600_000_000 / i64::from(number), number)
    }

    /// A limit of one in each interval, in microseconds, and of this burst.
    fn paced(name: &'static str, interval: i64, burst: u32) -> Self {
        let tolerance = interval.saturating_mul(i64::from(burst).saturating_sub(1));
        let free_at = Mutex::new(BoundedCache::new(KEYS));
        Self {
            name,
            interval,
            tolerance,
            free_at,
            quiet_until: AtomicI64::new(i64::MIN),
            rejected: AtomicU64::new(0),
        }
    }

    /// Counts one more of this key, unless its limit is reached.
    ///
    /// # Errors
    /// [`RateLimitError`] if the limit is reached.
    pub fn count_call(&self, key: &K, now: Timestamp) -> Result<(), RateLimitError> {
        self.at(key, now, true)
    }

    /// Whether one more of this key would be within the limit, without counting it: for what counts only if it fails.
    ///
    /// # Errors
    /// [`RateLimitError`] if the limit is reached.
    pub fn check(&self, key: &K, now: Timestamp) -> Result<(), RateLimitError> {
        self.at(key, now, false)
    }

    fn at(&self, key: &K, now: Timestamp, count: bool) -> Result<(), RateLimitError> {
        if self.interval == 0 {
            return Ok(());
        }
        let (millis, now) = (now.millis(), now.millis().saturating_mul(1000));
        // A map of moments has no state between two that a panic could leave it in.
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        // No key is ever further ahead than this, unless the clock was set back, for which nobody shall wait.
        let furthest = now
            .saturating_add(self.tolerance)
            .saturating_add(self.interval);
        let free = free_at.get(key).unwrap_or(now).clamp(now, furthest);
        let early = free.saturating_sub(now).saturating_sub(self.tolerance);
        if early > 0 {
            drop(free_at);
            self.rejected.fetch_add(1, Ordering::Relaxed);
            self.tell(key, millis);
            return Err(RateLimitError(Duration::from_micros(early.unsigned_abs())));
        }
        if count {
            free_at.insert(key.clone(), free.saturating_add(self.interval));
        }
        Ok(())
    }
}

impl<K> Limit<K> {
    /// The limit's name, and how many requests it rejected.
    pub fn rejections(&self) -> (&'static str, u64) {
        (self.name, self.rejected.load(Ordering::Relaxed))
    }
}

impl<K: Debug> Limit<K> {
    /// Tells the operator that the limit is reached, and not more often than they would read it.
    fn tell(&self, key: &K, now: i64) {
        // A clock that was set back keeps it quiet no longer than that.
        let due = |until: i64| {
            (now >= until || until - now > BETWEEN_WARNINGS).then_some(now + BETWEEN_WARNINGS)
        };
        if self
            .quiet_until
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, due)
            .is_ok()
        {
            tracing::warn!(
                limit = %format_args!("rate_limits.{}", self.name),
                ?key,
                "rate limit exceeded; if all clients have one IP address, check http.trusted_proxies"
            );
        }
    }
}

/// How many there are of each key at the same moment, and may be.
#[derive(Debug)]
pub struct ConcurrencyLimit<K: Eq + Hash> {
    pub(super) most: usize,
    pub(super) held: Mutex<HashMap<K, usize>>,
}

/// One that there is, until it is dropped.
#[derive(Debug)]
pub struct ConcurrencyPermit<K: Eq + Hash> {
    pub(super) among: Arc<ConcurrencyLimit<K>>,
    pub(super) key: K,
}

impl<K: Copy + Eq + Hash> ConcurrencyLimit<K> {
    /// So many of each key.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            held: Mutex::new(HashMap::new()),
        }
    }

    /// One more of this key, if there may be.
    pub fn hold(self: &Arc<Self>, key: K) -> Option<ConcurrencyPermit<K>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let count = held.entry(key).or_insert(0);
        if *count >= self.most {
            return None;
        }
        *count += 1;
        drop(held);
        Some(ConcurrencyPermit {
            among: Arc::clone(self),
            key,
        })
    }
}

impl<K: Eq + Hash> Drop for ConcurrencyPermit<K> {
    fn drop(&mut self) {
        let mut held = self
            .among
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.key);
            }
        }
    }
}
