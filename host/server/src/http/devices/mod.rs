//! The authenticator, its API, and recovery.

pub mod authenticator;
pub(crate) mod own_devices;
pub(crate) mod recover;
