//! A message that a browser brought.

use crate::binding::detached::Detached;
use crate::binding::kind::MessageKind;
use crate::xml::Document;

/// A message that a browser brought. It is XML; nothing else about it is known, and who sent it is not known either.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub(super) kind: MessageKind,
    pub(super) relay_state: Option<String>,
    pub(super) document: Document,
    pub(super) carrier: MessageCarrier,
}

/// What brought a message.
#[derive(Clone, Debug)]
pub(super) enum MessageCarrier {
    /// A redirect, perhaps with a signature in its query.
    Redirect(Option<Detached>),
    /// A form.
    Post,
}

impl Incoming {
    /// Whether it asks or answers, as its parameter says.
    pub const fn kind(&self) -> MessageKind {
        self.kind
    }

    /// The relay state, decoded: what goes back is exactly this. It can hold anything, markup too.
    pub fn relay_state(&self) -> Option<&str> {
        self.relay_state.as_deref()
    }

    /// Whether there is a signature, in the query or the message, be it good or not.
    pub fn is_signed(&self) -> bool {
        matches!(self.carrier, MessageCarrier::Redirect(Some(_))) || self.document.has_signature()
    }
}
