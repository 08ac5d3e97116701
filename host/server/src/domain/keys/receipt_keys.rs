//! The lifecycle of the keys that sign receipts: publish, wait, sign, retire. Only private keys are deleted.

use crate::domain::{InternalError, Services, audit};
use crate::keys;
use crate::keys::KnownKey;
use assent_model::audit::{AuditContext, Event};
use assent_model::clock::Timestamp;
use assent_model::id::KeyId;
use assent_model::key::{
    KeyMaterial, KeyPurpose, KeyStage, KeyTimes, SigningAlgorithm, SigningKey,
};

fn is_next_due(services: &Services, now: Timestamp) -> bool {
    let settings = &services.settings.keys;
    settings.rotation().is_some_and(|rotation| {
        let ahead = settings.publish_ahead.get();
        services
            .key_ring
            .is_next_receipt_key_due(rotation, ahead, now)
    })
}

/// Whether a key has a private key that it does not need any more.
fn is_private_half_unneeded(key: &KnownKey) -> bool {
    key.has_private_half && key.life.stage == KeyStage::Archived
}

/// Returns whether [`maintain`] would change a key at this time.
pub(super) fn is_work_due(services: &Services, now: Timestamp) -> bool {
    is_next_due(services, now)
        || services
            .key_ring
            .all_receipt_keys(now)
            .iter()
            .any(is_private_half_unneeded)
}

/// Publishes the next key, and deletes the private keys of retired keys. If several instances publish a key at the same
/// time, the store accepts one. Returns whether the keys must be read again.
pub(super) async fn maintain(services: &Services, now: Timestamp) -> Result<bool, InternalError> {
    let mut changed = false;
    let known = services.key_ring.all_receipt_keys(now);
    if is_next_due(services, now) {
        let ahead = services.settings.keys.publish_ahead.get();
        let last = known.iter().map(|key| key.times.generation).max();
        let purpose = KeyPurpose::Receipt;
        let sealed =
            keys::generate(purpose, &services.sealing_keys, now, &*services.entropy).await?;
        // The first key signs at once.
        let signs_from = if last.is_some() { now + ahead } else { now };
        let key = SigningKey {
            id: KeyId::new(now, &*services.entropy),
            purpose,
            material: KeyMaterial::Sealed(sealed),
            times: KeyTimes {
                generation: last.unwrap_or_default() + 1,
                published_at: now,
                signs_from,
                revoked_at: None,
            },
        };
        let entry = audit::entry(services, Event::SigningKeyPublished, &AuditContext::SERVER)
            .with("algorithm", SigningAlgorithm::Es256.as_str())
            .with("purpose", purpose.as_str())
            .with("signs_from", signs_from.seconds());
        if services.store.add_key(key, vec![entry]).await? {
            tracing::info!(signs_from = signs_from.seconds(), "receipt key published");
        }
        changed = true;
    }
    for key in known {
        if is_private_half_unneeded(&key) {
            services
                .store
                .delete_private_key(key.id, key.public_jwk)
                .await?;
            changed = true;
        }
    }
    Ok(changed)
}
