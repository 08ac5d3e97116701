//! An approval channel.

use std::sync::Arc;

use super::types::{
    Callback, CallbackContent, ChannelFailure, ChannelFailureKind, ChannelInfo, ChannelRequest,
    ChannelState, StartedRequest,
};
use crate::call::Runner;
use crate::contract::ChannelComponent;
use crate::description::PluginIdentity;
use crate::spec::Trust;
use crate::usage::CallResult;
use assent_model::id::Did;

/// An approval channel.
pub(crate) struct ApprovalChannel {
    pub(crate) identity: Arc<PluginIdentity>,
    pub(crate) runner: Runner,
    pub(crate) component: Box<dyn ChannelComponent>,
    pub(crate) trust: Trust,
    pub(crate) shows_letters: bool,
    /// The applications that the channel serves. `None` means all of them, and the server's own pages.
    pub(crate) applications: Option<Vec<Did>>,
    pub(crate) config: String,
}

impl ApprovalChannel {
    pub(crate) fn name(&self) -> &str {
        self.runner.name()
    }

    /// Returns whether the channel carries approvals for this application. `None` stands for the server's own pages.
    pub(crate) fn serves(&self, application: Option<&Did>) -> bool {
        let served =
            |list: &Vec<Did>| application.is_some_and(|application| list.contains(application));
        self.applications.as_ref().is_none_or(served)
    }

    pub(crate) fn info(&self) -> ChannelInfo {
        ChannelInfo {
            name: self.name().to_owned(),
            trust: self.trust,
            shows_letters: self.shows_letters,
        }
    }

    /// Sends an approval request.
    pub(crate) async fn begin(
        &self,
        opening: ChannelRequest,
    ) -> Result<StartedRequest, ChannelFailure> {
        let fits = matches!(
            (&opening, self.trust),
            (ChannelRequest::Notice(_), Trust::Verified)
                | (ChannelRequest::Question(_), Trust::Delegated)
        );
        if !fits {
            return Err(self.log_failure(ChannelFailureKind::WrongKind));
        }
        let begun = self.outcome_of(
            self.component
                .begin(&self.runner, &self.config, opening)
                .await,
        )?;
        begun.check_handle().map_err(|fault| {
            self.runner.meter().broke_contract();
            self.log_failure(ChannelFailureKind::Fault(fault))
        })
    }

    /// Polls the state of a request.
    pub(crate) async fn poll(&self, handle: Vec<u8>) -> Result<ChannelState, ChannelFailure> {
        self.outcome_of(
            self.component
                .poll(&self.runner, &self.config, handle)
                .await,
        )
    }

    /// Passes a callback to the channel.
    pub(crate) async fn on_callback(
        &self,
        callback: Callback,
    ) -> Result<CallbackContent, ChannelFailure> {
        self.outcome_of(
            self.component
                .on_callback(&self.runner, &self.config, callback)
                .await,
        )
    }

    /// Cancels a request.
    pub(crate) async fn cancel(&self, handle: Vec<u8>) -> Result<(), ChannelFailure> {
        self.outcome_of(
            self.component
                .cancel(&self.runner, &self.config, handle)
                .await,
        )
    }

    fn outcome_of<T>(
        &self,
        ran: CallResult<Result<T, ChannelFailureKind>>,
    ) -> Result<T, ChannelFailure> {
        match ran.result {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(kind)) => Err(self.log_failure(kind)),
            Err(fault) => Err(self.log_failure(ChannelFailureKind::Fault(fault))),
        }
    }

    fn log_failure(&self, kind: ChannelFailureKind) -> ChannelFailure {
        let channel = self.name().to_owned();
        tracing::warn!(plugin = channel, reason = %kind, "approval channel failed");
        ChannelFailure { channel, kind }
    }
}
