//! The sessions of browsers: their timeouts, and their end.
//!
//! - The end of a session reaches every application that takes part in it.

pub mod session;
pub mod signed_out_clients;
