//! Summaries of changes of groups and assignments, for approval by the administrator.

use super::action::ProtectedAction;
use super::escape::{name_list, unquoted};
use super::joined::sentences;
use crate::messages::Message;
use assent_model::group::Assignee;

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
            to,
            roles,
            replaced,
            ..
        } => sentences(
            [assigned(*to, group, application), with_roles(roles)]
                .into_iter()
                .chain(replaced.as_deref().map(instead_of)),
        ),
        ProtectedAction::RemoveAssignment { from, .. } => match from {
            Assignee::Everyone => {
                Message::new("action-unassign-everyone").text("application", application)
            }
            Assignee::Group(_) => Message::new("action-unassign-group")
                .text("group", group)
                .text("application", application),
        },
        // The other actions have no group.
        _ => Message::new("action-delete-group").text("group", group),
    }
}

fn assigned(to: Assignee, group: &str, application: &str) -> Message {
    match to {
        Assignee::Everyone => {
            Message::new("action-assign-everyone").text("application", application)
        }
        Assignee::Group(_) => Message::new("action-assign-group")
            .text("group", group)
            .text("application", application),
    }
}

fn with_roles(roles: &[String]) -> Message {
    match roles.is_empty() {
        true => Message::new("action-assign-without-roles"),
        false => Message::new("action-assign-roles").message("roles", list(roles)),
    }
}

fn instead_of(roles: &[String]) -> Message {
    match roles.is_empty() {
        true => Message::new("action-assign-before-without-roles"),
        false => Message::new("action-assign-before-roles").message("roles", list(roles)),
    }
}

fn list(roles: &[String]) -> Message {
    let roles: Vec<String> = roles.iter().map(|role| unquoted(role)).collect();
    name_list(roles.iter().map(String::as_str))
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
