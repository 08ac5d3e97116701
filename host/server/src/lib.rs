//! Assent, a passwordless identity provider.
//!
//! The modules are layers: each uses only those below it (`tests/it/tidy.rs` checks that). From the top:
//!
//! - `cli` and `app`: composition
//! - `http`: the edge
//! - `oidc` and `saml`: protocols
//! - `domain`: use cases
//! - the adapters `keys`, `config`, `geoip`, `audit_stream` and `smtp`
//! - `messages`: the texts for users
//!
//! Below them are separate crates: the store, the plugin host, the SAML core, and the model.
//!
//! A function of a protocol or a key fails if the database, a key or the cryptographic library fails. Sections
//! `# Errors` name only what a caller handles beyond that.

// The macro `resource!` expands once for each form of each member of a resource.
#![recursion_limit = "512"]

pub mod app;
pub mod audit_stream;
pub mod authenticator;
pub mod cli;
pub mod config;
pub mod domain;
pub mod geoip;
pub mod http;
pub mod keys;
pub mod messages;
pub mod oidc;
pub mod otlp;
pub mod saml;
pub mod smtp;
pub mod test_sign_in;
