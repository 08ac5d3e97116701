//! The reason why metadata is not usable.

use assent_saml_core::message::FormError;
use assent_saml_core::xml::{ShapeError, SignatureError, XmlError};

/// Metadata from which no service provider can be created. The texts complete a sentence, and say what would be valid.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MetadataError {
    /// The document is not XML, or uses unsupported features.
    #[error("it cannot be read: {0}")]
    Xml(#[from] XmlError),
    /// The document is not signed by the specified key.
    #[error("it is not signed by metadata_certificate: {0}")]
    Signature(#[from] SignatureError),
    /// The document is of another kind.
    #[error(
        "expected an EntityDescriptor or an EntitiesDescriptor of SAML 2.0, such as service providers publish"
    )]
    NotMetadata,
    /// The document describes only other entities.
    #[error(
        "there is no service provider (SPSSODescriptor) in it; is it the metadata of an identity provider?"
    )]
    NoServiceProvider,
    /// The document describes several service providers, these among them.
    #[error("it describes several service providers ({0}); specify one with entity_id")]
    Several(String),
    /// The document describes other service providers than the requested one.
    #[error(
        "it does not describe {wanted}, but {found}; create another application for another service provider"
    )]
    Other {
        /// The requested entity ID.
        wanted: String,
        /// The entity IDs in the document.
        found: String,
    },
    /// The service provider supports only another version of SAML.
    #[error("the service provider does not support SAML 2.0 (protocolSupportEnumeration)")]
    NoSaml2,
    /// The service provider has no endpoint for responses.
    #[error(
        "it has no AssertionConsumerService with the HTTP-POST binding, which every response uses; configure one in \
         the service provider"
    )]
    NoPost,
    /// The metadata expired at this time.
    #[error("it expired at {0}; get the current one from the service provider")]
    Expired(String),
    /// The document violates its schema.
    #[error("it is malformed: {0}")]
    Malformed(#[from] FormError),
    /// None of the certificates for signing can be used.
    #[error("no certificate for signing can be used: {0}")]
    Certificates(String),
    /// The description of this entity has the error.
    #[error("in the description of {0}: {1}")]
    Entity(String, Box<MetadataError>),
}

impl From<ShapeError> for MetadataError {
    fn from(error: ShapeError) -> Self {
        Self::Malformed(error.into())
    }
}
