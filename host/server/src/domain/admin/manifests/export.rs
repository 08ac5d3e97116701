//! The export of the manifest of an owner's objects.
//!
//! The manifest contains no identifiers, times or secrets. Its objects are in the order of their keys, and members with
//! default values are missing. Therefore two instances with the same objects export the same text.

use serde_json::{Value, json};

use super::described::{self, Members};
use super::logos;
use super::planner::OwnerState;
use crate::domain::admin::groups::lasting_members;
use crate::domain::admin::{AdminContext, AdminError, Result};
use assent_model::administration::Permission;
use assent_model::application::RegisteredApplication;
use assent_model::management::ManifestOwner;

/// Returns the manifest that describes all objects of an owner.
///
/// # Errors
/// [`AdminError::NotFound`] if the owner manages no object. [`AdminError::Forbidden`] if the caller may not read users
/// and accounts, and the manifest names some.
pub async fn export_manifest(context: &AdminContext, owner: &ManifestOwner) -> Result<Value> {
    let services = &context.services;
    let state = OwnerState::read(services, owner).await?;
    if state.applications.is_empty() && state.groups.is_empty() {
        return Err(AdminError::NotFound("owner"));
    }
    if state.has_access() {
        for permission in [Permission::AccountsRead, Permission::UsersRead] {
            context.caller.authorize(
                permission,
                "the manifest names users and accounts, which you may not read",
            )?;
        }
    }
    let mut applications = Vec::new();
    for (key, application) in &state.applications {
        let mut members = match application {
            RegisteredApplication::Client(client) => described::named_of_client(client),
            RegisteredApplication::ServiceProvider(provider) => {
                described::named_of_service_provider(services, provider)?
            }
        };
        // A server that applies the manifest fetches the logo of `logo_uri` itself.
        if !members.contains_key("logo_uri")
            && let Some(logo) = services.store.logo(application.id()).await?
        {
            members.insert("logo".to_owned(), logos::manifest_value(&logo));
        }
        applications.push(with_key(key.as_str(), members));
    }
    let mut groups = Vec::new();
    for (key, group) in &state.groups {
        let mut members = described::group(group);
        let mut names: Vec<String> = lasting_members(services, group.id)
            .await?
            .into_iter()
            .map(|user| user.name.to_string())
            .collect();
        names.sort_unstable();
        members.insert("members".to_owned(), json!(names));
        groups.push(with_key(key.as_str(), members));
    }
    let mut manifest = Members::from_iter([("owner".to_owned(), json!(owner))]);
    let lists = [
        ("applications", applications),
        ("groups", groups),
        ("assignments", assignments(&state)),
        ("accounts", accounts(&state)),
    ];
    let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
    manifest.extend(lists.map(|(name, list)| (name.to_owned(), Value::Array(list))));
    Ok(Value::Object(manifest))
}

fn with_key(key: &str, members: Members) -> Value {
    let key = ("key".to_owned(), json!(key));
    Value::Object(std::iter::once(key).chain(members).collect())
}

fn assignments(state: &OwnerState) -> Vec<Value> {
    let groups = state.assignments.iter().filter_map(|assignment| {
        let application = state.application_key(&assignment.application)?;
        let group = state.group_key(assignment.group)?;
        Some((
            application.as_str(),
            Some(group.as_str()),
            &assignment.roles,
        ))
    });
    let everyone = state.everyone.iter().filter_map(|(id, roles)| {
        let application = state.application_key(id)?;
        Some((application.as_str(), None, roles))
    });
    let mut found: Vec<(&str, Option<&str>, &Vec<String>)> = groups.chain(everyone).collect();
    found.sort_unstable();
    found
        .into_iter()
        .map(|(application, group, roles)| match group {
            Some(group) => json!({"application": application, "group": group, "roles": roles}),
            None => json!({"application": application, "roles": roles}),
        })
        .collect()
}

fn accounts(state: &OwnerState) -> Vec<Value> {
    let mut found: Vec<(&str, &str, &Vec<String>)> = state
        .accounts
        .iter()
        .filter_map(|one| {
            let application = state.application_key(&one.account.application_id)?;
            Some((
                application.as_str(),
                one.user.name.as_str(),
                &one.account.roles,
            ))
        })
        .collect();
    found.sort_unstable();
    found
        .into_iter()
        .map(|(application, user, roles)| {
            json!({"application": application, "user": user, "roles": roles})
        })
        .collect()
}
