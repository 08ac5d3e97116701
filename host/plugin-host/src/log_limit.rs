//! The rate limit of a plugin's log lines. A flood would hide the lines of others, and fill the disk.

use std::sync::{Mutex, PoisonError};

use assent_model::clock::Timestamp;

/// The log lines of a plugin per second.
pub(super) const LINES_PER_SECOND: u32 = 50;

/// The counter of one plugin's log lines.
#[derive(Debug, Default)]
pub(super) struct LogLimit(Mutex<Second>);

#[derive(Debug, Default)]
struct Second {
    at: i64,
    lines: u32,
    suppressed: u64,
}

/// The permission to write a log line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineAllowance {
    /// Whether the line may be written.
    pub(super) line: bool,
    /// The number of earlier suppressed lines that the log does not report yet.
    pub(super) suppressed: u64,
}

impl LogLimit {
    /// Counts a line and returns whether it may be written.
    pub(super) fn count(&self, now: Timestamp) -> LineAllowance {
        let mut second = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut suppressed = 0;
        if second.at != now.seconds() {
            suppressed = second.suppressed;
            *second = Second {
                at: now.seconds(),
                ..Second::default()
            };
        }
        if second.lines >= LINES_PER_SECOND {
            second.suppressed += 1;
            return LineAllowance {
                line: false,
                suppressed,
            };
        }
        second.lines += 1;
        LineAllowance {
            line: true,
            suppressed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_per_second_are_limited_and_suppressed_lines_are_counted() {
        let limit = LogLimit::default();
        let at = |seconds| limit.count(Timestamp::from_seconds(seconds));
        assert_eq!((0..200).filter(|_| at(1).line).count(), 50);
        assert_eq!(
            at(2),
            LineAllowance {
                line: true,
                suppressed: 150
            }
        );
        assert_eq!(
            at(2),
            LineAllowance {
                line: true,
                suppressed: 0
            }
        );
    }
}
