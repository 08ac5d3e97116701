//! Errors in the form of a message.

use crate::xml::ShapeError;

/// An error in the form of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// The element is another message.
    #[error("it is not the {0} that is expected here")]
    Root(&'static str),
    /// An attribute is missing.
    #[error("the attribute {0} is missing")]
    Missing(&'static str),
    /// The value of an attribute or an element is invalid.
    #[error("{name} is not {must}")]
    Value {
        /// The attribute or the element.
        name: &'static str,
        /// The requirement on the value.
        must: &'static str,
    },
    /// The ACS is specified in two ways (SAML core section 3.4.1).
    #[error(
        "AssertionConsumerServiceIndex excludes AssertionConsumerServiceURL and ProtocolBinding; only one way to name \
         the ACS can be used"
    )]
    TwoEndpoints,
    /// An element is missing, repeated, or has the wrong content.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}
