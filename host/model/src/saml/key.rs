//! The keys that responses to a service provider are signed with, and their stages.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{Did, KeyId};

/// A key that a service provider's responses are signed with.
#[derive(Clone)]
pub struct SamlKey {
    /// The row's id.
    pub id: KeyId,
    /// The service provider.
    pub application: Did,
    /// Counts the service provider's keys.
    pub generation: i64,
    /// The PKCS #8 private key, sealed with the master key: base64.
    pub sealed: String,
    /// Its certificate in PEM form.
    pub certificate: String,
    /// When it was published.
    pub created_at: Timestamp,
    /// When it begins to sign, and the one before it ends to.
    pub signs_from: Timestamp,
    /// When the certificate ends.
    pub expires_at: Timestamp,
}

/// Without the key.
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
    /// It is in the metadata, and will sign.
    Published,
    /// The active certificate.
    Signing,
    /// It is still in the metadata, for those who look late.
    Retired,
    /// It is of no use any more.
    Expired,
}

/// How long a key that signs no more stays in the metadata.
pub const RETIRED: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// The keys of one service provider, each with its stage, the latest first. One signs at any time: if the clock was set
/// back to before all of them, the earliest does.
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
