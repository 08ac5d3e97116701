//! The HTTP POST binding (SAML bindings section 3.5).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::BindingError;
use super::incoming::{Incoming, MessageCarrier};
use super::parameters::{MessageParameters, document};

impl Incoming {
    /// Reads the body of a form, whose type is `application/x-www-form-urlencoded`. Its signature is the message's own:
    /// parameters `SigAlg` and `Signature` are unknown here, and ignored.
    ///
    /// # Errors
    /// [`BindingError`] unless there is one message that is XML.
    pub fn read_post(body: &[u8]) -> Result<Self, BindingError> {
        let parameters = MessageParameters::find(body, &[])?;
        let (kind, message) = parameters.message()?;
        let relay_state = parameters.relay_state()?;
        Ok(Self {
            kind,
            relay_state,
            document: document(&message)?,
            carrier: MessageCarrier::Post,
        })
    }
}

/// The value of the form's field that is named [`MessageKind::parameter`](super::MessageKind::parameter), for this
/// message.
pub fn post_value(xml: &str) -> String {
    STANDARD.encode(xml)
}
