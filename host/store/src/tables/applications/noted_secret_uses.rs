//! The unwritten uses of client secrets of an instance.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assent_model::clock::Timestamp;
use assent_model::id::{ClientSecretId, Did};

/// The uses of client secrets that this instance has not written yet: the last use of each secret. Only a valid secret
/// has an entry, so there are at most two for each application.
#[derive(Debug, Default)]
pub(crate) struct SecretUses(Mutex<BTreeMap<ClientSecretId, SecretUse>>);

/// The last use of a secret.
#[derive(Clone, Debug)]
pub(crate) struct SecretUse {
    pub(crate) application: Did,
    pub(crate) at: Timestamp,
}

impl SecretUses {
    /// Records a use.
    pub(crate) fn note(&self, application: &Did, secret: ClientSecretId, at: Timestamp) {
        self.uses()
            .entry(secret)
            .and_modify(|used| used.at = used.at.max(at))
            .or_insert_with(|| SecretUse {
                application: application.clone(),
                at,
            });
    }

    /// Removes and returns the uses, so that the caller writes them.
    pub(crate) fn take(&self) -> BTreeMap<ClientSecretId, SecretUse> {
        std::mem::take(&mut *self.uses())
    }

    /// The unwritten uses of an application's secrets.
    pub(crate) fn uses_of(&self, application: &Did) -> Vec<(ClientSecretId, Timestamp)> {
        self.uses()
            .iter()
            .filter(|(_, used)| used.application == *application)
            .map(|(secret, used)| (*secret, used.at))
            .collect()
    }

    fn uses(&self) -> MutexGuard<'_, BTreeMap<ClientSecretId, SecretUse>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
