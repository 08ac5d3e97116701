//! Why a message is refused.

use super::status::{REQUEST_UNSUPPORTED, REQUESTER, VERSION_MISMATCH};
use super::{Header, Status};
use crate::message::flaw::FormError;
use crate::xml::ShapeError;

/// A message that is not acted upon. The texts hold nothing of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Its form is wrong, so nothing of it counts, and nobody is answered.
    #[error("the message is malformed: {0}")]
    Malformed(#[from] FormError),
    /// It asks for what Assent does not do. The one that sent it may be told, by [`UnsupportedError::status`].
    #[error("{what}")]
    Unsupported {
        /// What an answer refers to.
        header: Box<Header>,
        /// What it asks for.
        what: UnsupportedError,
    },
}

impl From<ShapeError> for MessageError {
    fn from(error: ShapeError) -> Self {
        Self::Malformed(error.into())
    }
}

/// What a message may ask for, and Assent does not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedError {
    /// Another version of SAML.
    #[error("the message's Version is not 2.0, the only one that is supported")]
    Version,
    /// A person whose name is encrypted.
    #[error("an EncryptedID is not supported; set the service provider to send a NameID")]
    EncryptedId,
    /// A person who is named in a way that others define.
    #[error("a BaseID is not supported; set the service provider to send a NameID")]
    BaseId,
    /// A person who is not named, but could be confirmed in some way.
    #[error(
        "a Subject without a NameID is not supported; leave the Subject out, or name the person in it"
    )]
    UnnamedSubject,
    /// How the person is to be confirmed.
    #[error(
        "a SubjectConfirmation in the request is not supported: every assertion is confirmed by its bearer; leave it \
         out"
    )]
    SubjectConfirmation,
}

impl UnsupportedError {
    /// What the sender is told (SAML core section 3.2.2.2).
    pub fn status(self) -> Status {
        match self {
            Self::Version => Status::new(VERSION_MISMATCH, None),
            Self::EncryptedId | Self::BaseId | Self::UnnamedSubject | Self::SubjectConfirmation => {
                Status::new(REQUESTER, Some(REQUEST_UNSUPPORTED))
            }
        }
    }
}
