//! When a delivery is looked after next, and what its handle is sealed for.

use std::time::Duration;

use assent_model::clock::Timestamp;
use assent_model::id::ApprovalId;

/// The least time between two questions to a channel about one request.
const LEAST: Duration = Duration::from_millis(250);
/// The most.
const MOST: Duration = Duration::from_secs(30);

/// What the handle of a request is sealed for: no other row's will do in its place.
pub(crate) fn sealed_for(approval: ApprovalId, channel: &str) -> String {
    format!("approval delivery {approval} {channel}")
}

/// When to look after a request next: after what the channel asks for, within bounds, and when its time is over.
pub(crate) fn next(now: Timestamp, after: Duration, end: Timestamp) -> Timestamp {
    (now + after.clamp(LEAST, MOST)).min(end)
}
