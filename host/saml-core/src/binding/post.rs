//! The HTTP POST binding (SAML bindings section 3.5).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::BindingError;
use super::incoming::{Incoming, MessageCarrier};
use super::parameters::{MessageParameters, document};
use assent_model::secret::Digest;

impl Incoming {
    /// Reads the body of a form of the type `application/x-www-form-urlencoded`. Only the message itself can have a
    /// signature: the parameters `SigAlg` and `Signature` are unknown here and ignored.
    ///
    /// # Errors
    /// [`BindingError`] unless the form contains exactly one message, and the message is XML.
    pub fn read_post(body: &[u8]) -> Result<Self, BindingError> {
        let parameters = MessageParameters::find(body, &[])?;
        let (kind, message) = parameters.message()?;
        let relay_state = parameters.relay_state()?;
        Ok(Self {
            kind,
            relay_state,
            document: document(&message)?,
            digest: Digest::sha256(&message),
            carrier: MessageCarrier::Post,
        })
    }
}

/// Returns the value for the form field with the name [`MessageKind::parameter`](super::MessageKind::parameter).
pub fn post_value(xml: &str) -> String {
    STANDARD.encode(xml)
}
