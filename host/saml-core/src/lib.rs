//! The core of SAML 2.0: strict XML, signatures, bindings and messages.
//!
//! It knows neither the server nor its database, so that it can be read, fuzzed and reviewed by itself.

pub mod binding;
pub mod message;
pub mod xml;
