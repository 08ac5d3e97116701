//! The plugins of a host.

use std::sync::Arc;

use arc_swap::ArcSwap;
use serde::Serialize;

use crate::approval::{
    ApprovalChannel, Callback, CallbackContent, ChannelFailure, ChannelInfo, ChannelRequest,
    ChannelState, StartedRequest,
};
use crate::claims::{ClaimInput, ClaimMapper, MapFailure, MappedClaims};
use crate::description::PluginIdentity;
use crate::fault::LoadError;
use crate::load::Loader;
use crate::loaded::{LoadedPlugins, PluginGrant};
use crate::meter::PluginMetrics;
use crate::set::PluginSet;
use crate::sink::Sink;
use crate::smoke_test;
use crate::spec::{PluginSpec, Trust};
use assent_model::id::Did;
use assent_model::secret::Digest;

/// The plugins of a host, ready to be called. They can be exchanged while it serves: calls that run go on with those
/// they began with.
pub struct Plugins {
    pub(crate) loader: Loader,
    pub(crate) loaded: ArcSwap<LoadedPlugins>,
}

/// A loaded plugin.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PluginStatus {
    /// Which one it is.
    #[serde(flatten)]
    pub identity: PluginIdentity,
    /// Its role.
    pub role: &'static str,
    /// The permissions that the operator grants it.
    #[serde(rename = "grants")]
    pub granted: PluginGrant,
    /// The metrics of its calls since the instance started.
    #[serde(rename = "metrics")]
    pub measured: PluginMetrics,
}

impl Plugins {
    /// Compiles and checks every plugin. The claim mappers run in the order of `specs`.
    ///
    /// # Errors
    /// The first plugin that can't be used, with the reason: a file that is not a component of the role's world and
    /// version, settings that the plugin refuses, claims that it may not write, or that two plugins would write.
    pub async fn load(specs: Vec<PluginSpec>, loader: Loader) -> Result<Self, LoadError> {
        let loaded = loader.load(specs).await?;
        Ok(Self {
            loader,
            loaded: ArcSwap::from_pointee(loaded),
        })
    }

    /// Exchanges all plugins at once for those of `specs`, after every one of them was compiled, checked and tried out.
    /// Those that were there come back.
    ///
    /// # Errors
    /// As [`load`](Self::load); then those that were there go on.
    pub async fn reload(&self, specs: Vec<PluginSpec>) -> Result<PluginSet, LoadError> {
        let loaded = self.loader.load(specs).await?;
        smoke_test::run(&loaded.mappers).await?;
        Ok(PluginSet(self.loaded.swap(Arc::new(loaded))))
    }

    /// Puts a set that was loaded before in the place of the one that is there, which comes back.
    pub fn replace_set(&self, set: PluginSet) -> PluginSet {
        PluginSet(self.loaded.swap(set.0))
    }

    /// The plugins of this moment, whatever is loaded later.
    pub fn set(&self) -> PluginSet {
        PluginSet(self.loaded.load_full())
    }

    /// Asks each claim mapper for the claims of a person who does not exist, for each place it makes claims for.
    ///
    /// # Errors
    /// The first that breaks its contract or a limit. One that denies, or says that it can't do its work for this
    /// person, is well.
    pub async fn try_out(&self) -> Result<(), LoadError> {
        smoke_test::run(&self.loaded.load_full().mappers).await
    }

    /// What is known of each plugin: claim mappers in their order, then channels.
    pub fn status(&self) -> Vec<PluginStatus> {
        let loaded = self.loaded.load();
        let granted = |name: &str| loaded.granted.get(name).cloned().unwrap_or_default();
        let mappers = loaded.mappers.iter().map(|mapper| PluginStatus {
            identity: PluginIdentity::clone(mapper.identity()),
            role: "claim-mapper",
            granted: granted(mapper.name()),
            measured: mapper.runner().meter().measured(),
        });
        let channels = loaded.channels.iter().map(|channel| PluginStatus {
            identity: PluginIdentity::clone(&channel.identity),
            role: channel.trust.role(),
            granted: granted(channel.name()),
            measured: channel.runner.meter().measured(),
        });
        mappers.chain(channels).collect()
    }

    /// Whether one of the loaded plugins has the component with this digest.
    pub fn has_component(&self, digest: &Digest) -> bool {
        let digest = digest.to_text();
        self.set()
            .identities()
            .iter()
            .any(|identity| identity.sha256 == digest)
    }

    /// Runs the claim mappers that serve the application, in order, each seeing what the earlier ones made.
    ///
    /// # Errors
    /// The first plugin that denies or fails, unless its settings say that its claims may be left out.
    pub async fn map_claims(&self, input: ClaimInput) -> Result<MappedClaims, MapFailure> {
        self.set().map_claims(input).await
    }

    /// Whether a claim mapper is asked for claims of this application that go there.
    pub fn maps_claims_for(&self, application: &Did, sink: Sink) -> bool {
        self.loaded
            .load()
            .mappers
            .iter()
            .any(|mapper| mapper.is_asked_for(application, sink))
    }

    /// Whether a claim mapper may write attributes for at least one application.
    pub fn may_write_attributes(&self) -> bool {
        self.loaded
            .load()
            .mappers
            .iter()
            .any(|mapper| mapper.writes_attributes())
    }

    /// Whether a claim mapper for assertions of this application may write attributes.
    pub fn writes_attributes_for(&self, application: &Did) -> bool {
        self.mappers_of_assertions(application, ClaimMapper::writes_attributes)
    }

    /// Whether a claim mapper for assertions of this application may write this claim, which later ones see.
    pub fn writes_claim_for(&self, application: &Did, claim: &str) -> bool {
        self.mappers_of_assertions(application, |mapper| mapper.writes_claim(claim))
    }

    fn mappers_of_assertions(
        &self,
        application: &Did,
        is_one: impl Fn(&ClaimMapper) -> bool,
    ) -> bool {
        let loaded = self.loaded.load();
        loaded
            .mappers
            .iter()
            .any(|mapper| mapper.is_asked_for(application, Sink::SamlAssertion) && is_one(mapper))
    }

    /// The channels that carry approvals for this application, in the operator's order; without one, for the host's own
    /// pages.
    pub fn channels_for(&self, application: Option<&Did>) -> Vec<ChannelInfo> {
        let loaded = self.loaded.load();
        loaded
            .channels
            .iter()
            .filter(|channel| channel.serves(application))
            .map(ApprovalChannel::info)
            .collect()
    }

    /// All channels, in the operator's order.
    pub fn channels(&self) -> Vec<ChannelInfo> {
        self.loaded
            .load()
            .channels
            .iter()
            .map(ApprovalChannel::info)
            .collect()
    }

    /// Whether a channel is delegated.
    pub fn has_delegated_channel(&self) -> bool {
        let loaded = self.loaded.load();
        loaded
            .channels
            .iter()
            .any(|channel| channel.trust == Trust::Delegated)
    }

    /// A channel by its name.
    pub fn channel_info(&self, name: &str) -> Option<ChannelInfo> {
        self.loaded
            .load()
            .channel(name)
            .map(ApprovalChannel::info)
            .ok()
    }

    /// Sends a request on its way through a channel: a [`Notice`](crate::Notice) or a [`Question`](crate::Question), as
    /// its kind wants it.
    ///
    /// # Errors
    /// See [`ChannelFailureKind`](crate::ChannelFailureKind).
    pub async fn begin(
        &self,
        channel: &str,
        opening: ChannelRequest,
    ) -> Result<StartedRequest, ChannelFailure> {
        self.loaded
            .load_full()
            .channel(channel)?
            .begin(opening)
            .await
    }

    /// Asks a channel how the request with this handle stands.
    ///
    /// # Errors
    /// See [`ChannelFailureKind`](crate::ChannelFailureKind).
    pub async fn poll(
        &self,
        channel: &str,
        handle: Vec<u8>,
    ) -> Result<ChannelState, ChannelFailure> {
        self.loaded.load_full().channel(channel)?.poll(handle).await
    }

    /// Has a channel read what came to its callback address.
    ///
    /// # Errors
    /// See [`ChannelFailureKind`](crate::ChannelFailureKind).
    pub async fn on_callback(
        &self,
        channel: &str,
        callback: Callback,
    ) -> Result<CallbackContent, ChannelFailure> {
        self.loaded
            .load_full()
            .channel(channel)?
            .on_callback(callback)
            .await
    }

    /// Has a channel take back the request with this handle.
    ///
    /// # Errors
    /// See [`ChannelFailureKind`](crate::ChannelFailureKind).
    pub async fn cancel(&self, channel: &str, handle: Vec<u8>) -> Result<(), ChannelFailure> {
        self.loaded
            .load_full()
            .channel(channel)?
            .cancel(handle)
            .await
    }
}
