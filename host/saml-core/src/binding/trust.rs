//! Whose message it is.

use super::incoming::{Incoming, MessageCarrier};
use crate::xml::{AlgorithmError, Document, Element, SignatureError, SignedDocument, TrustedKey};

/// Whether a message must be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signature {
    /// By one of the registered keys.
    Required,
    /// It need not be. But where it is, and there are registered keys, it must be by one of these.
    Optional,
}

/// A message that may be acted upon as far as signatures go. What it says of itself is still to be checked.
#[derive(Clone, Debug)]
pub struct TrustedMessage<'m>(MessageContent<'m>);

#[derive(Clone, Debug)]
enum MessageContent<'m> {
    /// Nobody signed it, or somebody whose keys are not registered.
    Unsigned(&'m Document),
    /// The query was signed, and so all of the message.
    Query(&'m Document),
    /// What the message's own signature covers.
    Message(SignedDocument),
}

impl TrustedMessage<'_> {
    /// The message's root element.
    pub fn root(&self) -> Element<'_> {
        match &self.0 {
            MessageContent::Unsigned(document) | MessageContent::Query(document) => {
                document.unverified()
            }
            MessageContent::Message(verified) => verified.root(),
        }
    }

    /// Whether a registered key signed it. If not, anybody can have written it.
    pub const fn is_signed(&self) -> bool {
        !matches!(self.0, MessageContent::Unsigned(_))
    }
}

/// Why a message is nobody's. The texts hold nothing of it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TrustError {
    /// It has to be signed, and is not.
    #[error(
        "the message is not signed as its binding has it; set the service provider to sign its messages"
    )]
    Unsigned,
    /// It has to be signed, and nobody could know whose signature counts.
    #[error(
        "the message has to be signed, but no certificate of the service provider is registered"
    )]
    NoKeys,
    /// The query's signature uses an algorithm that is refused.
    #[error(transparent)]
    Algorithm(#[from] AlgorithmError),
    /// No registered key signed the query, or it was changed after it was signed.
    #[error(
        "the signature of the query is not one of the registered certificates', or the query was changed"
    )]
    Query,
    /// The message's own signature does not count.
    #[error(transparent)]
    Message(#[from] SignatureError),
}

impl Incoming {
    /// Gives the message's content if its signature is good, or there need be none and is none.
    ///
    /// Where no keys are registered and a signature is optional, the message counts as unsigned even if it is signed:
    /// many service providers sign what nobody asked them to. [`TrustedMessage::is_signed`] is false then.
    ///
    /// The signature of a redirect is in the query (SAML bindings section 3.4.4.1), where it covers the relay state
    /// too. One in the message does not stand in for it where a signature is required, but must be good as well.
    ///
    /// # Errors
    /// [`Untrusted`]
    pub fn trusted(
        &self,
        keys: &[TrustedKey],
        signature: Signature,
    ) -> Result<TrustedMessage<'_>, TrustError> {
        let is_required = signature == Signature::Required;
        if !is_required && (keys.is_empty() || !self.is_signed()) {
            return Ok(TrustedMessage(MessageContent::Unsigned(&self.document)));
        }
        if keys.is_empty() {
            return Err(TrustError::NoKeys);
        }
        let is_query_signed = match &self.carrier {
            MessageCarrier::Redirect(Some(detached)) if detached.is_of(keys)? => true,
            MessageCarrier::Redirect(Some(_)) => return Err(TrustError::Query),
            MessageCarrier::Redirect(None) if is_required => return Err(TrustError::Unsigned),
            MessageCarrier::Redirect(None) | MessageCarrier::Post => false,
        };
        match (self.document.has_signature(), is_query_signed) {
            (true, _) => Ok(TrustedMessage(MessageContent::Message(
                self.document.verify(keys)?,
            ))),
            (false, true) => Ok(TrustedMessage(MessageContent::Query(&self.document))),
            (false, false) => Err(TrustError::Unsigned),
        }
    }
}
