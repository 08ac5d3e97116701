//! Keys that tokens are signed with.

use crate::clock::Timestamp;
use crate::id::KeyId;

/// A signing key as it is kept: the private half sealed with the master key.
#[derive(Clone, Debug)]
pub struct SealedKey {
    /// The row's id.
    pub id: KeyId,
    /// What it is for. There is one key for each purpose.
    pub purpose: KeyPurpose,
    /// The sealed PKCS #8 private key, base64.
    pub sealed: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPurpose {
    /// Signs ID tokens: RSA of 2048 bits.
    IdToken,
    /// Identifies this host to push services (VAPID, RFC 8292): P-256.
    Push,
}

impl KeyPurpose {
    /// The purpose's name in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IdToken => "id_token",
            Self::Push => "push",
        }
    }
}
