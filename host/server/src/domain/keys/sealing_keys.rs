//! The replacement of sealing keys after a new master key: wrap, wait, seal again, delete.
//!
//! A master key is replaced because an attacker may know it, and with it the sealing keys that it wrapped. A new master
//! key is therefore followed by a new sealing key. All values that the old one sealed are sealed again, or expire.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{InternalError, Services, audit};
use crate::keys::{KeyError, SealingKey, client, generation_of, saml};
use assent_model::audit::{AuditContext, Event};
use assent_model::clock::Timestamp;
use assent_model::wrapped_key::{WrappedKey, WrappedKeyPurpose};
use assent_store::{NewSealingKey, SealedPlace, SealedValue};

/// The time from the creation of a sealing key to its first use. By then all instances have read it: see
/// [`REFRESH_INTERVAL`](super::signing_keys::REFRESH_INTERVAL).
pub const AHEAD: Duration = Duration::from_secs(60);
/// The shortest time for which a replaced sealing key is kept, for the cookies of known browsers. A browser that was
/// not used for this time counts as unknown.
pub const RETENTION: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The number of values that are sealed again in one transaction.
const AT_ONCE: usize = 100;

/// Reads the sealing keys again, if the database has other keys than this instance.
///
/// # Errors
/// If the database fails, a key cannot be unwrapped, or the newest key was removed or changed. Then the loaded keys
/// remain in use. Otherwise an attacker with write access to the database could put a replaced key back into use.
pub async fn reload(services: &Services) -> Result<(), InternalError> {
    let wrapped = services.store.wrapped_keys().await?;
    let own = services.master_keys.current.fingerprint();
    let stored: Vec<(u32, Timestamp)> = wrapped
        .iter()
        .filter(|key| key.master_key == own)
        .filter_map(|key| Some((generation(key)?, key.seals_from)))
        .collect();
    let held: Vec<(u32, Timestamp)> = generations(&services.sealing_keys.all());
    if held == stored {
        return Ok(());
    }
    if held.last().is_some_and(|newest| !stored.contains(newest)) {
        return Err(KeyError::SealingKeyChanged.into());
    }
    let masters = services.master_keys.clone();
    // A PKCS#11 token may be slow.
    let unwrapped = tokio::task::spawn_blocking(move || masters.unwrap_current(&wrapped));
    let unwrapped = unwrapped.await.map_err(|_| KeyError::BrokenOff)??;
    let unwrapped = unwrapped.ok_or(KeyError::NoneToSeal)?;
    Ok(services.sealing_keys.replace(unwrapped.sealing)?)
}

fn generations(keys: &[Arc<SealingKey>]) -> Vec<(u32, Timestamp)> {
    keys.iter()
        .map(|key| (key.generation, key.seals_from))
        .collect()
}

const fn generation(key: &WrappedKey) -> Option<u32> {
    match key.purpose {
        WrappedKeyPurpose::Root => None,
        WrappedKeyPurpose::Sealing(generation) => Some(generation),
    }
}

/// Creates the next sealing key when all instances have a new master key. Seals values again with the current sealing
/// key. Does nothing if the clock of this instance cannot be trusted.
pub async fn maintain(services: &Services) -> Result<(), InternalError> {
    if services.master_keys.previous.is_none() && services.sealing_keys.all().len() == 1 {
        return Ok(());
    }
    match services.store.trusted_now(&*services.clock).await? {
        Some(now) => maintain_at(services, now).await,
        None => Ok(()),
    }
}

/// Does the work of [`maintain`] at this time.
pub async fn maintain_at(services: &Services, now: Timestamp) -> Result<(), InternalError> {
    let wrapped = services.store.wrapped_keys().await?;
    let newest = wrapped.iter().filter_map(generation).max();
    let newest = newest.ok_or(KeyError::NoneToSeal)?;
    match has_old_copy(services, &wrapped) {
        true => {
            let next = newest.checked_add(1).ok_or(KeyError::SealingKeyChanged)?;
            create_next(services, next, now).await
        }
        false => seal_again(services, now).await,
    }
}

/// Returns whether keys are still wrapped with the previous master key. A master key of another instance that this
/// instance does not know does not count.
fn has_old_copy(services: &Services, wrapped: &[WrappedKey]) -> bool {
    services
        .master_keys
        .previous
        .as_ref()
        .is_some_and(|previous| {
            wrapped
                .iter()
                .any(|key| key.master_key == previous.fingerprint())
        })
}

async fn create_next(
    services: &Services,
    generation: u32,
    now: Timestamp,
) -> Result<(), InternalError> {
    let (masters, entropy) = (services.master_keys.clone(), services.entropy.clone());
    let key = tokio::task::spawn_blocking(move || {
        masters.next_sealing_key(generation, now + AHEAD, &*entropy)
    });
    let key = key.await.map_err(|_| KeyError::BrokenOff)??;
    let entry = audit::entry(services, Event::SealingKeyCreated, &AuditContext::SERVER)
        .with("generation", i64::from(generation))
        .with("master_key", key.master_key.as_str())
        .with("seals_from", key.seals_from.seconds());
    let seals_from = key.seals_from.seconds();
    match services.store.add_sealing_key(key, entry).await? {
        NewSealingKey::Added => tracing::info!(generation, seals_from, "sealing key created"),
        NewSealingKey::Known => {}
        NewSealingKey::Waits(instances) => tracing::info!(
            instances,
            "master key not replaced yet: instances have another one"
        ),
        NewSealingKey::Incomplete => tracing::warn!(
            "master key not replaced: the database has keys that only another master key can decrypt"
        ),
    }
    reload(services).await
}

/// Seals values again that are sealed with an older key than the current one.
async fn seal_again(services: &Services, now: Timestamp) -> Result<(), InternalError> {
    let sealing = services.sealing_keys.key_at(now)?;
    let generation = sealing.generation;
    if services.sealing_keys.is_sealed_again(generation) {
        return Ok(());
    }
    services
        .store
        .note_replaced_sealing_keys(generation, now)
        .await?;
    let values = older_values(services, generation).await?;
    for part in values.chunks(AT_ONCE) {
        let mut resealed = Vec::with_capacity(part.len());
        for value in part {
            resealed.push((value.clone(), sealed_again(services, value, now)?));
        }
        services.store.replace_sealed(resealed).await?;
    }
    let done = values.len();
    if done == 0 {
        services.sealing_keys.note_sealed_again(generation);
    } else {
        tracing::info!(
            generation,
            values = done,
            "values sealed with a new sealing key"
        );
    }
    Ok(())
}

/// Returns the long-lived values that are sealed with an older key than this generation and that can be opened. Values
/// that cannot be opened are useless.
async fn older_values(
    services: &Services,
    generation: u32,
) -> Result<Vec<SealedValue>, InternalError> {
    let mut values = services.store.values_to_reseal(generation).await?;
    values.retain(|value| {
        let is_older = generation_of(&value.sealed).is_some_and(|found| found < generation);
        let opened = services.sealing_keys.open(&purpose(value), &value.sealed);
        if is_older && let Err(error) = &opened {
            tracing::warn!(place = %value.place, %error, "value not sealed again");
        }
        is_older && opened.is_ok()
    });
    Ok(values)
}

fn purpose(value: &SealedValue) -> String {
    match &value.place {
        SealedPlace::SigningKey(_, purpose) => purpose.as_str().to_owned(),
        SealedPlace::SamlKey(id, application) => saml::purpose(application, *id),
        SealedPlace::ClientSecret(_, application) => client::secret_purpose(application),
    }
}

fn sealed_again(
    services: &Services,
    value: &SealedValue,
    now: Timestamp,
) -> Result<String, KeyError> {
    let purpose = purpose(value);
    let plain = services.sealing_keys.open(&purpose, &value.sealed)?;
    services
        .sealing_keys
        .seal(&purpose, &plain, now, &*services.entropy)
}

/// Deletes replaced sealing keys that no value needs any more. Does nothing if the clock of this instance cannot be
/// trusted.
pub async fn delete_replaced(services: &Services) -> Result<(), InternalError> {
    if services.sealing_keys.all().len() == 1 {
        return Ok(());
    }
    match services.store.trusted_now(&*services.clock).await? {
        Some(now) => delete_replaced_at(services, now).await,
        None => Ok(()),
    }
}

/// Does the work of [`delete_replaced`] at this time.
pub async fn delete_replaced_at(services: &Services, now: Timestamp) -> Result<(), InternalError> {
    let sealing = services.sealing_keys.key_at(now)?;
    let (generation, replaced) = (sealing.generation, sealing.seals_from);
    let is_expired = now >= replaced + RETENTION
        && !services
            .store
            .has_values_of_older_sealing_keys(generation, replaced, now)
            .await?;
    if !is_expired {
        return Ok(());
    }
    if !older_values(services, generation).await?.is_empty() {
        // An instance sealed a value late.
        services.sealing_keys.note_unsealed();
        return seal_again(services, now).await;
    }
    let entry = audit::entry(services, Event::SealingKeyDeleted, &AuditContext::SERVER)
        .with("below_generation", i64::from(generation));
    if services
        .store
        .delete_sealing_keys(generation, entry)
        .await?
    {
        tracing::info!(below = generation, "replaced sealing keys deleted");
    }
    reload(services).await
}

/// The progress of the replacement of a master key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The fingerprint of the current master key.
    pub master_key: String,
    /// Whether the settings name a previous master key.
    pub has_previous: bool,
    /// The sealing keys, the oldest first.
    pub sealing_keys: Vec<SealingKeyState>,
    /// The current stage.
    pub stage: ReplacementStage,
}

/// A sealing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealingKeyState {
    /// The number of the key.
    pub generation: u32,
    /// The time from which it seals.
    pub seals_from: Timestamp,
    /// Its use.
    pub stage: SealingKeyStage,
}

/// The use of a sealing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealingKeyStage {
    /// It does not seal yet.
    Waits,
    /// It seals.
    Seals,
    /// It only opens values that it sealed.
    Replaced,
}

/// A stage of the replacement of a master key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplacementStage {
    /// No master key is being replaced.
    None,
    /// Keys are wrapped with a master key that the settings do not have.
    OtherMasterKey,
    /// The next sealing key waits until all instances have the same master key.
    Waits {
        /// The number of instances with another master key.
        instances: usize,
    },
    /// The next sealing key was created, and does not seal yet.
    Created,
    /// Values must be sealed again.
    SealsAgain {
        /// The number of values.
        values: usize,
    },
    /// The replaced sealing keys are kept until no value needs them.
    Expires,
}

/// Returns the progress of the replacement of a master key.
pub async fn replacement(services: &Services) -> Result<Replacement, InternalError> {
    let wrapped = services.store.wrapped_keys().await?;
    let now = services.now();
    let own = services.master_keys.current.fingerprint();
    let sealing = services.sealing_keys.key_at(now)?;
    let keys = services.sealing_keys.all();
    let is_foreign = |key: &WrappedKey| key.master_key != own;
    let stage = if has_old_copy(services, &wrapped) {
        let instances = services.store.instances_with_other_master_key(own).await?;
        ReplacementStage::Waits { instances }
    } else if wrapped.iter().any(is_foreign) {
        ReplacementStage::OtherMasterKey
    } else if keys.iter().any(|key| key.seals_from > now) {
        ReplacementStage::Created
    } else {
        match older_values(services, sealing.generation).await?.len() {
            0 if keys.len() > 1 => ReplacementStage::Expires,
            0 => ReplacementStage::None,
            values => ReplacementStage::SealsAgain { values },
        }
    };
    let state = |key: &Arc<SealingKey>| SealingKeyState {
        generation: key.generation,
        seals_from: key.seals_from,
        stage: match key.generation.cmp(&sealing.generation) {
            std::cmp::Ordering::Less => SealingKeyStage::Replaced,
            std::cmp::Ordering::Equal => SealingKeyStage::Seals,
            std::cmp::Ordering::Greater => SealingKeyStage::Waits,
        },
    };
    Ok(Replacement {
        master_key: own.to_owned(),
        has_previous: services.master_keys.previous.is_some(),
        sealing_keys: keys.iter().map(state).collect(),
        stage,
    })
}
