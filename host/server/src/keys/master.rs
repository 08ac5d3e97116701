//! The master key: 32 bytes that are not in the database.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::symm::{Cipher, decrypt_aead, encrypt_aead};
use zeroize::Zeroizing;

use super::KeyError;
use assent_model::entropy::Entropy;

const NONCE: usize = 12;
const TAG: usize = 16;

/// Seals private keys and derives keys for cookies.
pub struct MasterKey(Zeroizing<[u8; 32]>);

/// A master key that can't be had. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum MasterKeyError {
    /// The file can't be read or made.
    #[error("{}: cannot read or make the master key: {reason}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What went wrong.
        reason: std::io::Error,
    },
    /// The database has keys that were sealed with a master key, and the file is not there.
    #[error(
        "{}: the master key is missing, and the keys in the database can't be opened without it; put it back from its \
         backup",
        file.display()
    )]
    Lost {
        /// The file.
        file: PathBuf,
    },
    /// The operator creates the file.
    #[error(
        "{}: the master key is missing, and keys.create_file is \"never\"; create the file with mode 600: \
         `openssl rand -base64 32` prints a key",
        file.display()
    )]
    NotCreated {
        /// The file.
        file: PathBuf,
    },
    /// The file would be lost with the container.
    #[error(
        "{}: a master key in this folder would be lost with the container, because no volume is mounted there; mount \
         one, or set keys.master_key (ASSENT__KEYS__MASTER_KEY)",
        file.display()
    )]
    Ephemeral {
        /// The file.
        file: PathBuf,
    },
    /// Others could read the file.
    #[error(
        "{}: the master key may be read by others (mode {mode:o}); run: chmod 600 {}",
        file.display(), file.display()
    )]
    Exposed {
        /// The file.
        file: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The text is not 32 bytes of base64.
    #[error(
        "{origin}: the master key is not 32 bytes of base64; `openssl rand -base64 32` makes one"
    )]
    Malformed {
        /// The file or setting.
        origin: String,
    },
}

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MasterKey(***)")
    }
}

impl MasterKey {
    /// Reads the key from a text of base64, which came from `origin`.
    pub fn from_text(text: &str, origin: &str) -> Result<Self, MasterKeyError> {
        let malformed = || MasterKeyError::Malformed {
            origin: origin.to_owned(),
        };
        let bytes = Zeroizing::new(STANDARD.decode(text.trim()).map_err(|_| malformed())?);
        let key: [u8; 32] = bytes.as_slice().try_into().map_err(|_| malformed())?;
        Ok(Self(Zeroizing::new(key)))
    }

    /// Reads the key from `file`. If it does not exist, it is created with a new key (mode 0600).
    ///
    /// # Errors
    /// [`MasterKeyError`] if the file can't be read or created.
    pub fn read_or_make(file: &Path, entropy: &dyn Entropy) -> Result<Self, MasterKeyError> {
        if !file.exists() {
            make(file, entropy).map_err(|reason| MasterKeyError::File {
                file: file.to_owned(),
                reason,
            })?;
        }
        Self::read(file)
    }

    /// Reads the key from `file`.
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
        Self::from_text(&text, &file.display().to_string())
    }

    /// The key of these settings: the text, or else that of the file, which must exist.
    ///
    /// # Errors
    /// [`MasterKeyError`] if the key can't be read.
    pub fn existing(text: Option<&str>, file: &Path) -> Result<Self, MasterKeyError> {
        match text {
            Some(text) => Self::from_text(text, "keys.master_key"),
            None => Self::read(file),
        }
    }

    /// Names the key without revealing it: 64 hexadecimal digits, which other keys do not have.
    ///
    /// # Errors
    /// If the cryptographic library fails.
    pub fn fingerprint(&self) -> Result<String, KeyError> {
        Ok(hex::encode(self.authenticate("fingerprint", b"")?))
    }

    /// Seals `plain` with AES-256-GCM for `purpose` alone: base64 of nonce, ciphertext and tag.
    pub fn seal(
        &self,
        purpose: &str,
        plain: &[u8],
        entropy: &dyn Entropy,
    ) -> Result<String, KeyError> {
        let nonce: [u8; NONCE] = entropy.bytes();
        let mut tag = [0; TAG];
        let cipher = encrypt_aead(
            Cipher::aes_256_gcm(),
            &*self.0,
            Some(&nonce),
            purpose.as_bytes(),
            plain,
            &mut tag,
        )?;
        Ok(STANDARD.encode([nonce.as_slice(), &cipher, &tag].concat()))
    }

    /// Opens what was sealed for `purpose`.
    pub fn open(&self, purpose: &str, sealed: &str) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        let bytes = STANDARD
            .decode(sealed)
            .map_err(|_| KeyError::WrongMasterKey)?;
        let (nonce, rest) = bytes
            .split_at_checked(NONCE)
            .ok_or(KeyError::WrongMasterKey)?;
        let middle = rest
            .len()
            .checked_sub(TAG)
            .ok_or(KeyError::WrongMasterKey)?;
        let (cipher, tag) = rest
            .split_at_checked(middle)
            .ok_or(KeyError::WrongMasterKey)?;
        decrypt_aead(
            Cipher::aes_256_gcm(),
            &*self.0,
            Some(nonce),
            purpose.as_bytes(),
            cipher,
            tag,
        )
        .map(Zeroizing::new)
        .map_err(|_| KeyError::WrongMasterKey)
    }

    /// A code that only this server can make for `message`, for `purpose` alone: HMAC-SHA256 with a key of its own.
    pub fn authenticate(&self, purpose: &str, message: &[u8]) -> Result<[u8; 32], KeyError> {
        let key = hmac(&*self.0, purpose.as_bytes())?;
        hmac(&key, message)
    }
}

pub(super) fn hmac(key: &[u8], message: &[u8]) -> Result<[u8; 32], KeyError> {
    let key = openssl::pkey::PKey::hmac(key)?;
    let mut signer = openssl::sign::Signer::new(openssl::hash::MessageDigest::sha256(), &key)?;
    let mut code = [0; 32];
    signer.sign_oneshot(&mut code, message)?;
    Ok(code)
}

/// Makes the file. Written beside and linked into place, so that of two hosts that start at once one makes the key and
/// both read it whole.
fn make(file: &Path, entropy: &dyn Entropy) -> std::io::Result<()> {
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

    fn key(byte: u8) -> MasterKey {
        MasterKey(Zeroizing::new([byte; 32]))
    }

    #[test]
    fn what_is_sealed_opens_only_with_the_same_key_for_the_same_purpose() {
        let sealed = key(1).seal("a", b"secret", &SystemEntropy).unwrap();
        assert_eq!(key(1).open("a", &sealed).unwrap().as_slice(), b"secret");
        assert!(matches!(
            key(2).open("a", &sealed),
            Err(KeyError::WrongMasterKey)
        ));
        assert!(matches!(
            key(1).open("b", &sealed),
            Err(KeyError::WrongMasterKey)
        ));
        for broken in ["", "AAAA", "not base64!"] {
            assert!(
                matches!(key(1).open("a", broken), Err(KeyError::WrongMasterKey)),
                "{broken}"
            );
        }
    }

    #[test]
    fn the_file_is_made_once_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data/master.key");
        let first = MasterKey::read_or_make(&file, &SystemEntropy).unwrap();
        let again = MasterKey::read_or_make(&file, &SystemEntropy).unwrap();
        assert_eq!(*first.0, *again.0);
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        let error = MasterKey::read_or_make(&file, &SystemEntropy)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("mode 640") && error.contains("chmod 600"),
            "{error}"
        );
    }
}
