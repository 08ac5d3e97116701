//! Why a command ends with another exit code than 0 or 1.

use std::fmt;
use std::process::ExitCode;

/// What kind of failure it is: what the exit code tells scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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

impl Kind {
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
pub struct Failure {
    /// What kind of failure it is.
    pub kind: Kind,
    message: String,
}

impl Failure {
    /// A failure of this kind.
    pub fn error(kind: Kind, message: impl AsRef<str>) -> anyhow::Error {
        let message = crate::terminal::harmless_lines(message.as_ref());
        anyhow::Error::new(Self { kind, message })
    }

    /// Wrong arguments.
    pub fn usage(message: impl AsRef<str>) -> anyhow::Error {
        Self::error(Kind::Usage, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
