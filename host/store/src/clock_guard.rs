//! How far this instance's clock may be trusted to delete.

use std::time::Duration;

use assent_model::clock::Timestamp;

/// The largest difference from the database's clock.
const DIFFERENCE: Duration = Duration::from_secs(5);
/// How much later than the newest timestamp of other runs it may be at the start.
const MARGIN: Duration = Duration::from_secs(60 * 60);

/// Keeps an instance whose clock is ahead from deleting what is still valid. What is deleted is lost, so in doubt rows
/// stay longer than their retention.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClockGuard {
    /// PostgreSQL has a clock of its own.
    Compared,
    /// SQLite has none, so the clock is compared with the last run's: it may be at most an hour later at the start, and
    /// from then on goes as fast as the monotonic clock. After a longer downtime, rows stay longer by the length of the
    /// downtime, until the next start. So do keys.
    Bounded {
        /// The newest timestamp of other runs; without one, this run's own at its start.
        start: Timestamp,
    },
}

impl ClockGuard {
    /// The moment by which retention may go, with the database's clock ahead by `difference` milliseconds, and this
    /// long after the start; `None` if nothing may be deleted.
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
        // The database's clock is behind, so it is the one that counts.
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
        // 500 days ahead: nothing that the last run kept goes, but for an hour's worth.
        assert_eq!(
            guard.limit(NOW + DAY * 500, 0, Duration::ZERO),
            Some(NOW + MARGIN)
        );
        // A run that lasts goes on deleting.
        assert_eq!(
            guard.limit(NOW + DAY * 30, 0, DAY * 30),
            Some(NOW + DAY * 30)
        );
        // A clock behind deletes less.
        assert_eq!(guard.limit(NOW - DAY, 0, DAY), Some(NOW - DAY));
    }
}
