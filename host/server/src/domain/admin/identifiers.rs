//! The decentralized identifiers of users and applications.

use super::Result;
use crate::domain::error::InternalError;
use crate::keys::fresh_ed25519_public_key;
use assent_model::id::Did;

/// Returns a new decentralized identifier.
pub(in crate::domain) fn fresh_did() -> Result<Did> {
    let key = fresh_ed25519_public_key().map_err(InternalError::from)?;
    Ok(Did::from_ed25519(&key))
}
