//! The log lines of plugins, in the server's log and in a journal.

use std::sync::{Mutex, PoisonError};

use crate::log_limit::LINES_PER_SECOND;
use assent_model::printable;

/// The longest line, in bytes.
const LOG_LINE_BYTES: usize = 1024;

/// The lines that a journal stores.
const JOURNAL_LINES: usize = 256;

/// A log line of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// `debug`, `info`, `warn` or `error`.
    pub level: &'static str,
    /// The text, without control characters.
    pub message: String,
}

/// The first log lines of a plugin on trial, in addition to the server's log.
#[derive(Debug, Default)]
pub struct Journal(Mutex<Vec<LogLine>>);

impl Journal {
    pub(crate) fn add(&self, level: &'static str, message: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() < JOURNAL_LINES {
            lines.push(LogLine {
                level,
                message: message.to_owned(),
            });
        }
    }

    /// Returns the lines so far.
    pub fn lines(&self) -> Vec<LogLine> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Returns a message as one line of at most 1,024 bytes. Control characters are replaced, so that no part of it can
/// pass for another line.
pub fn one_line(message: &str) -> String {
    printable::line(message, LOG_LINE_BYTES)
}

/// Logs the number of suppressed lines of a plugin.
pub(crate) fn say_suppressed(plugin: &str, lines: u64) {
    if lines > 0 {
        tracing::warn!(
            plugin,
            lines,
            limit_per_second = LINES_PER_SECOND,
            "log lines suppressed"
        );
    }
}
