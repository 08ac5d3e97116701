//! The context of a command, from its request.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;

use super::authorize::ConsoleSession;
use super::conditional::IfMatch;
use crate::domain::Services;
use crate::domain::admin::{AdminCommand, AdminContext, Caller, NamedApproval};
use crate::http::context::Browser;
use crate::http::problem::{Problem, ProblemKind};
use crate::http::texts;
use assent_model::login::BrowserContext;

/// The caller, the browser, the expected version, and the named approval of a command.
pub(super) struct Context(pub(super) AdminContext, BrowserContext);

impl Context {
    /// Returns the same context, with the approval of the administrator with this name.
    pub(super) async fn approved_by(self, name: &str) -> Result<Self, Problem> {
        let Self(context, place) = self;
        let context = context.approved_by(name, place.clone()).await?;
        Ok(Self(context, place))
    }

    /// Plans the command, requires an approval if it is protected, and executes it.
    pub(super) async fn run<C: AdminCommand>(&self, command: C) -> Result<C::Outcome, Problem> {
        Ok(self.0.run(&command).await?)
    }

    /// Runs the command for a response without content.
    pub(super) async fn no_content<C: AdminCommand>(
        &self,
        command: C,
    ) -> Result<StatusCode, Problem> {
        self.run(command).await?;
        Ok(StatusCode::NO_CONTENT)
    }
}

impl FromRequestParts<Arc<Services>> for Context {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        services: &Arc<Services>,
    ) -> Result<Self, Problem> {
        let Some(caller) = parts.extensions.get::<Caller>().cloned() else {
            tracing::error!("admin API handler reached without authentication");
            return Err(Problem::with_kind(
                ProblemKind::Internal,
                "the server could not do this",
            ));
        };
        let when = IfMatch::from_request_parts(parts, services).await?;
        let context = AdminContext::new(Arc::clone(services), caller)
            .expecting(when.expected_version())
            .in_language(texts::requested_language(&parts.headers).unwrap_or_default());
        let Ok(browser) = Browser::from_request_parts(parts, services).await;
        let place = browser.context(services);
        let named = match parts.headers.get(ACTION_APPROVAL) {
            None => NamedApproval::None,
            Some(value) => {
                let id = value.to_str().ok().and_then(|id| id.parse().ok());
                id.map_or(NamedApproval::Unreadable, NamedApproval::Id)
            }
        };
        let context = context.naming(named);
        let context = match parts.extensions.get::<ConsoleSession>() {
            Some(session) => context.in_console(session.console.clone()),
            None => context,
        };
        Ok(Self(context, place))
    }
}

/// The header with the id of the action approval under which a request runs its protected action.
pub(super) const ACTION_APPROVAL: &str = "x-assent-action-approval";
