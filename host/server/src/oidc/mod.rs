//! OpenID Connect and OAuth 2.0: parsing, checks, construction and signatures. This module does not depend on axum or
//! SQL.

pub mod authorize;
pub mod backchannel;
pub mod backchannel_authentication;
pub mod backchannel_results;
pub mod bearer;
pub mod client_auth;
mod deliveries;
pub mod discovery;
pub mod dpop;
pub mod end_session;
pub mod error;
pub mod grant;
pub mod id_token;
pub mod id_token_hint;
pub mod introspection;
pub mod parameters;
pub mod pushed_request;
pub mod registration;
pub mod request_parts;
pub mod revocation;
pub mod tokens;
pub mod userinfo;
