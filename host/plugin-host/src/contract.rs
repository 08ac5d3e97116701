//! The contracts that the server supports. Each version has an adapter of its own.
//!
//! The chain and the approval code use only the traits of this module and no version. The adapter of a version links,
//! calls and translates its components. So the server supports an older version as long as its adapter exists.

use std::pin::Pin;

use wasmtime::component::Component;

use super::approval::{
    Callback, CallbackContent, ChannelFailureKind, ChannelRequest, ChannelState, StartedRequest,
};
use super::call::Runner;
use super::claims::{ClaimInput, Edit, MapError};
use super::usage::CallResult;
use super::world::World;

/// The future of a call's result.
pub(super) type CallFuture<'a, T> = Pin<Box<dyn Future<Output = CallResult<T>> + Send + 'a>>;

/// The functions of a component of any role.
pub(super) trait DescribedComponent: Send + Sync {
    /// Returns the component's description of itself, a JSON object.
    fn describe<'a>(&'a self, runner: &'a Runner) -> CallFuture<'a, String>;

    /// Checks the settings, a JSON object. Each error is a sentence.
    fn validate<'a>(
        &'a self,
        runner: &'a Runner,
        config: &'a str,
    ) -> CallFuture<'a, Result<(), Vec<String>>>;
}

/// A component that maps claims.
pub(super) trait MapperComponent: DescribedComponent {
    /// Returns the edits that the component suggests. `current` and `config` are JSON objects.
    fn map<'a>(
        &'a self,
        runner: &'a Runner,
        input: &'a ClaimInput,
        current: &'a str,
        config: &'a str,
    ) -> CallFuture<'a, Result<Vec<Edit>, MapError>>;
}

/// A component that carries approvals.
pub(super) trait ChannelComponent: DescribedComponent {
    /// Sends an approval request.
    fn begin<'a>(
        &'a self,
        runner: &'a Runner,
        config: &'a str,
        opening: ChannelRequest,
    ) -> CallFuture<'a, Result<StartedRequest, ChannelFailureKind>>;

    /// Polls the state of a request.
    fn poll<'a>(
        &'a self,
        runner: &'a Runner,
        config: &'a str,
        handle: Vec<u8>,
    ) -> CallFuture<'a, Result<ChannelState, ChannelFailureKind>>;

    /// Passes a callback to the component.
    fn on_callback<'a>(
        &'a self,
        runner: &'a Runner,
        config: &'a str,
        callback: Callback,
    ) -> CallFuture<'a, Result<CallbackContent, ChannelFailureKind>>;

    /// Cancels a request.
    fn cancel<'a>(
        &'a self,
        runner: &'a Runner,
        config: &'a str,
        handle: Vec<u8>,
    ) -> CallFuture<'a, Result<(), ChannelFailureKind>>;
}

/// A linked component, by its role.
pub(super) enum LinkedComponent {
    /// A claim mapper.
    Mapper(Box<dyn MapperComponent>),
    /// An approval channel. The server verifies its channel proofs.
    Channel(Box<dyn ChannelComponent>),
    /// A delegated approval channel. The server trusts the vendor's decision.
    Delegated(Box<dyn ChannelComponent>),
}

impl LinkedComponent {
    /// Returns the functions that components of every role have.
    pub(super) fn as_described(&self) -> &dyn DescribedComponent {
        match self {
            Self::Mapper(mapper) => mapper.as_ref(),
            Self::Channel(carrier) | Self::Delegated(carrier) => carrier.as_ref(),
        }
    }
}

/// A version of a contract.
#[derive(Clone, Copy)]
pub(super) struct ContractVersion {
    /// The role of its components.
    pub(super) world: World,
    /// Its version.
    pub(super) version: &'static str,
    /// The interfaces that its components may import, with their versions.
    pub(super) imports: &'static [&'static str],
    /// Links a component of this version.
    pub(super) link: fn(&Component) -> wasmtime::Result<LinkedComponent>,
}
