//! The OpenID Connect endpoints.

mod address;
mod attacks;
mod authorize;
mod backchannel;
mod cached_accounts;
mod claim_map;
mod claims;
mod client_auth;
mod codes;
mod concurrency;
mod conformance;
mod consent;
mod disabled;
mod discovery;
mod form_post;
mod hints;
mod introspection;
mod logout;
mod native;
mod parameters;
pub mod refresh;
mod repeats;
mod sealed_tokens;
mod session_state;
pub mod token;
