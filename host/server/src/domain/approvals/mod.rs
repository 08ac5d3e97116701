//! Approval requests to devices, and their signed answers.
//!
//! - The signed statement is built from the server's own record, never from a device's request.
//! - An answer takes effect once, and only while its request is pending.
//! - A channel carries a request. It decides nothing.

pub mod account_notice;
pub mod answer;
pub mod callback;
pub mod channel;
pub mod delivery;
pub mod lease;
pub mod prompt;
pub mod purpose;
pub(crate) mod receipt;
pub mod record;
pub mod request;
pub(crate) mod second_approval;
pub mod send;
