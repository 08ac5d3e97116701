//! The commands that apply a manifest, or put a single application by its key.

use std::sync::Arc;

use serde::Serialize;

use super::approval::shown_objects;
use super::change::ChangeAction;
use super::execute::execute;
use super::manifest::{ManagedSettings, Manifest, ManifestApplication};
use super::plan::{ManifestPlan, plan_application, plan_manifest};
use super::queries::managed_application;
use crate::domain::admin::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use crate::domain::admin::execution::Execution;
use crate::domain::admin::{AdminError, ManifestError, Result, invalid};
use crate::domain::protected_actions::{ManifestChanges, ProtectedAction};
use assent_model::application::RegisteredApplication;
use assent_model::caller::{Caller, Principal};
use assent_model::management::{Management, ManifestKey, ManifestOwner};
use assent_model::secret::Digest;

/// The largest number of changes in one transaction. A transaction has ten seconds, and may include other writes.
const MOST_CHANGES: usize = 500;

assent_model::admin_command! {
    /// Applies a manifest, if its plan has this digest.
    #[derive(Clone, Debug, Serialize)]
    pub struct ApplyManifest {
        /// The manifest.
        protected manifest: Manifest,
        /// Whether objects of the owner that the manifest does not name are deleted.
        protected prune: bool,
        /// The digest of the plan, in hexadecimal.
        protected digest: String,
    }
}

impl AdminCommand for ApplyManifest {
    type Plan = ManifestPlan;
    type Outcome = ManifestPlan;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<ManifestPlan>> {
        let (authorization, plan) = plan_manifest(context, &self.manifest, self.prune).await?;
        self.administrator_may_approve(context).await?;
        if Digest::from_text(&self.digest) != Some(plan.digest) {
            return Err(AdminError::PlanChanged);
        }
        if plan.changes.len() > MOST_CHANGES {
            let expected = format!(
                "expected {MOST_CHANGES} changes at most in one transaction; apply a part of the manifest first"
            );
            return Err(AdminError::Invalid {
                field: "manifest",
                expected,
            });
        }
        let action = action_of(&plan);
        Ok(Planned::new(authorization, plan, action))
    }

    async fn execute(approved: ApprovedPlan<'_, ManifestPlan>) -> Result<Execution<ManifestPlan>> {
        let (plan, recorder) = approved.into_parts();
        let executed = execute(recorder, &plan).await?;
        Ok(executed.map(|()| plan))
    }
}

impl ApplyManifest {
    /// Rejects an administrator who has no permission for the changes, because that approval would be meaningless.
    async fn administrator_may_approve(&self, context: &AdminContext) -> Result<()> {
        let Some(role) = context.administrator().and_then(|user| user.console_role) else {
            return Ok(());
        };
        let theirs = Caller {
            by: context.caller.by.clone(),
            principal: Principal::User(role),
        };
        let theirs = AdminContext::new(Arc::clone(&context.services), theirs);
        match plan_manifest(&theirs, &self.manifest, self.prune).await {
            Err(AdminError::Forbidden(_)) => Err(invalid(
                "approve_by",
                "this administrator may not make the changes; name another one",
            )),
            Err(error) => Err(error),
            Ok(_) => Ok(()),
        }
    }
}

assent_model::admin_command! {
    /// Creates the application with a key of an owner, or replaces its settings.
    #[derive(Clone, Debug, Serialize)]
    pub struct PutApplication {
        /// The owner.
        target owner: ManifestOwner,
        /// The key.
        target key: ManifestKey,
        /// The settings.
        protected application: ManagedSettings,
    }
}

impl PutApplication {
    fn management(&self) -> Management {
        Management {
            owner: self.owner.clone(),
            key: self.key.clone(),
        }
    }
}

impl AdminCommand for PutApplication {
    type Plan = (Management, ManifestPlan);
    type Outcome = (RegisteredApplication, ChangeAction);

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Self::Plan>> {
        let management = self.management();
        let application = ManifestApplication::with_key(self.key.clone(), self.application.clone());
        let planned = plan_application(context, self.owner.clone(), application).await;
        let (authorization, plan) = planned.map_err(application_error)?;
        let action = action_of(&plan);
        Ok(Planned::new(authorization, (management, plan), action))
    }

    async fn execute(approved: ApprovedPlan<'_, Self::Plan>) -> Result<Execution<Self::Outcome>> {
        let ((management, plan), recorder) = approved.into_parts();
        let services = recorder.services;
        let executed = execute(recorder, &plan).await.map_err(application_error)?;
        let Execution::Done(()) = executed else {
            return Ok(Execution::Overtaken);
        };
        let action = plan.changes.first().map(|change| change.action);
        let application = managed_application(services, &management).await?;
        Ok(Execution::Done((
            application,
            action.unwrap_or(ChangeAction::Update),
        )))
    }
}

/// Returns the protected action of a plan. `None` if the plan has no changes.
fn action_of(plan: &ManifestPlan) -> Option<ProtectedAction> {
    (!plan.changes.is_empty()).then(|| ProtectedAction::ApplyManifest {
        owner: plan.owner.to_string(),
        digest: plan.digest.to_text(),
        changes: ManifestChanges {
            created: plan.count(ChangeAction::Create),
            updated: plan.count(ChangeAction::Update) + plan.count(ChangeAction::Adopt),
            deleted: plan.count(ChangeAction::Delete),
        },
        objects: shown_objects(plan),
    })
}

/// Converts the errors of a manifest with a single application to errors about the application's members.
fn application_error(error: AdminError) -> AdminError {
    let AdminError::Manifest(errors) = error else {
        return error;
    };
    let errors = errors.into_iter().map(|error| ManifestError {
        pointer: error
            .pointer
            .trim_start_matches("/manifest/applications/0")
            .to_owned(),
        ..error
    });
    AdminError::Manifest(errors.collect())
}
