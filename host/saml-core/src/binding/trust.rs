//! The trust in a received message.

use super::incoming::{Incoming, MessageCarrier};
use crate::xml::{AlgorithmError, Document, Element, SignatureError, SignedDocument, TrustedKey};

/// Whether a message must be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signature {
    /// The message must be signed with one of the registered keys.
    Required,
    /// The message may be unsigned. If it is signed and keys are registered, it must be signed with one of them.
    Optional,
}

/// A message with an acceptable signature, or none if none is required. The caller must still check its content.
#[derive(Clone, Debug)]
pub struct TrustedMessage<'m>(MessageContent<'m>);

#[derive(Clone, Debug)]
enum MessageContent<'m> {
    /// Unsigned, or signed but without registered keys.
    Unsigned(&'m Document),
    /// The signature of the query covers the complete message.
    Query(&'m Document),
    /// The content that the message's own signature covers.
    Message(SignedDocument),
}

impl TrustedMessage<'_> {
    /// Returns the message's root element.
    pub fn root(&self) -> Element<'_> {
        match &self.0 {
            MessageContent::Unsigned(document) | MessageContent::Query(document) => {
                document.unverified()
            }
            MessageContent::Message(verified) => verified.root(),
        }
    }

    /// Whether a registered key signed the message. If not, it may come from any sender.
    pub const fn is_signed(&self) -> bool {
        !matches!(self.0, MessageContent::Unsigned(_))
    }
}

/// The reasons not to trust a message. The texts contain no part of it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TrustError {
    /// A signature is required, and the message has none.
    #[error(
        "the message is not signed as its binding requires; configure the service provider to sign its messages"
    )]
    Unsigned,
    /// A signature is required, but no keys are registered.
    #[error(
        "the message has to be signed, but no certificate of the service provider is registered"
    )]
    NoKeys,
    /// The query's signature uses a rejected algorithm.
    #[error(transparent)]
    Algorithm(#[from] AlgorithmError),
    /// No registered key signed the query, or the query was changed after it was signed.
    #[error(
        "the signature of the query was not made with a registered certificate, or the query was changed"
    )]
    Query,
    /// The message's own signature is invalid.
    #[error(transparent)]
    Message(#[from] SignatureError),
}

impl Incoming {
    /// Returns the message's content if its signature is valid, or if it has none and none is required.
    ///
    /// If no keys are registered and a signature is optional, a signed message counts as unsigned, because many service
    /// providers sign messages without need. [`TrustedMessage::is_signed`] is false then.
    ///
    /// The signature of a redirect is in the query (SAML bindings section 3.4.4.1), where it also covers the relay
    /// state. A signature in the message does not replace a required one in the query, but must be valid as well.
    ///
    /// # Errors
    /// [`TrustError`]
    pub fn trusted_message(
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
