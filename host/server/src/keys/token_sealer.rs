//! Access and refresh tokens. A token contains its grant, encrypted and authenticated with a key that only the
//! instances have (XChaCha20-Poly1305). An unknown or changed token is rejected here, without a query of the database.
//!
//! ```text
//! at_ base64url( epoch: 4 bytes | period: 4 bytes | nonce: 24 bytes | ciphertext | tag: 16 bytes )
//! ```
//!
//! The key of a token is derived from a sealing key, the epoch and the period, so all instances have it without
//! communication. A new period begins every 30 days. A token of an earlier period can be opened until it expires.
//!
//! A new epoch revokes all tokens that were issued before: see `Store::begin_token_epoch`. A token does not name its
//! sealing key. There is usually one, and two for a while after the replacement of the master key.

use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{KeyError, SealingKey, SealingKeys};
use assent_model::authorization_details::granted::DetailsSelection;
use assent_model::clock::Timestamp;
use assent_model::entropy::Entropy;
use assent_model::id::{FamilyId, TokenId};
use assent_model::secret::{Digest, Secret};
use assent_model::token::{
    AccessGrant, FamilyTokenSource, RefreshGrant, TokenScopes, TokenSource, prefix,
};
use assent_model::token_binding::TokenBinding;

/// The length of a period, in seconds.
const PERIOD: i64 = 30 * 24 * 60 * 60;
const NONCE: usize = 24;
const HEADER: usize = 8;
/// No token of this server is longer, so a longer text is not decoded.
const LONGEST: usize = 4096;

/// The sealer of tokens.
pub struct TokenSealer {
    keys: Arc<SealingKeys>,
    /// The last cipher that sealed, and its sealing key.
    current: RwLock<Option<CurrentCipher>>,
}

type CurrentCipher = (Arc<SealingKey>, KeyName, Arc<XChaCha20Poly1305>);

/// A token that this installation sealed. The database determines whether it is valid.
#[derive(Debug)]
pub struct OpenedToken<G> {
    /// The grant of the token.
    pub grant: G,
    /// The epoch in which it was issued.
    pub epoch: u32,
}

/// The name of a token key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KeyName {
    epoch: u32,
    period: u32,
}

impl KeyName {
    /// Returns the name of the key of tokens that are issued at `now`.
    fn new(epoch: u32, now: Timestamp) -> Self {
        Self {
            epoch,
            period: u32::try_from(now.seconds().div_euclid(PERIOD)).unwrap_or_default(),
        }
    }

    fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        let (epoch, period) = bytes.split_at_mut(4);
        epoch.copy_from_slice(&self.epoch.to_be_bytes());
        period.copy_from_slice(&self.period.to_be_bytes());
        bytes
    }

    fn from_bytes(bytes: [u8; HEADER]) -> Self {
        let number = |at: [u8; 4]| u32::from_be_bytes(at);
        let [a, b, c, d, e, f, g, h] = bytes;
        Self {
            epoch: number([a, b, c, d]),
            period: number([e, f, g, h]),
        }
    }
}

impl std::fmt::Debug for TokenSealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenSealer(***)")
    }
}

impl TokenSealer {
    /// Returns a sealer with keys that are derived from these.
    pub const fn new(keys: Arc<SealingKeys>) -> Self {
        Self {
            keys,
            current: RwLock::new(None),
        }
    }

    /// Returns the text of an access token of this epoch.
    pub fn seal_access(
        &self,
        grant: &AccessGrant,
        epoch: u32,
        entropy: &dyn Entropy,
    ) -> Result<Secret, KeyError> {
        let sealed = SealedAccess {
            id: *grant.id.as_bytes(),
            application: grant.application.to_string(),
            source: match grant.source {
                TokenSource::Family(source) => SealedSource::Family {
                    family: *source.family.as_bytes(),
                    counter: source.counter,
                    track_use_until: source.track_use_until.map(Timestamp::millis),
                },
                TokenSource::Application { version } => SealedSource::Application { version },
            },
            scopes: grant.scopes.to_string(),
            details: grant.details,
            binding: grant.binding.map(SealedBinding::from),
            issued_at: grant.issued_at.millis(),
            expires_at: grant.expires_at.millis(),
        };
        let name = KeyName::new(epoch, grant.issued_at);
        let key = self.keys.key_at(grant.issued_at)?;
        self.seal(prefix::ACCESS, &sealed, &key, name, entropy)
    }

    /// Returns the text of a refresh token of this epoch.
    pub fn seal_refresh(
        &self,
        grant: &RefreshGrant,
        epoch: u32,
        entropy: &dyn Entropy,
    ) -> Result<Secret, KeyError> {
        let sealed = SealedRefresh {
            family: *grant.family.as_bytes(),
            dpop_key: grant.dpop_key.map(|thumbprint| *thumbprint.as_bytes()),
            counter: grant.counter,
            issued_at: grant.issued_at.millis(),
            expires_at: grant.expires_at.millis(),
        };
        let name = KeyName::new(epoch, grant.issued_at);
        let key = self.keys.key_at(grant.issued_at)?;
        self.seal(prefix::REFRESH, &sealed, &key, name, entropy)
    }

    /// Returns the grant of an access token, expired or not. `None` if this installation did not issue it.
    pub fn open_access(&self, text: &str) -> Option<OpenedToken<AccessGrant>> {
        let (epoch, sealed): (_, SealedAccess) = self.open(prefix::ACCESS, text)?;
        let grant = AccessGrant {
            id: TokenId::from_bytes(sealed.id),
            application: sealed.application.parse().ok()?,
            source: match sealed.source {
                SealedSource::Family {
                    family,
                    counter,
                    track_use_until,
                } => TokenSource::Family(FamilyTokenSource {
                    family: FamilyId::from_bytes(family),
                    counter,
                    track_use_until: track_use_until.map(Timestamp::from_millis),
                }),
                SealedSource::Application { version } => TokenSource::Application { version },
            },
            scopes: TokenScopes::parse_known(&sealed.scopes),
            details: sealed.details,
            binding: sealed.binding.map(TokenBinding::from),
            issued_at: Timestamp::from_millis(sealed.issued_at),
            expires_at: Timestamp::from_millis(sealed.expires_at),
        };
        Some(OpenedToken { grant, epoch })
    }

    /// Returns the grant of a refresh token, expired or not. `None` if this installation did not issue it.
    pub fn open_refresh(&self, text: &str) -> Option<OpenedToken<RefreshGrant>> {
        let (epoch, sealed): (_, SealedRefresh) = self.open(prefix::REFRESH, text)?;
        let grant = RefreshGrant {
            family: FamilyId::from_bytes(sealed.family),
            dpop_key: sealed.dpop_key.map(Digest::from_bytes),
            counter: sealed.counter,
            issued_at: Timestamp::from_millis(sealed.issued_at),
            expires_at: Timestamp::from_millis(sealed.expires_at),
        };
        Some(OpenedToken { grant, epoch })
    }

    fn seal<T: Serialize>(
        &self,
        prefix: &str,
        token: &T,
        key: &Arc<SealingKey>,
        name: KeyName,
        entropy: &dyn Entropy,
    ) -> Result<Secret, KeyError> {
        let plain = Zeroizing::new(postcard::to_allocvec(token).map_err(|_| KeyError::Sealing)?);
        let nonce: [u8; NONCE] = entropy.bytes();
        let header = name.to_bytes();
        let sealed = self.cipher(key, name, true)?.encrypt(
            &XNonce::from(nonce),
            Payload {
                msg: &plain,
                aad: &aad(prefix, header),
            },
        );
        let sealed = sealed.map_err(|_| KeyError::Sealing)?;
        let bytes = [header.as_slice(), &nonce, &sealed].concat();
        Ok(Secret::new(format!(
            "{prefix}_{}",
            URL_SAFE_NO_PAD.encode(bytes)
        )))
    }

    fn open<T: DeserializeOwned>(&self, prefix: &str, text: &str) -> Option<(u32, T)> {
        let encoded = text.strip_prefix(prefix)?.strip_prefix('_')?;
        if encoded.len() > LONGEST {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(encoded).ok()?;
        let (header, rest) = bytes.split_first_chunk::<HEADER>()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE>()?;
        let name = KeyName::from_bytes(*header);
        let aad = aad(prefix, *header);
        let keys = self.keys.all();
        let plain = keys.iter().enumerate().rev().find_map(|(at, key)| {
            // A key that was replaced before the epoch began has sealed no token of that epoch.
            let replaced = keys.get(at + 1).map(|next| next.seals_from);
            if replaced.is_some_and(|replaced| replaced.seconds() <= i64::from(name.epoch)) {
                return None;
            }
            let message = Payload {
                msg: sealed,
                aad: &aad,
            };
            let cipher = self.cipher(key, name, false).ok()?;
            cipher.decrypt(&XNonce::from(*nonce), message).ok()
        });
        let plain = Zeroizing::new(plain?);
        Some((name.epoch, postcard::from_bytes(&plain).ok()?))
    }

    /// Returns the cipher of this sealing key with this name. The cipher that seals is cached.
    fn cipher(
        &self,
        key: &Arc<SealingKey>,
        name: KeyName,
        seals: bool,
    ) -> Result<Arc<XChaCha20Poly1305>, KeyError> {
        {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            if let Some((sealing, found, cipher)) = &*current
                && Arc::ptr_eq(sealing, key)
                && *found == name
            {
                return Ok(Arc::clone(cipher));
            }
        }
        let token_key = key.token_key(&name.to_bytes())?;
        let cipher = Arc::new(XChaCha20Poly1305::new(&Key::from(*token_key)));
        if seals {
            *self.current.write().unwrap_or_else(PoisonError::into_inner) =
                Some((Arc::clone(key), name, Arc::clone(&cipher)));
        }
        Ok(cipher)
    }
}

/// Returns the additional authenticated data, so that a token of one kind is not valid as another.
fn aad(prefix: &str, header: [u8; HEADER]) -> Vec<u8> {
    [prefix.as_bytes(), b"_", &header].concat()
}

#[derive(Serialize, Deserialize)]
struct SealedAccess {
    id: [u8; 16],
    application: String,
    source: SealedSource,
    scopes: String,
    details: DetailsSelection,
    binding: Option<SealedBinding>,
    issued_at: i64,
    expires_at: i64,
}

#[derive(Serialize, Deserialize)]
enum SealedBinding {
    Certificate([u8; 32]),
    DpopKey([u8; 32]),
}

impl From<TokenBinding> for SealedBinding {
    fn from(binding: TokenBinding) -> Self {
        match binding {
            TokenBinding::Certificate(digest) => Self::Certificate(*digest.as_bytes()),
            TokenBinding::DpopKey(thumbprint) => Self::DpopKey(*thumbprint.as_bytes()),
        }
    }
}

impl From<SealedBinding> for TokenBinding {
    fn from(sealed: SealedBinding) -> Self {
        match sealed {
            SealedBinding::Certificate(digest) => Self::Certificate(Digest::from_bytes(digest)),
            SealedBinding::DpopKey(thumbprint) => Self::DpopKey(Digest::from_bytes(thumbprint)),
        }
    }
}

#[derive(Serialize, Deserialize)]
enum SealedSource {
    Family {
        family: [u8; 16],
        counter: u32,
        track_use_until: Option<i64>,
    },
    Application {
        version: i64,
    },
}

#[derive(Serialize, Deserialize)]
struct SealedRefresh {
    family: [u8; 16],
    dpop_key: Option<[u8; 32]>,
    counter: u32,
    issued_at: i64,
    expires_at: i64,
}

#[cfg(test)]
mod tests {
    use assent_model::entropy::SystemEntropy;
    use proptest::prelude::*;

    use super::*;

    use super::super::SymmetricKey;

    fn key(generation: u8, from: i64) -> Arc<SealingKey> {
        let key = SymmetricKey::from_bytes(&[generation; 32]).expect("a key");
        let from = Timestamp::from_millis(from);
        Arc::new(SealingKey::new(generation.into(), from, key).expect("a key"))
    }

    fn sealer_of(keys: Vec<Arc<SealingKey>>) -> TokenSealer {
        TokenSealer::new(Arc::new(SealingKeys::new(keys).expect("a key")))
    }

    fn sealer() -> TokenSealer {
        sealer_of(vec![key(1, 0)])
    }

    fn access(at: i64) -> AccessGrant {
        AccessGrant {
            id: TokenId::from_bytes([7; 16]),
            application: "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
                .parse()
                .expect("an id"),
            source: TokenSource::Family(FamilyTokenSource {
                family: FamilyId::from_bytes([9; 16]),
                counter: 3,
                track_use_until: Some(Timestamp::from_millis(at + 5)),
            }),
            scopes: TokenScopes::parse_known("openid email"),
            details: serde_json::from_str("5").expect("a selection"),
            binding: Some(TokenBinding::Certificate(Digest::sha256(b"certificate"))),
            issued_at: Timestamp::from_millis(at),
            expires_at: Timestamp::from_millis(at + 1000),
        }
    }

    fn refresh(at: i64, counter: u32) -> RefreshGrant {
        RefreshGrant {
            family: FamilyId::from_bytes([9; 16]),
            dpop_key: Some(Digest::sha256(b"key")),
            counter,
            issued_at: Timestamp::from_millis(at),
            expires_at: Timestamp::from_millis(at + 1000),
        }
    }

    #[test]
    fn a_token_opens_to_its_sealed_grant() {
        let (sealer, grant) = (sealer(), access(1_700_000_000_000));
        let text = sealer
            .seal_access(&grant, 4, &SystemEntropy)
            .expect("sealed");
        let opened = sealer.open_access(text.expose()).expect("opened");
        assert_eq!((opened.grant, opened.epoch), (grant, 4));
        assert!(sealer.open_refresh(text.expose()).is_none());
        let renamed = text.expose().replacen("at_", "rt_", 1);
        assert!(
            sealer.open_refresh(&renamed).is_none(),
            "a token of another kind"
        );
    }

    #[test]
    fn tokens_of_earlier_periods_and_epochs_open_with_their_epoch() {
        let sealer = sealer();
        let day = 24 * 60 * 60 * 1000;
        let seal = |at, epoch| {
            let sealed = sealer.seal_access(&access(at), epoch, &SystemEntropy);
            sealed.expect("sealed")
        };
        let (old, new, last) = (seal(0, 1), seal(31 * day, 1), seal(31 * day, 2));
        assert_ne!(
            old.expose().get(3..14),
            new.expose().get(3..14),
            "another key"
        );
        let epoch = |text: &Secret| sealer.open_access(text.expose()).map(|token| token.epoch);
        assert_eq!(
            [epoch(&old), epoch(&new), epoch(&last)],
            [Some(1), Some(1), Some(2)]
        );
    }

    #[test]
    fn another_sealing_key_opens_nothing() {
        let other = sealer_of(vec![key(2, 0)]);
        let text = sealer()
            .seal_access(&access(0), 1, &SystemEntropy)
            .expect("sealed");
        assert!(other.open_access(text.expose()).is_none());
    }

    #[test]
    fn tokens_of_a_replaced_sealing_key_open_until_a_new_epoch_begins() {
        let replaced = 50_000;
        let both = sealer_of(vec![key(1, 0), key(2, replaced)]);
        let of = |sealer: &TokenSealer, at, epoch| {
            let sealed = sealer.seal_access(&access(at), epoch, &SystemEntropy);
            sealed.expect("sealed")
        };
        let is_open = |text: &Secret| both.open_access(text.expose()).is_some();
        assert!(is_open(&of(&both, replaced - 1, 49)), "sealed before");
        assert!(is_open(&of(&both, replaced, 49)), "sealed after");
        assert!(
            sealer()
                .open_access(of(&both, replaced - 1, 49).expose())
                .is_some()
        );
        assert!(
            sealer()
                .open_access(of(&both, replaced, 49).expose())
                .is_none()
        );
        // An attacker with the replaced key forges a token of the current epoch, which began after the replacement.
        assert!(!is_open(&of(&sealer(), 0, 50)));
        assert!(is_open(&of(&both, replaced, 50)));
    }

    proptest! {
        #[test]
        fn refresh_tokens_round_trip_through_text(at in 0_i64..4_000_000_000_000, counter in any::<u32>()) {
            let (sealer, grant) = (sealer(), refresh(at, counter));
            let text = sealer.seal_refresh(&grant, 1, &SystemEntropy).expect("sealed");
            prop_assert_eq!(sealer.open_refresh(text.expose()).expect("opened").grant, grant);
        }

        #[test]
        fn a_changed_token_does_not_open(place in 0_usize..1000, to in any::<u8>()) {
            let sealer = sealer();
            let text = sealer.seal_access(&access(0), 1, &SystemEntropy).expect("sealed");
            let mut bytes = URL_SAFE_NO_PAD.decode(&text.expose()[3..]).expect("base64url");
            let place = place % bytes.len();
            prop_assume!(bytes[place] != to);
            bytes[place] = to;
            let changed = format!("at_{}", URL_SAFE_NO_PAD.encode(bytes));
            prop_assert!(sealer.open_access(&changed).is_none());
        }

        #[test]
        fn no_text_panics(text in "(at|rt)_.{0,200}") {
            let sealer = sealer();
            prop_assert!(sealer.open_access(&text).is_none() && sealer.open_refresh(&text).is_none());
        }
    }
}
