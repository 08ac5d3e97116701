//! Lines of plugins in the log, and beside it.

use std::sync::{Mutex, PoisonError};

use crate::log_limit::LINES_PER_SECOND;
use assent_model::printable;

/// Bytes of a line.
const LOG_LINE_BYTES: usize = 1024;

/// Lines that a journal keeps.
const JOURNAL_LINES: usize = 256;

/// A log line of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// `debug`, `info`, `warn` or `error`.
    pub level: &'static str,
    /// The text, without control characters.
    pub message: String,
}

/// The first log lines of a plugin on trial, beside the operator's log.
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

    /// The lines until now.
    pub fn lines(&self) -> Vec<LogLine> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// A message cut to the length of a line, with nothing in it that could pass for a line of its own.
pub fn one_line(message: &str) -> String {
    printable::line(message, LOG_LINE_BYTES)
}

/// States in the log how many lines of a plugin it left out.
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
