//! The targets of the audit stream: a file, and syslog. This module is an adapter: it delivers entries, and does not
//! know their source or the time of delivery.

pub mod error;
pub mod file;
pub mod syslog;

use assent_model::audit::chain::Record;

use error::StreamError;
use file::FileStream;
use syslog::SyslogStream;

/// A target of the audit stream.
#[derive(Debug)]
pub enum StreamTarget {
    /// A file.
    File(FileStream),
    /// Syslog.
    Syslog(SyslogStream),
}

impl StreamTarget {
    /// Delivers the entries in their order.
    ///
    /// # Errors
    /// [`StreamError`] if not all entries were delivered. Some of them may have been delivered.
    pub async fn send(&mut self, records: &[Record]) -> Result<(), StreamError> {
        match self {
            Self::File(file) => file.send(records).await,
            Self::Syslog(syslog) => syslog.send(records).await,
        }
    }
}
