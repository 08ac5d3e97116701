//! Keys that tokens are signed with, and their life.
//!
//! A key is published, signs, is retired, is remembered, and is over. Where it is follows from moments that are kept
//! with it and with the other keys of its purpose, so all hosts on one database agree without talking.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::id::KeyId;

/// How long a key that signs no more stays in the key set: the day that a token may be good at the most, and another,
/// for clocks and caches that lag.
const RETIRED: Duration = Duration::from_secs(2 * 24 * 60 * 60);
/// How long the public half is known after that, for the `id_token_hint` of an expired token; a revoked key's, for the
/// operator's list alone.
const REMEMBERED: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// A key as it is kept.
#[derive(Clone, Debug)]
pub struct SigningKey {
    /// The row's id.
    pub id: KeyId,
    /// What it is for.
    pub purpose: KeyPurpose,
    /// The key itself.
    pub material: KeyMaterial,
    /// The moments that its life follows from.
    pub times: KeyTimes,
}

impl SigningKey {
    /// Whether it has what it takes to sign, now or later.
    pub const fn may_sign(&self) -> bool {
        matches!(self.material, KeyMaterial::Sealed(_)) && self.times.revoked_at.is_none()
    }
}

/// What is kept of a key.
#[derive(Clone, PartialEq, Eq)]
pub enum KeyMaterial {
    /// The PKCS #8 private key, sealed.
    Sealed(String),
    /// The public key alone (RFC 7517): the key will never sign again.
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

/// What a key is for. Each has keys of its own (RFC 8725 section 3.1: one key, one algorithm).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPurpose {
    /// Signs ID tokens and logout tokens: RSA of 2048 bits.
    IdToken(SigningAlgorithm),
    /// Identifies this host to push services (VAPID, RFC 8292): P-256. It has one key, which stays.
    Push,
}

impl KeyPurpose {
    /// All of them.
    pub const ALL: [Self; 3] = [
        Self::IdToken(SigningAlgorithm::Rs256),
        Self::IdToken(SigningAlgorithm::Ps256),
        Self::Push,
    ];

    /// The purpose's name in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IdToken(SigningAlgorithm::Rs256) => "id_token",
            Self::IdToken(SigningAlgorithm::Ps256) => "id_token_ps256",
            Self::Push => "push",
        }
    }
}

/// A text that names no purpose.
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

/// A signature algorithm of ID tokens (RFC 7518 section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
    /// All of them, the default first.
    pub const ALL: [Self; 2] = [Self::Rs256, Self::Ps256];

    /// The algorithm's name in a JWT's header.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
        }
    }
}

impl fmt::Display for SigningAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no algorithm that is used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected RS256 or PS256")]
pub struct SigningAlgorithmError;

impl FromStr for SigningAlgorithm {
    type Err = SigningAlgorithmError;
    fn from_str(text: &str) -> Result<Self, SigningAlgorithmError> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.as_str() == text)
            .ok_or(SigningAlgorithmError)
    }
}

/// The moments that a key's life follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyTimes {
    /// Counts the keys of a purpose, from 1. A later one takes an earlier one's place.
    pub generation: i64,
    /// When it was made, and entered the key set.
    pub published_at: Timestamp,
    /// When it begins to sign, and the one before it ends to.
    pub signs_from: Timestamp,
    /// When it was taken out of use, if it was.
    pub revoked_at: Option<Timestamp>,
}

/// The stage of a signing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SigningKeyStage))]
#[serde(rename_all = "snake_case")]
pub enum KeyStage {
    /// It signs, and is in the key set.
    Signing,
    /// It is in the key set, and will sign.
    Published,
    /// It signs no more, and is in the key set for the tokens that it signed.
    Retired,
    /// It is out of the key set; the host alone still knows it.
    Archived,
    /// It was taken out of use.
    Revoked,
    /// Nothing needs it.
    Expired,
}

impl KeyStage {
    /// The stage's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Signing => "signing",
            Self::Published => "published",
            Self::Retired => "retired",
            Self::Archived => "archived",
            Self::Revoked => "revoked",
            Self::Expired => "expired",
        }
    }

    /// Whether applications find the key in the key set.
    pub const fn is_in_key_set(self) -> bool {
        matches!(self, Self::Signing | Self::Published | Self::Retired)
    }
}

/// A stage with its moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyLife {
    /// The stage.
    pub stage: KeyStage,
    /// Since when.
    pub since: Timestamp,
    /// Until when, as far as that is known.
    pub until: Option<Timestamp>,
}

impl KeyTimes {
    /// The moments of a key that is published and signs at once.
    pub const fn at_once(generation: i64, now: Timestamp) -> Self {
        Self {
            generation,
            published_at: now,
            signs_from: now,
            revoked_at: None,
        }
    }

    /// Where this key is in its life at `now`. `all` are the keys of its purpose, this one among them.
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
        let (out_at, over_at) = (retired_at + RETIRED, retired_at + RETIRED + REMEMBERED);
        if now < out_at {
            KeyLife {
                stage: KeyStage::Retired,
                since: retired_at,
                until: Some(out_at),
            }
        } else if now < over_at {
            KeyLife {
                stage: KeyStage::Archived,
                since: out_at,
                until: Some(over_at),
            }
        } else {
            KeyLife {
                stage: KeyStage::Expired,
                since: over_at,
                until: None,
            }
        }
    }

    /// When a later key began or will begin to sign. One that was revoked before never did.
    fn replaced_at(&self, all: &[Self]) -> Option<Timestamp> {
        let later = all.iter().filter(|key| key.generation > self.generation);
        later
            .filter(|key| key.revoked_at.is_none_or(|at| at > key.signs_from))
            .map(|key| key.signs_from)
            .min()
    }
}

/// The key of a purpose that signs at `now`: of those that were not revoked the latest whose time has come. Where the
/// clock was set back, so that no key's time has come, the earliest: there is always one that signs.
pub fn signing_at(all: &[KeyTimes], now: Timestamp) -> Option<&KeyTimes> {
    let live = || all.iter().filter(|key| key.revoked_at.is_none());
    let begun = live()
        .filter(|key| key.signs_from <= now)
        .max_by_key(|key| key.generation);
    begun.or_else(|| live().min_by_key(|key| key.generation))
}

/// Whether it is time to publish a purpose's next key: each signs for `rotation`, and is published `ahead` of that.
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
