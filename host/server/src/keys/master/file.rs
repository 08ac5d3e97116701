//! A master key in a file, or in a setting.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::super::{KeyError, SymmetricKey};
use super::key::{MasterKey, MasterKeyError};
use assent_model::entropy::Entropy;
use assent_model::text::without_mark;

/// A master key of 32 bytes in the memory of this process.
pub struct FileMasterKey {
    key: SymmetricKey,
    fingerprint: String,
}

impl std::fmt::Debug for FileMasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FileMasterKey")
            .field(&self.fingerprint)
            .finish()
    }
}

impl FileMasterKey {
    /// Parses the key from a base64 text of `origin`.
    ///
    /// # Errors
    /// [`MasterKeyError`] if the text is not 32 bytes of base64.
    pub fn from_text(text: &str, origin: &str) -> Result<Self, MasterKeyError> {
        let malformed = || MasterKeyError::Malformed {
            origin: origin.to_owned(),
        };
        let bytes = Zeroizing::new(STANDARD.decode(text.trim()).map_err(|_| malformed())?);
        let key = SymmetricKey::from_bytes(&bytes).ok_or_else(malformed)?;
        let fingerprint = hex::encode(key.derive("fingerprint", b"")?);
        Ok(Self { key, fingerprint })
    }

    /// Reads the key from `file`. If it does not exist, creates it with a new key (mode 0600).
    ///
    /// # Errors
    /// [`MasterKeyError`] if the file cannot be read or created.
    pub fn read_or_create(file: &Path, entropy: &dyn Entropy) -> Result<Self, MasterKeyError> {
        if !file.exists() {
            create(file, entropy).map_err(|reason| MasterKeyError::File {
                file: file.to_owned(),
                reason,
            })?;
        }
        Self::read(file)
    }

    /// Reads the key from `file`.
    ///
    /// # Errors
    /// [`MasterKeyError`] if the file cannot be read, is readable by other users, or is not a key.
    pub fn read(file: &Path) -> Result<Self, MasterKeyError> {
        let failed = |reason| MasterKeyError::File {
            file: file.to_owned(),
            reason,
        };
        let mut opened = match File::open(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(MasterKeyError::Lost {
                    file: file.to_owned(),
                });
            }
            other => other.map_err(failed)?,
        };
        let mode = opened.metadata().map_err(failed)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(MasterKeyError::Exposed {
                file: file.to_owned(),
                mode,
            });
        }
        let mut text = Zeroizing::new(String::new());
        opened.read_to_string(&mut text).map_err(failed)?;
        Self::from_text(without_mark(&text), &file.display().to_string())
    }
}

impl MasterKey for FileMasterKey {
    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn wrap(
        &self,
        purpose: &str,
        key: &SymmetricKey,
        entropy: &dyn Entropy,
    ) -> Result<String, KeyError> {
        self.key.encrypt(purpose, key.bytes(), entropy)
    }

    fn unwrap(&self, purpose: &str, wrapped: &str) -> Result<SymmetricKey, KeyError> {
        let bytes = self.key.decrypt(purpose, wrapped);
        let key = bytes.and_then(|bytes| SymmetricKey::from_bytes(&bytes));
        key.ok_or(KeyError::NotUnwrapped)
    }
}

/// Creates the file. It is written beside its final place and then linked. If two instances start at the same time,
/// only one creates the key, and both read the complete file.
fn create(file: &Path, entropy: &dyn Entropy) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let text = Zeroizing::new(STANDARD.encode(entropy.bytes::<32>()));
    let beside = file.with_extension(format!("{}.new", hex::encode(entropy.bytes::<8>())));
    let mut fresh = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&beside)?;
    fresh.set_permissions(Permissions::from_mode(0o600))?;
    fresh.write_all(text.as_bytes())?;
    fresh.sync_all()?;
    let linked = match std::fs::hard_link(&beside, file) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other,
    };
    std::fs::remove_file(&beside)?;
    linked
}

#[cfg(test)]
mod tests {
    use super::*;
    use assent_model::entropy::SystemEntropy;

    #[test]
    fn a_key_is_unwrapped_only_by_the_master_key_that_wrapped_it() {
        let text = |byte: u8| STANDARD.encode([byte; 32]);
        let master = |byte| FileMasterKey::from_text(&text(byte), "a test").unwrap();
        let key = SymmetricKey::generate(&SystemEntropy);
        let wrapped = master(1).wrap("root", &key, &SystemEntropy).unwrap();
        assert_eq!(
            master(1).unwrap("root", &wrapped).unwrap().bytes(),
            key.bytes()
        );
        assert!(master(1).unwrap("sealing 1", &wrapped).is_err());
        assert!(master(2).unwrap("root", &wrapped).is_err());
        assert_ne!(master(1).fingerprint(), master(2).fingerprint());
        assert_eq!(master(1).fingerprint(), master(1).fingerprint());
    }

    #[test]
    fn the_file_is_created_once_and_only_its_owner_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data/master.key");
        let first = FileMasterKey::read_or_create(&file, &SystemEntropy).unwrap();
        let again = FileMasterKey::read_or_create(&file, &SystemEntropy).unwrap();
        assert_eq!(first.key.bytes(), again.key.bytes());
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        let error = FileMasterKey::read_or_create(&file, &SystemEntropy)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("mode 640") && error.contains("chmod 600"),
            "{error}"
        );
    }
}
