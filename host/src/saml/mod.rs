//! SAML 2.0.

pub mod binding;
pub mod logout;
pub mod message;
pub mod metadata;
pub mod partner;
pub mod sign_on;
pub mod trial;
pub mod xml;
