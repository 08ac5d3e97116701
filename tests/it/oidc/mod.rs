//! The OpenID Connect endpoints.

mod attacks;
mod authorize;
mod claims;
mod client_auth;
mod introspection;
mod refresh;
mod token;
