//! OpenID Connect and OAuth 2.0: parsing, checks, construction and signatures. This module does not depend on axum or
//! SQL.

pub mod authorize;
pub mod backchannel;
pub mod backchannel_authentication;
pub mod backchannel_results;
mod backchannel_user;
pub mod bearer;
pub mod client_auth;
mod deliveries;
pub mod device_authorization;
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
pub mod receipts;
pub mod registration;
mod request_jwt;
pub mod request_parts;
mod requested_details;
pub mod revocation;
mod signed_backchannel_request;
pub mod tokens;
pub mod userinfo;
