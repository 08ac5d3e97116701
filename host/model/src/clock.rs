//! Time as a parameter, because no other part of the server reads the system clock; time limits of several crates.

use std::fmt;
use std::ops::{Add, Sub};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A time in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Returns the time at this number of milliseconds after the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the time at this number of seconds after the epoch.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Returns the milliseconds since the epoch, which the database stores.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Returns the whole seconds since the epoch (`NumericDate` of RFC 7519 section 2).
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// Returns the duration from `now` until this time, or zero if this time has passed.
    pub fn remaining(self, now: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(now.0)).unwrap_or(0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, rhs: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(rhs.as_millis()).unwrap_or(i64::MAX)),
        )
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;
    fn sub(self, rhs: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(i64::try_from(rhs.as_millis()).unwrap_or(i64::MAX)),
        )
    }
}

/// The source of the current time.
pub trait Clock: Send + Sync + 'static {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

impl fmt::Debug for dyn Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// A clock that several parts of the server share.
pub type SharedClock = Arc<dyn Clock>;

/// The system clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(
        clippy::disallowed_methods,
        reason = "this is the only place that reads the system's clock"
    )]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that only [`ManualClock::advance`] moves, so that tests can skip minutes.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Returns a clock that shows `start`.
    pub fn new(start: Timestamp) -> Self {
        Self(AtomicI64::new(start.0))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(
            i64::try_from(by.as_millis()).unwrap_or(i64::MAX),
            Ordering::SeqCst,
        );
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// The maximum time of a request in a queue: for its turn to write, for a database connection, or for a plugin slot.
/// After this time the server rejects the request with 503 and `Retry-After`, and does not execute it. By then the
/// client has given up or retried, so further waiting would only delay other requests. A debug build waits longer,
/// because it is several times slower, and tests on a busy machine must not be rejected.
pub const QUEUE_DEADLINE: Duration =
    Duration::from_secs(if cfg!(debug_assertions) { 4 } else { 2 });

/// The retention of responses to requests with an `Idempotency-Key`.
pub const KEYED_REQUEST_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);
