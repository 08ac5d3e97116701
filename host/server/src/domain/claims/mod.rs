//! What an application learns about a user.
//!
//! - The server makes the standard claims of the granted scopes; plugins make the others.
//! - A plugin never writes a protected claim.

pub mod name_id;
pub mod result_cache;
pub mod standard_claims;
pub mod token_claims;
pub mod trace_queue;
pub mod traces;
