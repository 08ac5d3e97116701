//! The contracts that this host serves, each version by an adapter of its own.
//!
//! What runs the chain or carries approvals knows the traits here and none of the versions: a version is linked, called
//! and translated by its adapter, so an older one is served as long as its adapter is there.

use std::pin::Pin;

use wasmtime::component::Component;

use super::approval::{
    Callback, CallbackContent, ChannelFailureKind, ChannelRequest, ChannelState, StartedRequest,
};
use super::call::Runner;
use super::claims::{ClaimInput, Edit, MapError};
use super::usage::CallResult;
use super::world::World;

/// An answer that comes later.
pub(super) type CallFuture<'a, T> = Pin<Box<dyn Future<Output = CallResult<T>> + Send + 'a>>;

/// What a component of any role can be asked.
pub(super) trait DescribedComponent: Send + Sync {
    /// What it says about itself, a JSON object.
    fn describe<'a>(&'a self, runner: &'a Runner) -> CallFuture<'a, String>;

    /// What it says about its settings, a JSON object: each error is a sentence.
    fn validate<'a>(
        &'a self,
        runner: &'a Runner,
        config: &'a str,
    ) -> CallFuture<'a, Result<(), Vec<String>>>;
}

/// A component that maps claims.
pub(super) trait MapperComponent: DescribedComponent {
    /// The edits that it suggests. `current` and `config` are JSON objects.
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
    /// Sends a request on its way.
    fn begin<'a>(
        &'a self,
        runner: &'a Runner,
        config: &'a str,
        opening: ChannelRequest,
    ) -> CallFuture<'a, Result<StartedRequest, ChannelFailureKind>>;

    /// Asks how a request stands.
    fn poll<'a>(
        &'a self,
        runner: &'a Runner,
        config: &'a str,
        handle: Vec<u8>,
    ) -> CallFuture<'a, Result<ChannelState, ChannelFailureKind>>;

    /// Reads what came to the callback address.
    fn on_callback<'a>(
        &'a self,
        runner: &'a Runner,
        config: &'a str,
        callback: Callback,
    ) -> CallFuture<'a, Result<CallbackContent, ChannelFailureKind>>;

    /// Takes a request back.
    fn cancel<'a>(
        &'a self,
        runner: &'a Runner,
        config: &'a str,
        handle: Vec<u8>,
    ) -> CallFuture<'a, Result<(), ChannelFailureKind>>;
}

/// A linked component, by its role.
pub(super) enum LinkedComponent {
    /// Maps claims.
    Mapper(Box<dyn MapperComponent>),
    /// Carries approvals, with evidence that the host verifies.
    Channel(Box<dyn ChannelComponent>),
    /// Carries approvals to a vendor, whose word counts.
    Delegated(Box<dyn ChannelComponent>),
}

impl LinkedComponent {
    /// What a component of any role can be asked.
    pub(super) fn described(&self) -> &dyn DescribedComponent {
        match self {
            Self::Mapper(mapper) => mapper.as_ref(),
            Self::Channel(carrier) | Self::Delegated(carrier) => carrier.as_ref(),
        }
    }
}

/// One version of one contract.
#[derive(Clone, Copy)]
pub(super) struct ContractVersion {
    /// The role of its components.
    pub(super) world: World,
    /// Its version.
    pub(super) version: &'static str,
    /// The interfaces that its components may import, with their versions.
    pub(super) imports: &'static [&'static str],
    /// Links a component of it.
    pub(super) link: fn(&Component) -> wasmtime::Result<LinkedComponent>,
}
