//! Failures of the audit stream.

use std::path::PathBuf;

/// The reason why entries were not delivered.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The file or the receiver failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is not an audit stream of this server.
    #[error(transparent)]
    Unfit(#[from] StreamFileError),
    /// An entry cannot be serialized.
    #[error("an entry cannot be written: {0}")]
    Unwritable(#[from] serde_json::Error),
    /// The write was interrupted.
    #[error("the write was interrupted")]
    BrokenOff,
}

/// The reason why a file cannot be an audit stream of this server.
#[derive(Debug, thiserror::Error)]
pub enum StreamFileError {
    /// The path is not a file, but for example a folder or a device.
    #[error("it is not a file")]
    NoFile,
    /// The file has other content.
    #[error("its last line is not an entry of the audit log; use a file only for the audit stream")]
    OfAnother,
    /// The folder of the file does not exist.
    #[error("the folder {} does not exist", .0.display())]
    NoFolder(PathBuf),
}
