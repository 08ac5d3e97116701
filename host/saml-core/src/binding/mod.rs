//! The bindings by which a browser carries messages: the query of a redirect, or a posted form (SAML bindings sections
//! 3.4 and 3.5).
//!
//! A received message is an [`Incoming`]. Only [`Incoming::trusted`] returns its content. The caller passes the trusted
//! keys, and whether a signature is required.

mod deflate;
mod detached;
mod error;
mod incoming;
mod kind;
mod parameters;
mod post;
mod redirect;
mod trust;

pub use error::{BindingError, SendError};
pub use incoming::Incoming;
pub use kind::{MessageKind, RELAY_STATE_BYTES};
pub use post::post_value;
pub use redirect::redirect_location;
pub use trust::{Signature, TrustError, TrustedMessage};

#[cfg(test)]
mod tests;
