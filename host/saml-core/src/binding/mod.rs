//! How a browser carries messages: in the query of a redirect, or in a form that it posts (SAML bindings sections 3.4
//! and 3.5).
//!
//! What came is [`Incoming`]. Its content is had by [`Incoming::trusted`] alone, which is told whose signature counts
//! and whether there must be one.

mod deflate;
mod detached;
mod error;
mod incoming;
mod kind;
mod parameters;
mod post;
mod redirect;
mod relay_state;
mod trust;

pub use error::{BindingError, SendError};
pub use incoming::Incoming;
pub use kind::MessageKind;
pub use post::post_value;
pub use redirect::redirect_location;
pub use relay_state::RELAY_STATE_BYTES;
pub use trust::{Signature, TrustError, TrustedMessage};

#[cfg(test)]
mod tests;
