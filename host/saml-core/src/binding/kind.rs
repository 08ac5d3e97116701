//! The two kinds of message.

/// Whether a message asks or answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// It came as `SAMLRequest`.
    Request,
    /// It came as `SAMLResponse`.
    Response,
}

impl MessageKind {
    /// The parameter that such a message is in.
    pub const fn parameter(self) -> &'static str {
        match self {
            Self::Request => "SAMLRequest",
            Self::Response => "SAMLResponse",
        }
    }
}
