//! What every master key can do, and why it may be unusable.

use std::path::PathBuf;

use super::super::{KeyError, SymmetricKey};
use assent_model::entropy::Entropy;

/// A key that wraps the keys in the database. It may be in a file, or in a device or service that does not reveal it.
pub trait MasterKey: std::fmt::Debug + Send + Sync {
    /// Identifies the key without revealing it: 64 hexadecimal digits.
    fn fingerprint(&self) -> &str;

    /// Encrypts a key for `purpose`.
    ///
    /// # Errors
    /// If the device or library fails.
    fn wrap(
        &self,
        purpose: &str,
        key: &SymmetricKey,
        entropy: &dyn Entropy,
    ) -> Result<String, KeyError>;

    /// Decrypts a key that was encrypted for `purpose`.
    ///
    /// # Errors
    /// [`KeyError::NotUnwrapped`] if another master key, another purpose or a change is found, or if the device fails.
    fn unwrap(&self, purpose: &str, wrapped: &str) -> Result<SymmetricKey, KeyError>;
}

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
    /// The token with the key cannot be used.
    #[error("keys.pkcs11: {reason}")]
    Token {
        /// What went wrong, and what to do.
        reason: String,
    },
    /// The cryptographic library failed.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The text is not 32 bytes of base64.
    #[error(
        "{origin}: the master key is not 32 bytes of base64; `openssl rand -base64 32` makes one"
    )]
    Malformed {
        /// The file or setting.
        origin: String,
    },
}
