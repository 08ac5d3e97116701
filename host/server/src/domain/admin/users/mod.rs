//! Users, and their devices.

mod change;
mod commands;
mod devices;
mod entries;
mod new_user;
mod queries;

pub use change::UserChange;
pub(super) use change::{DeniedMember, VOUCHING, apply_to_user, email_address};
pub use commands::{CreateUser, DeleteUser, EraseUser, UpdateUser};
pub use devices::{EndEnrolmentLink, EnrolDevice, RevokeDevice, devices, open_links};
pub(super) use entries::{changed, creation, differences};
pub use new_user::new_user;
pub(super) use new_user::user_with;
pub(super) use queries::named_users;
pub use queries::{count_users, last_sign_ins, user};
