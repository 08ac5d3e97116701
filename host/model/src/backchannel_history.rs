//! Past back-channel requests, for the user and for administrators.

use serde::Serialize;

/// What became of a back-channel request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum BackchannelOutcome {
    /// The user has not answered, and it has not expired.
    Waiting,
    /// The user approved.
    Approved,
    /// The user denied.
    Denied,
    /// The user reported it, or another request while it was pending.
    Reported,
    /// The user did not answer in time.
    Expired,
    /// No device showed it: the application was stopped or paused, or the user has no device or may not sign in.
    NotShown,
    /// It ended without a result: the user stopped the application, or the application withdrew it before it received
    /// tokens, for example.
    Withdrawn,
    /// The user typed a wrong number too often.
    NumberMismatch,
}
crate::enum_texts!(BackchannelOutcome);
