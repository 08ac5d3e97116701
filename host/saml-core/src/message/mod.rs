//! The protocol's messages as types. They are read from an element after the check of its signature, and written.
//!
//! A reader checks only the form. The caller must check the issuer, the destination and the time.

mod authn_request;
mod error;
mod flaw;
mod header;
mod instant;
mod logout;
mod name_id;
pub mod names;
pub mod read;
mod received_header;
pub mod status;

pub use authn_request::{AuthnRequest, Comparison, NameIdPolicy, RequestedAuthnContext, Subject};
pub use error::{MessageError, UnsupportedError};
pub use flaw::FormError;
pub use header::Header;
pub use instant::{instant, instant_text};
pub use logout::{LogoutRequest, LogoutResponse};
pub use name_id::NameId;
pub use status::Status;

#[cfg(test)]
mod tests;
