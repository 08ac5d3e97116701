//! Summaries of changes of groups and of access, for approval by the administrator.

use super::action::ProtectedAction;
use super::escape::{quoted_list, unquoted};
use super::joined::sentences;
use crate::messages::Message;
use assent_model::group::Assignee;
use assent_model::id::Did;

/// Returns the summary of such an action, with the current names, without quotes.
pub(super) fn message(action: &ProtectedAction, group: &str, application: &str) -> Message {
    match action {
        ProtectedAction::RenameGroup { name, .. } => Message::new("action-rename-group")
            .text("group", group)
            .text("name", unquoted(name)),
        ProtectedAction::ReplaceMembers { added, removed, .. } => {
            Message::new("action-replace-members")
                .text("group", group)
                .number("added", number(*added))
                .number("removed", number(*removed))
        }
        ProtectedAction::AssignAccess {
            application: id,
            to,
            roles,
            replaced,
        } => assignment(
            assigned_group(*to, group),
            application,
            Some(id),
            roles,
            replaced.as_deref(),
        ),
        ProtectedAction::RemoveAssignment {
            application: id,
            from,
        } => unassignment(assigned_group(*from, group), application, id),
        // The other actions have no group.
        _ => Message::new("action-delete-group").text("group", group),
    }
}

/// Returns the name of the group of an assignment. `None` for everyone.
fn assigned_group(assignee: Assignee, group: &str) -> Option<&str> {
    assignee.group().map(|_| group)
}

/// Returns the summary of an assignment, with its roles before and after. An application that the same change creates
/// has no identifier yet.
pub(super) fn assignment(
    group: Option<&str>,
    application: &str,
    id: Option<&Did>,
    roles: &[String],
    replaced: Option<&[String]>,
) -> Message {
    let assigned = match group {
        None => Message::new("action-assign-everyone").text("application", application),
        Some(group) => Message::new("action-assign-group")
            .text("group", group)
            .text("application", application),
    };
    with_roles(assigned, roles, replaced, id)
}

/// Returns the summary of access, with its roles before and after.
pub(super) fn with_roles(
    access: Message,
    roles: &[String],
    replaced: Option<&[String]>,
    application: Option<&Did>,
) -> Message {
    let now = match roles.is_empty() {
        true => Message::new("action-assign-without-roles"),
        false => Message::new("action-assign-roles").message("roles", list(roles)),
    };
    let before = replaced.map(|roles| match roles.is_empty() {
        true => Message::new("action-assign-before-without-roles"),
        false => Message::new("action-assign-before-roles").message("roles", list(roles)),
    });
    let parts = [access, now].into_iter().chain(before);
    sentences(parts.chain([application_identifier(application)]))
}

/// Returns the summary of the removal of an assignment.
pub(super) fn unassignment(group: Option<&str>, application: &str, id: &Did) -> Message {
    let unassigned = match group {
        None => Message::new("action-unassign-everyone").text("application", application),
        Some(group) => Message::new("action-unassign-group")
            .text("group", group)
            .text("application", application),
    };
    sentences([unassigned, application_identifier(Some(id))])
}

/// Identifies the application of a sentence about access, because several applications may have the same name.
pub(super) fn application_identifier(application: Option<&Did>) -> Message {
    match application {
        Some(id) => Message::new("action-id-of-application").text("id", id.to_string()),
        None => Message::new("action-application-is-new"),
    }
}

fn list(roles: &[String]) -> Message {
    quoted_list(roles.iter().map(String::as_str))
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
