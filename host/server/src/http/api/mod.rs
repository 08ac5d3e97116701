//! What the admin API and the API of authenticators have in common: the kinds of errors, and the OpenAPI document.

pub(super) mod error_kinds;
pub(super) mod openapi;
