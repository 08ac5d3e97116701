//! Applications: OpenID Connect clients, and what both protocols have in common.

mod authentication;
mod change;
mod commands;
mod queries;
mod values;

pub use change::{ClientChange, SubjectKind};
pub use commands::{CreateClient, DeleteApplication, RotateClientSecret, UpdateClient};
pub use queries::{
    ApplicationQuery, application, application_usage, applications, find_applications, registered,
};
pub(super) use values::{application_name, server_address};
