//! The OpenID Connect endpoints.

mod attacks;
mod authorize;
mod claims;
mod token;
