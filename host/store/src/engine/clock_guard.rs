//! The latest time until which this instance's clock may be trusted for deletions.

use std::time::Duration;

use assent_model::clock::Timestamp;

/// The largest difference from the database's clock.
const DIFFERENCE: Duration = Duration::from_secs(5);
/// How far the clock may be ahead of the newest timestamp of earlier runs when this run starts.
const MARGIN: Duration = Duration::from_secs(60 * 60);

/// Prevents an instance from deleting rows that are still valid because its clock is ahead. A deletion is final, so in
/// doubt rows stay longer than their retention.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClockGuard {
    /// PostgreSQL has a clock of its own, with which the instance's clock is compared.
    Compared,
    /// SQLite has none, so the clock is compared with the newest timestamp of earlier runs. At the start it may be at
    /// most an hour ahead. From then on it may advance only as fast as the monotonic clock. After a longer downtime,
    /// rows and keys stay longer by the length of the downtime, until the next start.
    Bounded {
        /// The newest timestamp of earlier runs; if there is none, the start of this run.
        start: Timestamp,
    },
}

impl ClockGuard {
    /// The time up to which retention may delete; `None` if nothing may be deleted. The database's clock is ahead by
    /// `difference` milliseconds, and the run started `elapsed` ago.
    pub(crate) fn limit(
        self,
        now: Timestamp,
        difference: i64,
        elapsed: Duration,
    ) -> Option<Timestamp> {
        match self {
            Self::Compared => {
                let is_alike = u128::from(difference.unsigned_abs()) <= DIFFERENCE.as_millis();
                let of_database = Timestamp::from_millis(now.millis().saturating_add(difference));
                is_alike.then_some(now.min(of_database))
            }
            Self::Bounded { start } => Some(now.min(start + MARGIN + elapsed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);
    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    #[test]
    fn a_clock_that_differs_from_the_databases_deletes_nothing() {
        let limit = |difference| ClockGuard::Compared.limit(NOW, difference, DAY);
        assert_eq!(limit(0), Some(NOW));
        assert_eq!(limit(5000), Some(NOW));
        // The database's clock is behind, so the limit follows it.
        assert_eq!(limit(-5000), Some(NOW - Duration::from_secs(5)));
        assert_eq!(limit(5001), None);
        assert_eq!(limit(-5001), None);
        assert_eq!(limit(i64::MIN), None);
    }

    #[test]
    fn a_clock_ahead_of_the_last_run_is_bounded() {
        let guard = ClockGuard::Bounded { start: NOW };
        let minute = Duration::from_secs(60);
        assert_eq!(
            guard.limit(NOW + minute, 0, Duration::ZERO),
            Some(NOW + minute)
        );
        // 500 days ahead: only rows that expire within an hour of the earlier run's newest timestamp are deleted.
        assert_eq!(
            guard.limit(NOW + DAY * 500, 0, Duration::ZERO),
            Some(NOW + MARGIN)
        );
        // A long run continues to delete.
        assert_eq!(
            guard.limit(NOW + DAY * 30, 0, DAY * 30),
            Some(NOW + DAY * 30)
        );
        // With a clock that is behind, an instance deletes less.
        assert_eq!(guard.limit(NOW - DAY, 0, DAY), Some(NOW - DAY));
    }
}
