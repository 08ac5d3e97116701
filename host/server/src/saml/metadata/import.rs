//! The import of metadata: from a text, or from the URL where it is published.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use url::Url;

use super::encoding;
use super::error::MetadataError;
use super::service_provider::{MetadataDescription, MetadataRequirements, read};
use crate::domain::Services;
use crate::domain::admin::AdminError;
use crate::keys::armour::first_certificate;
use assent_model::saml::SamlSettings;
use assent_saml_core::xml::{TrustedKey, XmlLimits, to_utf8};

/// The `Accept` header. Some servers respond with a page to requests for any type.
const ACCEPT: &str =
    "application/samlmetadata+xml, application/xml;q=0.9, text/xml;q=0.8, */*;q=0.1";

/// A service provider's metadata.
#[derive(Clone, Debug, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[schema(as = Metadata)]
pub struct MetadataSource {
    /// The document as text; or the file in base64, which may be in UTF-16 or Latin-1. 1 MiB at most.
    #[serde(default)]
    pub metadata: Option<String>,
    /// The URL of the metadata. The server fetches it, and stores the URL for later updates.
    #[serde(default)]
    pub metadata_url: Option<String>,
    /// The certificate whose key must have signed the metadata, in PEM form. The server does not store it.
    #[serde(default)]
    pub metadata_certificate: Option<String>,
}

impl MetadataSource {
    /// Whether it contains metadata.
    pub const fn is_some(&self) -> bool {
        self.metadata.is_some() || self.metadata_url.is_some()
    }
}

/// Reads the metadata of an administrator: the document, or the content of the specified or the registered URL.
/// `entity_id` is that of the service provider, if it is known.
///
/// # Errors
/// [`AdminError::Invalid`] with the member that is not valid: the URL cannot be fetched, or no service provider can be
/// created from the metadata.
pub async fn describe(
    services: &Services,
    source: &MetadataSource,
    entity_id: Option<&str>,
    registered: Option<&SamlSettings>,
) -> Result<MetadataDescription, AdminError> {
    let key = source
        .metadata_certificate
        .as_deref()
        .map(metadata_key)
        .transpose()?;
    let known = registered.and_then(|registered| registered.metadata_url.as_ref());
    let (bytes, url) = match (
        &source.metadata,
        source.metadata_url.as_deref().or(known.map(Url::as_str)),
    ) {
        (Some(_), _) if source.metadata_url.is_some() => {
            return Err(invalid(
                "metadata",
                "expected this or metadata_url, not both",
            ));
        }
        (Some(text), _) => (encoding::of_text(text), None),
        (None, Some(url)) => (
            to_utf8(&fetch(services, url).await?)
                .map(Cow::into_owned)
                .map_err(MetadataError::from),
            Some(url.to_owned()),
        ),
        (None, None) => {
            return Err(invalid(
                "metadata",
                "expected this or metadata_url: no address is registered to fetch it from",
            ));
        }
    };
    let requirements = MetadataRequirements {
        now: services.now(),
        entity_id,
        key: key.as_ref(),
        registered,
    };
    let read = bytes.and_then(|bytes| read(&bytes, &requirements));
    let mut description = read.map_err(|error| invalid("metadata", error.to_string()))?;
    description.change.metadata_url = url.map(Some);
    Ok(description)
}

async fn fetch(services: &Services, url: &str) -> Result<Vec<u8>, AdminError> {
    const FIELD: &str = "metadata_url";
    let unfit = || {
        invalid(
            FIELD,
            "expected an address that starts with https://, without user name or fragment",
        )
    };
    let url = Url::parse(url).map_err(|_| unfit())?;
    let fetched = services
        .egress
        .get(&url, ACCEPT, XmlLimits::METADATA.bytes)
        .await;
    let answer = fetched
        .map_err(|failure| invalid(FIELD, format!("the metadata cannot be fetched: {failure}")))?;
    match answer.status {
        200 => Ok(answer.body),
        300..400 => Err(invalid(
            FIELD,
            "it redirects to another address; use that one",
        )),
        status => Err(invalid(
            FIELD,
            format!("the metadata cannot be fetched: it was answered with the status {status}"),
        )),
    }
}

fn metadata_key(pem: &str) -> Result<TrustedKey, AdminError> {
    const FIELD: &str = "metadata_certificate";
    let expected = "expected an X.509 certificate in PEM form (-----BEGIN CERTIFICATE-----)";
    let certificate = first_certificate(pem).ok_or_else(|| invalid(FIELD, expected))?;
    TrustedKey::of_certificate(&certificate).map_err(|error| invalid(FIELD, error.to_string()))
}

fn invalid(field: &'static str, expected: impl Into<String>) -> AdminError {
    AdminError::Invalid {
        field,
        expected: expected.into(),
    }
}
