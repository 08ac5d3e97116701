//! The keys in the database that a master key has wrapped.

use std::sync::Arc;

use super::{KeyError, MasterKey, RootSecret, SealingKey, SymmetricKey};
use assent_model::clock::Timestamp;
use assent_model::entropy::Entropy;
use assent_model::wrapped_key::{WrappedKey, WrappedKeyPurpose};

/// The master keys of the settings.
#[derive(Clone, Debug)]
pub struct MasterKeys {
    /// The master key that wraps new keys.
    pub current: Arc<dyn MasterKey>,
    /// The current master key before a rotation.
    pub previous: Option<Arc<dyn MasterKey>>,
}

/// The unwrapped keys.
#[derive(Debug)]
pub struct UnwrappedKeys {
    /// The root secret.
    pub root: RootSecret,
    /// The sealing keys.
    pub sealing: Vec<Arc<SealingKey>>,
    /// All keys, wrapped with the current master key. Empty if the current master key has wrapped them before.
    pub to_add: Vec<WrappedKey>,
}

impl MasterKeys {
    /// Returns the keys of a new installation.
    ///
    /// # Errors
    /// If the master key cannot be used.
    pub fn new_keys(
        &self,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Result<Vec<WrappedKey>, KeyError> {
        let key = || SymmetricKey::generate(entropy);
        let sealing = WrappedKeyPurpose::Sealing(1);
        Ok(vec![
            wrap(
                &*self.current,
                WrappedKeyPurpose::Root,
                now,
                &key(),
                entropy,
            )?,
            wrap(&*self.current, sealing, now, &key(), entropy)?,
        ])
    }

    /// Returns the sealing key of the next generation, wrapped with the current master key.
    ///
    /// # Errors
    /// If the master key cannot be used.
    pub fn next_sealing_key(
        &self,
        generation: u32,
        seals_from: Timestamp,
        entropy: &dyn Entropy,
    ) -> Result<WrappedKey, KeyError> {
        let purpose = WrappedKeyPurpose::Sealing(generation);
        let key = SymmetricKey::generate(entropy);
        wrap(&*self.current, purpose, seals_from, &key, entropy)
    }

    /// Decrypts the keys that the current master key has wrapped. If there is none, decrypts the keys of the previous
    /// master key, and wraps them with the current one.
    ///
    /// All keys are wrapped with a master key in one transaction, so the current master key has wrapped all or none. If
    /// it has wrapped all, the keys of the previous one are ignored, because an attacker who knows it could add keys.
    ///
    /// # Errors
    /// [`KeyError::WrongMasterKey`] if none of the master keys has wrapped the keys. Otherwise if a master key cannot
    /// be used.
    pub fn unwrap(
        &self,
        wrapped: &[WrappedKey],
        entropy: &dyn Entropy,
    ) -> Result<UnwrappedKeys, KeyError> {
        if let Some(unwrapped) = self.unwrap_current(wrapped)? {
            return Ok(unwrapped);
        }
        let previous = self.previous.as_deref();
        let own = previous.map(|master| (master, copies_of(master, wrapped)));
        let Some((master, own)) = own.filter(|(_, own)| !own.is_empty()) else {
            return Err(self.wrong_master_key(wrapped));
        };
        let mut to_add = Vec::new();
        for copy in &own {
            let key = master.unwrap(&context(copy.purpose, copy.seals_from), &copy.wrapped)?;
            to_add.push(wrap(
                &*self.current,
                copy.purpose,
                copy.seals_from,
                &key,
                entropy,
            )?);
        }
        let unwrapped = unwrapped_by(master, &own)?;
        Ok(UnwrappedKeys {
            to_add,
            ..unwrapped
        })
    }

    /// Decrypts the keys that the current master key has wrapped. Returns `None` if there is none.
    ///
    /// # Errors
    /// If the master key cannot be used, or a key was changed.
    pub fn unwrap_current(
        &self,
        wrapped: &[WrappedKey],
    ) -> Result<Option<UnwrappedKeys>, KeyError> {
        let own = copies_of(&*self.current, wrapped);
        match own.is_empty() {
            true => Ok(None),
            false => unwrapped_by(&*self.current, &own).map(Some),
        }
    }

    fn wrong_master_key(&self, wrapped: &[WrappedKey]) -> KeyError {
        let mut stored: Vec<&str> = wrapped
            .iter()
            .map(|copy| copy.master_key.as_str())
            .collect();
        stored.sort_unstable();
        stored.dedup();
        let masters = std::iter::once(&self.current).chain(&self.previous);
        let configured: Vec<&str> = masters.map(|master| master.fingerprint()).collect();
        KeyError::WrongMasterKey {
            stored: stored.join(", "),
            configured: configured.join(", "),
        }
    }
}

/// Returns the data that is authenticated with a wrapped key: its purpose, and the time from which a sealing key seals.
fn context(purpose: WrappedKeyPurpose, seals_from: Timestamp) -> String {
    match purpose {
        WrappedKeyPurpose::Root => "root".to_owned(),
        WrappedKeyPurpose::Sealing(generation) => {
            format!("sealing {generation} from {}", seals_from.millis())
        }
    }
}

/// Wraps a key with a master key.
///
/// # Errors
/// If the master key cannot be used.
pub fn wrap(
    master: &dyn MasterKey,
    purpose: WrappedKeyPurpose,
    seals_from: Timestamp,
    key: &SymmetricKey,
    entropy: &dyn Entropy,
) -> Result<WrappedKey, KeyError> {
    Ok(WrappedKey {
        purpose,
        master_key: master.fingerprint().to_owned(),
        wrapped: master.wrap(&context(purpose, seals_from), key, entropy)?,
        seals_from,
    })
}

fn copies_of<'k>(master: &dyn MasterKey, wrapped: &'k [WrappedKey]) -> Vec<&'k WrappedKey> {
    let own = |key: &&WrappedKey| key.master_key == master.fingerprint();
    wrapped.iter().filter(own).collect()
}

fn unwrapped_by(master: &dyn MasterKey, own: &[&WrappedKey]) -> Result<UnwrappedKeys, KeyError> {
    let (mut root, mut sealing) = (None, Vec::new());
    for copy in own {
        let key = master.unwrap(&context(copy.purpose, copy.seals_from), &copy.wrapped)?;
        match copy.purpose {
            WrappedKeyPurpose::Root => root = Some(RootSecret::new(key)),
            WrappedKeyPurpose::Sealing(generation) => {
                sealing.push(Arc::new(SealingKey::new(generation, copy.seals_from, key)?));
            }
        }
    }
    Ok(UnwrappedKeys {
        root: root.ok_or(KeyError::NoRootSecret)?,
        sealing,
        to_add: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::FileMasterKey;
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
        MasterKeys {
            current: master(current),
            previous: previous.map(|byte| master(byte) as Arc<dyn MasterKey>),
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
    fn keys_that_the_previous_master_key_wraps_later_are_ignored() {
        let stored = masters(1, None).new_keys(NOW, &SystemEntropy).unwrap();
        let both = masters(2, Some(1)).unwrap(&stored, &SystemEntropy).unwrap();
        let purpose = WrappedKeyPurpose::Sealing(99);
        let forged = SymmetricKey::generate(&SystemEntropy);
        let forged = wrap(&*master(1), purpose, NOW, &forged, &SystemEntropy).unwrap();
        let stored = [stored, both.to_add, vec![forged]].concat();
        let after = masters(2, Some(1)).unwrap(&stored, &SystemEntropy).unwrap();
        let generations: Vec<u32> = after.sealing.iter().map(|key| key.generation).collect();
        assert_eq!(generations, [1]);
        assert!(after.to_add.is_empty());
    }

    #[test]
    fn a_changed_time_or_generation_is_rejected() {
        let stored = masters(1, None).new_keys(NOW, &SystemEntropy).unwrap();
        for change in [
            (|key| key.seals_from = Timestamp::from_millis(5_000)) as fn(&mut WrappedKey),
            |key| key.purpose = WrappedKeyPurpose::Sealing(2),
            |key| key.purpose = WrappedKeyPurpose::Root,
        ] {
            let mut stored = stored.clone();
            change(stored.last_mut().unwrap());
            let unwrapped = masters(1, None).unwrap(&stored, &SystemEntropy);
            assert!(
                matches!(unwrapped, Err(KeyError::NotUnwrapped)),
                "{stored:?}"
            );
        }
    }
}
