//! Plugins: sandboxed components that suggest claims and carry approvals.
//!
//! A plugin only suggests or carries; the host keeps every promise. Each call runs in an instance of its own, with limits on
//! work, time, memory and output, behind a queue of the plugin's own, so that one plugin can harm no other call. Nothing
//! outside this module knows which engine runs them.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};

use crate::id::Did;
use crate::secret::Digest;

mod approval;
mod bindings;
mod breaker;
mod call;
mod candidate;
mod claims;
mod compiled;
mod compiler;
mod component_check;
mod contract;
mod egress;
mod engine;
mod fault;
mod load;
mod log_limit;
mod meter;
mod names;
mod protected;
mod set;
mod share;
mod spec;
mod trial;
mod turns;
mod workbench;

pub use approval::{
    Begun, Callback, ChannelFailure, ChannelFailureKind, ChannelInfo, ChannelState, Evidence, News, Notice, Opening,
    Question,
};
pub use call::{Journal, LogLine, Usage, one_line};
pub use candidate::{Candidate, CandidateError};
pub use claims::{
    ClaimInput, MapFailure, MapFailureKind, Mapped, Protocol, RequestedClaim, SamlAttribute, Sink, Step, StepEnd,
    Traced, ValueType,
};
pub use compiled::{Compiled, check_compiled_folder};
pub use compiler::{COMPILE, Compiler, compile_standard_input};
pub use component_check::World;
pub use fault::{Fault, LoadError};
pub use load::Loader;
pub use meter::{Measured, Quantiles};
pub use protected::{PROTECTED, is_protected};
pub use set::PluginSet;
pub use spec::{
    Credential, CredentialGrant, Credentials, HttpGrant, Limits, NoCredentials, OnFailure, PluginSpec, Role, Trust,
};
pub use workbench::{
    ChannelTrial, MapperTrial, NoAnswer, Outgoing, OutgoingMethod, Received, Script, Tried, Workbench, inspect,
};

use approval::ApprovalChannel;
use claims::ClaimMapper;

/// Which plugin it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Identity {
    /// The operator's name for it.
    pub plugin: String,
    /// What the component calls itself.
    pub component: String,
    /// The component's version, as it says.
    pub version: String,
    /// The SHA-256 digest of the file, in hexadecimal.
    pub sha256: String,
}

/// What a component says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it does, in one sentence.
    #[serde(default)]
    pub summary: String,
    /// The claims it writes, `attribute:NAME` for SAML attributes; `*` and `attribute:*` leave the choice to the operator.
    #[serde(default)]
    pub writes: Vec<String>,
    /// JSON Schema of its settings, if it takes any.
    #[serde(default)]
    pub config_schema: Option<serde_json::Value>,
    /// Where the claims go that it is asked for; everywhere, if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sinks: Option<Vec<Sink>>,
    /// Whether it may turn a person away. What such a plugin fails to say can't be left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denies: bool,
    /// The hosts it sends requests to, as [`HttpGrant::hosts`] names them; `*` leaves the choice to the operator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Whether its requests are to follow redirects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follow_redirects: bool,
}

/// What [`inspect`] finds out about a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspection {
    /// The contract that the component is made for.
    pub world: World,
    /// The version of that contract.
    pub contract_version: String,
    /// The interfaces it asks for.
    pub imports: Vec<String>,
    /// The file's size in bytes.
    pub size: usize,
    /// The SHA-256 digest of the file, in hexadecimal.
    pub sha256: String,
    /// What it says about itself.
    pub description: Description,
}

/// The plugins of a host, ready to be called. They can be exchanged while it serves: calls that run go on with those they
/// began with.
pub struct Plugins {
    loader: Loader,
    loaded: ArcSwap<Loaded>,
}

/// One set of plugins.
#[derive(Default)]
struct Loaded {
    mappers: Vec<Arc<ClaimMapper>>,
    channels: Vec<ApprovalChannel>,
    /// By their names.
    granted: HashMap<String, Granted>,
    /// What the operator set up, in the order of the settings.
    specs: Vec<PluginSpec>,
}

/// What is known of one loaded plugin.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct PluginStatus {
    /// Which one it is.
    #[serde(flatten)]
    pub identity: Identity,
    /// The role that it plays.
    pub role: &'static str,
    /// What the operator lets it do.
    pub granted: Granted,
    /// What its calls used since the host started.
    pub measured: Measured,
}

/// What the operator lets a plugin do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Granted {
    /// The applications that it serves; `None` stands for all.
    #[schema(value_type = Option<Vec<String>>)]
    pub applications: Option<Vec<Did>>,
    /// The claims that it may write.
    pub writes: Vec<String>,
    /// The hosts that it may send requests to.
    pub hosts: Vec<String>,
}

impl Granted {
    /// What a role gives.
    fn of(role: &Role) -> Self {
        match role {
            Role::ClaimMapper { applications, writes, .. } => {
                Self { applications: applications.clone(), writes: writes.clone(), hosts: Vec::new() }
            }
            Role::ApprovalChannel { applications, http, .. } => {
                Self { applications: applications.clone(), writes: Vec::new(), hosts: http.hosts.clone() }
            }
        }
    }
}

impl Plugins {
    /// Compiles and checks every plugin. The claim mappers run in the order of `specs`.
    ///
    /// # Errors
    /// The first plugin that can't be used, with the reason: a file that is not a component of the role's world and version,
    /// settings that the plugin refuses, claims that it may not write, or that two plugins would write.
    pub async fn load(specs: Vec<PluginSpec>, loader: Loader) -> Result<Self, LoadError> {
        let loaded = loader.load(specs).await?;
        Ok(Self { loader, loaded: ArcSwap::from_pointee(loaded) })
    }

    /// Exchanges all plugins at once for those of `specs`, after every one of them was compiled, checked and tried out.
    /// Those that were there come back.
    ///
    /// # Errors
    /// As [`load`](Self::load); then those that were there go on.
    pub async fn reload(&self, specs: Vec<PluginSpec>) -> Result<PluginSet, LoadError> {
        let loaded = self.loader.load(specs).await?;
        trial::of_mappers(&loaded.mappers).await?;
        Ok(PluginSet(self.loaded.swap(Arc::new(loaded))))
    }

    /// Puts a set that was loaded before in the place of the one that is there, which comes back.
    pub fn put(&self, set: PluginSet) -> PluginSet {
        PluginSet(self.loaded.swap(set.0))
    }

    /// The plugins of this moment, whatever is loaded later.
    pub fn set(&self) -> PluginSet {
        PluginSet(self.loaded.load_full())
    }

    /// Asks each claim mapper for the claims of a person who does not exist, for each place it makes claims for.
    ///
    /// # Errors
    /// The first that breaks its contract or a limit. One that denies, or says that it can't do its work for this person,
    /// is well.
    pub async fn try_out(&self) -> Result<(), LoadError> {
        trial::of_mappers(&self.loaded.load_full().mappers).await
    }

    /// What is known of each plugin: claim mappers in their order, then channels.
    pub fn status(&self) -> Vec<PluginStatus> {
        let loaded = self.loaded.load();
        let granted = |name: &str| loaded.granted.get(name).cloned().unwrap_or_default();
        let mappers = loaded.mappers.iter().map(|mapper| PluginStatus {
            identity: Identity::clone(mapper.identity()),
            role: "claim-mapper",
            granted: granted(mapper.name()),
            measured: mapper.runner().meter().measured(),
        });
        let channels = loaded.channels.iter().map(|channel| PluginStatus {
            identity: Identity::clone(&channel.identity),
            role: match channel.trust {
                Trust::Verified => "approval-channel",
                Trust::Delegated => "delegated-approval-channel",
            },
            granted: granted(channel.name()),
            measured: channel.runner.meter().measured(),
        });
        mappers.chain(channels).collect()
    }

    /// Whether one of the loaded plugins has the component with this digest.
    pub fn has_component(&self, digest: &Digest) -> bool {
        let digest = digest.to_text();
        self.set().identities().iter().any(|identity| identity.sha256 == digest)
    }

    /// Runs the claim mappers that serve the application, in order, each seeing what the earlier ones made.
    ///
    /// # Errors
    /// The first plugin that denies or fails, unless its settings say that its claims may be left out.
    pub async fn map_claims(&self, input: ClaimInput) -> Result<Mapped, MapFailure> {
        self.set().map_claims(input).await
    }

    /// Whether a claim mapper is asked for claims of this application that go there.
    pub fn maps_claims_for(&self, application: &Did, sink: Sink) -> bool {
        self.loaded.load().mappers.iter().any(|mapper| mapper.is_asked_for(application, sink))
    }

    /// Whether a claim mapper may write attributes for at least one application.
    pub fn may_write_attributes(&self) -> bool {
        self.loaded.load().mappers.iter().any(|mapper| mapper.writes_attributes())
    }

    /// Whether a claim mapper for assertions of this application may write attributes.
    pub fn writes_attributes_for(&self, application: &Did) -> bool {
        self.mappers_of_assertions(application, ClaimMapper::writes_attributes)
    }

    /// Whether a claim mapper for assertions of this application may write this claim, which later ones see.
    pub fn writes_claim_for(&self, application: &Did, claim: &str) -> bool {
        self.mappers_of_assertions(application, |mapper| mapper.writes_claim(claim))
    }

    fn mappers_of_assertions(&self, application: &Did, is_one: impl Fn(&ClaimMapper) -> bool) -> bool {
        let loaded = self.loaded.load();
        loaded.mappers.iter().any(|mapper| mapper.is_asked_for(application, Sink::SamlAssertion) && is_one(mapper))
    }

    /// The channels that carry approvals for this application, in the operator's order; without one, for the host's own
    /// pages.
    pub fn channels_for(&self, application: Option<&Did>) -> Vec<ChannelInfo> {
        let loaded = self.loaded.load();
        loaded.channels.iter().filter(|channel| channel.serves(application)).map(ApprovalChannel::info).collect()
    }

    /// All channels, in the operator's order.
    pub fn channels(&self) -> Vec<ChannelInfo> {
        self.loaded.load().channels.iter().map(ApprovalChannel::info).collect()
    }

    /// A channel by its name.
    pub fn channel_info(&self, name: &str) -> Option<ChannelInfo> {
        self.loaded.load().channel(name).map(ApprovalChannel::info).ok()
    }

    /// Sends a request on its way through a channel: a [`Notice`] or a [`Question`], as its kind wants it.
    ///
    /// # Errors
    /// See [`ChannelFailureKind`].
    pub async fn begin(&self, channel: &str, opening: Opening) -> Result<Begun, ChannelFailure> {
        self.loaded.load_full().channel(channel)?.begin(opening).await
    }

    /// Asks a channel how the request with this handle stands.
    ///
    /// # Errors
    /// See [`ChannelFailureKind`].
    pub async fn poll(&self, channel: &str, handle: Vec<u8>) -> Result<ChannelState, ChannelFailure> {
        self.loaded.load_full().channel(channel)?.poll(handle).await
    }

    /// Has a channel read what came to its callback address.
    ///
    /// # Errors
    /// See [`ChannelFailureKind`].
    pub async fn on_callback(&self, channel: &str, callback: Callback) -> Result<News, ChannelFailure> {
        self.loaded.load_full().channel(channel)?.on_callback(callback).await
    }

    /// Has a channel take back the request with this handle.
    ///
    /// # Errors
    /// See [`ChannelFailureKind`].
    pub async fn cancel(&self, channel: &str, handle: Vec<u8>) -> Result<(), ChannelFailure> {
        self.loaded.load_full().channel(channel)?.cancel(handle).await
    }
}

impl Loaded {
    fn channel(&self, name: &str) -> Result<&ApprovalChannel, ChannelFailure> {
        let found = self.channels.iter().find(|channel| channel.name() == name);
        found.ok_or_else(|| ChannelFailure { channel: name.to_owned(), kind: ChannelFailureKind::Unknown })
    }
}

#[cfg(test)]
mod tests;
