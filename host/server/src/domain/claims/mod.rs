//! The claims about a user that an application receives.
//!
//! - The server creates the standard claims of the granted scopes. Plugins create the others.
//! - A plugin never writes a protected claim.

pub mod name_id;
pub mod result_cache;
pub mod standard_claims;
pub mod token_claims;
pub mod trace_queue;
pub mod traces;
