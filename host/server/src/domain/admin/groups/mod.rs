//! Groups of users, their members, and the applications that are assigned to them.

mod assignments;
mod commands;
mod import;
mod members;
mod queries;

pub use assignments::{AssignAccess, RemoveAssignment};
pub use commands::{CreateGroup, DeleteGroup, GroupUpdate, UpdateGroup};
pub use import::{ImportMembers, MEMBER_COLUMNS, member_cells};
pub use members::{AddMembers, RemoveMember, ReplaceMembers};
pub use queries::{
    ApplicationAssignments, assignments_of, assignments_to, group, group_summary, groups,
    groups_of_user, known_roles, members_of,
};

use super::Result;
use crate::domain::{Services, audit};
use assent_model::administration::Permission;
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::caller::{Authorization, Caller};
use assent_model::group::Group;

/// Groups give access and roles, so they need the permission to give these.
fn authorize(caller: &Caller) -> Result<Authorization> {
    Ok(caller.authorize(
        Permission::AccountsWrite,
        "you may not change groups and their access",
    )?)
}

/// An entry of the audit log about a group. It has the name of that time, which is no personal data.
fn about(services: &Services, event: Event, group: &Group, by: &AuditContext) -> Entry {
    audit::entry(services, event, by)
        .with("group", group.id.to_string())
        .with("group_name", group.name.as_str())
}
