//! The reasons to reject a message.

use super::status::{REQUEST_UNSUPPORTED, REQUESTER, VERSION_MISMATCH};
use super::{Header, Status};
use crate::message::flaw::FormError;
use crate::xml::ShapeError;

/// The reason to reject a message. The texts contain no part of the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The message is malformed, so it is ignored completely and not answered.
    #[error("the message is malformed: {0}")]
    Malformed(#[from] FormError),
    /// The message requests an unsupported feature. The server may answer its sender with [`UnsupportedError::status`].
    #[error("{what}")]
    Unsupported {
        /// The header that an answer refers to.
        header: Box<Header>,
        /// The unsupported feature.
        what: UnsupportedError,
    },
}

impl From<ShapeError> for MessageError {
    fn from(error: ShapeError) -> Self {
        Self::Malformed(error.into())
    }
}

/// Features of SAML that Assent does not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedError {
    /// Another version of SAML.
    #[error("the message's Version is not 2.0, the only one that is supported")]
    Version,
    /// A user with an encrypted identifier.
    #[error("an EncryptedID is not supported; configure the service provider to send a NameID")]
    EncryptedId,
    /// A user with an identifier of an extension.
    #[error("a BaseID is not supported; configure the service provider to send a NameID")]
    BaseId,
    /// A user without an identifier, described only by a subject confirmation.
    #[error(
        "a Subject without a NameID is not supported; omit the Subject, or name the user in it"
    )]
    UnnamedSubject,
    /// A subject confirmation in the request.
    #[error(
        "a SubjectConfirmation in the request is not supported: every assertion is confirmed by its bearer; leave it \
         out"
    )]
    SubjectConfirmation,
}

impl UnsupportedError {
    /// Returns the status for the sender (SAML core section 3.2.2.2).
    pub fn status(self) -> Status {
        match self {
            Self::Version => Status::new(VERSION_MISMATCH, None),
            Self::EncryptedId | Self::BaseId | Self::UnnamedSubject | Self::SubjectConfirmation => {
                Status::new(REQUESTER, Some(REQUEST_UNSUPPORTED))
            }
        }
    }
}
