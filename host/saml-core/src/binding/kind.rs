//! The two kinds of message.

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
