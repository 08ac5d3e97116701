//! Why metadata does not do.

use assent_saml_core::message::FormError;
use assent_saml_core::xml::{ShapeError, SignatureError, XmlError};

/// Metadata that no service provider can be set up from. The texts are the rest of a sentence, and say what would do.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MetadataError {
    /// Its bytes are not in the encoding that its beginning names.
    #[error("it begins as {0} and is not in this encoding")]
    Encoding(&'static str),
    /// It is no XML, or none that is read.
    #[error("it can't be read: {0}")]
    Xml(#[from] XmlError),
    /// It is not signed by the key that was given for it.
    #[error("it is not signed by metadata_certificate: {0}")]
    Signature(#[from] SignatureError),
    /// It is another document.
    #[error(
        "expected an EntityDescriptor or an EntitiesDescriptor of SAML 2.0, such as service providers publish"
    )]
    NotMetadata,
    /// It describes others alone.
    #[error(
        "there is no service provider (SPSSODescriptor) in it; is it the metadata of an identity provider?"
    )]
    NoServiceProvider,
    /// It describes several, these among them.
    #[error("it describes several service providers ({0}); say which one it is with entity_id")]
    Several(String),
    /// It describes others than the one that is wanted.
    #[error(
        "it does not describe {wanted}, but {found}; another service provider is another application"
    )]
    Other {
        /// The entity ID that is wanted.
        wanted: String,
        /// Those that are there.
        found: String,
    },
    /// The service provider speaks another version alone.
    #[error("the service provider does not support SAML 2.0 (protocolSupportEnumeration)")]
    NoSaml2,
    /// There is nowhere to send a response to.
    #[error(
        "there is no AssertionConsumerService with the HTTP-POST binding, by which alone responses are sent; set the \
         service provider up for it"
    )]
    NoPost,
    /// It is of no more use since then.
    #[error("it expired at {0}; get the current one from the service provider")]
    Expired(String),
    /// It breaks its own schema.
    #[error("it is malformed: {0}")]
    Malformed(#[from] FormError),
}

impl From<ShapeError> for MetadataError {
    fn from(error: ShapeError) -> Self {
        Self::Malformed(error.into())
    }
}
