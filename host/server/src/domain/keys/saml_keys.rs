//! The life of the keys that SAML responses are signed with: publish, wait, sign, retire; one life for each service
//! provider, since each is set up with the certificates of its own metadata.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{InternalError, Services, audit};
use crate::keys::KeyError;
use crate::keys::saml::{self, OpenKey, Validity};
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::clock::Timestamp;
use assent_model::id::{Did, KeyId};
use assent_model::saml::{RETIRED, SamlKey, SamlKeyStage, stages};
use assent_store::{KeyDeletion, Transition};

/// The key that signs for a service provider, and all that are in its metadata, that one first.
#[derive(Clone, Debug)]
pub struct SamlKeySet {
    /// The key that signs.
    pub signing: SamlKey,
    /// The others that are in the metadata.
    pub published: Vec<SamlKey>,
}

/// The key that signs for a service provider, opened.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn signing(
    services: &Services,
    application: &Did,
) -> Result<Arc<OpenKey>, InternalError> {
    let keys = keys(services, application).await?;
    Ok(services
        .saml_keys
        .open(&keys.signing, &services.sealing_keys)?)
}

/// The keys in a service provider's metadata.
///
/// # Errors
/// If the database or the cryptographic library fails.
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

/// All keys of a service provider, each with its stage, the latest first.
///
/// # Errors
/// If the database fails.
pub async fn keys_with_stage(
    services: &Services,
    application: &Did,
) -> Result<Vec<(SamlKey, SamlKeyStage)>, InternalError> {
    Ok(stages(
        services.store.saml_keys(application).await?,
        services.now(),
    ))
}

/// The key that a new service provider begins with.
///
/// # Errors
/// If the cryptographic library fails.
pub async fn first(services: &Services, application: &Did) -> Result<SamlKey, InternalError> {
    make(services, application, 1, Duration::ZERO).await
}

async fn make(
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

/// What the audit log is told of a key: which one, and nothing of what it is.
fn audit_entry(services: &Services, event: Event, key: &SamlKey, by: &AuditContext) -> Entry {
    audit::entry(services, event, by)
        .in_application(key.application.clone())
        .with("certificate", key.id.to_string())
}

/// What came of a change of a key.
#[derive(Clone, Debug)]
pub enum KeyChange {
    /// It was done.
    Done(SamlKey),
    /// There is no such key.
    Unknown,
    /// It can't be done with a key at this stage.
    WrongStage,
}

/// Publishes a service provider's next key, unless one waits already: that one is answered.
///
/// # Errors
/// If the database or the cryptographic library fails.
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
        let next = make(
            services,
            application,
            last + 1,
            services.settings.saml.certificate_publish_ahead.get(),
        )
        .await?;
        // Else another was quicker, and its key is found in the next round.
        let entry = audit_entry(services, Event::CertificatePublished, &next, by)
            .with("signs_from", next.signs_from.seconds());
        if services.store.add_saml_key(next.clone(), entry).await? {
            tracing::info!(%application, signs_from = next.signs_from.seconds(), "SAML certificate published");
            return Ok(next);
        }
    }
}

/// Lets a published key sign now, rather than when its time comes.
///
/// # Errors
/// If the database fails.
pub async fn take_over(
    services: &Services,
    application: &Did,
    id: KeyId,
    by: &AuditContext,
) -> Result<KeyChange, InternalError> {
    let found = keys_with_stage(services, application)
        .await?
        .into_iter()
        .find(|(key, _)| key.id == id);
    let Some((key, stage)) = found else {
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

/// Takes a key that does not sign out of the metadata at once.
///
/// # Errors
/// If the database fails.
pub async fn withdraw(
    services: &Services,
    application: &Did,
    id: KeyId,
    by: &AuditContext,
) -> Result<KeyChange, InternalError> {
    let found = keys_with_stage(services, application)
        .await?
        .into_iter()
        .find(|(key, _)| key.id == id);
    let Some((key, stage)) = found else {
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

/// Renews and deletes keys when it is time, if this instance's clock can be trusted (see [`signing_keys::maintain`]).
///
/// [`signing_keys::maintain`]: super::signing_keys::maintain
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn maintain(services: &Services) -> Result<(), InternalError> {
    match services.store.trusted_now(&*services.clock).await? {
        Some(now) => maintain_at(services, now).await,
        None => Ok(()),
    }
}

/// Publishes the next key of each service provider whose certificate expires soon, early enough for its administrator
/// to notice, and deletes expired keys.
///
/// # Errors
/// If the database or the cryptographic library fails.
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
