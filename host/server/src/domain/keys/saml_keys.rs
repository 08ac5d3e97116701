//! The life of the keys that SAML responses are signed with: publish, wait, sign, retire; one life for each service
//! provider, since each is set up with the certificates of its own metadata.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{Host, InternalError, audit};
use crate::keys::KeyError;
use crate::keys::saml::{self, OpenKey, Validity};
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::id::{Did, KeyId};
use assent_model::saml::{RETIRED, SamlKey, SamlKeyStage, stages};
use assent_store::{KeyDeletion, Transition};

/// The key that signs for a service provider, and all that are in its metadata, that one first.
#[derive(Clone, Debug)]
pub struct Keys {
    /// The key that signs.
    pub signing: SamlKey,
    /// The others that are in the metadata.
    pub published: Vec<SamlKey>,
}

/// The key that signs for a service provider, opened.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn signing(host: &Host, application: &Did) -> Result<Arc<OpenKey>, InternalError> {
    let keys = keys(host, application).await?;
    Ok(host.saml_keys.open(&keys.signing, &host.master_key)?)
}

/// The keys in a service provider's metadata.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn keys(host: &Host, application: &Did) -> Result<Keys, InternalError> {
    let mut signing = None;
    let mut published = Vec::new();
    for (key, stage) in keys_with_stage(host, application).await? {
        match stage {
            SamlKeyStage::Signing => signing = Some(key),
            SamlKeyStage::Published | SamlKeyStage::Retired => published.push(key),
            SamlKeyStage::Expired => {}
        }
    }
    let signing = signing.ok_or_else(|| KeyError::NoSamlKey(application.clone()))?;
    Ok(Keys { signing, published })
}

/// All keys of a service provider, each with its stage, the latest first.
///
/// # Errors
/// If the database fails.
pub async fn keys_with_stage(
    host: &Host,
    application: &Did,
) -> Result<Vec<(SamlKey, SamlKeyStage)>, InternalError> {
    Ok(stages(host.store.saml_keys(application).await?, host.now()))
}

/// The key that a new service provider begins with.
///
/// # Errors
/// If the cryptographic library fails.
pub async fn first(host: &Host, application: &Did) -> Result<SamlKey, InternalError> {
    make(host, application, 1, Duration::ZERO).await
}

async fn make(
    host: &Host,
    application: &Did,
    generation: i64,
    ahead: Duration,
) -> Result<SamlKey, InternalError> {
    let now = host.now();
    let validity = Validity {
        now,
        signs_from: now + ahead,
        until: now + host.settings.saml.certificate_validity.get(),
    };
    Ok(saml::generate(
        application,
        generation,
        validity,
        &host.master_key,
        &*host.entropy,
    )
    .await?)
}

/// What the audit log is told of a key: which one, and nothing of what it is.
fn audit_entry(host: &Host, event: Event, key: &SamlKey, by: &AuditContext) -> Entry {
    audit::entry(host, event, by)
        .of(key.application.clone())
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
    host: &Host,
    application: &Did,
    by: &AuditContext,
) -> Result<SamlKey, InternalError> {
    loop {
        let known = keys_with_stage(host, application).await?;
        if let Some((waiting, SamlKeyStage::Published)) = known.first() {
            return Ok(waiting.clone());
        }
        let last = known.first().map_or(0, |(key, _)| key.generation);
        let next = make(
            host,
            application,
            last + 1,
            host.settings.saml.certificate_publish_ahead.get(),
        )
        .await?;
        // Else another was quicker, and its key is found in the next round.
        let entry = audit_entry(host, Event::CertificatePublished, &next, by)
            .with("signs_from", next.signs_from.seconds());
        if host.store.add_saml_key(next.clone(), entry).await? {
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
    host: &Host,
    application: &Did,
    id: KeyId,
    by: &AuditContext,
) -> Result<KeyChange, InternalError> {
    let found = keys_with_stage(host, application)
        .await?
        .into_iter()
        .find(|(key, _)| key.id == id);
    let Some((key, stage)) = found else {
        return Ok(KeyChange::Unknown);
    };
    if stage != SamlKeyStage::Published {
        return Ok(KeyChange::WrongStage);
    }
    let now = host.now();
    let entry = audit_entry(host, Event::CertificateActivated, &key, by);
    if host.store.activate_saml_key(id, now, entry).await? == Transition::NotOpen {
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
    host: &Host,
    application: &Did,
    id: KeyId,
    by: &AuditContext,
) -> Result<KeyChange, InternalError> {
    let found = keys_with_stage(host, application)
        .await?
        .into_iter()
        .find(|(key, _)| key.id == id);
    let Some((key, stage)) = found else {
        return Ok(KeyChange::Unknown);
    };
    if stage == SamlKeyStage::Signing {
        return Ok(KeyChange::WrongStage);
    }
    let entry = audit_entry(host, Event::CertificateWithdrawn, &key, by);
    match host.store.delete_saml_key(id, vec![entry]).await? {
        KeyDeletion::Deleted => host.saml_keys.forget(id),
        KeyDeletion::Unknown => return Ok(KeyChange::Unknown),
        KeyDeletion::LastKey => return Ok(KeyChange::WrongStage),
    }
    tracing::info!(%application, "SAML certificate withdrawn");
    Ok(KeyChange::Done(key))
}

/// Does what is due: publishes the next key of each service provider whose certificate comes to its end, in time for
/// its administrator to notice, and deletes keys that are over.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn maintain(host: &Host) -> Result<(), InternalError> {
    let (now, ahead) = (
        host.now(),
        host.settings.saml.certificate_publish_ahead.get(),
    );
    for application in host
        .store
        .saml_keys_due(now + ahead * 2, now - RETIRED)
        .await?
    {
        let known = keys_with_stage(host, &application).await?;
        if known
            .first()
            .is_some_and(|(key, _)| key.expires_at < now + ahead * 2)
        {
            renew(host, &application, &AuditContext::SERVER).await?;
        }
        for (key, stage) in known {
            if stage == SamlKeyStage::Expired
                && host.store.delete_saml_key(key.id, Vec::new()).await? != KeyDeletion::LastKey
            {
                host.saml_keys.forget(key.id);
            }
        }
    }
    Ok(())
}
