//! XML as SAML needs it: one strict reader, exclusive canonicalization, signatures, and a writer whose output is
//! canonical as written.
//!
//! What a stranger sent is a [`Document`]. Its content is had in two ways: [`Document::verify`] gives what a trusted
//! key signed, and nothing else; [`Document::unverified`] says in its name what it gives. What is sent is made by
//! [`Writer`], which knows no raw text: names are constants, values are escaped, and what XML can't hold is an error.
//!
//! The module uses nothing else of the host, so that it can be read, fuzzed and judged alone.

mod algorithm;
mod c14n;
mod chars;
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
pub use error::{ShapeError, XmlError, XmlProblem};
pub use limits::XmlLimits;
pub use names::{DSIG, EXC_C14N, Name, Namespace, XS, XSI};
pub use sign::Signer;
pub use tree::{Children, Document, Element};
pub use verify::{SignatureError, SignedDocument};
pub use writer::{ElementStart, WriteError, Writer};
