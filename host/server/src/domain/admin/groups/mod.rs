//! Groups of users, their members, and the applications that are assigned to them.

mod assignments;
mod commands;
mod document;
mod import;
mod members;
mod queries;

pub(super) use assignments::authorize;
pub use assignments::{AssignAccess, RemoveAssignment};
pub(super) use assignments::{AssignmentPlan, TOO_MANY_ASSIGNMENTS, assignment_roles};
pub use commands::{CreateGroup, DeleteGroup, UpdateGroup};
pub(super) use commands::{described_group, group_creation, group_deletion, group_update};
pub use document::{GroupDocument, GroupUpdate};
pub use import::{ImportMembers, MEMBER_COLUMNS, member_cells};
pub use members::{AddMembers, RemoveMember, ReplaceMembers};
pub(super) use members::{MOST_CHANGED, MemberPlan, lasting_members, must_not_be_terminated};
pub use queries::{
    ApplicationAssignments, applications_of_group, assignments_of, count_groups, group,
    group_summary, groups, groups_of_user, known_roles, members_of,
};
