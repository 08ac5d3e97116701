//! Keys that tokens are signed with.

use serde::{Deserialize, Serialize};

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

/// How an application's ID tokens are signed (RFC 7518 section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SigningAlgorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    #[default]
    #[serde(rename = "RS256")]
    Rs256,
    /// RSASSA-PSS with SHA-256.
    #[serde(rename = "PS256")]
    Ps256,
}

impl SigningAlgorithm {
    /// The algorithm's name in a JWT's header.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
        }
    }
}
