//! Failures of keys.

use openssl::error::ErrorStack;

use assent_model::id::Did;
use assent_model::key::SigningAlgorithm;

/// A key that could not be made, opened or used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The cryptographic library refused.
    #[error("the cryptographic library failed: {0}")]
    Library(#[from] ErrorStack),
    /// The sealed key does not open with this master key.
    #[error(
        "a key in the database does not open with this master key: is it another installation's?"
    )]
    WrongMasterKey,
    /// A key could not be brought into its public form.
    #[error("a key has no public form: {0}")]
    Form(String),
    /// No key of an algorithm may sign.
    #[error("the database has no {0} key that may sign")]
    NoneToSign(SigningAlgorithm),
    /// A service provider has no key.
    #[error("the service provider {0} has no key to sign with")]
    NoSamlKey(Did),
    /// A token could not be sealed.
    #[error("a token could not be encrypted")]
    Sealing,
    /// The server stops.
    #[error("the making of a key was broken off")]
    BrokenOff,
}
