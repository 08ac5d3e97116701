//! A client of the admin API, for the commands of `assent` and of `assent-plugin`.
//!
//! It is a separate crate, so that `assent-plugin` can call a running server without building one.

pub mod candidate;
pub mod connection;
pub mod environment;
pub mod error;
pub mod listener;
pub mod lookup;
pub mod preview;
pub mod terminal;
