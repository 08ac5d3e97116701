//! The life of the keys that tokens are signed with: publish, wait, sign, retire, forget; and what an operator does to
//! it.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::domain::{Host, InternalError, audit};
use crate::keys::{self, IdTokenError, KeyError, KnownKey};
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::id::KeyId;
use assent_model::key::{
    KeyMaterial, KeyPurpose, KeyStage, KeyTimes, SigningAlgorithm, SigningKey,
};

/// How long an answer that could do with the keys at hand waits for the database.
const PATIENCE: Duration = Duration::from_secs(1);

/// When a new key shall sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takeover {
    /// After the time that applications have to fetch it (`keys.publish_ahead`).
    InTime,
    /// At once.
    Now,
}

/// What a rotation came to.
#[derive(Clone, Debug)]
pub enum RotationOutcome {
    /// This key was published, and signs from its time on.
    Published(KnownKey),
    /// This key had been published before, and signs from its time on.
    Waiting(KnownKey),
    /// This key signs from now on.
    Signing(KnownKey),
}

/// What a revocation came to.
#[derive(Clone, Debug)]
pub enum RevocationOutcome {
    /// The key is out of use.
    Done {
        /// Its algorithm.
        algorithm: SigningAlgorithm,
        /// The `kid` of the algorithm's key that signs now.
        signing: String,
    },
    /// It was revoked before.
    Already,
    /// There is no such key.
    Unknown,
}

/// Reads the keys anew.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn reload(host: &Host) -> Result<(), InternalError> {
    let reading = host.key_ring.begin_reading();
    let kept = host.store.signing_keys().await?;
    Ok(host.key_ring.replace(reading, &kept, &host.master_key)?)
}

/// Does what is due: publishes next keys, forgets private halves that will not sign again, deletes what is over. Every
/// host does so every few seconds; the store lets one of them count.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn maintain(host: &Host) -> Result<(), InternalError> {
    reload(host).await?;
    let (settings, now) = (&host.settings.keys, host.now());
    let mut changed = false;
    for algorithm in SigningAlgorithm::ALL {
        let ahead = settings.publish_ahead.get();
        if settings
            .rotation()
            .is_some_and(|rotation| host.key_ring.is_next_due(algorithm, rotation, ahead, now))
        {
            let key = next_key(host, algorithm, Takeover::InTime).await?;
            let from = key.times.signs_from;
            let entry = published(host, algorithm, &key, &AuditContext::SERVER);
            if host.store.add_key(key, vec![entry]).await? {
                tracing::info!(%algorithm, signs_from = from.seconds(), "signing key published");
            }
            changed = true;
        }
    }
    for key in host.key_ring.known(now) {
        match key.life.stage {
            KeyStage::Archived if key.has_private_half => {
                host.store
                    .delete_private_key(key.id, key.public_jwk)
                    .await?;
            }
            KeyStage::Expired => host.store.delete_key(key.id).await?,
            _ => continue,
        }
        changed = true;
    }
    if changed { reload(host).await } else { Ok(()) }
}

/// The key set, as the database holds it: a client may verify a token that another instance signed with a key
/// that this one has not read. Concurrent requests share readings, so many cost no more than few. Without the database
/// it is the key set in memory.
pub async fn key_set(host: &Host) -> Value {
    host.key_ring
        .read_since_now(async || reload_in_time(host).await)
        .await;
    host.key_ring.key_set(host.now())
}

/// The claims of an ID token that this installation signed, with any of its keys but revoked ones. It may have expired:
/// the caller looks at `exp`.
///
/// # Errors
/// [`IdTokenError`] if this server did not sign the token.
pub async fn verify_own(host: &Host, jwt: &str) -> Result<Map<String, Value>, IdTokenError> {
    match host.key_ring.verify_own(jwt) {
        // Another host may have made the key a moment ago.
        Err(IdTokenError::UnknownKey) if host.key_ring.may_look_up(host.now()) => {
            reload_in_time(host).await;
            host.key_ring.verify_own(jwt)
        }
        known => known,
    }
}

/// Publishes the algorithm's next key, unless one waits already, and lets it sign: now, or when its time comes.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn rotate(
    host: &Host,
    algorithm: SigningAlgorithm,
    takeover: Takeover,
    by: &AuditContext,
) -> Result<RotationOutcome, InternalError> {
    reload(host).await?;
    let waits = known(host, algorithm).any(|key| key.life.stage == KeyStage::Published);
    let mut made = false;
    if !waits {
        // If another host is first, its key is the next one.
        let next = next_key(host, algorithm, takeover).await?;
        let entry = published(host, algorithm, &next, by);
        made = host.store.add_key(next, vec![entry]).await?;
        reload(host).await?;
    }
    let now = host.now();
    let published = known(host, algorithm).find(|key| key.life.stage == KeyStage::Published);
    if takeover == Takeover::Now
        && let Some(next) = &published
    {
        let entry = audit::entry(host, Event::SigningKeyActivated, by);
        let entry = entry
            .with("algorithm", algorithm.as_str())
            .with("kid", next.key_id.as_str());
        host.store.activate_signing_key(next.id, now, entry).await?;
        reload(host).await?;
    }
    match published.filter(|_| takeover == Takeover::InTime) {
        Some(next) if made => Ok(RotationOutcome::Published(next)),
        Some(next) => Ok(RotationOutcome::Waiting(next)),
        None => Ok(RotationOutcome::Signing(signing(host, algorithm)?)),
    }
}

/// Takes the key with this `kid` out of use. If it signs, another one does at once.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn revoke(
    host: &Host,
    key_id: &str,
    by: &AuditContext,
) -> Result<RevocationOutcome, InternalError> {
    reload(host).await?;
    let known = host.key_ring.known(host.now());
    let Some(key) = known.into_iter().find(|key| key.key_id == key_id) else {
        return Ok(RevocationOutcome::Unknown);
    };
    let fresh = next_key(host, key.algorithm, Takeover::Now).await?;
    let entry = audit::entry(host, Event::SigningKeyRevoked, by);
    let entry = entry
        .with("algorithm", key.algorithm.as_str())
        .with("kid", key_id);
    let revoked = host
        .store
        .revoke_key(
            key.id,
            key.public_jwk.clone(),
            fresh,
            vec![entry],
            host.now(),
        )
        .await?;
    reload(host).await?;
    if !revoked {
        return Ok(RevocationOutcome::Already);
    }
    Ok(RevocationOutcome::Done {
        algorithm: key.algorithm,
        signing: signing(host, key.algorithm)?.key_id,
    })
}

/// What the audit log is told of a key that was published.
fn published(
    host: &Host,
    algorithm: SigningAlgorithm,
    key: &SigningKey,
    by: &AuditContext,
) -> Entry {
    let entry =
        audit::entry(host, Event::SigningKeyPublished, by).with("algorithm", algorithm.as_str());
    entry
        .with("key", key.id.to_string())
        .with("signs_from", key.times.signs_from.seconds())
}

/// A database that does not answer leaves the keys at hand as they are.
async fn reload_in_time(host: &Host) {
    match tokio::time::timeout(PATIENCE, reload(host)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "signing keys not reloaded"),
        Err(_) => {
            tracing::warn!("signing keys not reloaded: the database does not respond");
        }
    }
}

/// The algorithm's keys, the one that signs first.
fn known(host: &Host, algorithm: SigningAlgorithm) -> impl Iterator<Item = KnownKey> {
    host.key_ring
        .known(host.now())
        .into_iter()
        .filter(move |key| key.algorithm == algorithm)
}

fn signing(host: &Host, algorithm: SigningAlgorithm) -> Result<KnownKey, KeyError> {
    known(host, algorithm)
        .find(|key| key.life.stage == KeyStage::Signing)
        .ok_or(KeyError::NoneToSign(algorithm))
}

/// A fresh key of the generation after the last that is at hand.
async fn next_key(
    host: &Host,
    algorithm: SigningAlgorithm,
    takeover: Takeover,
) -> Result<SigningKey, InternalError> {
    let purpose = KeyPurpose::IdToken(algorithm);
    let last = known(host, algorithm)
        .map(|key| key.times.generation)
        .max()
        .unwrap_or_default();
    let sealed = keys::generate(purpose, &host.master_key, &*host.entropy).await?;
    let now = host.now();
    let signs_from = match takeover {
        Takeover::InTime => now + host.settings.keys.publish_ahead.get(),
        Takeover::Now => now,
    };
    Ok(SigningKey {
        id: KeyId::new(now, &*host.entropy),
        purpose,
        material: KeyMaterial::Sealed(sealed),
        times: KeyTimes {
            generation: last + 1,
            published_at: now,
            signs_from,
            revoked_at: None,
        },
    })
}
