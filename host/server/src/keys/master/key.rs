//! The operations of every master key, and the reasons why one may be unusable.

use std::path::PathBuf;

use super::super::{KeyError, SymmetricKey};
use assent_model::entropy::Entropy;

/// A key that wraps the keys in the database. It may be in a file, or in a device or service that does not reveal it.
pub trait MasterKey: std::fmt::Debug + Send + Sync {
    /// Returns a text that identifies the key without revealing it: 64 hexadecimal digits.
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
    /// [`KeyError::NotUnwrapped`] for another master key, another purpose or a changed value, or if the device fails.
    fn unwrap(&self, purpose: &str, wrapped: &str) -> Result<SymmetricKey, KeyError>;
}

/// The reason why a master key cannot be used. The message says how to correct it.
#[derive(Debug, thiserror::Error)]
pub enum MasterKeyError {
    /// The file cannot be read or created.
    #[error("{}: cannot read or create the master key: {reason}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The reason.
        reason: std::io::Error,
    },
    /// The database has keys that were sealed with a master key, and the file does not exist.
    #[error(
        "{}: the master key is missing, and the keys in the database cannot be decrypted without it; restore it from \
         its backup",
        file.display()
    )]
    Lost {
        /// The file.
        file: PathBuf,
    },
    /// The file does not exist, and the operator must create it.
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
    /// Other users could read the file.
    #[error(
        "{}: the master key may be read by others (mode {mode:o}); run: chmod 600 {}",
        file.display(), file.display()
    )]
    Exposed {
        /// The file.
        file: PathBuf,
        /// The mode of the file.
        mode: u32,
    },
    /// The token with the key cannot be used.
    #[error("keys.pkcs11: {reason}")]
    Token {
        /// The reason, and the correction.
        reason: String,
    },
    /// The cryptographic library failed.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The text is not 32 bytes of base64.
    #[error(
        "{origin}: the master key is not 32 bytes of base64; `openssl rand -base64 32` prints one"
    )]
    Malformed {
        /// The file or setting.
        origin: String,
    },
}
