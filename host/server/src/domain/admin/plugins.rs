//! Commands about the plugins of this instance.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::command::{AdminCommand, AdminContext, ApprovedPlan, Execution, Planned};
use super::{Result, invalid};
use crate::domain::operations::plugins::exchange;
use crate::domain::operations::plugins::reloads::{Reload, ReloadError};
use crate::domain::protected_actions::ProtectedAction;
use assent_model::administration::Permission;
use assent_model::audit::AuditContext;

/// The error if a caller may not change plugins.
const FORBIDDEN: &str = "you may not reload plugins";

assent_model::admin_command! {
    /// Replaces the plugins with those that the settings name now.
    #[derive(Clone, Copy, Debug, serde::Serialize)]
    pub struct ReloadPlugins;
}

impl AdminCommand for ReloadPlugins {
    type Plan = ();
    /// The running exchange. It continues if the client disconnects, because an interrupted exchange would leave
    /// compiled files behind and no result.
    type Outcome = JoinHandle<std::result::Result<Reload, ReloadError>>;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<()>> {
        let authorization = context
            .caller
            .authorize(Permission::PluginsWrite, FORBIDDEN)?;
        Ok(Planned::protected(
            authorization,
            (),
            ProtectedAction::ReloadPlugins,
        ))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<()>,
        by: &AuditContext,
    ) -> Result<Execution<Self::Outcome>> {
        let () = approved.into_plan();
        let (services, by) = (Arc::clone(&context.services), by.clone());
        let exchanging = tokio::spawn(async move { exchange::reload(&services, &by).await });
        Ok(Execution::Done(exchanging))
    }
}

assent_model::admin_command! {
    /// Restores the plugins that were loaded before the last exchange.
    #[derive(Clone, Debug, serde::Serialize)]
    pub struct RollBackPlugins {
        /// The digest of the plugins to restore. The console must specify it.
        target previous: Option<String>,
    }
}

impl AdminCommand for RollBackPlugins {
    type Plan = Option<String>;
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Option<String>>> {
        let authorization = context
            .caller
            .authorize(Permission::PluginsWrite, FORBIDDEN)?;
        // The approval is for these plugins, so no others are restored.
        if context.console().is_some() && self.previous.is_none() {
            return Err(invalid(
                "previous",
                "expected the digest of the previous plugins",
            ));
        }
        let found = exchange::previous_known_by(&context.services, self.previous.as_deref())?;
        let action = ProtectedAction::RollBackPlugins {
            plugins: found.in_words(),
            digest: found.digest,
        };
        Ok(Planned::protected(
            authorization,
            self.previous.clone(),
            action,
        ))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<Option<String>>,
        by: &AuditContext,
    ) -> Result<Execution<()>> {
        let previous = approved.into_plan();
        exchange::roll_back(&context.services, previous.as_deref(), by).await?;
        Ok(Execution::Done(()))
    }
}
