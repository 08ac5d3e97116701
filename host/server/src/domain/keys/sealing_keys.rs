//! The replacement of sealing keys after a new master key: wrap, wait, seal again, delete.
//!
//! A master key is replaced because somebody may know it, and with it the sealing keys that it wrapped. So a new master
//! key is followed by a new sealing key. Everything that the old one sealed is sealed again, or expires.

use std::time::Duration;

use crate::domain::{InternalError, Services, audit};
use crate::keys::{KeyError, client, saml};
use assent_model::audit::{AuditContext, Event};
use assent_model::clock::Timestamp;
use assent_model::wrapped_key::{WrappedKey, WrappedKeyPurpose};
use assent_store::{NewSealingKey, SealedPlace, SealedValue};

/// The time from the creation of a sealing key until it seals. By then all instances have read it: see
/// [`REFRESH_INTERVAL`](super::signing_keys::REFRESH_INTERVAL).
pub const AHEAD: Duration = Duration::from_secs(60);
/// How long a sealing key that was replaced is kept at least: for cookies by which a browser is known again. A browser
/// that was not used for so long counts as unknown.
pub const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How many values are sealed again in one transaction.
const AT_ONCE: usize = 100;

/// Reads the sealing keys again, if the database has others than those at hand.
///
/// # Errors
/// If the database fails, or a key cannot be unwrapped. Then the keys at hand stay.
pub async fn reload(services: &Services) -> Result<(), InternalError> {
    let wrapped = services.store.wrapped_keys().await?;
    let mut stored: Vec<(u32, Timestamp)> = wrapped
        .iter()
        .filter_map(|key| Some((generation(key)?, key.seals_from)))
        .collect();
    stored.dedup();
    let held = services.sealing_keys.all();
    let held = held.iter().map(|key| (key.generation, key.seals_from));
    if held.eq(stored) {
        return Ok(());
    }
    let (masters, entropy) = (services.master_keys.clone(), services.entropy.clone());
    // A token may be slow.
    let unwrapped = tokio::task::spawn_blocking(move || masters.unwrap(&wrapped, &*entropy));
    let unwrapped = unwrapped.await.map_err(|_| KeyError::BrokenOff)??;
    Ok(services.sealing_keys.replace(unwrapped.sealing)?)
}

const fn generation(key: &WrappedKey) -> Option<u32> {
    match key.purpose {
        WrappedKeyPurpose::Root => None,
        WrappedKeyPurpose::Sealing(generation) => Some(generation),
    }
}

/// Creates the next sealing key when all instances have a new master key, and seals values again with the sealing key
/// that seals now. An instance whose clock cannot be trusted does nothing.
///
/// # Errors
/// If the database, the master key or the cryptographic library fails.
pub async fn maintain(services: &Services) -> Result<(), InternalError> {
    let wrapped = services.store.wrapped_keys().await?;
    let own = services.master_keys.current.fingerprint();
    let is_done =
        wrapped.iter().all(|key| key.master_key == own) && services.sealing_keys.all().len() == 1;
    if is_done {
        return Ok(());
    }
    match services.store.trusted_now(&*services.clock).await? {
        Some(now) => maintain_at(services, now).await,
        None => Ok(()),
    }
}

/// What [`maintain`] does at this moment.
///
/// # Errors
/// If the database, the master key or the cryptographic library fails.
pub async fn maintain_at(services: &Services, now: Timestamp) -> Result<(), InternalError> {
    let wrapped = services.store.wrapped_keys().await?;
    let newest = wrapped.iter().filter_map(generation).max();
    let newest = newest.ok_or(KeyError::NoneToSeal)?;
    match has_old_copy(services, &wrapped, newest) {
        true => create_next(services, newest + 1, now).await,
        false => seal_again(services, now).await,
    }
}

/// Whether a master key that was replaced has wrapped the sealing key of this generation.
fn has_old_copy(services: &Services, wrapped: &[WrappedKey], of: u32) -> bool {
    let own = services.master_keys.current.fingerprint();
    wrapped
        .iter()
        .any(|key| generation(key) == Some(of) && key.master_key != own)
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
    }
    reload(services).await
}

/// Seals values again that another key sealed than the one that seals now.
async fn seal_again(services: &Services, now: Timestamp) -> Result<(), InternalError> {
    let sealing = services.sealing_keys.at(now)?;
    let mut done = 0;
    loop {
        let values = services
            .store
            .values_to_reseal(sealing.generation, AT_ONCE)
            .await?;
        let resealed: Vec<(SealedValue, String)> = values
            .into_iter()
            .filter_map(|value| {
                let sealed = sealed_again(services, &value, now);
                let sealed = sealed.inspect_err(
                    |error| tracing::warn!(place = ?value.place, %error, "value not sealed again"),
                );
                Some((value, sealed.ok()?))
            })
            .collect();
        let count = resealed.len();
        if count > 0 {
            services.store.replace_sealed(resealed).await?;
            done += count;
        }
        if count < AT_ONCE {
            break;
        }
    }
    if done > 0 {
        let generation = sealing.generation;
        tracing::info!(
            generation,
            values = done,
            "values sealed with a new sealing key"
        );
    }
    Ok(())
}

fn sealed_again(
    services: &Services,
    value: &SealedValue,
    now: Timestamp,
) -> Result<String, KeyError> {
    let purpose = match &value.place {
        SealedPlace::SigningKey(_, purpose) => purpose.as_str().to_owned(),
        SealedPlace::SamlKey(id, application) => saml::purpose(application, *id),
        SealedPlace::ClientSecret(_, application) => client::secret_purpose(application),
    };
    let plain = services.sealing_keys.open(&purpose, &value.sealed)?;
    services
        .sealing_keys
        .seal(&purpose, &plain, now, &*services.entropy)
}

/// Deletes sealing keys that were replaced and that nothing needs any more. An instance whose clock cannot be trusted
/// does nothing.
///
/// # Errors
/// If the database fails.
pub async fn delete_replaced(services: &Services) -> Result<(), InternalError> {
    if services.sealing_keys.all().len() == 1 {
        return Ok(());
    }
    match services.store.trusted_now(&*services.clock).await? {
        Some(now) => delete_replaced_at(services, now).await,
        None => Ok(()),
    }
}

/// What [`delete_replaced`] does at this moment.
///
/// # Errors
/// If the database fails.
pub async fn delete_replaced_at(services: &Services, now: Timestamp) -> Result<(), InternalError> {
    let sealing = services.sealing_keys.at(now)?;
    let (generation, replaced) = (sealing.generation, sealing.seals_from);
    if now < replaced + KEPT_FOR {
        return Ok(());
    }
    if services
        .store
        .needs_older_sealing_key(generation, replaced, now)
        .await?
    {
        return Ok(());
    }
    let entry = audit::entry(services, Event::SealingKeyDeleted, &AuditContext::SERVER)
        .with("below_generation", i64::from(generation));
    if services
        .store
        .delete_sealing_keys(generation, entry)
        .await?
    {
        tracing::info!(
            below = generation,
            "sealing keys deleted that were replaced"
        );
    }
    reload(services).await
}

/// How far the replacement of a master key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The fingerprint of the current master key.
    pub master_key: String,
    /// Whether the settings name a previous one.
    pub has_previous: bool,
    /// The sealing keys, the oldest first.
    pub sealing_keys: Vec<SealingKeyState>,
    /// What happens now.
    pub stage: ReplacementStage,
}

/// A sealing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealingKeyState {
    /// Its number.
    pub generation: u32,
    /// From when it seals.
    pub seals_from: Timestamp,
    /// Whether another one seals.
    pub is_replaced: bool,
}

/// A stage of the replacement of a master key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplacementStage {
    /// No master key is being replaced.
    None,
    /// The next sealing key waits for so many instances that have another master key.
    Waits {
        /// How many.
        instances: i64,
    },
    /// So many values are to be sealed again, or more.
    SealsAgain {
        /// How many.
        values: usize,
    },
    /// The replaced sealing keys wait until nothing needs them.
    Expires,
}

/// How far the replacement of a master key is.
///
/// # Errors
/// If the database fails.
pub async fn replacement(services: &Services) -> Result<Replacement, InternalError> {
    reload(services).await?;
    let now = services.now();
    let own = services.master_keys.current.fingerprint();
    let wrapped = services.store.wrapped_keys().await?;
    let newest = wrapped.iter().filter_map(generation).max();
    let sealing = services.sealing_keys.at(now)?;
    let keys = services.sealing_keys.all();
    let stage = if newest.is_some_and(|newest| has_old_copy(services, &wrapped, newest)) {
        let instances = services.store.instances_with_other_master_key(own).await?;
        ReplacementStage::Waits { instances }
    } else {
        let values = services
            .store
            .values_to_reseal(sealing.generation, usize::MAX);
        match values.await?.len() {
            0 if keys.len() > 1 => ReplacementStage::Expires,
            0 => ReplacementStage::None,
            values => ReplacementStage::SealsAgain { values },
        }
    };
    let state = |key: &std::sync::Arc<crate::keys::SealingKey>| SealingKeyState {
        generation: key.generation,
        seals_from: key.seals_from,
        is_replaced: key.generation < sealing.generation,
    };
    Ok(Replacement {
        master_key: own.to_owned(),
        has_previous: services.master_keys.previous.is_some(),
        sealing_keys: keys.iter().map(state).collect(),
        stage,
    })
}
