//! The root secret, from which all values are derived that must remain the same when keys change.

use super::{KeyError, SymmetricKey};

/// The secret of an installation, which is created once and never changes. Derived from it are identifiers (NameIDs,
/// `SessionIndex`, pairwise `sub` and `sid`), short codes, and the keys of the audit log and of compiled plugins. With
/// another secret, applications would not recognise their users.
#[derive(Clone, Debug)]
pub struct RootSecret(SymmetricKey);

impl RootSecret {
    /// Returns the root secret with this key.
    pub const fn new(key: SymmetricKey) -> Self {
        Self(key)
    }

    /// Derives 32 bytes from `message`, for `purpose`. Without the root secret they cannot be distinguished from random
    /// bytes.
    ///
    /// # Errors
    /// If the cryptographic library fails.
    pub fn derive(&self, purpose: &str, message: &[u8]) -> Result<[u8; 32], KeyError> {
        self.0.derive(purpose, message)
    }
}
