//! The time of the next step of a delivery, and the context in which its handle is sealed.

use std::time::Duration;

use assent_model::clock::Timestamp;
use assent_model::id::ApprovalId;

/// The shortest time between two polls of a channel about one request.
const LEAST: Duration = Duration::from_millis(250);
/// The longest time between two polls.
const MOST: Duration = Duration::from_secs(30);

/// Returns the context in which the handle of a request is sealed, so that the handle of another row cannot replace it.
pub(crate) fn sealed_for(approval: ApprovalId, channel: &str) -> String {
    format!("approval delivery {approval} {channel}")
}

/// Returns the time of the next step: after the time that the channel requests, within bounds, and not after the
/// expiry.
pub(crate) fn next(now: Timestamp, after: Duration, end: Timestamp) -> Timestamp {
    (now + after.clamp(LEAST, MOST)).min(end)
}
