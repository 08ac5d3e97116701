//! The commands that create, update and delete groups.

use serde::Serialize;

use super::document::{GroupUpdate, ProtectedGroupMembers};
use super::queries::group;
use crate::domain::Services;
use crate::domain::admin::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use crate::domain::admin::execution::{Execution, Recorder, Writes};
use crate::domain::admin::groups::assignments::{about, authorize};
use crate::domain::admin::{AdminError, Result, invalid};
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::protected_actions::ProtectedAction;
use assent_model::audit::Event;
use assent_model::group::{Group, GroupName};
use assent_model::id::GroupId;
use assent_model::management::ManifestKey;
use assent_model::name::display_text;
use assent_store::{AdminWrite, GroupOrder};

/// The largest length of a description, in characters.
const LONGEST_DESCRIPTION: usize = 500;

fn name_of(text: &str) -> Result<GroupName> {
    text.parse()
        .map_err(|error: assent_model::group::GroupNameError| invalid("name", error.to_string()))
}

fn description_of(text: &str) -> Result<String> {
    if text.trim().is_empty() {
        return Ok(String::new());
    }
    display_text(text, LONGEST_DESCRIPTION).ok_or_else(|| {
        invalid(
            "description",
            "expected at most 500 characters, none of them control characters",
        )
    })
}

/// Rejects a name that another group has.
async fn must_be_free(services: &Services, name: &GroupName, of: Option<GroupId>) -> Result<()> {
    let key = name.key();
    let found = services
        .store
        .groups(&key, GroupOrder::Name, None, 1)
        .await?;
    let is_taken = |group: &Group| group.name.key() == key && Some(group.id) != of;
    if found.iter().any(|found| is_taken(&found.group)) {
        return Err(AdminError::TakenAt("name", "another group has the name"));
    }
    Ok(())
}

/// Returns the group that a manifest describes. An existing group keeps its identifier.
///
/// # Errors
/// As the creation of a group.
pub(in crate::domain::admin) async fn described_group(
    context: &AdminContext,
    name: &str,
    description: Option<&str>,
    known: Option<&Group>,
) -> Result<Group> {
    let services = &context.services;
    let name = name_of(name)?;
    if known.is_none_or(|known| known.name != name) {
        must_be_free(services, &name, known.map(|known| known.id)).await?;
    }
    let description = description_of(description.unwrap_or_default())?;
    let now = services.now();
    Ok(match known {
        Some(known) => Group {
            name,
            description,
            ..known.clone()
        },
        None => Group {
            id: GroupId::new(now, &*services.entropy),
            name,
            description,
            version: 1,
            created_at: now,
        },
    })
}

assent_model::admin_command! {
    /// Creates a group without members and without access to any application.
    #[derive(Clone, Debug, Serialize)]
    pub struct CreateGroup {
        /// The name.
        harmless name: String,
        /// The purpose of the group.
        harmless description: Option<String>,
    }
}

impl AdminCommand for CreateGroup {
    type Plan = Group;
    type Outcome = Group;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Group>> {
        let authorization = authorize(&context.caller)?;
        let description = self.description.as_deref();
        let group = described_group(context, &self.name, description, None).await?;
        Ok(Planned::harmless(authorization, group))
    }

    async fn execute(approved: ApprovedPlan<'_, Group>) -> Result<Execution<Group>> {
        let (group, recorder) = approved.into_parts();
        let writes = group_creation(&recorder, group.clone(), None);
        let written = recorder.write(writes).await?;
        Ok(written.map(|()| {
            tracing::info!(group = %group.id, "group created");
            group
        }))
    }
}

assent_model::admin_command! {
    /// Updates a group.
    #[derive(Clone, Debug, Serialize)]
    pub struct UpdateGroup {
        /// The group.
        target group: GroupId,
        /// The update.
        classified change: GroupUpdate,
    }
}

impl AdminCommand for UpdateGroup {
    type Plan = (Group, Group);
    type Outcome = Group;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Self::Plan>> {
        let services = &context.services;
        let authorization = authorize(&context.caller)?;
        let before = group(services, self.group).await?;
        context.expected.check(before.version)?;
        let ProtectedGroupMembers { name } = self.change.protected();
        let mut after = before.clone();
        if let Some(name) = name {
            after.name = name_of(name)?;
        }
        if let Some(description) = &self.change.description {
            after.description = description_of(description)?;
        }
        // Applications may grant permissions to a group by its name.
        let action = (after.name != before.name).then(|| ProtectedAction::RenameGroup {
            group: before.id,
            name: after.name.to_string(),
        });
        if action.is_some() {
            must_be_free(services, &after.name, Some(before.id)).await?;
        }
        Ok(Planned::new(authorization, (before, after), action))
    }

    async fn execute(approved: ApprovedPlan<'_, Self::Plan>) -> Result<Execution<Group>> {
        let ((before, mut after), recorder) = approved.into_parts();
        let writes = group_update(&recorder, &before, after.clone(), None);
        let written = recorder.write(writes).await?;
        Ok(written.map(|()| {
            tracing::info!(group = %after.id, "group updated");
            after.version += 1;
            after
        }))
    }
}

assent_model::admin_command! {
    /// Deletes a group, with the access that it grants.
    #[derive(Clone, Copy, Debug, Serialize)]
    pub struct DeleteGroup(target GroupId);
}

impl AdminCommand for DeleteGroup {
    type Plan = Group;
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Group>> {
        let authorization = authorize(&context.caller)?;
        let group = group(&context.services, self.0).await?;
        context.expected.check(group.version)?;
        let action = ProtectedAction::DeleteGroup(group.id);
        Ok(Planned::protected(authorization, group, action))
    }

    async fn execute(approved: ApprovedPlan<'_, Group>) -> Result<Execution<()>> {
        let (group, recorder) = approved.into_parts();
        let services = recorder.services;
        let writes = group_deletion(&recorder, &group);
        let written = recorder.write(writes).await?;
        Ok(written.map(|()| {
            services.wakeups.send(Wakeup::LoggedOut);
            tracing::info!(group = %group.id, "group deleted");
        }))
    }
}

/// Adds a group.
pub(in crate::domain::admin) fn group_creation(
    recorder: &Recorder<'_>,
    group: Group,
    key: Option<&ManifestKey>,
) -> Writes {
    let entry = recorder.with_management(about(recorder, Event::GroupCreated, &group), key);
    vec![(AdminWrite::InsertGroup(group, key.cloned()), vec![entry])]
}

/// Replaces a group. With a key, a manifest adopts it.
pub(in crate::domain::admin) fn group_update(
    recorder: &Recorder<'_>,
    before: &Group,
    after: Group,
    adopt: Option<&ManifestKey>,
) -> Writes {
    let mut writes = Writes::new();
    if let Some(key) = adopt {
        let entry =
            recorder.with_management(about(recorder, Event::GroupUpdated, &after), Some(key));
        writes.push((AdminWrite::AdoptGroup(after.id, key.clone()), vec![entry]));
    }
    // Without a difference, a manifest does not write the group itself. A command increments its version.
    if *before != after || recorder.manifest.is_none() {
        let mut entry = about(recorder, Event::GroupUpdated, &after);
        if before.name != after.name {
            entry = entry.with("former_name", before.name.as_str());
        }
        writes.push((AdminWrite::UpdateGroup(after), vec![entry]));
    }
    writes
}

/// Deletes a group.
pub(in crate::domain::admin) fn group_deletion(recorder: &Recorder<'_>, group: &Group) -> Writes {
    let entry = about(recorder, Event::GroupDeleted, group);
    vec![(
        AdminWrite::DeleteGroup(group.id, group.version),
        vec![entry],
    )]
}
