//! Failures of keys.

use openssl::error::ErrorStack;

use assent_model::id::Did;
use assent_model::key::SigningAlgorithm;

/// The reason why a key could not be created, unsealed or used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The cryptographic library failed.
    #[error("the cryptographic library failed: {0}")]
    Library(#[from] ErrorStack),
    /// A sealed value was sealed with an unknown key or for another purpose, or was changed.
    #[error("a sealed value cannot be opened: it was changed, or belongs to another installation")]
    NotOpened,
    /// There is no sealing key.
    #[error("the database has no sealing key")]
    NoneToSeal,
    /// The newest sealing key of the database is not the one that this instance knows.
    #[error("the newest sealing key in the database was removed or changed")]
    SealingKeyChanged,
    /// The root secret is missing.
    #[error("the database has no root secret")]
    NoRootSecret,
    /// The database has signing keys, but no key that the master key wraps.
    #[error(
        "the database has signing keys, but the table wrapped_keys has neither the root secret nor the sealing keys; \
         restore the database from a backup"
    )]
    WrappedKeysLost,
    /// A key was not wrapped by this master key.
    #[error(
        "a key in the database cannot be decrypted with this master key: it was changed, or the PKCS#11 token has \
         another key with the same label and id"
    )]
    NotUnwrapped,
    /// The keys were wrapped with other master keys.
    #[error(
        "the keys in the database are encrypted with the master key {stored}, and the settings have {configured}; put \
         the right master key back, or set it as keys.previous_master_key_file"
    )]
    WrongMasterKey {
        /// The fingerprints of the master keys that wrapped the keys.
        stored: String,
        /// The fingerprints of the master keys in the settings.
        configured: String,
    },
    /// The token with the master key failed.
    #[error("the PKCS#11 token failed: {0}")]
    Token(#[from] cryptoki::error::Error),
    /// The token with the master key cannot be used.
    #[error("{0}")]
    TokenUnusable(String),
    /// A key could not be converted to its public form.
    #[error("a key has no public form: {0}")]
    Form(String),
    /// No key of an algorithm may sign.
    #[error("the database has no {0} key that may sign")]
    NoneToSign(SigningAlgorithm),
    /// No key may sign receipts.
    #[error("the database has no receipt key that may sign")]
    NoReceiptKey,
    /// A service provider has no key.
    #[error("the service provider {0} has no key to sign with")]
    NoSamlKey(Did),
    /// A token could not be sealed.
    #[error("a token could not be encrypted")]
    Sealing,
    /// The operation was interrupted because the server stops.
    #[error("the creation of a key was interrupted")]
    BrokenOff,
}
