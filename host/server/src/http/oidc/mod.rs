//! The endpoints under `/oidc`, and how their callers authenticate.

pub mod client_calls;
pub mod client_certificate;
pub(crate) mod cors;
pub(crate) mod endpoints;
