//! What is wrong with the form of a message.

use crate::xml::ShapeError;

/// What is wrong with the form of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// It is another message.
    #[error("it is not the {0} that is expected here")]
    Root(&'static str),
    /// An attribute is missing.
    #[error("the attribute {0} is missing")]
    Missing(&'static str),
    /// The value of an attribute or an element is not what it must be.
    #[error("{name} is not {must}")]
    Value {
        /// The attribute or the element.
        name: &'static str,
        /// What its value must be.
        must: &'static str,
    },
    /// An ACS is named in two ways (SAML core section 3.4.1).
    #[error(
        "AssertionConsumerServiceIndex excludes AssertionConsumerServiceURL and ProtocolBinding; only one way to name \
         the ACS can be used"
    )]
    TwoEndpoints,
    /// An element is missing, repeated, or has the wrong content.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}
