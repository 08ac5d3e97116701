//! The enrolled devices of a user, and the ways to enrol one.
//!
//! - An enrolment link is single use.
//! - Every change of a user's devices is shown on the other devices.

pub mod account_notifications;
pub mod device;
pub mod device_activity;
pub mod passkey;
pub mod passkey_agreement;
pub(crate) mod passkey_schemas;
pub mod recovery;
pub mod relying_party;
