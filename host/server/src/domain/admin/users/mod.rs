//! Users, and their devices.

mod change;
mod commands;
mod confirmations;
mod devices;
mod document;
mod entries;
mod new_user;
mod queries;

pub(super) use change::{DeniedMember, VOUCHING, apply_to_user, check_new_name, email_address};
pub use commands::{CreateUser, DeleteUser, EraseUser, UpdateUser};
pub use confirmations::{ConfirmEmails, unconfirmed_users};
pub use devices::{EndEnrolmentLink, EnrolDevice, RevokeDevice, devices, open_links};
pub use document::{UserChange, UserDocument};
pub(super) use entries::{creation, differences, differing_members};
pub use new_user::new_user;
pub(super) use new_user::user_with;
pub(super) use queries::named_users;
pub use queries::{UserNotes, count_users, notes_of_users, user};
