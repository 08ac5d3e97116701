//! Commands about the plugins of this instance.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use super::{Result, invalid};
use crate::domain::admin::execution::Execution;
use crate::domain::operations::plugins::exchange;
use crate::domain::operations::plugins::reloads::{Reload, ReloadError};
use crate::domain::protected_actions::ProtectedAction;
use assent_model::administration::Permission;

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

    async fn execute(approved: ApprovedPlan<'_, ()>) -> Result<Execution<Self::Outcome>> {
        let ((), recorder) = approved.into_parts();
        let (services, by) = (Arc::clone(recorder.services), recorder.by.clone());
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

    async fn execute(approved: ApprovedPlan<'_, Option<String>>) -> Result<Execution<()>> {
        let (previous, recorder) = approved.into_parts();
        exchange::roll_back(recorder.services, previous.as_deref(), recorder.by).await?;
        Ok(Execution::Done(()))
    }
}
