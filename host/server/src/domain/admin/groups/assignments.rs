//! The assignment of applications to groups and to everyone.
//!
//! An assignment grants access to many users at once, so it needs an approval, like the import of accounts.

use serde::Serialize;

use super::queries::group;
use crate::domain::admin::accounts::valid_roles;
use crate::domain::admin::command::{AdminCommand, AdminContext, ApprovedPlan, Execution, Planned};
use crate::domain::admin::{AdminError, Result, invalid, registered};
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::protected_actions::ProtectedAction;
use crate::domain::{Services, audit};
use assent_model::administration::Permission;
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::caller::{Authorization, Caller};
use assent_model::group::{Assignee, Group, MOST_ASSIGNMENTS};
use assent_model::id::Did;

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

    /// Returns the entry of the audit log.
    pub(in crate::domain::admin) fn entry(
        &self,
        services: &Services,
        event: Event,
        by: &AuditContext,
    ) -> Entry {
        let entry = audit::entry(services, event, by)
            .in_application(self.application.clone())
            .with("roles", self.roles.clone());
        match &self.to {
            None => entry.with("everyone", true),
            Some(group) => entry
                .with("group", group.id.to_string())
                .with("group_name", group.name.as_str()),
        }
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
        registered(services, &self.application).await?;
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

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<AssignmentPlan>,
        by: &AuditContext,
    ) -> Result<Execution<()>> {
        let plan = approved.into_plan();
        let services = &context.services;
        let entries = vec![plan.entry(services, Event::AccessAssigned, by)];
        let (application, to) = (&plan.application, plan.assignee());
        services
            .store
            .assign(application, to, &plan.roles, entries, services.now())
            .await?;
        tracing::info!(%application, %to, "application assigned");
        Ok(Execution::Done(()))
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
        registered(services, &self.application).await?;
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

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<AssignmentPlan>,
        by: &AuditContext,
    ) -> Result<Execution<()>> {
        let plan = approved.into_plan();
        let services = &context.services;
        let entries = vec![plan.entry(services, Event::AccessRemoved, by)];
        let (application, from) = (&plan.application, plan.assignee());
        services
            .store
            .unassign(application, from, entries, services.now())
            .await?;
        services.wakeups.send(Wakeup::LoggedOut);
        tracing::info!(%application, %from, "assignment removed");
        Ok(Execution::Done(()))
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
    services: &Services,
    event: Event,
    group: &Group,
    by: &AuditContext,
) -> Entry {
    audit::entry(services, event, by)
        .with("group", group.id.to_string())
        .with("group_name", group.name.as_str())
}
