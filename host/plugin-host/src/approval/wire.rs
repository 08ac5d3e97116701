//! Values as the contract of the channels has them.

use std::time::Duration;

use super::types::ChannelFailureKind;
use crate::log_line::one_line;
use assent_model::clock::Timestamp;

/// Whole seconds, as channels see a time.
pub(super) fn whole_seconds(at: Timestamp) -> u64 {
    u64::try_from(at.seconds()).unwrap_or(0)
}

pub(super) fn milliseconds(count: u32) -> Duration {
    Duration::from_millis(count.into())
}

/// A channel's own reason, as it is logged.
pub(super) fn rejected(why: &str) -> ChannelFailureKind {
    ChannelFailureKind::Rejected(one_line(why))
}

pub(super) fn retry_after(seconds: u32) -> ChannelFailureKind {
    ChannelFailureKind::RetryAfter(Duration::from_secs(seconds.into()))
}
