//! The public properties of signing keys.

use serde_json::Value;

use assent_model::id::KeyId;
use assent_model::key::{KeyLife, KeyTimes, SigningAlgorithm, SigningPurpose};

/// The public properties of a key of the ring.
#[derive(Clone, Debug)]
pub struct KnownKey {
    /// The identifier of the row.
    pub id: KeyId,
    /// The `kid`: the RFC 7638 thumbprint.
    pub key_id: String,
    /// What the key signs.
    pub purpose: SigningPurpose,
    /// The only algorithm of the key.
    pub algorithm: SigningAlgorithm,
    /// The times that determine its lifecycle.
    pub times: KeyTimes,
    /// The current stage of its lifecycle.
    pub life: KeyLife,
    /// Whether its private key is still stored.
    pub has_private_half: bool,
    /// The public key (RFC 7517).
    pub public_jwk: Value,
}
