//! The targets of the audit stream: a file, and syslog. An adapter: it delivers entries, and does not know when and
//! from where they come.

mod error;
mod file;
mod syslog;

use assent_model::audit::chain::Record;

pub use error::StreamError;
pub use error::StreamFileError;
pub use file::FileStream;
pub use syslog::SyslogStream;

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
