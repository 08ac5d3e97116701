//! The portal: what a person sees and undoes of their own. Everything here is about whoever is signed in, and their id
//! is part of each question that the store is asked.

mod applications;
mod devices;
mod profile;
mod recovery_codes;
mod sessions;

pub use applications::{SignInStart, UsableApplication, applications, login_address};
pub use devices::{Revocation, codes_of, device, is_recent, revoke};
pub use profile::{VisibleClaims, seen_by};
pub use recovery_codes::{CodesRequest, ask_for_codes, codes_request, confirm_codes, create_codes};
pub use sessions::{EndedSession, end, end_others, sessions};
