//! The OpenID Connect endpoints.

mod attacks;
mod authorize;
mod claims;
mod consent;
mod form_post;
mod parameters;
mod token;
