//! The assignment of applications to groups and to everyone.
//!
//! An assignment grants access to many users at once, so it needs an approval, like the import of accounts.

use serde::Serialize;

use super::queries::group;
use crate::domain::admin::accounts::valid_roles;
use crate::domain::admin::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use crate::domain::admin::execution::{Execution, Recorder, Writes};
use crate::domain::admin::{AdminError, Result, invalid, registered_application};
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::protected_actions::ProtectedAction;
use crate::domain::{Services, audit};
use assent_model::administration::Permission;
use assent_model::audit::{Entry, Event};
use assent_model::caller::{Authorization, Caller};
use assent_model::group::{Assignee, Group, MOST_ASSIGNMENTS};
use assent_model::id::Did;
use assent_store::AdminWrite;

/// The application already has the largest number of assignments.
pub(in crate::domain::admin) const TOO_MANY_ASSIGNMENTS: &str =
    "the application is assigned to 200 groups already";

/// A planned assignment: the application, and the group or everyone.
#[derive(Clone, Debug)]
pub struct AssignmentPlan {
    pub(in crate::domain::admin) application: Did,
    pub(in crate::domain::admin) to: Option<Group>,
    pub(in crate::domain::admin) roles: Vec<String>,
}

impl AssignmentPlan {
    /// Returns the group or everyone.
    pub(in crate::domain::admin) fn assignee(&self) -> Assignee {
        self.to
            .as_ref()
            .map_or(Assignee::Everyone, |group| Assignee::Group(group.id))
    }

    /// Assigns the application, or replaces the roles.
    pub(in crate::domain::admin) fn assignment(&self, recorder: &Recorder<'_>) -> Writes {
        let (application, to) = (self.application.clone(), self.assignee());
        let write = AdminWrite::Assign(application, to, self.roles.clone());
        vec![(write, vec![self.entry(recorder, Event::AccessAssigned)])]
    }

    /// Removes the assignment.
    pub(in crate::domain::admin) fn removal(&self, recorder: &Recorder<'_>) -> Writes {
        let write = AdminWrite::Unassign(self.application.clone(), self.assignee());
        vec![(write, vec![self.entry(recorder, Event::AccessRemoved)])]
    }

    fn entry(&self, recorder: &Recorder<'_>, event: Event) -> Entry {
        let entry = audit::entry(recorder.services, event, recorder.by)
            .in_application(self.application.clone())
            .with("roles", self.roles.clone());
        recorder.with_plan(match &self.to {
            None => entry.with("everyone", true),
            Some(group) => entry
                .with("group", group.id.to_string())
                .with("group_name", group.name.as_str()),
        })
    }
}

/// Validates the roles of a new assignment.
pub(in crate::domain::admin) fn assignment_roles(roles: Vec<String>) -> Result<Vec<String>> {
    let roles = valid_roles(roles)?;
    let mut seen = std::collections::HashSet::new();
    if !roles.iter().all(|role| seen.insert(role)) {
        return Err(invalid("roles", "expected each role once"));
    }
    Ok(roles)
}

/// Returns the roles of an assignment, if there is one.
async fn current_roles(
    services: &Services,
    application: &Did,
    to: Assignee,
) -> Result<Option<Vec<String>>> {
    let Assignee::Group(group) = to else {
        return Ok(services.store.roles_of_everyone(application).await?);
    };
    let all = services.store.assignments_of(application).await?;
    if all.len() >= MOST_ASSIGNMENTS && all.iter().all(|one| one.group != group) {
        return Err(AdminError::Conflict(TOO_MANY_ASSIGNMENTS));
    }
    let found = all.into_iter().find(|one| one.group == group);
    Ok(found.map(|one| one.roles))
}

async fn group_of(services: &Services, to: Assignee) -> Result<Option<Group>> {
    match to.group() {
        Some(id) => group(services, id).await.map(Some),
        None => Ok(None),
    }
}

assent_model::admin_command! {
    /// Assigns an application to a group or to everyone, or replaces the roles of the assignment.
    #[derive(Clone, Debug, Serialize)]
    pub struct AssignAccess {
        /// The application.
        target application: Did,
        /// The group, or everyone.
        target to: Assignee,
        /// The roles.
        protected roles: Vec<String>,
    }
}

impl AdminCommand for AssignAccess {
    type Plan = AssignmentPlan;
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<AssignmentPlan>> {
        let services = &context.services;
        let authorization = authorize(&context.caller)?;
        registered_application(services, &self.application).await?;
        let to = group_of(services, self.to).await?;
        let roles = assignment_roles(self.roles.clone())?;
        let replaced = current_roles(services, &self.application, self.to).await?;
        let action = ProtectedAction::AssignAccess {
            application: self.application.clone(),
            to: self.to,
            roles: roles.clone(),
            replaced,
        };
        let plan = AssignmentPlan {
            application: self.application.clone(),
            to,
            roles,
        };
        Ok(Planned::protected(authorization, plan, action))
    }

    async fn execute(approved: ApprovedPlan<'_, AssignmentPlan>) -> Result<Execution<()>> {
        let (plan, recorder) = approved.into_parts();
        let writes = plan.assignment(&recorder);
        let written = recorder.write(writes).await?;
        tracing::info!(application = %plan.application, to = %plan.assignee(), "application assigned");
        Ok(written)
    }
}

assent_model::admin_command! {
    /// Removes an assignment, with the access that only it grants.
    #[derive(Clone, Debug, Serialize)]
    pub struct RemoveAssignment {
        /// The application.
        target application: Did,
        /// The group, or everyone.
        target from: Assignee,
    }
}

impl AdminCommand for RemoveAssignment {
    type Plan = AssignmentPlan;
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<AssignmentPlan>> {
        let services = &context.services;
        let authorization = authorize(&context.caller)?;
        registered_application(services, &self.application).await?;
        let to = group_of(services, self.from).await?;
        let Some(roles) = current_roles(services, &self.application, self.from).await? else {
            return Err(AdminError::NotFound("assignment"));
        };
        let action = ProtectedAction::RemoveAssignment {
            application: self.application.clone(),
            from: self.from,
        };
        let plan = AssignmentPlan {
            application: self.application.clone(),
            to,
            roles,
        };
        Ok(Planned::protected(authorization, plan, action))
    }

    async fn execute(approved: ApprovedPlan<'_, AssignmentPlan>) -> Result<Execution<()>> {
        let (plan, recorder) = approved.into_parts();
        let services = recorder.services;
        let writes = plan.removal(&recorder);
        let written = recorder.write(writes).await?;
        services.wakeups.send(Wakeup::LoggedOut);
        tracing::info!(application = %plan.application, from = %plan.assignee(), "assignment removed");
        Ok(written)
    }
}

/// Authorizes a change of a group. Groups grant access and roles, so a change needs the permission to grant these.
pub(in crate::domain::admin) fn authorize(caller: &Caller) -> Result<Authorization> {
    Ok(caller.authorize(
        Permission::AccountsWrite,
        "you may not change groups and their access",
    )?)
}

/// Returns an entry of the audit log about a group. It has the current name of the group, which is not personal data.
pub(in crate::domain::admin) fn about(
    recorder: &Recorder<'_>,
    event: Event,
    group: &Group,
) -> Entry {
    let entry = audit::entry(recorder.services, event, recorder.by)
        .with("group", group.id.to_string())
        .with("group_name", group.name.as_str());
    recorder.with_plan(entry)
}
