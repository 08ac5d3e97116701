//! The questions that go to devices, and their signed answers.
//!
//! - The statement that is signed comes from the server's own record, never from what a device sent.
//! - An answer takes effect once, and only while its request is open.
//! - A channel carries a request; it decides nothing.

pub mod account_notices;
pub mod approval;
pub mod callback_address;
pub mod callbacks;
pub mod carry;
pub mod channel_proofs;
pub mod channels;
pub mod deliveries;
pub mod delivery_timing;
pub mod dispatch;
pub mod leased_work;
pub mod prompts;
