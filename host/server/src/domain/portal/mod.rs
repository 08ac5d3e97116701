//! The portal: the data that a user sees and can revoke. All of it belongs to the signed-in user, and each query of the
//! store includes the user's identifier.

mod applications;
mod devices;
mod profile;
mod recovery_codes;
mod repeats;
mod requesters;
mod sessions;

pub use applications::{SignInStart, UsableApplication, applications, login_address};
pub use devices::{Revocation, codes_of, device, is_recent, revoke};
pub use profile::{VisibleClaims, seen_by};
pub use recovery_codes::{CodesRequest, ask_for_codes, codes_request, confirm_codes, create_codes};
pub use repeats::{EndForm, was_sent};
pub use requesters::{
    PauseReason, Requester, RequesterStanding, choose, lift_pause, past_requests, paused_until,
    requesters,
};
pub use sessions::{EndedSession, end, end_others, sessions};
