//! The endpoints under `/oidc`, and the authentication of their callers.

pub mod client_calls;
pub mod client_certificate;
pub(crate) mod cors;
pub(crate) mod dpop_header;
pub(crate) mod endpoints;
pub(crate) mod paths;
pub(crate) mod registration;
