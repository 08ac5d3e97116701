//! The keys that seal values: private keys, client secrets, tokens, cookies and short-lived records.
//!
//! A sealed value names its key: `<generation>.<base64>`.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use zeroize::Zeroizing;

use super::{KeyError, SymmetricKey, symmetric};
use assent_model::clock::Timestamp;
use assent_model::entropy::Entropy;

/// The sealing keys, as they were last read from the database.
#[derive(Debug)]
pub struct SealingKeys {
    keys: RwLock<Arc<[Arc<SealingKey>]>>,
    /// The generation of the key that seals all long-lived values; `None` if older keys may seal some.
    sealed_again: Mutex<Option<u32>>,
}

/// A key that seals values.
#[derive(Debug)]
pub struct SealingKey {
    /// The number of the key, from 1. A key with a greater number replaces it.
    pub generation: u32,
    /// The time from which the key seals.
    pub seals_from: Timestamp,
    key: SymmetricKey,
    token_root: Zeroizing<[u8; 32]>,
}

impl SealingKey {
    /// Returns a key of this generation.
    pub fn new(
        generation: u32,
        seals_from: Timestamp,
        key: SymmetricKey,
    ) -> Result<Self, KeyError> {
        let token_root = Zeroizing::new(key.derive("token sealing", b"")?);
        Ok(Self {
            generation,
            seals_from,
            key,
            token_root,
        })
    }

    /// Returns the key of the tokens of an epoch and a period.
    pub(super) fn token_key(&self, name: &[u8]) -> Result<Zeroizing<[u8; 32]>, KeyError> {
        symmetric::hmac(&*self.token_root, name).map(Zeroizing::new)
    }

    fn seal(&self, purpose: &str, plain: &[u8], entropy: &dyn Entropy) -> Result<String, KeyError> {
        let encrypted = self.key.encrypt(purpose, plain, entropy)?;
        Ok(format!("{}.{encrypted}", self.generation))
    }
}

impl SealingKeys {
    /// Returns the set of these keys.
    ///
    /// # Errors
    /// [`KeyError::NoneToSeal`] if there is none.
    pub fn new(keys: Vec<Arc<SealingKey>>) -> Result<Self, KeyError> {
        Ok(Self {
            keys: RwLock::new(in_order(keys)?),
            sealed_again: Mutex::default(),
        })
    }

    /// Returns a set with one key, which seals at all times.
    pub fn single(key: SymmetricKey) -> Result<Self, KeyError> {
        let key = SealingKey::new(1, Timestamp::from_millis(0), key)?;
        Self::new(vec![Arc::new(key)])
    }

    /// Replaces the loaded keys with these keys.
    ///
    /// # Errors
    /// [`KeyError::NoneToSeal`] if there is none.
    pub fn replace(&self, keys: Vec<Arc<SealingKey>>) -> Result<(), KeyError> {
        let keys = in_order(keys)?;
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        Ok(())
    }

    /// Returns whether this instance found that the key of this generation seals all long-lived values.
    pub fn is_sealed_again(&self, generation: u32) -> bool {
        *lock(&self.sealed_again) == Some(generation)
    }

    /// Records that the key of this generation seals all long-lived values.
    pub fn note_sealed_again(&self, generation: u32) {
        *lock(&self.sealed_again) = Some(generation);
    }

    /// Records that an older key seals a long-lived value.
    pub fn note_unsealed(&self) {
        *lock(&self.sealed_again) = None;
    }

    /// Returns all keys, in the order of their generations.
    pub fn all(&self) -> Arc<[Arc<SealingKey>]> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the key that seals at `now`.
    ///
    /// # Errors
    /// [`KeyError::NoneToSeal`] if there is none.
    pub fn key_at(&self, now: Timestamp) -> Result<Arc<SealingKey>, KeyError> {
        let keys = self.all();
        let begun = keys.iter().rev().find(|key| key.seals_from <= now);
        // The clock may have been set back to before the first key.
        let key = begun.or_else(|| keys.first());
        key.cloned().ok_or(KeyError::NoneToSeal)
    }

    /// Seals `plain` for `purpose`.
    pub fn seal(
        &self,
        purpose: &str,
        plain: &[u8],
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Result<String, KeyError> {
        self.key_at(now)?.seal(purpose, plain, entropy)
    }

    /// Opens a value that was sealed for `purpose`.
    ///
    /// # Errors
    /// [`KeyError::NotOpened`] if the value was sealed with an unknown key or for another purpose, or was changed.
    pub fn open(&self, purpose: &str, sealed: &str) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        let (generation, encrypted) = parts(sealed).ok_or(KeyError::NotOpened)?;
        let keys = self.all();
        let key = keys.iter().find(|key| key.generation == generation);
        let opened = key.and_then(|key| key.key.decrypt(purpose, encrypted));
        opened.ok_or(KeyError::NotOpened)
    }
}

fn lock(sealed_again: &Mutex<Option<u32>>) -> MutexGuard<'_, Option<u32>> {
    sealed_again.lock().unwrap_or_else(PoisonError::into_inner)
}

fn in_order(mut keys: Vec<Arc<SealingKey>>) -> Result<Arc<[Arc<SealingKey>]>, KeyError> {
    keys.sort_by_key(|key| key.generation);
    match keys.is_empty() {
        true => Err(KeyError::NoneToSeal),
        false => Ok(keys.into()),
    }
}

/// Returns the generation of the key that sealed a value. `None` if the text is not a sealed value.
pub fn generation_of(sealed: &str) -> Option<u32> {
    parts(sealed).map(|(generation, _)| generation)
}

/// Splits a sealed value into the generation of its key and the encrypted text.
fn parts(sealed: &str) -> Option<(u32, &str)> {
    let (text, encrypted) = sealed.split_once('.')?;
    let generation: NonZeroU32 = text.parse().ok()?;
    // Each number has only one spelling, because the database finds it by the text.
    (generation.to_string() == text).then_some((generation.get(), encrypted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assent_model::entropy::SystemEntropy;

    const fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn key(generation: u32, from: i64) -> Arc<SealingKey> {
        let bytes = [u8::try_from(generation).unwrap(); 32];
        let key = SymmetricKey::from_bytes(&bytes).unwrap();
        Arc::new(SealingKey::new(generation, at(from), key).unwrap())
    }

    #[test]
    fn each_generation_seals_from_its_start_time() {
        let keys = SealingKeys::new(vec![key(2, 20), key(1, 10)]).unwrap();
        let generation = |now| generation_of(&keys.seal("a", b"x", now, &SystemEntropy).unwrap());
        assert_eq!(generation(at(5)), Some(1));
        assert_eq!(generation(at(19)), Some(1));
        assert_eq!(generation(at(20)), Some(2));
    }

    #[test]
    fn values_of_each_available_generation_are_opened() {
        let keys = SealingKeys::new(vec![key(1, 0)]).unwrap();
        let old = keys.seal("a", b"old", at(1), &SystemEntropy).unwrap();
        assert!(old.starts_with("1."), "{old}");
        keys.replace(vec![key(1, 0), key(2, 2)]).unwrap();
        let new = keys.seal("a", b"new", at(3), &SystemEntropy).unwrap();
        assert!(new.starts_with("2."), "{new}");
        assert_eq!(keys.open("a", &old).unwrap().as_slice(), b"old");
        assert_eq!(keys.open("a", &new).unwrap().as_slice(), b"new");
        keys.replace(vec![key(2, 2)]).unwrap();
        assert!(matches!(keys.open("a", &old), Err(KeyError::NotOpened)));
        for broken in [
            new.replacen("2.", "3.", 1).as_str(),
            new.replacen("2.", "0.", 1).as_str(),
            new.replacen("2.", "+2.", 1).as_str(),
            new.replacen("2.", "02.", 1).as_str(),
            new.replacen("2.", "-2.", 1).as_str(),
            new.replacen("2.", "x.", 1).as_str(),
            new.replacen("2.", ".", 1).as_str(),
            new.replacen("2.", "", 1).as_str(),
            "",
            ".",
            "2.",
            "2.!",
        ] {
            assert!(
                matches!(keys.open("a", broken), Err(KeyError::NotOpened)),
                "{broken}"
            );
        }
        assert!(matches!(keys.open("b", &new), Err(KeyError::NotOpened)));
        assert!(matches!(
            keys.replace(Vec::new()),
            Err(KeyError::NoneToSeal)
        ));
    }
}
