//! The parameters of a message: its kind names one, and the relay state is another.

/// The maximum length of a relay state, in bytes. The standard allows 80 (SAML bindings section 3.4.3), but service
/// providers put complete addresses into it.
pub const RELAY_STATE_BYTES: usize = 2048;

/// The parameter with the relay state.
pub(super) const RELAY_STATE: &str = "RelayState";

/// Whether a message is a request or a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// The message was the parameter `SAMLRequest`.
    Request,
    /// The message was the parameter `SAMLResponse`.
    Response,
}

impl MessageKind {
    /// Returns the name of the parameter that contains such a message.
    pub const fn parameter(self) -> &'static str {
        match self {
            Self::Request => "SAMLRequest",
            Self::Response => "SAMLResponse",
        }
    }
}
