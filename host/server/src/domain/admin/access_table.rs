//! The files of lists of access, for an auditor.

use std::collections::BTreeSet;

use super::access::{GrantSource, UserAccess};
use super::list_cell::list_cell;
use super::{Names, Result};
use crate::domain::Services;
use crate::domain::sign_in::access::AccessDenied;
use assent_model::audit::Actor;
use assent_model::clock::Timestamp;
use assent_store::{EffectiveAccess, MemberUse};

/// The columns of a file of the access to an application, or of a user.
pub const ACCESS_COLUMNS: [&str; 13] = [
    "application",
    "user",
    "display_name",
    "email",
    "user_state",
    "access",
    "denied",
    "via",
    "roles",
    "since",
    "granted_by",
    "used",
    "account",
];

/// The columns of a file of the access by a group.
pub const GROUP_ACCESS_COLUMNS: [&str; 8] = [
    "group",
    "user",
    "display_name",
    "email",
    "user_state",
    "since",
    "granted_by",
    "used",
];

/// Reads the names of the users and applications that gave access.
///
/// # Errors
/// If the database fails.
pub async fn names_of_actors<'a>(
    services: &Services,
    actors: impl Iterator<Item = &'a Actor>,
) -> Result<Names> {
    let (mut users, mut applications) = (BTreeSet::new(), BTreeSet::new());
    for actor in actors {
        match actor {
            Actor::User(id) => {
                users.insert(*id);
            }
            Actor::Application(id) => {
                applications.insert(id.clone());
            }
            Actor::Server | Actor::AdminToken(_) | Actor::Device(_) | Actor::Channel(_) => {}
        }
    }
    Names::read(services, users, applications).await
}

/// Returns the actor for a file: the name of a user or application, or the kind and the id.
fn actor_cell(actor: &Actor, names: &Names) -> String {
    let name = match actor {
        Actor::User(id) => names.user(*id),
        Actor::Application(id) => names.application(id),
        _ => None,
    };
    name.unwrap_or_else(|| match actor.id() {
        Some(id) => format!("{}:{id}", actor.kind()),
        None => actor.kind().to_owned(),
    })
}

/// Returns the member as a row of a file, in the order of [`GROUP_ACCESS_COLUMNS`].
pub fn group_access_cells(
    group: &str,
    member: &MemberUse,
    names: &Names,
    moment: impl Fn(Timestamp) -> String,
) -> Vec<String> {
    let user = &member.user;
    vec![
        group.to_owned(),
        user.name.to_string(),
        user.profile.name.clone().unwrap_or_default(),
        user.email
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        user.state.as_str().to_owned(),
        moment(member.added_at),
        member
            .added_by
            .as_ref()
            .map(|by| actor_cell(by, names))
            .unwrap_or_default(),
        member.used_at.map(&moment).unwrap_or_default(),
    ]
}

/// Returns the access as a row of a file, in the order of [`ACCESS_COLUMNS`].
pub fn access_cells(
    found: &UserAccess,
    names: &Names,
    moment: impl Fn(Timestamp) -> String,
) -> Vec<String> {
    let EffectiveAccess {
        user,
        application_name,
        account,
        used_at,
        ..
    } = &found.access;
    let via: Vec<&str> = found
        .grants
        .iter()
        .map(|grant| match &grant.source {
            GrantSource::Account(_) => "account",
            GrantSource::Group(_, name) => name,
            GrantSource::Everyone => "everyone",
        })
        .collect();
    let by: Vec<String> = found
        .grants
        .iter()
        .map(|grant| match &grant.by {
            Some(by) => actor_cell(by, names),
            None => "unknown".to_owned(),
        })
        .collect();
    let roles = found.roles();
    let text = |text: Option<&String>| text.cloned().unwrap_or_default();
    vec![
        application_name.clone(),
        user.name.to_string(),
        text(user.profile.name.as_ref()),
        user.email
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        user.state.as_str().to_owned(),
        if found.denied.is_some() {
            "denied"
        } else {
            "granted"
        }
        .to_owned(),
        found
            .denied
            .map(AccessDenied::as_str)
            .unwrap_or_default()
            .to_owned(),
        list_cell(via.into_iter()),
        list_cell(roles.iter().map(String::as_str)),
        found.since().map(&moment).unwrap_or_default(),
        list_cell(by.iter().map(String::as_str)),
        used_at.map(&moment).unwrap_or_default(),
        text(account.as_ref().map(|account| &account.name)),
    ]
}
