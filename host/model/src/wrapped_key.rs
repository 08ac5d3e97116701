//! Keys in the database that a master key has encrypted ("wrapped").

use crate::clock::Timestamp;

/// What a wrapped key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WrappedKeyPurpose {
    /// The root secret, from which everything is derived that stays the same while keys change.
    Root,
    /// The sealing key of this generation.
    Sealing(u32),
}

/// A key, wrapped with one master key. While the master key is rotated, each key is wrapped with both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrappedKey {
    /// What the key is for.
    pub purpose: WrappedKeyPurpose,
    /// The fingerprint of the master key.
    pub master_key: String,
    /// The encrypted key.
    pub wrapped: String,
    /// From when a sealing key seals.
    pub seals_from: Timestamp,
}
