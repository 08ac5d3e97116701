//! The command that tests a candidate plugin.

use std::sync::Arc;

use super::comparison::{PreviewComparison, compare};
use super::preview::PreviewRequest;
use crate::domain::InternalError;
use crate::domain::admin::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use crate::domain::admin::execution::Execution;
use crate::domain::admin::{AdminError, Result};
use crate::domain::protected_actions::ProtectedAction;
use assent_model::administration::Permission;
use assent_model::caller::Principal;
use assent_model::id::Did;
use assent_model::secret::Digest;
use assent_plugin_host::Candidate;

assent_model::admin_command! {
    /// Compares the claims for an application from the current plugins with those from a candidate plugin.
    #[derive(Clone, Debug, serde::Serialize)]
    pub struct TryCandidate {
        /// The application.
        target application: Did,
        /// The account.
        classified request: PreviewRequest,
        /// The candidate.
        protected candidate: Candidate,
    }
}

impl AdminCommand for TryCandidate {
    type Plan = Self;
    type Outcome = PreviewComparison;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Self>> {
        let (services, caller) = (&context.services, &context.caller);
        let authorization = caller
            .authorize(Permission::PluginsWrite, "you may not try plugins")?
            .and(caller.authorize(
                Permission::ClaimsRead,
                "this needs the permission claims:read too, which you do not have",
            )?);
        let component = self.candidate.component.as_deref().map(Digest::sha256);
        if component.is_some() && matches!(caller.principal, Principal::Application(_)) {
            return Err(AdminError::Forbidden(
                "a service account cannot upload a component; use the console or a token of `assent admin token`",
            ));
        }
        let plugin = &self.candidate.plugin;
        let action = match component.filter(|digest| !services.plugins.has_component(digest)) {
            Some(digest) if !is_approved(context, plugin, &digest).await? => {
                Some(ProtectedAction::TryComponent {
                    plugin: plugin.clone(),
                    component: digest.to_text(),
                })
            }
            _ => None,
        };
        Ok(Planned::new(authorization, self.clone(), action))
    }

    async fn execute(approved: ApprovedPlan<'_, Self>) -> Result<Execution<PreviewComparison>> {
        let console = approved.console();
        let (plan, recorder) = approved.into_parts();
        let services = Arc::clone(recorder.services);
        if let (Some(_), Some(console), Some(component)) = (
            recorder.by.approval.as_ref(),
            console,
            &plan.candidate.component,
        ) {
            // The administrator may test the component until the console session ends. The approval is for one plugin
            // only, because the component runs with the grants of that plugin.
            let (session, component) = (console.signed_in.session.id, Digest::sha256(component));
            services
                .store
                .approve_component(session, &plan.candidate.plugin, &component, services.now())
                .await?;
        }
        let permit = services
            .rate_limits
            .candidate
            .hold(())
            .ok_or(AdminError::TooMany(
                "another candidate plugin is running; try again when it ends",
            ))?;
        services
            .rate_limits
            .candidates
            .count_call(&(), services.now())
            .map_err(|_| {
                AdminError::TooMany(
                    "too many candidate plugins ran in the last minute; try again in a minute",
                )
            })?;
        let by = recorder.by.clone();
        // The comparison runs to its end even if the client disconnects. No other comparison begins before it ends.
        let compared = tokio::spawn(async move {
            let Self {
                application,
                request,
                candidate,
            } = plan;
            let compared = compare(&services, &application, &request, candidate, &by).await;
            drop(permit);
            compared
        });
        let compared = compared.await.map_err(|error| {
            InternalError::Plugin(format!("the comparison was aborted: {error}"))
        })?;
        compared.map(Execution::Done)
    }
}

/// Returns whether the administrator approved the component for this plugin in this session of the console.
async fn is_approved(context: &AdminContext, plugin: &str, component: &Digest) -> Result<bool> {
    let Some(console) = context.console() else {
        return Ok(false);
    };
    let session = console.signed_in.session.id;
    let store = &context.services.store;
    Ok(store
        .is_component_approved(session, plugin, component)
        .await?)
}
