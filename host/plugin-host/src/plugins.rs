//! The loaded plugins of an instance.

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

/// The loaded plugins of an instance. They can be exchanged while the instance serves; calls under way complete with
/// the set that they began with.
pub struct Plugins {
    pub(crate) loader: Loader,
    pub(crate) loaded: ArcSwap<LoadedPlugins>,
}

/// A loaded plugin.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PluginStatus {
    /// The plugin's identity.
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
    /// The first plugin that cannot be used, with the reason: the file is not a component of the role's world and
    /// version, the plugin rejects its settings, a claim is not grantable, or two plugins may write one claim.
    pub async fn load(specs: Vec<PluginSpec>, loader: Loader) -> Result<Self, LoadError> {
        let loaded = loader.load(specs).await?;
        Ok(Self {
            loader,
            loaded: ArcSwap::from_pointee(loaded),
        })
    }

    /// Exchanges all plugins at once for those of `specs`, after each of them was compiled, checked and tried. Returns
    /// the previous set.
    ///
    /// # Errors
    /// As [`load`](Self::load), or a plugin fails its smoke test. Then the previous set stays in use.
    pub async fn reload(&self, specs: Vec<PluginSpec>) -> Result<PluginSet, LoadError> {
        let loaded = self.loader.load(specs).await?;
        smoke_test::run(&loaded.mappers).await?;
        Ok(PluginSet::new(self.loaded.swap(Arc::new(loaded))))
    }

    /// Replaces the current set with one that was loaded before. Returns the replaced set.
    pub fn replace_set(&self, set: PluginSet) -> PluginSet {
        PluginSet::new(self.loaded.swap(set.loaded))
    }

    /// Returns the current set. A later reload does not change it.
    pub fn set(&self) -> PluginSet {
        PluginSet::new(self.loaded.load_full())
    }

    /// Runs the smoke test: calls each claim mapper for a fictitious user, with each destination of claims that it
    /// serves.
    ///
    /// # Errors
    /// The first mapper that breaks its contract or a limit. A mapper that denies or reports a failure of its own
    /// passes the test.
    pub async fn try_out(&self) -> Result<(), LoadError> {
        smoke_test::run(&self.loaded.load_full().mappers).await
    }

    /// Returns the status of each plugin: claim mappers in their order, then channels.
    pub fn status(&self) -> Vec<PluginStatus> {
        let loaded = self.loaded.load();
        let granted = |name: &str| loaded.granted.get(name).cloned().unwrap_or_default();
        let mappers = loaded.mappers.iter().map(|mapper| PluginStatus {
            identity: PluginIdentity::clone(mapper.identity()),
            role: "claim-mapper",
            granted: granted(mapper.name()),
            measured: mapper.runner().meter().metrics(),
        });
        let channels = loaded.channels.iter().map(|channel| PluginStatus {
            identity: PluginIdentity::clone(&channel.identity),
            role: channel.trust.role(),
            granted: granted(channel.name()),
            measured: channel.runner.meter().metrics(),
        });
        mappers.chain(channels).collect()
    }

    /// Returns whether a loaded plugin has the component with this digest.
    pub fn has_component(&self, digest: &Digest) -> bool {
        let digest = digest.to_text();
        self.set()
            .identities()
            .iter()
            .any(|identity| identity.sha256 == digest)
    }

    /// Runs the claim mappers of the application in order. Each mapper sees the result of the earlier ones.
    ///
    /// # Errors
    /// The first plugin that denies or fails, unless its settings permit the omission of its claims.
    pub async fn map_claims(&self, input: ClaimInput) -> Result<MappedClaims, MapFailure> {
        self.set().map_claims(input).await
    }

    /// Returns whether a claim mapper runs for claims of this application with this destination.
    pub fn maps_claims_for(&self, application: &Did, sink: Sink) -> bool {
        self.loaded
            .load()
            .mappers
            .iter()
            .any(|mapper| mapper.is_asked_for(application, sink))
    }

    /// Returns whether a claim mapper may write attributes for at least one application.
    pub fn may_write_attributes(&self) -> bool {
        self.loaded
            .load()
            .mappers
            .iter()
            .any(|mapper| mapper.writes_attributes())
    }

    /// Returns whether a claim mapper for assertions of this application may write attributes.
    pub fn writes_attributes_for(&self, application: &Did) -> bool {
        self.mappers_of_assertions(application, ClaimMapper::writes_attributes)
    }

    /// Returns whether a claim mapper for assertions of this application may write this claim, which later mappers see.
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

    /// Returns the channels that carry approvals for this application, in the operator's order. `None` stands for the
    /// server's own pages.
    pub fn channels_for(&self, application: Option<&Did>) -> Vec<ChannelInfo> {
        let loaded = self.loaded.load();
        loaded
            .channels
            .iter()
            .filter(|channel| channel.serves(application))
            .map(ApprovalChannel::info)
            .collect()
    }

    /// Returns all channels, in the operator's order.
    pub fn channels(&self) -> Vec<ChannelInfo> {
        self.loaded
            .load()
            .channels
            .iter()
            .map(ApprovalChannel::info)
            .collect()
    }

    /// Returns whether a channel is delegated.
    pub fn has_delegated_channel(&self) -> bool {
        let loaded = self.loaded.load();
        loaded
            .channels
            .iter()
            .any(|channel| channel.trust == Trust::Delegated)
    }

    /// Returns a channel by its name.
    pub fn channel_info(&self, name: &str) -> Option<ChannelInfo> {
        self.loaded
            .load()
            .channel(name)
            .map(ApprovalChannel::info)
            .ok()
    }

    /// Sends an approval request through a channel: a [`Notice`](crate::Notice) or a [`Question`](crate::Question), by
    /// the kind of the channel.
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

    /// Polls the state of the request with this handle.
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

    /// Passes a callback to a channel.
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

    /// Cancels the request with this handle.
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
