//! A dangerous step of an administrator's in the console, which their phone is asked about first.

use serde::{Deserialize, Serialize};

use super::administration::Danger;
use crate::id::{SessionId, UserId};

/// What a person is asked to let happen, in place of a sign-in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownStep {
    /// What kind of step it is.
    pub danger: Danger,
    /// What happens, and to whom, in words: "Delete the user ada". The device signs them.
    pub words: String,
}

/// A step that waits for the phone of whoever takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRequest {
    /// Who takes it.
    pub user: UserId,
    /// The session of the console in which they do. No other may go on with it.
    pub session: SessionId,
    /// The digest of the very request of the admin API that is allowed: method, address and body.
    pub request: String,
    /// What the person is shown.
    pub shown: ShownStep,
}
