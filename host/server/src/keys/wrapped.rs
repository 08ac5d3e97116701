//! The keys in the database that a master key has wrapped.

use std::sync::Arc;

use super::{
    FileMasterKey, KeyError, LEGACY, MasterKey, RootSecret, SealingKey, SymmetricKey, legacy,
};
use assent_model::clock::Timestamp;
use assent_model::entropy::Entropy;
use assent_model::wrapped_key::{WrappedKey, WrappedKeyPurpose};

/// The master keys of the settings.
#[derive(Clone, Debug)]
pub struct MasterKeys {
    /// Wraps new keys.
    pub current: Arc<dyn MasterKey>,
    /// Was the current one before a rotation.
    pub previous: Option<Arc<dyn MasterKey>>,
    /// Those of them that are in a file or a setting. In an installation that had no sealing keys, one of them has
    /// sealed all values.
    pub known: Vec<Arc<FileMasterKey>>,
}

/// The keys that were wrapped.
#[derive(Debug)]
pub struct UnwrappedKeys {
    /// The root secret.
    pub root: RootSecret,
    /// The sealing keys.
    pub sealing: Vec<Arc<SealingKey>>,
    /// Those of them that the current master key has not wrapped yet.
    pub to_add: Vec<WrappedKey>,
}

impl MasterKeys {
    /// The keys of a new installation.
    ///
    /// # Errors
    /// If the master key cannot be used.
    pub fn new_keys(
        &self,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Result<Vec<WrappedKey>, KeyError> {
        let purposes = [WrappedKeyPurpose::Root, WrappedKeyPurpose::Sealing(1)];
        purposes
            .into_iter()
            .map(|purpose| self.wrap(purpose, &SymmetricKey::generate(entropy), now, entropy))
            .collect()
    }

    /// The keys of an installation whose master key sealed all values itself, such as this signing key: copies of it.
    ///
    /// # Errors
    /// [`KeyError::NotOpened`] if none of the master keys sealed that key.
    pub fn legacy_keys(
        &self,
        (purpose, sealed): (&str, &str),
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Result<Vec<WrappedKey>, KeyError> {
        let has_sealed =
            |master: &&Arc<FileMasterKey>| legacy::decrypt(master.key(), purpose, sealed).is_some();
        let master = self
            .known
            .iter()
            .find(has_sealed)
            .ok_or(KeyError::NotOpened)?;
        let purposes = [WrappedKeyPurpose::Root, WrappedKeyPurpose::Sealing(LEGACY)];
        purposes
            .into_iter()
            .map(|purpose| {
                let wrapped = master.wrap(&purpose.to_string(), master.key(), entropy)?;
                Ok(WrappedKey {
                    purpose,
                    master_key: master.fingerprint().to_owned(),
                    wrapped,
                    seals_from: now,
                })
            })
            .collect()
    }

    /// The sealing key of the next generation, wrapped with the current master key.
    ///
    /// # Errors
    /// If the master key cannot be used.
    pub fn next_sealing_key(
        &self,
        generation: u32,
        seals_from: Timestamp,
        entropy: &dyn Entropy,
    ) -> Result<WrappedKey, KeyError> {
        let key = SymmetricKey::generate(entropy);
        self.wrap(
            WrappedKeyPurpose::Sealing(generation),
            &key,
            seals_from,
            entropy,
        )
    }

    fn wrap(
        &self,
        purpose: WrappedKeyPurpose,
        key: &SymmetricKey,
        seals_from: Timestamp,
        entropy: &dyn Entropy,
    ) -> Result<WrappedKey, KeyError> {
        Ok(WrappedKey {
            purpose,
            master_key: self.current.fingerprint().to_owned(),
            wrapped: self.current.wrap(&purpose.to_string(), key, entropy)?,
            seals_from,
        })
    }

    /// Decrypts the keys. `wrapped` has each of them at least once.
    ///
    /// # Errors
    /// [`KeyError::WrongMasterKey`] if none of the master keys wrapped one of the keys, or if a master key cannot be
    /// used.
    pub fn unwrap(
        &self,
        wrapped: &[WrappedKey],
        entropy: &dyn Entropy,
    ) -> Result<UnwrappedKeys, KeyError> {
        let mut purposes: Vec<WrappedKeyPurpose> = wrapped.iter().map(|key| key.purpose).collect();
        purposes.sort();
        purposes.dedup();
        let (mut root, mut sealing, mut to_add) = (None, Vec::new(), Vec::new());
        for purpose in purposes {
            let copies: Vec<&WrappedKey> = wrapped
                .iter()
                .filter(|key| key.purpose == purpose)
                .collect();
            let (copy, key) = self.unwrap_one(&copies)?;
            if copy.master_key != self.current.fingerprint() {
                to_add.push(self.wrap(purpose, &key, copy.seals_from, entropy)?);
            }
            match purpose {
                WrappedKeyPurpose::Root => root = Some(RootSecret::new(key)),
                WrappedKeyPurpose::Sealing(generation) => {
                    sealing.push(Arc::new(SealingKey::new(generation, copy.seals_from, key)?));
                }
            }
        }
        Ok(UnwrappedKeys {
            root: root.ok_or(KeyError::NoRootSecret)?,
            sealing,
            to_add,
        })
    }

    /// Decrypts one of these copies of a key: the one of the current master key, if there is one.
    fn unwrap_one<'k>(
        &self,
        copies: &[&'k WrappedKey],
    ) -> Result<(&'k WrappedKey, SymmetricKey), KeyError> {
        for master in std::iter::once(&self.current).chain(&self.previous) {
            let own = copies
                .iter()
                .find(|copy| copy.master_key == master.fingerprint());
            if let Some(copy) = own {
                let key = master.unwrap(&copy.purpose.to_string(), &copy.wrapped)?;
                return Ok((copy, key));
            }
        }
        let stored: Vec<&str> = copies.iter().map(|copy| copy.master_key.as_str()).collect();
        let masters = std::iter::once(&self.current).chain(&self.previous);
        let configured: Vec<&str> = masters.map(|master| master.fingerprint()).collect();
        Err(KeyError::WrongMasterKey {
            stored: stored.join(", "),
            configured: configured.join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assent_model::entropy::SystemEntropy;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    const NOW: Timestamp = Timestamp::from_millis(1_000);

    fn master(byte: u8) -> Arc<FileMasterKey> {
        let text = STANDARD.encode([byte; 32]);
        Arc::new(FileMasterKey::from_text(&text, "a test").unwrap())
    }

    fn masters(current: u8, previous: Option<u8>) -> MasterKeys {
        let known: Vec<_> = std::iter::once(current)
            .chain(previous)
            .map(master)
            .collect();
        MasterKeys {
            current: master(current),
            previous: previous.map(|byte| master(byte) as Arc<dyn MasterKey>),
            known,
        }
    }

    #[test]
    fn a_new_master_key_wraps_the_same_keys() {
        let stored = masters(1, None).new_keys(NOW, &SystemEntropy).unwrap();
        let before = masters(1, None).unwrap(&stored, &SystemEntropy).unwrap();
        assert!(before.to_add.is_empty());
        assert!(matches!(
            masters(2, None).unwrap(&stored, &SystemEntropy),
            Err(KeyError::WrongMasterKey { .. })
        ));
        let both = masters(2, Some(1)).unwrap(&stored, &SystemEntropy).unwrap();
        assert_eq!(both.to_add.len(), 2);
        let after = masters(2, None)
            .unwrap(&both.to_add, &SystemEntropy)
            .unwrap();
        let derived = |keys: &UnwrappedKeys| keys.root.derive("a", b"b").unwrap();
        assert_eq!(derived(&before), derived(&after));
        let generations: Vec<u32> = after.sealing.iter().map(|key| key.generation).collect();
        assert_eq!(generations, [1]);
    }

    #[test]
    fn an_installation_without_sealing_keys_keeps_its_identifiers() {
        let signing_key =
            legacy::encrypt(master(1).key(), "id_token", b"a key", &SystemEntropy).unwrap();
        let sealed = ("id_token", signing_key.as_str());
        let stored = masters(2, Some(1))
            .legacy_keys(sealed, NOW, &SystemEntropy)
            .unwrap();
        let keys = masters(2, Some(1)).unwrap(&stored, &SystemEntropy).unwrap();
        let before = master(1).key().derive("pairwise subject", b"x").unwrap();
        assert_eq!(keys.root.derive("pairwise subject", b"x").unwrap(), before);
        let sealing = crate::keys::SealingKeys::new(keys.sealing).unwrap();
        assert_eq!(
            sealing.open("id_token", &signing_key).unwrap().as_slice(),
            b"a key"
        );
        assert!(
            masters(2, None)
                .legacy_keys(sealed, NOW, &SystemEntropy)
                .is_err()
        );
    }
}
