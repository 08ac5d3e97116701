//! The targets of the audit stream: a file, and syslog. An adapter: it delivers entries, and does not know when and from where they
//! come.

mod file;
mod syslog;

use assent_model::audit::chain::Record;

pub use file::{FileStream, UnfitFile};
pub use syslog::SyslogStream;

/// Why entries did not arrive.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The file or the receiver.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is not one of ours.
    #[error(transparent)]
    Unfit(#[from] UnfitFile),
    /// An entry can't be written.
    #[error("an entry can't be written: {0}")]
    Unwritable(#[from] serde_json::Error),
    /// The writing was broken off.
    #[error("the writing was broken off")]
    BrokenOff,
}

/// A target of the audit stream.
#[derive(Debug)]
pub enum StreamTarget {
    /// A file.
    File(FileStream),
    /// Syslog.
    Syslog(SyslogStream),
}

impl StreamTarget {
    /// Hands entries over, in their order: all of them, or an error, after which some may have arrived.
    pub async fn send(&mut self, records: &[Record]) -> Result<(), StreamError> {
        match self {
            Self::File(file) => file.send(records).await,
            Self::Syslog(syslog) => syslog.send(records).await,
        }
    }
}
