//! The failures of a command that have their own exit code.

use std::fmt;
use std::process::ExitCode;

/// The kind of a failure, which determines the exit code for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The server rejected the request, or failed.
    Refused,
    /// The arguments are wrong.
    Usage,
    /// The object does not exist.
    NotFound,
    /// The caller is not authenticated, or lacks the permission.
    NotAllowed,
    /// The server cannot be reached.
    Unreachable,
}

impl ErrorKind {
    /// Returns the exit code.
    pub fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Refused => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::NotAllowed => 4,
            Self::Unreachable => 5,
        })
    }
}

/// A failure with its exit code. The message contains no terminal control characters.
#[derive(Debug)]
pub struct CommandError {
    /// The kind of the failure.
    pub kind: ErrorKind,
    message: String,
}

impl CommandError {
    /// Returns a failure of this kind.
    pub fn with_kind(kind: ErrorKind, message: impl AsRef<str>) -> anyhow::Error {
        let message = assent_model::printable::lines(message.as_ref());
        anyhow::Error::new(Self { kind, message })
    }

    /// Returns a failure for wrong arguments.
    pub fn usage(message: impl AsRef<str>) -> anyhow::Error {
        Self::with_kind(ErrorKind::Usage, message)
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CommandError {}
