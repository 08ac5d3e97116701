//! Keys in the database that a master key encrypts ("wrapped").

use crate::clock::Timestamp;

/// The purpose of a wrapped key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WrappedKeyPurpose {
    /// The root secret. Derived values that must outlast key rotations depend on it.
    Root,
    /// The sealing key of this generation.
    Sealing(u32),
}

/// A key, wrapped with one master key. During a rotation of the master key, each key is wrapped with both master keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrappedKey {
    /// The purpose of the key.
    pub purpose: WrappedKeyPurpose,
    /// The fingerprint of the master key.
    pub master_key: String,
    /// The encrypted key.
    pub wrapped: String,
    /// The time at which a sealing key begins to seal.
    pub seals_from: Timestamp,
}
