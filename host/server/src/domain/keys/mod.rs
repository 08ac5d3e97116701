//! The keys of the server and of its applications: publication, use, rotation, retirement.
//!
//! - A private key leaves the database only in sealed form.

pub mod client_keys;
pub mod fetched_keys;
pub mod receipt_keys;
pub mod saml_keys;
pub mod sealing_keys;
pub mod signed_documents;
pub mod signing_keys;
