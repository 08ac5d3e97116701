//! SAML 2.0.

pub mod logout;
pub mod metadata;
pub mod peer;
pub mod sign_on;
