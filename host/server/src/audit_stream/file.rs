//! A file of JSON lines. The server opens it again for each batch, so that it creates a new file after a rotation.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::audit_stream::error::StreamError;
use crate::audit_stream::error::StreamFileError;
use assent_model::audit::chain::Record;
use assent_model::audit::jsonl;

/// The largest length of an incomplete line after an interrupted write, in bytes.
const LONGEST_LINE: u64 = 4 << 20;
/// The beginning of each line.
const BEGINNING: &[u8] = b"{\"seq\":";

/// A file to which entries are appended.
#[derive(Debug)]
pub struct FileStream(PathBuf);

impl FileStream {
    /// Returns the stream to the file at this path. The first entry creates the file, with permissions only for its
    /// owner.
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Checks that entries can be appended to a file at this path, as far as this is possible without a write.
    ///
    /// # Errors
    /// [`StreamFileError`] if the path is not a file, or its folder does not exist.
    pub fn check(path: &Path) -> Result<(), StreamFileError> {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(StreamFileError::NoFolder(folder.to_owned()));
        }
        if path.exists() && !path.is_file() {
            Err(StreamFileError::NoFile)
        } else {
            Ok(())
        }
    }

    pub(super) async fn send(&self, records: &[Record]) -> Result<(), StreamError> {
        let mut lines = String::new();
        for record in records {
            lines.push_str(&jsonl::write(record)?);
            lines.push('\n');
        }
        let path = self.0.clone();
        let writing = tokio::task::spawn_blocking(move || append(&path, lines.as_bytes()));
        writing.await.map_err(|_| StreamError::BrokenOff)?
    }
}

fn append(path: &Path, lines: &[u8]) -> Result<(), StreamError> {
    FileStream::check(path)?;
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)?;
    let length = end_of_lines(&mut file)?;
    let written = file.write_all(lines).and_then(|()| file.sync_data());
    if written.is_err() {
        // The same entries are delivered again, so the incomplete write can be removed. If the removal fails, the next
        // batch repeats it.
        let _ = file.set_len(length);
    }
    Ok(written?)
}

/// Returns the length of the file, after it removed an incomplete line at the end. The entry that was written when the
/// machine stopped is delivered again.
fn end_of_lines(file: &mut File) -> Result<u64, StreamError> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(LONGEST_LINE);
    let mut last = [0; 1];
    if length > 0 {
        file.seek(SeekFrom::Start(length - 1))?;
        file.read_exact(&mut last)?;
    }
    if length == 0 || last == *b"\n" {
        return Ok(length);
    }
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.read_to_end(&mut end)?;
    let half = end
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |newline| newline + 1);
    let line = end.get(half..).unwrap_or_default();
    let is_own = line.starts_with(BEGINNING) || BEGINNING.starts_with(line);
    if !is_own || (half == 0 && from > 0) {
        return Err(StreamFileError::OfAnother.into());
    }
    let whole = length - line.len() as u64;
    file.set_len(whole)?;
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_line_is_removed_and_other_files_stay_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        for (before, after) in [
            ("", Some("new\n")),
            ("{\"seq\":1}\n", Some("{\"seq\":1}\nnew\n")),
            (
                "{\"seq\":1}\n{\"seq\":2,\"id\":",
                Some("{\"seq\":1}\nnew\n"),
            ),
            ("{\"se", Some("new\n")),
            ("{\"seq\":1}\n{\"s", Some("{\"seq\":1}\nnew\n")),
            ("[settings]\nkey = 1", None),
            ("key = 1", None),
        ] {
            std::fs::write(&path, before).unwrap();
            let appended = append(&path, b"new\n");
            assert_eq!(appended.is_ok(), after.is_some(), "{before}: {appended:?}");
            assert_eq!(
                std::fs::read_to_string(&path).unwrap(),
                after.unwrap_or(before)
            );
        }
        assert!(matches!(
            append(folder.path(), b"new\n"),
            Err(StreamError::Unfit(StreamFileError::NoFile))
        ));
        let nowhere = folder.path().join("no/folder");
        assert!(matches!(
            append(&nowhere, b"new\n"),
            Err(StreamError::Unfit(StreamFileError::NoFolder(_)))
        ));
    }
}
