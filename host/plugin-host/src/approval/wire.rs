//! Conversions to the types of the channels' contracts.

use std::time::Duration;

use super::types::ChannelFailureKind;
use crate::log_line::one_line;
use assent_model::clock::Timestamp;

/// Returns a time in whole seconds, as the contracts define it.
pub(super) fn whole_seconds(at: Timestamp) -> u64 {
    u64::try_from(at.seconds()).unwrap_or(0)
}

pub(super) fn milliseconds(count: u32) -> Duration {
    Duration::from_millis(count.into())
}

/// Returns the failure with a channel's own reason, as the log shows it.
pub(super) fn channel_rejection(why: &str) -> ChannelFailureKind {
    ChannelFailureKind::Rejected(one_line(why))
}

pub(super) fn retry_after(seconds: u32) -> ChannelFailureKind {
    ChannelFailureKind::RetryAfter(Duration::from_secs(seconds.into()))
}
