//! Messages received from a browser.

use crate::binding::detached::Detached;
use crate::binding::kind::MessageKind;
use crate::xml::Document;
use assent_model::secret::Digest;

/// A message received from a browser. It is well-formed XML; its content and its sender are not verified yet.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub(super) kind: MessageKind,
    pub(super) relay_state: Option<String>,
    pub(super) document: Document,
    pub(super) digest: Digest,
    pub(super) carrier: MessageCarrier,
}

/// The transport of a message.
#[derive(Clone, Debug)]
pub(super) enum MessageCarrier {
    /// A redirect, with the signature of its query if the query has one.
    Redirect(Option<Detached>),
    /// A posted form.
    Post,
}

impl Incoming {
    /// Returns whether the message is a request or a response, according to its parameter.
    pub const fn kind(&self) -> MessageKind {
        self.kind
    }

    /// The decoded relay state, which must be returned unchanged. It can contain any text, including markup.
    pub fn relay_state(&self) -> Option<&str> {
        self.relay_state.as_deref()
    }

    /// The digest of the message's bytes, after base64 and compression. A browser that sends a message twice sends the
    /// same bytes.
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Whether the query or the message has a signature, valid or not.
    pub fn is_signed(&self) -> bool {
        matches!(self.carrier, MessageCarrier::Redirect(Some(_))) || self.document.has_signature()
    }
}
