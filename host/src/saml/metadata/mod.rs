//! Metadata (SAML metadata): what this host tells each service provider of itself.

mod names;
mod own;

pub use own::document;
