//! SAML 2.0.

pub mod xml;
