//! The reasons to reject a message before it is read, or to fail to send one.

use openssl::error::ErrorStack;

use super::kind::RELAY_STATE_BYTES;
use crate::xml::{XmlError, XmlLimits};

/// A query or a form without an acceptable message. The sender is unknown, so the server can only answer the user. The
/// texts contain no part of the input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// The message is missing.
    #[error("there is no SAMLRequest and no SAMLResponse")]
    Missing,
    /// The input contains a request and a response.
    #[error("there is a SAMLRequest and a SAMLResponse; only one of them can be sent")]
    Both,
    /// A parameter occurs twice. The server must not choose one of the values, especially if one of them is signed.
    #[error("the parameter {0} is repeated")]
    Repeated(&'static str),
    /// A `%` is not followed by two hexadecimal digits.
    #[error("the parameter {0} is not percent-encoded")]
    Escape(&'static str),
    /// A value is not valid base64 (RFC 4648 section 4).
    #[error("the parameter {0} is not in base64")]
    Base64(&'static str),
    /// The `SAMLEncoding` is not DEFLATE.
    #[error(
        "the SAMLEncoding is not urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE, the only supported one"
    )]
    Encoding,
    /// The message is not compressed with DEFLATE, or it is truncated.
    #[error(
        "the message is not compressed by DEFLATE (RFC 1951, without the header of zlib or gzip), or it is cut off"
    )]
    Deflate,
    /// Data follows the compressed message.
    #[error("there is data after the end of the compressed message")]
    Trailing,
    /// The message exceeds [`XmlLimits::MESSAGE`], compressed or decompressed.
    #[error("the message is longer than {} bytes", XmlLimits::MESSAGE.bytes)]
    TooLong,
    /// The relay state exceeds [`RELAY_STATE_BYTES`].
    #[error("the RelayState is longer than {RELAY_STATE_BYTES} bytes")]
    RelayStateTooLong,
    /// The relay state is not UTF-8, so it could not be returned unchanged.
    #[error("the RelayState is not in UTF-8")]
    RelayStateEncoding,
    /// One of `Signature` and `SigAlg` is missing; each requires the other.
    #[error("there is no {0}, though the query is signed")]
    HalfSigned(&'static str),
    /// The message is not acceptable XML.
    #[error("the message cannot be read: {0}")]
    Xml(#[from] XmlError),
}

/// The reasons to fail to prepare a message for a redirect.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// OpenSSL failed.
    #[error("cannot sign: {0}")]
    Signing(#[from] ErrorStack),
    /// The message could not be compressed.
    #[error("cannot compress: {0}")]
    Compression(#[from] std::io::Error),
}
