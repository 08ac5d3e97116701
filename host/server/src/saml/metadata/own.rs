//! This server's metadata for a service provider.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::error::ErrorStack;
use openssl::x509::X509;
use serde::Serialize;

use super::names::{
    DIGEST_METHOD, ENTITY_DESCRIPTOR, EXTENSIONS, IDP_SSO_DESCRIPTOR, KEY_DESCRIPTOR, KEY_INFO,
    NAME_ID_FORMAT, SAML2, SIGNING_METHOD, SINGLE_LOGOUT_SERVICE, SINGLE_SIGN_ON_SERVICE,
    X509_CERTIFICATE, X509_DATA,
};
use crate::domain::keys::saml_keys;
use crate::domain::keys::signed_documents::SignedDocument;
use crate::domain::{InternalError, Services};
use crate::saml::peer::{entity_id, message_id, single_logout_url, single_sign_on_url};
use assent_model::saml::{Binding, SamlKey, ServiceProvider};
use assent_model::secret::Digest;
use assent_saml_core::message::instant_text;
use assent_saml_core::xml::{
    DigestAlgorithm, Name, SignatureAlgorithm, Signer, WriteError, Writer,
};

/// The maximum time for which a service provider may cache the metadata: a day. The next certificate is published weeks
/// before it signs, and the previous one stays two days longer. So a service provider that reloads the metadata daily
/// never misses one.
const CACHE_DURATION: &str = "PT24H";
/// The bindings of this server's services; the one in the specification comes first.
const BINDINGS: [Binding; 2] = [Binding::Post, Binding::Redirect];

/// The content of this server's `EntityDescriptor`. The first certificate identifies the key that signs it.
#[derive(Serialize)]
struct OwnMetadata {
    id: String,
    entity_id: String,
    valid_until: String,
    wants_signed_requests: bool,
    /// The certificates in the form of `ds:X509Certificate`; the one that signs comes first.
    certificates: Vec<String>,
    name_id_formats: Vec<&'static str>,
    single_sign_on: String,
    single_logout: String,
}

/// Returns this server's metadata for a service provider: an `EntityDescriptor` with an `IDPSSODescriptor` (SAML
/// metadata sections 2.3.2 and 2.4.3), signed by the key that signs responses. It is valid for
/// `saml.metadata_validity`. The same document is returned until its content changes or half of that time has passed.
///
/// # Errors
/// [`InternalError`] if the database or a key fails.
pub async fn document(
    services: &Services,
    provider: &ServiceProvider,
) -> Result<Arc<str>, InternalError> {
    let keys = saml_keys::keys(services, &provider.id).await?;
    let signer = services
        .saml_keys
        .open(&keys.signing, &services.sealing_keys)?;
    let others = keys
        .published
        .iter()
        .map(certificate)
        .collect::<Result<Vec<_>, _>>();
    let others = others.map_err(|error| InternalError::Saml(error.to_string()))?;
    let (now, validity) = (
        services.now(),
        services.settings.saml.metadata_validity.get(),
    );
    let mut own = OwnMetadata {
        id: String::new(),
        entity_id: entity_id(services, provider).to_owned(),
        valid_until: String::new(),
        wants_signed_requests: provider.settings.require_signed_requests,
        certificates: std::iter::once(signer.certificate().to_owned())
            .chain(others)
            .collect(),
        name_id_formats: provider
            .settings
            .name_id
            .formats()
            .map(|format| format.uri())
            .collect(),
        single_sign_on: single_sign_on_url(services, &provider.id),
        single_logout: single_logout_url(services, &provider.id),
    };
    let content = Digest::sha256(&serde_json::to_vec(&own)?);
    if let Some(text) = services.signed_documents.get(&provider.id, content, now) {
        return Ok(text);
    }
    own.id = message_id(services);
    own.valid_until = instant_text(now + validity);
    let writing = tokio::task::spawn_blocking(move || own.write(&signer)).await;
    let text: Arc<str> = writing
        .map_err(|error| InternalError::Saml(error.to_string()))?
        .map_err(|error| InternalError::Saml(error.to_string()))?
        .into();
    let document = SignedDocument {
        content,
        signed_at: now,
        renew_at: now + validity / 2,
        text: Arc::clone(&text),
    };
    services
        .signed_documents
        .insert(provider.id.clone(), document);
    Ok(text)
}

/// Returns the DER form of a key's certificate in base64.
fn certificate(key: &SamlKey) -> Result<String, ErrorStack> {
    Ok(STANDARD.encode(X509::from_pem(key.certificate.as_bytes())?.to_der()?))
}

impl OwnMetadata {
    fn write(&self, signer: &Signer) -> Result<String, WriteError> {
        let mut writer = Writer::new();
        writer
            .open(ENTITY_DESCRIPTOR)
            .attribute("entityID", self.entity_id.as_str())
            .attribute("validUntil", self.valid_until.as_str())
            .attribute("cacheDuration", CACHE_DURATION)
            // The signature must be the first element.
            .signed(
                &self.id,
                signer,
                |_| {},
                |entity| {
                    entity.open(EXTENSIONS).content(algorithms);
                    self.role(entity);
                },
            );
        writer.finish()
    }

    /// The elements of a role have a fixed order (SAML metadata section 2.4.2).
    fn role(&self, entity: &mut Writer) {
        let wanted = if self.wants_signed_requests {
            "true"
        } else {
            "false"
        };
        entity
            .open(IDP_SSO_DESCRIPTOR)
            .attribute("protocolSupportEnumeration", SAML2)
            .attribute("WantAuthnRequestsSigned", wanted)
            .content(|role| {
                for certificate in &self.certificates {
                    role.open(KEY_DESCRIPTOR)
                        .attribute("use", "signing")
                        .content(|key| {
                            key.open(KEY_INFO).content(|info| {
                                info.open(X509_DATA)
                                    .content(|data| data.open(X509_CERTIFICATE).text(certificate));
                            });
                        });
                }
                service(role, SINGLE_LOGOUT_SERVICE, &self.single_logout);
                for format in &self.name_id_formats {
                    role.open(NAME_ID_FORMAT).text(format);
                }
                service(role, SINGLE_SIGN_ON_SERVICE, &self.single_sign_on);
            });
    }
}

/// The accepted signature algorithms. Without them some service providers sign with SHA-1, which this server rejects.
fn algorithms(extensions: &mut Writer) {
    for algorithm in DigestAlgorithm::ALL {
        extensions
            .open(DIGEST_METHOD)
            .attribute("Algorithm", algorithm.uri())
            .empty();
    }
    for algorithm in SignatureAlgorithm::ALL {
        extensions
            .open(SIGNING_METHOD)
            .attribute("Algorithm", algorithm.uri())
            .empty();
    }
}

/// Writes a service with the same address for each binding.
fn service(role: &mut Writer, name: Name, location: &str) {
    for binding in BINDINGS {
        role.open(name)
            .attribute("Binding", binding.uri())
            .attribute("Location", location)
            .empty();
    }
}
