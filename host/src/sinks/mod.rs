//! Where the audit log is streamed to: a file, and syslog. An adapter: it takes entries, and knows nothing of who sends them
//! when.

mod file;
mod syslog;

use crate::model::chain::Record;

pub use file::{FileSink, UnfitFile};
pub use syslog::SyslogSink;

/// Why entries did not arrive.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
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

/// One of them.
#[derive(Debug)]
pub enum Sink {
    /// A file.
    File(FileSink),
    /// Syslog.
    Syslog(SyslogSink),
}

impl Sink {
    /// Hands entries over, in their order: all of them, or an error, after which some may have arrived.
    pub async fn send(&mut self, records: &[Record]) -> Result<(), SinkError> {
        match self {
            Self::File(file) => file.send(records).await,
            Self::Syslog(syslog) => syslog.send(records).await,
        }
    }
}
