//! The use cases of the server, independent of their transport (`http`) and protocol (`oidc`).
//!
//! Each returns an outcome that the caller renders. No use case depends on axum or SQL.
//!
//! Every function that reads or writes returns an internal error if the database or the cryptographic library fails.
//! Sections `# Errors` name only what a caller handles beyond that.

pub mod accounts;
pub mod admin;
pub mod approvals;
pub mod audit;
pub mod browser_words;
pub mod claims;
pub mod devices;
pub mod error;
pub mod fetched_objects;
pub mod keys;
pub mod mail;
pub mod operations;
pub mod portal;
pub mod protected_actions;
pub mod services;
pub mod sessions;
pub mod shared_fetches;
pub mod sign_in;

pub use error::InternalError;
pub use services::Services;
