//! The portal: what a person sees and undoes of their own. Everything here is about whoever is signed in, and their id is
//! part of each question that the store is asked.

mod applications;
mod devices;
mod profile;
mod sessions;

pub use applications::{Start, Usable, applications, login_address};
pub use devices::{OwnDevice, Renaming, Revocation, codes_of, device, devices, is_recent, rename, revoke};
pub use profile::{Seen, seen_by};
pub use sessions::{EndedSession, end, end_others, sessions};
