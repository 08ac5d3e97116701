//! SAML 2.0.

pub mod binding;
pub mod message;
pub mod xml;
