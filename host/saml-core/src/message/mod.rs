//! The protocol's messages as types: read from an element that may be trusted as far as signatures go, and written.
//!
//! A reader checks the form alone. Whether the issuer is known, the destination is here and the time is now is for
//! those to check who know.

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
