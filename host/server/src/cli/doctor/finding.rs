//! A finding of `assent doctor`.

use std::fmt;

use serde::Serialize;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub(super) enum Level {
    /// No action is necessary.
    Ok,
    /// It works, and should be improved.
    Warning,
    /// Something does not work, or data is in danger.
    Problem,
}

/// The result of a check, and its advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) level: Level,
    pub(super) text: String,
    /// The advice; empty if no action is necessary, or if the text contains it.
    pub(super) advice: String,
}

impl Finding {
    pub(super) fn ok(check: &'static str, text: impl Into<String>) -> Self {
        Self::new(check, Level::Ok, text, "")
    }

    pub(super) fn warning(
        check: &'static str,
        text: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self::new(check, Level::Warning, text, advice)
    }

    pub(super) fn problem(
        check: &'static str,
        text: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self::new(check, Level::Problem, text, advice)
    }

    fn new(
        check: &'static str,
        level: Level,
        text: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            check,
            level,
            text: text.into(),
            advice: advice.into(),
        }
    }
}

/// A line with the finding, and one with the advice.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<8} {}: {}", self.level, self.check, self.text)?;
        if !self.advice.is_empty() {
            writeln!(f, "         {}", self.advice)?;
        }
        Ok(())
    }
}
