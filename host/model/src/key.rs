//! Signing keys for tokens, and their lifecycle.
//!
//! A key is published, signs, is retired, is archived, and expires. The stage follows from timestamps of the key and of
//! the other keys of its purpose. So all instances of one database agree on it without communication.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::id::KeyId;

/// The time for which a retired key stays in the key set: one day, the maximum lifetime of a token, and one more day
/// for clock skew and caches.
const RETIRED: Duration = Duration::from_secs(2 * 24 * 60 * 60);
/// The time for which the public key is stored after that, for the `id_token_hint` of an expired token. For a revoked
/// key, only the operator's list uses it.
const REMEMBERED: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// A stored key.
#[derive(Clone, Debug)]
pub struct SigningKey {
    /// The row's id.
    pub id: KeyId,
    /// The purpose.
    pub purpose: KeyPurpose,
    /// The key material.
    pub material: KeyMaterial,
    /// The timestamps that determine the stage.
    pub times: KeyTimes,
}

impl SigningKey {
    /// Whether the key can sign, now or later.
    pub const fn may_sign(&self) -> bool {
        matches!(self.material, KeyMaterial::Sealed(_)) && self.times.revoked_at.is_none()
    }
}

/// The stored material of a key.
#[derive(Clone, PartialEq, Eq)]
pub enum KeyMaterial {
    /// The PKCS #8 private key, sealed.
    Sealed(String),
    /// Only the public key (RFC 7517): the key will never sign again.
    Public(Value),
}

impl fmt::Debug for KeyMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sealed(_) => "Sealed(***)",
            Self::Public(_) => "Public",
        })
    }
}

/// The purpose of a key. Each purpose has its own keys (RFC 8725 section 3.1: one key, one algorithm).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPurpose {
    /// Signs ID tokens, logout tokens and responses: RSA of 2048 bits, P-256 or Ed25519, by its algorithm.
    IdToken(SigningAlgorithm),
    /// Identifies this server to push services (VAPID, RFC 8292): P-256. It has one permanent key.
    Push,
    /// Signs receipts of approvals, and nothing else: P-256. The public keys are never deleted.
    Receipt,
}

impl KeyPurpose {
    /// All purposes.
    pub const ALL: [Self; 6] = [
        Self::IdToken(SigningAlgorithm::Rs256),
        Self::IdToken(SigningAlgorithm::Ps256),
        Self::IdToken(SigningAlgorithm::Es256),
        Self::IdToken(SigningAlgorithm::EdDsa),
        Self::Push,
        Self::Receipt,
    ];

    /// Whether the purpose has a key from the first start. The keys of other purposes are created at their first use.
    pub const fn has_key_at_start(self) -> bool {
        match self {
            Self::IdToken(algorithm) => algorithm.has_key_at_start(),
            Self::Push | Self::Receipt => true,
        }
    }

    /// Returns the name in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IdToken(SigningAlgorithm::Rs256) => "id_token",
            Self::IdToken(SigningAlgorithm::Ps256) => "id_token_ps256",
            Self::IdToken(SigningAlgorithm::Es256) => "id_token_es256",
            Self::IdToken(SigningAlgorithm::EdDsa) => "id_token_eddsa",
            Self::Push => "push",
            Self::Receipt => "receipt",
        }
    }
}

/// The purpose of signing keys that are published, rotate, and can be revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SigningPurpose {
    /// The keys of ID tokens, logout tokens and responses with this algorithm.
    IdToken(SigningAlgorithm),
    /// The keys of receipts.
    Receipt,
}

impl SigningPurpose {
    /// The only algorithm of the keys.
    pub const fn algorithm(self) -> SigningAlgorithm {
        match self {
            Self::IdToken(algorithm) => algorithm,
            Self::Receipt => SigningAlgorithm::Es256,
        }
    }

    /// The kind of the keys.
    pub const fn kind(self) -> SigningKeyKind {
        match self {
            Self::IdToken(_) => SigningKeyKind::IdToken,
            Self::Receipt => SigningKeyKind::Receipt,
        }
    }
}

impl From<SigningPurpose> for KeyPurpose {
    fn from(purpose: SigningPurpose) -> Self {
        match purpose {
            SigningPurpose::IdToken(algorithm) => Self::IdToken(algorithm),
            SigningPurpose::Receipt => Self::Receipt,
        }
    }
}

/// What signing keys sign: a purpose without its algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SigningKeyPurpose))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SigningKeyKind {
    // The default is the first of all.
    /// ID tokens, logout tokens and signed responses.
    #[default]
    IdToken,
    /// Receipts of approvals.
    Receipt,
}
crate::enum_texts!(SigningKeyKind);

/// A text that is not the name of a purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a purpose of keys")]
pub struct KeyPurposeError;

impl FromStr for KeyPurpose {
    type Err = KeyPurposeError;
    fn from_str(text: &str) -> Result<Self, KeyPurposeError> {
        Self::ALL
            .into_iter()
            .find(|purpose| purpose.as_str() == text)
            .ok_or(KeyPurposeError)
    }
}

/// A signature algorithm of ID tokens (RFC 7518 section 3.1, RFC 8037 section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(strum::Display, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum SigningAlgorithm {
    // The default is the first of all.
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    #[default]
    Rs256,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    #[serde(rename = "EdDSA")]
    #[strum(serialize = "EdDSA")]
    EdDsa,
}
crate::enum_texts!(SigningAlgorithm);

impl SigningAlgorithm {
    /// Whether each installation has a key of this algorithm. One of the others is created when an application chooses
    /// it.
    pub const fn has_key_at_start(self) -> bool {
        matches!(self, Self::Rs256 | Self::Ps256)
    }
}

/// A text that is not the name of a supported algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected RS256, PS256, ES256 or EdDSA")]
pub struct SigningAlgorithmError;

impl FromStr for SigningAlgorithm {
    type Err = SigningAlgorithmError;
    fn from_str(text: &str) -> Result<Self, SigningAlgorithmError> {
        Self::parse(text).ok_or(SigningAlgorithmError)
    }
}

/// The timestamps that determine the stage of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyTimes {
    /// The number of the key among the keys of its purpose, from 1. A later key replaces an earlier one.
    pub generation: i64,
    /// The time at which the key was created and entered the key set.
    pub published_at: Timestamp,
    /// The time at which the key begins to sign, and the preceding key stops.
    pub signs_from: Timestamp,
    /// The time of the revocation, if the key was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// The stage of a signing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SigningKeyStage))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum KeyStage {
    /// The key signs, and is in the key set.
    Signing,
    /// The key is in the key set, and will sign later.
    Published,
    /// The key no longer signs. It is in the key set for the tokens that it signed.
    Retired,
    /// The key is no longer in the key set. Only the server still uses it.
    Archived,
    /// The key was revoked.
    Revoked,
    /// Nothing needs the key any more.
    Expired,
}
crate::enum_texts!(KeyStage);

impl KeyStage {
    /// Whether the key set contains the key.
    pub const fn is_in_key_set(self) -> bool {
        matches!(self, Self::Signing | Self::Published | Self::Retired)
    }
}

/// A stage with its start and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyLife {
    /// The stage.
    pub stage: KeyStage,
    /// The start of the stage.
    pub since: Timestamp,
    /// The end of the stage, if it is known.
    pub until: Option<Timestamp>,
}

impl KeyTimes {
    /// Returns the timestamps of a key that is published and signs immediately.
    pub const fn at_once(generation: i64, now: Timestamp) -> Self {
        Self {
            generation,
            published_at: now,
            signs_from: now,
            revoked_at: None,
        }
    }

    /// Returns the stage of this key at `now`. `all` are the keys of its purpose, including this one.
    pub fn life_at(&self, all: &[Self], now: Timestamp) -> KeyLife {
        if let Some(revoked_at) = self.revoked_at {
            let until = revoked_at + REMEMBERED;
            return if now < until {
                KeyLife {
                    stage: KeyStage::Revoked,
                    since: revoked_at,
                    until: Some(until),
                }
            } else {
                KeyLife {
                    stage: KeyStage::Expired,
                    since: until,
                    until: None,
                }
            };
        }
        let signing = signing_at(all, now).map_or(self.generation, |key| key.generation);
        let replaced_at = self.replaced_at(all);
        if self.generation > signing {
            return KeyLife {
                stage: KeyStage::Published,
                since: self.published_at,
                until: Some(self.signs_from),
            };
        }
        let Some(retired_at) = replaced_at.filter(|_| self.generation < signing) else {
            return KeyLife {
                stage: KeyStage::Signing,
                since: self.signs_from,
                until: replaced_at,
            };
        };
        let (archived_at, expired_at) = (retired_at + RETIRED, retired_at + RETIRED + REMEMBERED);
        if now < archived_at {
            KeyLife {
                stage: KeyStage::Retired,
                since: retired_at,
                until: Some(archived_at),
            }
        } else if now < expired_at {
            KeyLife {
                stage: KeyStage::Archived,
                since: archived_at,
                until: Some(expired_at),
            }
        } else {
            KeyLife {
                stage: KeyStage::Expired,
                since: expired_at,
                until: None,
            }
        }
    }

    /// Returns the stage of a key that is never deleted, as [`Self::life_at`]. It stays archived or revoked for ever.
    pub fn permanent_life_at(&self, all: &[Self], now: Timestamp) -> KeyLife {
        let life = self.life_at(all, now);
        match (life.stage, self.revoked_at) {
            (KeyStage::Revoked | KeyStage::Expired, Some(revoked_at)) => KeyLife {
                stage: KeyStage::Revoked,
                since: revoked_at,
                until: None,
            },
            (KeyStage::Archived | KeyStage::Expired, None) => KeyLife {
                stage: KeyStage::Archived,
                since: self
                    .replaced_at(all)
                    .map_or(life.since, |replaced_at| replaced_at + RETIRED),
                until: None,
            },
            _ => life,
        }
    }

    /// Returns the time at which a later key begins to sign. A key that was revoked before its start never signs.
    pub fn replaced_at(&self, all: &[Self]) -> Option<Timestamp> {
        let later = all.iter().filter(|key| key.generation > self.generation);
        later
            .filter(|key| key.revoked_at.is_none_or(|at| at > key.signs_from))
            .map(|key| key.signs_from)
            .min()
    }
}

/// Returns the key of a purpose that signs at `now`: the latest started key that was not revoked. If no key has
/// started, because the clock was set back, the earliest key signs. So one key always signs.
pub fn signing_at(all: &[KeyTimes], now: Timestamp) -> Option<&KeyTimes> {
    let live = || all.iter().filter(|key| key.revoked_at.is_none());
    let begun = live()
        .filter(|key| key.signs_from <= now)
        .max_by_key(|key| key.generation);
    begun.or_else(|| live().min_by_key(|key| key.generation))
}

/// Whether a purpose's next key must be published. Each key signs for `rotation`, and the next one is published `ahead`
/// of its end.
pub fn is_next_due(all: &[KeyTimes], rotation: Duration, ahead: Duration, now: Timestamp) -> bool {
    let Some(signing) = signing_at(all, now) else {
        return true;
    };
    let waits = all
        .iter()
        .any(|key| key.revoked_at.is_none() && key.generation > signing.generation);
    !waits && now + ahead >= signing.signs_from + rotation
}

#[cfg(test)]
mod tests;
