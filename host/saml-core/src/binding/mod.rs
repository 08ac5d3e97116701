//! How a browser carries messages: in the query of a redirect, or in a form that it posts (SAML bindings sections 3.4 and
//! 3.5).
//!
//! What came is [`Incoming`]. Its content is had by [`Incoming::trusted`] alone, which is told whose signature counts and
//! whether there must be one.

mod deflate;
mod error;
mod parameters;
mod post;
mod redirect;
mod trust;

pub use error::{BindingError, SendError};
pub use post::post_value;
pub use redirect::redirect_location;
pub use trust::{Signature, Trusted, Untrusted};

use crate::xml::Document;
use redirect::Detached;

/// How long a relay state may be, in bytes. The standard says 80 (SAML bindings section 3.4.3), but service providers keep
/// whole addresses in it.
pub const RELAY_STATE_BYTES: usize = 2048;

/// Whether a message asks or answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It came as `SAMLRequest`.
    Request,
    /// It came as `SAMLResponse`.
    Response,
}

impl Kind {
    /// The parameter that such a message is in.
    pub const fn parameter(self) -> &'static str {
        match self {
            Self::Request => "SAMLRequest",
            Self::Response => "SAMLResponse",
        }
    }
}

/// A message that a browser brought. It is XML; nothing else about it is known, and who sent it is not known either.
#[derive(Clone, Debug)]
pub struct Incoming {
    kind: Kind,
    relay_state: Option<String>,
    document: Document,
    carrier: Carrier,
}

/// What brought a message.
#[derive(Clone, Debug)]
enum Carrier {
    /// A redirect, perhaps with a signature in its query.
    Redirect(Option<Detached>),
    /// A form.
    Post,
}

impl Incoming {
    /// Whether it asks or answers, as its parameter says.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The relay state, decoded: what goes back is exactly this. It can hold anything, markup too.
    pub fn relay_state(&self) -> Option<&str> {
        self.relay_state.as_deref()
    }

    /// Whether there is a signature, in the query or the message, be it good or not.
    pub fn is_signed(&self) -> bool {
        matches!(self.carrier, Carrier::Redirect(Some(_))) || self.document.has_signature()
    }
}

#[cfg(test)]
mod tests;
