//! Why a command ends with another exit code than 0 or 1.

use std::fmt;
use std::process::ExitCode;

/// What kind of failure it is: what the exit code tells scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The host refused it, or failed.
    Refused,
    /// The arguments are wrong.
    Usage,
    /// There is no such thing.
    NotFound,
    /// Whoever asks is not known, or may not do it.
    NotAllowed,
    /// The host can't be reached.
    Unreachable,
}

impl ErrorKind {
    /// The exit code.
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

/// A failure with its exit code. The message is harmless for a terminal.
#[derive(Debug)]
pub struct CommandError {
    /// What kind of failure it is.
    pub kind: ErrorKind,
    message: String,
}

impl CommandError {
    /// A failure of this kind.
    pub fn with_kind(kind: ErrorKind, message: impl AsRef<str>) -> anyhow::Error {
        let message = crate::terminal::harmless_lines(message.as_ref());
        anyhow::Error::new(Self { kind, message })
    }

    /// Wrong arguments.
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
