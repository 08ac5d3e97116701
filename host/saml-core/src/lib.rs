//! The core of SAML 2.0: strict XML, signatures, bindings and messages.
//!
//! It depends neither on the server nor on its database, so that it can be read, fuzzed and reviewed separately.

pub mod binding;
pub mod message;
pub mod xml;
