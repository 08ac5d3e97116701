//! The root secret, from which everything is derived that must stay the same while keys change.

use super::{KeyError, SymmetricKey};

/// The secret from which identifiers (NameIDs, `SessionIndex`, pairwise `sub` and `sid`), the keys of the audit log and
/// of compiled plugins, and short codes are derived. It is made once for an installation and never changes: another one
/// would make every user a stranger to the applications.
#[derive(Clone, Debug)]
pub struct RootSecret(SymmetricKey);

impl RootSecret {
    /// This secret.
    pub const fn new(key: SymmetricKey) -> Self {
        Self(key)
    }

    /// 32 bytes that follow from `message`, for `purpose`. Without the root secret they cannot be told from random
    /// ones.
    ///
    /// # Errors
    /// If the cryptographic library fails.
    pub fn derive(&self, purpose: &str, message: &[u8]) -> Result<[u8; 32], KeyError> {
        self.0.derive(purpose, message)
    }
}
