//! The OpenID Connect endpoints.

mod attacks;
mod authorize;
mod claims;
mod client_auth;
mod consent;
mod form_post;
mod introspection;
mod parameters;
mod refresh;
mod token;
