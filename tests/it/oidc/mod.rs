//! The OpenID Connect endpoints.

mod attacks;
mod authorize;
mod backchannel;
mod claims;
mod logout;
mod token;
