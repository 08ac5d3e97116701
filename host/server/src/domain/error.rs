//! Internal failures of the use cases.

use crate::keys::{KeyError, SigningError};
use assent_store::StoreError;

/// An internal failure. The user can only retry; the log has the cause.
#[derive(Debug, thiserror::Error)]
pub enum InternalError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A key could not be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A signature could not be created.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// A SAML message could not be written or signed.
    #[error("a SAML message could not be created: {0}")]
    Saml(String),
    /// The challenge for a passkey could not be created.
    #[error("a passkey challenge could not be created: {0}")]
    Passkey(String),
    /// A plugin failed.
    #[error("the plugin {0}")]
    Plugin(String),
    /// A value could not be serialized.
    #[error("a value could not be serialized: {0}")]
    Serialization(#[from] serde_json::Error),
}

impl InternalError {
    /// Returns whether the error is an outage of the database, so that a retry may succeed.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_outage())
    }
}
