//! Files that are written only if their content changes.

use std::path::Path;

use anyhow::{Context, Result};

/// Writes a file unless it already has this content, so that dependent files are not rebuilt.
///
/// # Errors
/// If the file or its folder cannot be written.
pub fn write_if_changed(file: &Path, bytes: &[u8]) -> Result<()> {
    if std::fs::read(file).is_ok_and(|present| present == bytes) {
        return Ok(());
    }
    let write = || {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        // The rename is atomic, so a server that starts meanwhile reads the old or the new file as a whole.
        let fresh = file.with_extension("new");
        std::fs::write(&fresh, bytes)?;
        std::fs::rename(&fresh, file)
    };
    write().with_context(|| format!("{} cannot be written", file.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_file_with_the_right_content_is_not_rewritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("plugins/a.wasm");
        write_if_changed(&file, b"one").expect("written");
        let before = std::fs::metadata(&file).expect("the file").ino();
        write_if_changed(&file, b"one").expect("not rewritten");
        assert_eq!(std::fs::metadata(&file).expect("the file").ino(), before);
        write_if_changed(&file, b"two").expect("replaced");
        assert_eq!(std::fs::read(&file).expect("the file"), b"two");
    }
}
