//! The two kinds of message.

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
