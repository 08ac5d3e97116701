//! The errors of administrators' requests.

use super::action_approvals::PendingAction;
use crate::domain::InternalError;
use crate::domain::protected_actions::{Summary, SummaryError};
use crate::keys::KeyError;
use assent_model::caller::Denied;
use assent_model::language::Language;
use assent_store::StoreError;

/// The error of an administrative use case. The message says how the administrator can correct it.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// A value is invalid.
    #[error("{field}: {expected}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// The expected value.
        expected: String,
    },
    /// Objects of a manifest are invalid.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Manifest(Vec<ManifestError>),
    /// The plan of a manifest has changed.
    #[error("an object of the plan changed after the plan was made; plan again")]
    PlanChanged,
    /// The object does not exist.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The current state does not permit the request.
    #[error("{0}")]
    Conflict(&'static str),
    /// The SMTP server did not accept an email.
    #[error("{0}")]
    Mail(String),
    /// The caller lacks the permission.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The current version is not the one that the change expects.
    #[error(
        "another request updated it; read it again, and apply the change to the current version"
    )]
    Stale,
    /// The object exists already.
    #[error("{0} is taken")]
    Taken(&'static str),
    /// The value of a field is in use by another object.
    #[error("{0}: {1}")]
    TakenAt(&'static str, &'static str),
    /// The action is protected, and the administrator's device received an approval request.
    #[error("the action needs an approval")]
    ApprovalRequired(Box<RequiredApproval>),
    /// The server already handles the largest number of such requests.
    #[error("{0}")]
    TooMany(&'static str),
    /// An internal error.
    #[error(transparent)]
    Internal(#[from] InternalError),
}

/// An error in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {detail}")]
pub struct ManifestError {
    /// The place: a JSON pointer (RFC 6901) in the manifest.
    pub pointer: String,
    /// The expected value, with the key of the object.
    pub detail: String,
}

/// The approval that a protected action needs, and that was requested from the administrator's device.
#[derive(Debug)]
pub struct RequiredApproval {
    /// The request.
    pub pending: PendingAction,
    /// The summary that the device shows.
    pub summary: Summary,
    /// The language of the administrator's request, for the summary in the response.
    pub language: Language,
}

impl From<Denied> for AdminError {
    fn from(Denied(why): Denied) -> Self {
        Self::Forbidden(why)
    }
}

impl From<StoreError> for AdminError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Taken(what) => Self::Taken(what),
            StoreError::Overtaken(how) => Self::Conflict(how),
            StoreError::Missing(what) => Self::NotFound(what),
            // Without an owner, only the operator could restore one.
            StoreError::LastOwner => Self::Conflict(
                "the user is the last owner that can sign in; grant another active user the role of an owner first",
            ),
            StoreError::QuotaExhausted => {
                Self::Forbidden("the initial access token registers no further application now")
            }
            StoreError::Stale => Self::Conflict(
                "another request updated or deleted the user at the same time; try again",
            ),
            error => Self::Internal(error.into()),
        }
    }
}

impl From<KeyError> for AdminError {
    fn from(error: KeyError) -> Self {
        Self::Internal(error.into())
    }
}

impl From<SummaryError> for AdminError {
    fn from(error: SummaryError) -> Self {
        match error {
            SummaryError::Gone(what) => Self::NotFound(what),
            SummaryError::Store(error) => error.into(),
        }
    }
}

/// The result of a request of an administrator.
pub type Result<T> = std::result::Result<T, AdminError>;

/// Returns the error for a value of this field, with the expected value.
pub(in crate::domain) fn invalid(field: &'static str, expected: impl Into<String>) -> AdminError {
    AdminError::Invalid {
        field,
        expected: expected.into(),
    }
}
