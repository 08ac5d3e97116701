//! The file of a backup: a tar archive with a header, its message authentication code, and a dump.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use openssl::memcmp;
use openssl::sha::Sha256;
use serde::Deserialize;
use tar::{Archive, Builder, Entry, EntryType, Header};
use tempfile::NamedTempFile;

use super::header::{BackupHeader, DumpDigest, FORMAT, authentication_code};
use crate::keys::{KeyError, MasterKeys, RootSecret};

const HEADER: &str = "header.json";
const CODE: &str = "header.hmac";
/// The maximum size of the header, in bytes. It grows with the lanes of the audit log.
const LONGEST_HEADER: u64 = 4 << 20;
const LONGEST_CODE: u64 = 64;

/// Writes a backup. It appears at `path` only when it is complete, and replaces no other file.
pub(super) fn write(
    path: &Path,
    header: &BackupHeader,
    root: &RootSecret,
    dump: &mut File,
) -> anyhow::Result<()> {
    let folder = folder_of(path);
    let text = serde_json::to_vec_pretty(header)?;
    let code = authentication_code(root, &text)?;
    // Its mode is 0600.
    let written = new_file(folder)?;
    let mut archive = Builder::new(written);
    append(&mut archive, HEADER, text.len() as u64, text.as_slice())?;
    append(&mut archive, CODE, code.len() as u64, code.as_bytes())?;
    dump.seek(SeekFrom::Start(0))?;
    append(
        &mut archive,
        header.database.member(),
        header.dump.size,
        dump,
    )?;
    persist_file(archive.into_inner()?, path)
}

fn append(
    archive: &mut Builder<NamedTempFile>,
    name: &str,
    size: u64,
    content: impl Read,
) -> anyhow::Result<()> {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o600);
    header.set_size(size);
    Ok(archive.append_data(&mut header, name, content)?)
}

/// Creates a file that is deleted again, unless it gets a name.
pub(super) fn new_file(folder: &Path) -> anyhow::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".assent-backup-")
        .tempfile_in(folder)
        .with_context(|| folder.display().to_string())
}

/// Gives a complete file its name, and flushes it to the disk.
pub(in crate::cli) fn persist_file(file: NamedTempFile, path: &Path) -> anyhow::Result<()> {
    file.as_file().sync_all()?;
    file.persist_noclobber(path)
        .map_err(|error| error.error)
        .with_context(|| format!("{} could not be created", path.display()))?;
    File::open(folder_of(path))?.sync_all()?;
    Ok(())
}

pub(in crate::cli) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Computes the size and the digest of a dump.
pub(super) fn digest(dump: &mut File) -> anyhow::Result<DumpDigest> {
    dump.seek(SeekFrom::Start(0))?;
    let mut hashing = Hashing::of(std::io::sink());
    std::io::copy(dump, &mut hashing)?;
    Ok(hashing.finish())
}

/// An open backup with an authentic header.
#[derive(Debug)]
pub(in crate::cli) struct OpenBackup {
    file: File,
    pub(in crate::cli) header: BackupHeader,
    /// The root secret of the installation.
    pub(in crate::cli) root: RootSecret,
    /// Whether only the previous master key of the settings opens it.
    pub(in crate::cli) is_of_previous_master_key: bool,
    /// The position of the dump, in bytes.
    dump_at: u64,
}

/// The members that the header has in every format.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

impl OpenBackup {
    /// Opens a backup. One of these master keys must have wrapped its root secret, and its header must be authentic.
    pub(in crate::cli) fn open(path: &Path, masters: &MasterKeys) -> anyhow::Result<Self> {
        let opened = File::open(path)
            .map_err(anyhow::Error::from)
            .and_then(|file| Self::read(file, masters));
        opened.with_context(|| path.display().to_string())
    }

    fn read(file: File, masters: &MasterKeys) -> anyhow::Result<Self> {
        let mut archive = Archive::new(BufReader::new(&file));
        let mut members = archive.entries()?;
        let mut next = |name: &str| -> anyhow::Result<Entry<'_, _>> {
            let no_backup = || format!("this is not a backup of Assent: {name} is missing");
            let member = members.next().with_context(no_backup)?;
            let member = member.with_context(no_backup)?;
            let is_it = member.header().entry_type() == EntryType::Regular
                && member.path_bytes().as_ref() == name.as_bytes();
            ensure!(is_it, no_backup());
            Ok(member)
        };
        let text = read_member(next(HEADER)?, LONGEST_HEADER)?;
        let unreadable = || "the header cannot be read";
        let Format { format } = serde_json::from_slice(&text).with_context(unreadable)?;
        ensure!(
            format == FORMAT,
            "the backup has format {format}, and this release reads format {FORMAT}; restore it with the release that \
             wrote it, or a newer one"
        );
        let header: BackupHeader = serde_json::from_slice(&text).with_context(unreadable)?;
        let mut fingerprints = header.root_secret.iter().map(|root| &root.master_key);
        let are_fingerprints =
            fingerprints.all(|fingerprint| fingerprint.bytes().all(|b| b.is_ascii_hexdigit()));
        ensure!(are_fingerprints, unreadable());
        let root = match header.root_secret(masters) {
            Err(KeyError::WrongMasterKey { stored, configured }) => bail!(
                "the backup was made with another master key. The fingerprint of its key is {stored}, of the key in \
                 the settings {configured}. Put the right key back, or set it as keys.previous_master_key_file: \
                 without it, the keys in the backup cannot be decrypted"
            ),
            other => other?,
        };
        let code = read_member(next(CODE)?, LONGEST_CODE)?;
        let expected = authentication_code(&root, &text)?;
        let is_authentic = code.len() == expected.len() && memcmp::eq(&code, expected.as_bytes());
        ensure!(
            is_authentic,
            "the header was changed after the backup was made"
        );
        let dump = next(header.database.member())?;
        ensure!(
            dump.size() == header.dump.size,
            "the dump has {} bytes, and the header names {}",
            dump.size(),
            header.dump.size
        );
        let dump_at = dump.raw_file_position();
        Ok(Self {
            file,
            is_of_previous_master_key: !header
                .root_secret
                .iter()
                .any(|root| root.master_key == masters.current.fingerprint()),
            header,
            root,
            dump_at,
        })
    }

    /// Copies the dump.
    ///
    /// # Errors
    /// If it cannot be copied, or was changed after the backup was created.
    pub(in crate::cli) fn copy_dump(&mut self, into: impl Write) -> anyhow::Result<()> {
        let mut into = Hashing::of(into);
        let mut dump = self.dump()?;
        std::io::copy(&mut dump, &mut into)?;
        self.compare(&into.finish())
    }

    pub(in crate::cli) fn dump(&mut self) -> anyhow::Result<std::io::Take<&File>> {
        self.file.seek(SeekFrom::Start(self.dump_at))?;
        Ok((&self.file).take(self.header.dump.size))
    }

    /// Fails if a dump does not match the header.
    fn compare(&self, found: &DumpDigest) -> anyhow::Result<()> {
        if *found != self.header.dump {
            bail!(
                "the dump is damaged: its SHA-256 digest is {}, and the header names {}",
                found.sha256,
                self.header.dump.sha256
            );
        }
        Ok(())
    }
}

fn read_member(member: impl Read, most: u64) -> anyhow::Result<Vec<u8>> {
    let mut content = Vec::new();
    member.take(most + 1).read_to_end(&mut content)?;
    ensure!(
        content.len() as u64 <= most,
        "a member of the backup is too long"
    );
    Ok(content)
}

/// Writes bytes to another writer, and computes their digest.
struct Hashing<W> {
    into: W,
    digest: Sha256,
    size: u64,
}

impl<W> Hashing<W> {
    fn of(into: W) -> Self {
        Self {
            into,
            digest: Sha256::new(),
            size: 0,
        }
    }

    fn finish(self) -> DumpDigest {
        DumpDigest {
            size: self.size,
            sha256: hex::encode(self.digest.finish()),
        }
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.into.write(bytes)?;
        let (done, _) = bytes.split_at_checked(written).unwrap_or((bytes, &[]));
        self.digest.update(done);
        self.size += done.len() as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.into.flush()
    }
}
