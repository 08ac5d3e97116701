//! Why a message is refused before it is read, or can't be sent.

use openssl::error::ErrorStack;

use super::relay_state::RELAY_STATE_BYTES;
use crate::xml::{XmlError, XmlLimits};

/// A query or a form that brings no message. It is not known who sent it, so there is nobody to answer but the person.
/// The texts hold nothing of what was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// There is no message.
    #[error("there is no SAMLRequest and no SAMLResponse")]
    Missing,
    /// There are two.
    #[error("there is a SAMLRequest and a SAMLResponse; only one of them can be sent")]
    Both,
    /// Which of two values is meant is not for us to guess, least of all where one of them is signed.
    #[error("the parameter {0} is repeated")]
    Repeated(&'static str),
    /// A `%` is not followed by two hexadecimal digits.
    #[error("the parameter {0} is not percent-encoded")]
    Escape(&'static str),
    /// A value is not in base64 (RFC 4648 section 4).
    #[error("the parameter {0} is not in base64")]
    Base64(&'static str),
    /// `SAMLEncoding` is another than DEFLATE.
    #[error(
        "the SAMLEncoding is not urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE, the only one there is"
    )]
    Encoding,
    /// What is said to be compressed is not, or it is cut off.
    #[error(
        "the message is not compressed by DEFLATE (RFC 1951, without the header of zlib or gzip), or it is cut off"
    )]
    Deflate,
    /// Something follows the compressed message.
    #[error("there is something after the end of the compressed message")]
    Trailing,
    /// It is over [`XmlLimits::MESSAGE`], compressed or not.
    #[error("the message is longer than {} bytes", XmlLimits::MESSAGE.bytes)]
    TooLong,
    /// The relay state is over [`RELAY_STATE_BYTES`].
    #[error("the RelayState is longer than {RELAY_STATE_BYTES} bytes")]
    RelayStateTooLong,
    /// The relay state could not go back as it came.
    #[error("the RelayState is not in UTF-8")]
    RelayStateEncoding,
    /// `Signature` and `SigAlg` are nothing without each other.
    #[error("there is no {0}, though the query is signed")]
    HalfSigned(&'static str),
    /// The message is not XML as it is allowed to be.
    #[error("the message can't be read: {0}")]
    Xml(#[from] XmlError),
}

/// Why a message could not be made ready for a redirect.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// OpenSSL failed.
    #[error("cannot sign: {0}")]
    Signing(#[from] ErrorStack),
    /// The message could not be compressed.
    #[error("cannot compress: {0}")]
    Compression(#[from] std::io::Error),
}
