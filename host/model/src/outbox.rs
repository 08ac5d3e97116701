//! Deliveries to applications that the database stores until they succeed or are abandoned.

use std::time::Duration;

use crate::clock::Timestamp;

/// The result of an attempt to deliver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliverySettlement {
    /// The application accepted the delivery.
    Delivered,
    /// No further attempt follows.
    Abandoned,
    /// The next attempt is at this time.
    RetryAt(Timestamp),
}

/// Returns the time of the next attempt if the attempt with this number, from 1, fails at `now`. `None` if that would
/// be later than `last`. `pauses` are the delays after the first attempts, in seconds; the last one applies to all
/// further attempts.
pub fn again_after<const PAUSES: usize>(
    pauses: &[u64; PAUSES],
    attempt: u32,
    last: Timestamp,
    now: Timestamp,
) -> Option<Timestamp> {
    let begun = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
    let pause = pauses.get(begun).or(pauses.last()).copied()?;
    let again = now + Duration::from_secs(pause);
    (again <= last).then_some(again)
}
