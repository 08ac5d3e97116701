//! Rate limits by key, and limits of concurrency by key.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::keys::{LimitKey, LoggedKey};
use crate::config::Rate;
use assent_model::bounded_cache::BoundedCache;
use assent_model::clock::Timestamp;

/// The number of keys that a limit stores at least. A limit per key cannot stop an attacker with more addresses than
/// this.
const KEYS: usize = 50_000;
/// The time between two log messages about a limit that is reached, in milliseconds.
const BETWEEN_WARNINGS: i64 = 60_000;

/// The error of a reached limit, with the time until the next permitted request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitError(pub(super) Duration);

impl RateLimitError {
    /// The limit permits requests again soon.
    pub const SOON: Self = Self(Duration::from_secs(1));

    /// Returns an error with this time until the next permitted request.
    pub const fn within(time: Duration) -> Self {
        Self(time)
    }

    /// Returns the time in seconds, rounded up: the value of `Retry-After` (RFC 9110 section 10.2.3).
    pub const fn seconds(self) -> u64 {
        self.0.as_millis().div_ceil(1000) as u64
    }
}

/// A rate limit for each key of one kind.
#[derive(Debug)]
pub struct Limit<K> {
    /// The name of the setting.
    pub(super) name: &'static str,
    /// The interval between two requests at the limit's rate, in microseconds. 0 disables the limit.
    pub(super) interval: i64,
    /// The time by which a key may be ahead of that rate, in microseconds.
    pub(super) tolerance: i64,
    /// The time at which each key has its whole burst again, in microseconds.
    pub(super) free_at: Mutex<BoundedCache<K, i64>>,
    /// The time until which the limit logs no further message, in milliseconds.
    pub(super) quiet_until: AtomicI64,
    /// The number of rejected requests.
    rejected: AtomicU64,
}

impl<K: Clone + Eq + Hash + LimitKey + LoggedKey> Limit<K> {
    /// Returns a limit with this rate.
    pub fn new(name: &'static str, rate: Rate) -> Self {
        let interval = if rate.per_minute == 0 {
            0
        } else {
            60_000_000 / i64::from(rate.per_minute)
        };
        Self::paced(name, interval, rate.burst)
    }

    /// Returns a limit of this number per hour, at least one. The burst is the same number.
    pub fn per_hour(name: &'static str, number: u32) -> Self {
        let number = number.max(1);
        Self::paced(name, 3_600_000_000 / i64::from(number), number)
    }

    /// Returns a limit of one request per interval, in microseconds, and with this burst.
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

    /// Counts a request with this key, unless the limit is reached.
    ///
    /// # Errors
    /// [`RateLimitError`] if the limit is reached.
    pub fn count_call(&self, key: &K, now: Timestamp) -> Result<(), RateLimitError> {
        self.check_limit(key, now, true)
    }

    /// Checks whether a request with this key would be within the limit, without counting it. This is for requests that
    /// count only if they fail.
    ///
    /// # Errors
    /// [`RateLimitError`] if the limit is reached.
    pub fn check(&self, key: &K, now: Timestamp) -> Result<(), RateLimitError> {
        self.check_limit(key, now, false)
    }

    /// Takes back one counted request with this key, for example one that another bound counts.
    pub fn take_back(&self, key: &K) {
        let keys = std::iter::once((key.clone(), 1)).chain(key.wider());
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, times) in keys {
            let (interval, _) = self.pace_of(times);
            if let Some(free) = free_at.get(&key) {
                free_at.insert(key, free.saturating_sub(interval));
            }
        }
    }

    /// Forgets the requests with this key, for example after a proof that they came from the owner of the key. Those
    /// with wider keys remain.
    pub fn clear(&self, key: &K, now: Timestamp) {
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        if free_at.get(key).is_some() {
            free_at.insert(key.clone(), now.millis().saturating_mul(1000));
        }
    }

    fn check_limit(&self, key: &K, now: Timestamp, count: bool) -> Result<(), RateLimitError> {
        if self.interval == 0 {
            return Ok(());
        }
        let (millis, now) = (now.millis(), now.millis().saturating_mul(1000));
        let keys = std::iter::once((key.clone(), 1)).chain(key.wider());
        // A panic cannot leave a map of times in an inconsistent state.
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut wait, mut next) = (0_i64, Vec::new());
        for (key, times) in keys {
            let (interval, tolerance) = self.pace_of(times);
            // A key can be further ahead only if the clock was set back. No client must wait because of that.
            let furthest = now.saturating_add(tolerance).saturating_add(interval);
            let free = free_at.get(&key).unwrap_or(now).clamp(now, furthest);
            wait = wait.max(free.saturating_sub(now).saturating_sub(tolerance));
            next.push((key, free.saturating_add(interval)));
        }
        if wait > 0 {
            drop(free_at);
            self.rejected.fetch_add(1, Ordering::Relaxed);
            self.log_exceeded(key, millis);
            return Err(RateLimitError(Duration::from_micros(wait.unsigned_abs())));
        }
        if count {
            for (key, free) in next {
                free_at.insert(key, free);
            }
        }
        Ok(())
    }

    /// Returns the interval and the tolerance of a key whose bound is this many times that of the narrowest one. Burst
    /// and rate both have this factor.
    fn pace_of(&self, times: u32) -> (i64, i64) {
        let interval = (self.interval / i64::from(times.max(1))).max(1);
        // The time in which the narrowest key uses its burst is the same for the wider key.
        let burst_time = self.tolerance.saturating_add(self.interval);
        (interval, burst_time.saturating_sub(interval))
    }
}

impl<K> Limit<K> {
    /// Returns the limit's name and the number of rejected requests.
    pub fn rejections(&self) -> (&'static str, u64) {
        (self.name, self.rejected.load(Ordering::Relaxed))
    }
}

impl<K: LoggedKey> Limit<K> {
    /// Logs that the limit is reached, but not too often.
    fn log_exceeded(&self, key: &K, now: i64) {
        // If the clock was set back, the pause between messages does not become longer.
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
                key = key.log_text(),
                "rate limit exceeded; if all clients have one IP address, check http.trusted_proxies"
            );
        }
    }
}

/// A limit of concurrent operations for each key.
#[derive(Debug)]
pub struct ConcurrencyLimit<K: Eq + Hash> {
    pub(super) most: usize,
    /// The bound of every key, also of a wider one.
    largest: usize,
    pub(super) held: Mutex<HashMap<K, usize>>,
}

/// A permit for one operation, until it is dropped.
#[derive(Debug)]
pub struct ConcurrencyPermit<K: Eq + Hash> {
    pub(super) among: Arc<ConcurrencyLimit<K>>,
    /// The key and its wider keys.
    pub(super) keys: Vec<K>,
}

impl<K: Copy + Eq + Hash + LimitKey> ConcurrencyLimit<K> {
    /// Returns a limit of this number of operations per key.
    pub fn new(most: usize) -> Self {
        Self::with_largest(most, usize::MAX)
    }

    /// Returns a limit of this number of operations per key, and of `largest` operations for every key. A wider key has
    /// a multiple of the bound of a narrow one, which may otherwise exceed the number of operations in total.
    pub fn with_largest(most: usize, largest: usize) -> Self {
        Self {
            most,
            largest,
            held: Mutex::new(HashMap::new()),
        }
    }

    /// Returns a permit for one more operation with this key, if the limit is not reached.
    pub fn hold(self: &Arc<Self>, key: K) -> Option<ConcurrencyPermit<K>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let keys: Vec<(K, u32)> = std::iter::once((key, 1)).chain(key.wider()).collect();
        let is_reached = |(key, times): &(K, u32)| {
            let most = self
                .most
                .saturating_mul(usize::try_from(*times).unwrap_or(usize::MAX))
                .min(self.largest);
            held.get(key).is_some_and(|count| *count >= most) || most == 0
        };
        if keys.iter().any(is_reached) {
            return None;
        }
        let keys: Vec<K> = keys.into_iter().map(|(key, _)| key).collect();
        for key in &keys {
            *held.entry(*key).or_insert(0) += 1;
        }
        drop(held);
        Some(ConcurrencyPermit {
            among: Arc::clone(self),
            keys,
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
        for key in &self.keys {
            if let Some(count) = held.get_mut(key) {
                *count -= 1;
                if *count == 0 {
                    held.remove(key);
                }
            }
        }
    }
}
