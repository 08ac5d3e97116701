//! Groups of users, their members, and the applications that are assigned to them.

mod assignments;
mod commands;
mod document;
mod import;
mod members;
mod queries;

pub use assignments::{AssignAccess, RemoveAssignment};
pub(super) use assignments::{AssignmentPlan, TOO_MANY_ASSIGNMENTS, assignment_roles};
pub(super) use assignments::{about, authorize};
pub(super) use commands::described_group;
pub use commands::{CreateGroup, DeleteGroup, UpdateGroup};
pub use document::{GroupDocument, GroupUpdate};
pub use import::{ImportMembers, MEMBER_COLUMNS, member_cells};
pub use members::{AddMembers, RemoveMember, ReplaceMembers};
pub(super) use members::{MOST_CHANGED, MemberPlan, lasting_members, must_not_be_terminated};
pub use queries::{
    ApplicationAssignments, assignments_of, assignments_to, count_groups, group, group_summary,
    groups, groups_of_user, known_roles, members_of,
};
