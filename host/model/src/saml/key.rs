//! The keys for signing responses to a service provider, and their stages.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{Did, KeyId};

/// A key that signs responses to a service provider.
#[derive(Clone)]
pub struct SamlKey {
    /// The row's id.
    pub id: KeyId,
    /// The service provider.
    pub application: Did,
    /// The number of the key among the keys of the service provider.
    pub generation: i64,
    /// The PKCS #8 private key, sealed with the master key: base64.
    pub sealed: String,
    /// The certificate of the key in PEM form.
    pub certificate: String,
    /// The time of publication.
    pub created_at: Timestamp,
    /// The time at which the key begins to sign, and the preceding key stops.
    pub signs_from: Timestamp,
    /// The expiry of the certificate.
    pub expires_at: Timestamp,
}

/// Omits the key.
impl std::fmt::Debug for SamlKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SamlKey")
            .field("id", &self.id)
            .field("generation", &self.generation)
            .finish_non_exhaustive()
    }
}

/// The stage of a signing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SamlKeyStage {
    /// The key is in the metadata, and will sign later.
    Published,
    /// The active certificate.
    Signing,
    /// The key is still in the metadata, for service providers that read it late.
    Retired,
    /// The key is no longer used.
    Expired,
}

/// The time for which a retired key stays in the metadata.
pub const RETIRED: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// Returns the keys of one service provider with their stages, the latest first. One key always signs: if the clock was
/// set back to before the first key, the earliest one signs.
pub fn stages(mut keys: Vec<SamlKey>, now: Timestamp) -> Vec<(SamlKey, SamlKeyStage)> {
    keys.sort_by_key(|key| std::cmp::Reverse(key.generation));
    let signing = keys
        .iter()
        .position(|key| key.signs_from <= now)
        .unwrap_or(keys.len().saturating_sub(1));
    let mut next_from = None;
    let mut staged = Vec::with_capacity(keys.len());
    for (place, key) in keys.into_iter().enumerate() {
        let from = key.signs_from;
        let stage = match place.cmp(&signing) {
            std::cmp::Ordering::Less => SamlKeyStage::Published,
            std::cmp::Ordering::Equal => SamlKeyStage::Signing,
            std::cmp::Ordering::Greater
                if next_from.is_some_and(|next: Timestamp| now < next + RETIRED) =>
            {
                SamlKeyStage::Retired
            }
            std::cmp::Ordering::Greater => SamlKeyStage::Expired,
        };
        next_from = Some(from);
        staged.push((key, stage));
    }
    staged
}
