//! Approval requests to devices, and their signed answers.
//!
//! - The signed statement is built from the server's own record, never from a device's request.
//! - An answer takes effect once, and only while its request is pending.
//! - A channel carries a request. It decides nothing.

pub mod account_notices;
pub mod approval;
pub mod callback_address;
pub mod callbacks;
pub mod carry;
pub mod channel_proofs;
pub mod channels;
pub mod deliveries;
pub mod dispatch;
pub mod leased_work;
pub mod prompts;
