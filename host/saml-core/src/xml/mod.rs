//! XML for SAML: one strict reader, exclusive canonicalization, signatures, and a writer with canonical output.
//!
//! A received document is a [`Document`]. Two functions return its content. [`Document::verify`] returns only the
//! content that a trusted key signed. [`Document::unverified`] returns content that may come from any sender.
//! [`Writer`] creates sent documents and accepts no raw text: names are constants, values are escaped, and an invalid
//! character is an error.
//!
//! The module depends on no other part of the server, so that it can be read, fuzzed and reviewed separately.

mod algorithm;
mod c14n;
mod chars;
mod encoding;
mod error;
mod escape;
mod limits;
mod markup;
mod names;
mod reader;
mod sign;
#[cfg(test)]
pub(crate) mod testing;
mod tree;
mod verify;
mod writer;

pub use algorithm::{
    AlgorithmError, DigestAlgorithm, SignatureAlgorithm, SignatureKeyError, TrustedKey,
};
pub use c14n::canonical;
pub use chars::{is_ncname, is_text};
pub use encoding::{declared_as_utf8, to_utf8};
pub use error::{ShapeError, XmlError, XmlProblem};
pub use limits::XmlLimits;
pub use names::{DSIG, EXC_C14N, Name, Namespace, XS, XSI};
pub use sign::Signer;
pub use tree::{Children, Document, Element};
pub use verify::{SignatureError, SignedDocument};
pub use writer::{ElementStart, WriteError, Writer};
