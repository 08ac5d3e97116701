//! The lifecycle of the keys that sign tokens: publish, wait, sign, retire, delete. The operator can rotate and revoke
//! them, and those that sign receipts.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::domain::keys::receipt_keys;
use crate::domain::{InternalError, Services, audit};
use crate::keys::{self, IdTokenError, IdTokenKey, KeyError, KnownKey, ReceiptKey};
use assent_model::application::OidcSettings;
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::clock::Timestamp;
use assent_model::id::KeyId;
use assent_model::key::{
    KeyMaterial, KeyStage, KeyTimes, SigningAlgorithm, SigningKey, SigningPurpose,
};

/// The interval at which each instance reads the keys. Within this time it notices the changes by a command or another
/// instance.
pub const REFRESH_INTERVAL: Duration = Duration::from_secs(3);
/// The time for which clients may cache the key set: the `max-age` of its response.
pub const KEY_SET_CACHE: Duration = Duration::from_secs(300);
/// The shortest time from the publication of a key to its first signature. It covers the caches of clients, the
/// interval and the duration of reads by each instance, and the clock difference of ready instances.
pub const PUBLICATION_MARGIN: Duration = Duration::from_secs(330);
/// The time after which each instance publishes a new key, if it can reach the database.
const PUBLISHED_EVERYWHERE: Duration = Duration::from_secs(5);
const _: () = assert!(
    KEY_SET_CACHE.as_secs() + REFRESH_INTERVAL.as_secs() < PUBLICATION_MARGIN.as_secs()
        && REFRESH_INTERVAL.as_secs() < PUBLISHED_EVERYWHERE.as_secs()
);

/// The timeout for the database if the loaded keys are sufficient for a response.
const PATIENCE: Duration = Duration::from_secs(1);

/// The time at which a new key starts to sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takeover {
    /// After the time that applications have to fetch it (`keys.publish_ahead`).
    InTime,
    /// As soon as each instance and the caches of clients have it ([`PUBLICATION_MARGIN`]).
    Now,
}

/// The outcome of a rotation.
#[derive(Clone, Debug)]
pub enum RotationOutcome {
    /// This key was published, and signs from its activation time.
    Published(KnownKey),
    /// This key had been published before, and signs from its activation time.
    Waiting(KnownKey),
    /// This key signs from now on.
    Signing(KnownKey),
}

/// The outcome of a revocation.
#[derive(Clone, Debug)]
pub enum RevocationOutcome {
    /// The key is revoked.
    Done {
        /// The algorithm of the key.
        algorithm: SigningAlgorithm,
        /// The `kid` of the current signing key of the algorithm.
        signing: String,
    },
    /// The key was revoked before.
    Already,
    /// There is no such key.
    Unknown,
}

/// Reads the keys again.
pub async fn reload(services: &Services) -> Result<(), InternalError> {
    let reading = services.key_ring.begin_reading();
    let stored = services.store.signing_keys().await?;
    Ok(services
        .key_ring
        .replace(reading, &stored, &services.sealing_keys)?)
}

/// Reloads the keys, and rotates and deletes them on time. Every instance calls it every few seconds. An instance
/// changes nothing if its clock cannot be trusted. A clock that is far ahead would retire keys that still sign, and
/// delete their private keys for all instances.
pub async fn maintain(services: &Services) -> Result<(), InternalError> {
    reload(services).await?;
    if !is_work_due(services, services.now()) {
        return Ok(());
    }
    match services.store.trusted_now(&*services.clock).await? {
        Some(now) => maintain_at(services, now).await,
        None => Ok(()),
    }
}

/// Returns whether [`maintain_at`] would change a key at this time.
fn is_work_due(services: &Services, now: Timestamp) -> bool {
    SigningAlgorithm::ALL
        .into_iter()
        .any(|algorithm| is_next_due(services, algorithm, now))
        || services.key_ring.all_keys(now).iter().any(|key| {
            key.life.stage == KeyStage::Expired
                || (key.life.stage == KeyStage::Archived && key.has_private_half)
        })
        || receipt_keys::is_work_due(services, now)
}

fn is_next_due(services: &Services, algorithm: SigningAlgorithm, now: Timestamp) -> bool {
    let settings = &services.settings.keys;
    settings.rotation().is_some_and(|rotation| {
        let ahead = settings.publish_ahead.get();
        services
            .key_ring
            .is_next_due(algorithm, rotation, ahead, now)
    })
}

/// Publishes next keys, deletes the private keys of retired keys, and deletes expired keys. If several instances
/// publish a key at the same time, the store accepts one.
pub async fn maintain_at(services: &Services, now: Timestamp) -> Result<(), InternalError> {
    reload(services).await?;
    let mut changed = receipt_keys::maintain(services, now).await?;
    for algorithm in SigningAlgorithm::ALL {
        if is_next_due(services, algorithm, now) {
            let purpose = SigningPurpose::IdToken(algorithm);
            let key = next_key(services, purpose, Takeover::InTime, now).await?;
            let from = key.times.signs_from;
            let entry = published_entry(services, purpose, &key, &AuditContext::SERVER)?;
            if services.store.add_key(key, vec![entry]).await? {
                tracing::info!(%algorithm, signs_from = from.seconds(), "signing key published");
            }
            changed = true;
        }
    }
    for key in services.key_ring.all_keys(now) {
        match key.life.stage {
            KeyStage::Archived if key.has_private_half => {
                services
                    .store
                    .delete_private_key(key.id, key.public_jwk)
                    .await?;
            }
            KeyStage::Expired => services.store.delete_key(key.id).await?,
            _ => continue,
        }
        changed = true;
    }
    if changed {
        reload(services).await
    } else {
        Ok(())
    }
}

/// Returns the claims of an ID token that this server signed, with any key that is not revoked. The token may have
/// expired: the caller must check `exp`.
///
/// # Errors
/// [`IdTokenError`] if this server did not sign the token.
pub async fn verify_own(
    services: &Services,
    jwt: &str,
) -> Result<Map<String, Value>, IdTokenError> {
    match services.key_ring.verify_own(jwt) {
        // Another instance may have created the key a moment ago.
        Err(IdTokenError::UnknownKey) if services.key_ring.may_look_up(services.now()) => {
            reload_in_time(services).await;
            services.key_ring.verify_own(jwt)
        }
        known => known,
    }
}

/// Returns the key that signs now. The first use of an algorithm creates its first key.
///
/// # Errors
/// If the algorithm has no key, and none can be created.
pub async fn signer(
    services: &Services,
    algorithm: SigningAlgorithm,
) -> Result<Arc<IdTokenKey>, InternalError> {
    let known = || services.key_ring.signer(algorithm, services.now());
    if let Some(key) = known() {
        return Ok(key);
    }
    let purpose = SigningPurpose::IdToken(algorithm);
    create_first_key(services, purpose, &AuditContext::SERVER).await?;
    Ok(known().ok_or(KeyError::NoneToSign(algorithm))?)
}

/// Creates the keys of algorithms that an application chooses as the first one, so that clients find them in the key
/// set before the first signature: if other instances run, it waits until each of them publishes the new keys. That
/// happens once for each algorithm. A client that cached the key set before must fetch it again for an unknown `kid`
/// (OpenID Connect Core 1.0 section 10.1.1).
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn create_first_keys(
    services: &Services,
    settings: &OidcSettings,
    by: &AuditContext,
) -> Result<(), InternalError> {
    // An idempotent request is executed only with its own write, not with this preparation.
    let preparation = AuditContext {
        keyed_request: None,
        ..by.clone()
    };
    let mut is_new = false;
    for algorithm in settings.response_algorithms() {
        if services
            .key_ring
            .signer(algorithm, services.now())
            .is_none()
        {
            let purpose = SigningPurpose::IdToken(algorithm);
            create_first_key(services, purpose, &preparation).await?;
            is_new = true;
        }
    }
    if is_new && services.store.other_instances().await? > 0 {
        tokio::time::sleep(PUBLISHED_EVERYWHERE).await;
    }
    Ok(())
}

/// Creates the first key of a purpose, which signs at once. If another instance is faster, its key counts.
async fn create_first_key(
    services: &Services,
    purpose: SigningPurpose,
    by: &AuditContext,
) -> Result<(), InternalError> {
    let now = services.now();
    let mut key = next_key(services, purpose, Takeover::Now, now).await?;
    key.times = KeyTimes::at_once(1, now);
    let entry = published_entry(services, purpose, &key, by)?;
    if services.store.add_key(key, vec![entry]).await? {
        let algorithm = purpose.algorithm();
        tracing::info!(%algorithm, signs_from = now.seconds(), "signing key published");
    }
    reload(services).await
}

/// Publishes the next key of ID tokens with this algorithm, unless one is published already. It signs from its
/// activation time, or earlier with [`Takeover::Now`].
pub async fn rotate(
    services: &Services,
    algorithm: SigningAlgorithm,
    takeover: Takeover,
    by: &AuditContext,
) -> Result<RotationOutcome, InternalError> {
    let purpose = SigningPurpose::IdToken(algorithm);
    let (outcome, _) = rotate_and_compare(services, purpose, takeover, by).await?;
    Ok(outcome)
}

/// Rotates the keys of any purpose as [`rotate`], and returns also whether this changed a key.
///
/// # Errors
/// As [`rotate`].
pub async fn rotate_and_compare(
    services: &Services,
    purpose: SigningPurpose,
    takeover: Takeover,
    by: &AuditContext,
) -> Result<(RotationOutcome, bool), InternalError> {
    reload(services).await?;
    if keys_of(services, purpose).next().is_none() {
        create_first_key(services, purpose, by).await?;
        return Ok((
            RotationOutcome::Signing(signing_key(services, purpose)?),
            true,
        ));
    }
    let made = publish_next(services, purpose, takeover, by).await?;
    let mut is_changed = made;
    if takeover == Takeover::Now
        && let Some(next) = published_key(services, purpose)
    {
        let from = services
            .now()
            .max(next.times.published_at + PUBLICATION_MARGIN);
        let entry = audit::entry(services, Event::SigningKeyActivated, by);
        let entry = about_purpose(entry, purpose)
            .with("kid", next.key_id.as_str())
            .with("signs_from", from.seconds());
        is_changed |= services
            .store
            .activate_signing_key(next.id, from, entry)
            .await?;
        reload(services).await?;
    }
    let outcome = match published_key(services, purpose) {
        Some(next) if made => RotationOutcome::Published(next),
        Some(next) => RotationOutcome::Waiting(next),
        None => RotationOutcome::Signing(signing_key(services, purpose)?),
    };
    Ok((outcome, is_changed))
}

/// Revokes the key with this `kid`. If it signs, the next key takes over at once. If the next key is new, it is
/// published first, and the call waits until each instance has read it. Clients can then find the key of a token at any
/// instance.
pub async fn revoke(
    services: &Services,
    key_id: &str,
    by: &AuditContext,
) -> Result<RevocationOutcome, InternalError> {
    reload(services).await?;
    let Some(key) = known_key(services, key_id) else {
        return Ok(RevocationOutcome::Unknown);
    };
    if key.life.stage == KeyStage::Signing {
        // The idempotent request is executed only with the revocation, not with this preparation. A retry after a
        // failure in between must revoke the key.
        let preparation = AuditContext {
            keyed_request: None,
            ..by.clone()
        };
        publish_next(services, key.purpose, Takeover::InTime, &preparation).await?;
        let next = published_key(services, key.purpose);
        if next.is_some_and(|next| services.now() < next.times.published_at + PUBLISHED_EVERYWHERE)
        {
            tokio::time::sleep(PUBLISHED_EVERYWHERE).await;
        }
    }
    let fresh = next_key(services, key.purpose, Takeover::InTime, services.now()).await?;
    let entry = audit::entry(services, Event::SigningKeyRevoked, by);
    let entry = about_purpose(entry, key.purpose).with("kid", key_id);
    let revoked = services
        .store
        .revoke_key(
            key.id,
            key.public_jwk.clone(),
            fresh,
            vec![entry],
            services.now(),
        )
        .await?;
    reload(services).await?;
    if !revoked {
        return Ok(RevocationOutcome::Already);
    }
    Ok(RevocationOutcome::Done {
        algorithm: key.algorithm,
        signing: signing_key(services, key.purpose)?.key_id,
    })
}

/// Publishes the next key of a purpose, unless one is published already. Returns whether it published one.
async fn publish_next(
    services: &Services,
    purpose: SigningPurpose,
    takeover: Takeover,
    by: &AuditContext,
) -> Result<bool, InternalError> {
    if published_key(services, purpose).is_some() {
        return Ok(false);
    }
    // If another instance was faster, its key is the next one.
    let next = next_key(services, purpose, takeover, services.now()).await?;
    let entry = published_entry(services, purpose, &next, by)?;
    let made = services.store.add_key(next, vec![entry]).await?;
    reload(services).await?;
    Ok(made)
}

/// Returns the published key of a purpose that does not sign yet.
fn published_key(services: &Services, purpose: SigningPurpose) -> Option<KnownKey> {
    keys_of(services, purpose).find(|key| key.life.stage == KeyStage::Published)
}

fn published_entry(
    services: &Services,
    purpose: SigningPurpose,
    key: &SigningKey,
    by: &AuditContext,
) -> Result<Entry, KeyError> {
    let entry = audit::entry(services, Event::SigningKeyPublished, by);
    let entry = about_purpose(entry, purpose).with("signs_from", key.times.signs_from.seconds());
    // The entry names the `kid`, like the other entries about the key.
    Ok(match &key.material {
        KeyMaterial::Sealed(sealed) => {
            let sealing = &services.sealing_keys;
            let kid = match purpose {
                SigningPurpose::IdToken(algorithm) => {
                    IdTokenKey::sealed_key_id(algorithm, sealed, sealing)?
                }
                SigningPurpose::Receipt => ReceiptKey::sealed_key_id(sealed, sealing)?,
            };
            entry.with("kid", kid)
        }
        KeyMaterial::Public(_) => entry,
    })
}

/// Adds what the key of an entry signs.
fn about_purpose(entry: Entry, purpose: SigningPurpose) -> Entry {
    let entry = entry.with("algorithm", purpose.algorithm().as_str());
    match purpose {
        SigningPurpose::IdToken(_) => entry,
        SigningPurpose::Receipt => entry.with("purpose", purpose.kind().as_str()),
    }
}

/// Reloads the keys. If the database does not respond in time, the loaded keys remain.
async fn reload_in_time(services: &Services) {
    match tokio::time::timeout(PATIENCE, reload(services)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "signing keys not reloaded"),
        Err(_) => {
            tracing::warn!("signing keys not reloaded: the database does not respond");
        }
    }
}

/// Returns the keys of ID tokens, and those of receipts.
fn all_keys(services: &Services) -> impl Iterator<Item = KnownKey> {
    let (ring, now) = (&services.key_ring, services.now());
    let of_receipts = ring.all_receipt_keys(now);
    ring.all_keys(now).into_iter().chain(of_receipts)
}

/// Returns the key with this `kid`, as it was last read.
pub fn known_key(services: &Services, key_id: &str) -> Option<KnownKey> {
    all_keys(services).find(|key| key.key_id == key_id)
}

/// Returns the keys of a purpose.
fn keys_of(services: &Services, purpose: SigningPurpose) -> impl Iterator<Item = KnownKey> {
    all_keys(services).filter(move |key| key.purpose == purpose)
}

fn signing_key(services: &Services, purpose: SigningPurpose) -> Result<KnownKey, KeyError> {
    keys_of(services, purpose)
        .find(|key| key.life.stage == KeyStage::Signing)
        .ok_or(match purpose {
            SigningPurpose::IdToken(algorithm) => KeyError::NoneToSign(algorithm),
            SigningPurpose::Receipt => KeyError::NoReceiptKey,
        })
}

async fn next_key(
    services: &Services,
    purpose: SigningPurpose,
    takeover: Takeover,
    now: Timestamp,
) -> Result<SigningKey, InternalError> {
    let last = keys_of(services, purpose)
        .map(|key| key.times.generation)
        .max()
        .unwrap_or_default();
    let (sealing, entropy) = (&services.sealing_keys, &*services.entropy);
    let sealed = keys::generate(purpose.into(), sealing, now, entropy).await?;
    let signs_from = match takeover {
        Takeover::InTime => now + services.settings.keys.publish_ahead.get(),
        Takeover::Now => now + PUBLICATION_MARGIN,
    };
    Ok(SigningKey {
        id: KeyId::new(now, entropy),
        purpose: purpose.into(),
        material: KeyMaterial::Sealed(sealed),
        times: KeyTimes {
            generation: last + 1,
            published_at: now,
            signs_from,
            revoked_at: None,
        },
    })
}
