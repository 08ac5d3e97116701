//! Why an administrator's request failed.

use super::action_approvals::PendingAction;
use crate::domain::InternalError;
use crate::domain::protected_actions::{Summary, SummaryError};
use assent_model::caller::Denied;
use assent_model::language::Language;
use assent_store::StoreError;

/// Why a use case of the administration failed. The message says what the administrator can do.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// A value does not fit.
    #[error("{field}: {expected}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// What is expected of it.
        expected: String,
    },
    /// Objects of a manifest do not fit.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Manifest(Vec<ManifestError>),
    /// The plan of a manifest is another one now.
    #[error("an object of the plan changed after the plan was made; plan again")]
    PlanChanged,
    /// There is no such thing.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// It can't be done as things stand.
    #[error("{0}")]
    Conflict(&'static str),
    /// The SMTP server did not accept an email.
    #[error("{0}")]
    Mail(String),
    /// Whoever calls may not do it.
    #[error("{0}")]
    Forbidden(&'static str),
    /// It is another version than the one that the change was made for.
    #[error(
        "another request updated it; read it again, and apply the change to the current version"
    )]
    Stale,
    /// It is there already.
    #[error("{0} is taken")]
    Taken(&'static str),
    /// The value of a field is taken: somebody has it.
    #[error("{0}: {1}")]
    TakenAt(&'static str, &'static str),
    /// The action is protected, and the administrator's device was asked about it.
    #[error("the action needs an approval")]
    ApprovalRequired(Box<RequiredApproval>),
    /// The server does as much of this as it does at a time.
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

/// The approval that a protected action needs, and that the administrator's device was asked for.
#[derive(Debug)]
pub struct RequiredApproval {
    /// The request.
    pub pending: PendingAction,
    /// What the device shows.
    pub summary: Summary,
    /// The language of the administrator's request, for the summary in its answer.
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
            StoreError::Stale => Self::Conflict(
                "another request updated or deleted the user at the same time; try again",
            ),
            error => Self::Internal(error.into()),
        }
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

/// The result of an administrator's request.
pub type Result<T> = std::result::Result<T, AdminError>;

/// The error for a value of this field, with what is expected of it.
pub(super) fn invalid(field: &'static str, expected: impl Into<String>) -> AdminError {
    AdminError::Invalid {
        field,
        expected: expected.into(),
    }
}
