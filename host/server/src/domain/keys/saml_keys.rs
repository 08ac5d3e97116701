//! The lifecycle of the keys that sign SAML responses: publish, wait, sign, retire. Each service provider has its own
//! keys, because it is configured with the certificates of its own metadata.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{InternalError, Services, audit};
use crate::keys::KeyError;
use crate::keys::saml::{self, Validity};
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::clock::Timestamp;
use assent_model::id::{Did, KeyId};
use assent_model::saml::{RETIRED, SamlKey, SamlKeyStage, stages};
use assent_saml_core::xml::Signer;
use assent_store::{KeyDeletion, Transition};

/// The key that signs for a service provider, and the other keys in its metadata.
#[derive(Clone, Debug)]
pub struct SamlKeySet {
    /// The signing key.
    pub signing: SamlKey,
    /// The other published keys.
    pub published: Vec<SamlKey>,
}

/// Returns the signer for a service provider.
pub async fn signer(services: &Services, application: &Did) -> Result<Arc<Signer>, InternalError> {
    let keys = keys(services, application).await?;
    Ok(services
        .saml_keys
        .open(&keys.signing, &services.sealing_keys)?)
}

/// Returns the keys in a service provider's metadata.
pub async fn keys(services: &Services, application: &Did) -> Result<SamlKeySet, InternalError> {
    let mut signing = None;
    let mut published = Vec::new();
    for (key, stage) in keys_with_stage(services, application).await? {
        match stage {
            SamlKeyStage::Signing => signing = Some(key),
            SamlKeyStage::Published | SamlKeyStage::Retired => published.push(key),
            SamlKeyStage::Expired => {}
        }
    }
    let signing = signing.ok_or_else(|| KeyError::NoSamlKey(application.clone()))?;
    Ok(SamlKeySet { signing, published })
}

/// Returns all keys of a service provider, each with its stage, the latest first.
pub async fn keys_with_stage(
    services: &Services,
    application: &Did,
) -> Result<Vec<(SamlKey, SamlKeyStage)>, InternalError> {
    Ok(stages(
        services.store.saml_keys(application).await?,
        services.now(),
    ))
}

async fn key_with_stage(
    services: &Services,
    application: &Did,
    id: KeyId,
) -> Result<Option<(SamlKey, SamlKeyStage)>, InternalError> {
    let keys = keys_with_stage(services, application).await?;
    Ok(keys.into_iter().find(|(key, _)| key.id == id))
}

/// Returns the first key of a new service provider.
pub async fn create_first_key(
    services: &Services,
    application: &Did,
) -> Result<SamlKey, InternalError> {
    create_key(services, application, 1, Duration::ZERO).await
}

async fn create_key(
    services: &Services,
    application: &Did,
    generation: i64,
    ahead: Duration,
) -> Result<SamlKey, InternalError> {
    let now = services.now();
    let validity = Validity {
        now,
        signs_from: now + ahead,
        until: now + services.settings.saml.certificate_validity.get(),
    };
    Ok(saml::generate(
        application,
        generation,
        validity,
        &services.sealing_keys,
        &*services.entropy,
    )
    .await?)
}

/// Returns an audit entry about a key, which identifies the key without its content.
fn audit_entry(services: &Services, event: Event, key: &SamlKey, by: &AuditContext) -> Entry {
    audit::entry(services, event, by)
        .in_application(key.application.clone())
        .with("certificate", key.id.to_string())
}

/// The outcome of a change of a key.
#[derive(Clone, Debug)]
pub enum KeyChange {
    /// The key is changed.
    Done(SamlKey),
    /// There is no such key.
    Unknown,
    /// The stage of the key does not permit the change.
    WrongStage,
}

/// Publishes a service provider's next key. If one is published already, returns that one.
pub async fn renew(
    services: &Services,
    application: &Did,
    by: &AuditContext,
) -> Result<SamlKey, InternalError> {
    loop {
        let known = keys_with_stage(services, application).await?;
        if let Some((waiting, SamlKeyStage::Published)) = known.first() {
            return Ok(waiting.clone());
        }
        let last = known.first().map_or(0, |(key, _)| key.generation);
        let next = create_key(
            services,
            application,
            last + 1,
            services.settings.saml.certificate_publish_ahead.get(),
        )
        .await?;
        // If another instance was faster, the next iteration finds its key.
        let entry = audit_entry(services, Event::CertificatePublished, &next, by)
            .with("signs_from", next.signs_from.seconds());
        if services.store.add_saml_key(next.clone(), entry).await? {
            tracing::info!(%application, signs_from = next.signs_from.seconds(), "SAML certificate published");
            return Ok(next);
        }
    }
}

/// Activates a published key before its time.
pub async fn take_over(
    services: &Services,
    application: &Did,
    id: KeyId,
    by: &AuditContext,
) -> Result<KeyChange, InternalError> {
    let Some((key, stage)) = key_with_stage(services, application, id).await? else {
        return Ok(KeyChange::Unknown);
    };
    if stage != SamlKeyStage::Published {
        return Ok(KeyChange::WrongStage);
    }
    let now = services.now();
    let entry = audit_entry(services, Event::CertificateActivated, &key, by);
    if services.store.activate_saml_key(id, now, entry).await? == Transition::NotOpen {
        return Ok(KeyChange::WrongStage);
    }
    tracing::info!(%application, "SAML certificate activated");
    Ok(KeyChange::Done(SamlKey {
        signs_from: now,
        ..key
    }))
}

/// Removes a key that does not sign from the metadata at once.
pub async fn withdraw(
    services: &Services,
    application: &Did,
    id: KeyId,
    by: &AuditContext,
) -> Result<KeyChange, InternalError> {
    let Some((key, stage)) = key_with_stage(services, application, id).await? else {
        return Ok(KeyChange::Unknown);
    };
    if stage == SamlKeyStage::Signing {
        return Ok(KeyChange::WrongStage);
    }
    let entry = audit_entry(services, Event::CertificateWithdrawn, &key, by);
    match services.store.delete_saml_key(id, vec![entry]).await? {
        KeyDeletion::Deleted => services.saml_keys.forget(id),
        KeyDeletion::Unknown => return Ok(KeyChange::Unknown),
        KeyDeletion::LastKey => return Ok(KeyChange::WrongStage),
    }
    tracing::info!(%application, "SAML certificate withdrawn");
    Ok(KeyChange::Done(key))
}

/// Renews and deletes keys on time, if the clock of this instance can be trusted (see [`signing_keys::maintain`]).
///
/// [`signing_keys::maintain`]: super::signing_keys::maintain
pub async fn maintain(services: &Services) -> Result<(), InternalError> {
    match services.store.trusted_now(&*services.clock).await? {
        Some(now) => maintain_at(services, now).await,
        None => Ok(()),
    }
}

/// Publishes the next key of each service provider with a certificate that expires soon. This is early enough for its
/// administrator to notice. Deletes expired keys.
pub async fn maintain_at(services: &Services, now: Timestamp) -> Result<(), InternalError> {
    let ahead = services.settings.saml.certificate_publish_ahead.get();
    for application in services
        .store
        .saml_keys_due(now + ahead * 2, now - RETIRED)
        .await?
    {
        let known = keys_with_stage(services, &application).await?;
        if known
            .first()
            .is_some_and(|(key, _)| key.expires_at < now + ahead * 2)
        {
            renew(services, &application, &AuditContext::SERVER).await?;
        }
        for (key, stage) in known {
            if stage == SamlKeyStage::Expired
                && services.store.delete_saml_key(key.id, Vec::new()).await? != KeyDeletion::LastKey
            {
                services.saml_keys.forget(key.id);
            }
        }
    }
    Ok(())
}
