//! Checks of callers: a help desk asks the device of a user whether the user is on the phone now. An approval proves
//! who calls, and grants nothing.

use crate::audit::Actor;
use crate::clock::Timestamp;
use crate::id::{CallerCheckId, UserId};

/// A check of a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerCheck {
    /// The row's id.
    pub id: CallerCheckId,
    /// The user who is said to call.
    pub user: UserId,
    /// The actor that asks. No other can read the number.
    pub asked_by: Actor,
    /// The name of the administrator, as the device shows and signs it.
    pub administrator: String,
    /// The time of the request.
    pub requested_at: Timestamp,
    /// The expiry of the request.
    pub expires_at: Timestamp,
}
