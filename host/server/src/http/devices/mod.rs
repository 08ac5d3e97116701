//! The authenticator, its API, and recovery.

pub mod authenticator;
pub(crate) mod devices;
pub(crate) mod recover;
