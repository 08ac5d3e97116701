//! Failures of the audit stream.

use std::path::PathBuf;

/// Why entries did not arrive.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The file or the receiver.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is not one of ours.
    #[error(transparent)]
    Unfit(#[from] StreamFileError),
    /// An entry can't be written.
    #[error("an entry can't be written: {0}")]
    Unwritable(#[from] serde_json::Error),
    /// The writing was broken off.
    #[error("the writing was broken off")]
    BrokenOff,
}

/// A file that can't be one of ours.
#[derive(Debug, thiserror::Error)]
pub enum StreamFileError {
    /// It is a folder, a device or the like.
    #[error("it is no file")]
    NoFile,
    /// It holds something else.
    #[error("its last line is no entry of the audit log; name a file of its own")]
    OfAnother,
    /// Its folder is not there.
    #[error("the folder {} is not there", .0.display())]
    NoFolder(PathBuf),
}
