//! Plugins: sandboxed components that suggest claims and carry approvals.
//!
//! A plugin only suggests or carries; the host keeps every promise. Each call runs in an instance of its own, with limits on
//! work, time, memory and output, behind a queue of the plugin's own, so that one plugin can harm no other call. Nothing
//! outside this module knows which engine runs them.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wasmtime::Engine;
use wasmtime::component::Component;

mod approval;
mod bindings;
mod claims;
mod compiled;
mod component_check;
mod egress;
mod engine;
mod fault;
mod protected;
mod spec;

pub use approval::{Begun, Callback, ChannelFailure, ChannelFailureKind, ChannelState, Evidence, Notice};
pub use claims::{
    ClaimInput, MapFailure, MapFailureKind, Mapped, Protocol, RequestedClaim, SamlAttribute, Sink, ValueType,
};
pub use compiled::{Compiled, check_compiled_folder};
pub use component_check::World;
pub use fault::{Fault, LoadError};
pub use protected::is_protected;
pub use spec::{Credential, Credentials, HttpGrant, Limits, NoCredentials, OnFailure, PluginSpec, Role};

use crate::clock::{SharedClock, SystemClock};
use approval::ApprovalChannel;
use claims::{ClaimMapper, Scope};
use egress::Egress;
use engine::Runner;
use protected::Grants;

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
}

/// What [`inspect`] finds out about a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspection {
    /// The contract that the component is made for.
    pub world: World,
    /// The version of that contract.
    pub contract_version: &'static str,
    /// The interfaces it asks for.
    pub imports: Vec<String>,
    /// The file's size in bytes.
    pub size: usize,
    /// What it says about itself.
    pub description: Description,
}

/// The plugins of a host, ready to be called.
pub struct Plugins {
    mappers: Vec<ClaimMapper>,
    channels: Vec<ApprovalChannel>,
}

impl Plugins {
    /// Compiles, checks and tries out every plugin. The claim mappers run in the order of `specs`. What was compiled is
    /// kept in `compiled` for the next time.
    ///
    /// # Errors
    /// The first plugin that can't be used, with the reason: a file that is not a component of the role's world and version,
    /// settings that the plugin refuses, claims that it may not write, or that two plugins would write.
    pub async fn load(
        specs: Vec<PluginSpec>,
        clock: SharedClock,
        credentials: Arc<dyn Credentials>,
        compiled: Option<Compiled>,
    ) -> Result<Self, LoadError> {
        let compiled = compiled.map(Arc::new);
        let engine = engine::engine(specs.iter().map(|spec| &spec.limits)).map_err(LoadError)?;
        let mut plugins = Self { mappers: Vec::new(), channels: Vec::new() };
        for spec in specs {
            plugins.check_name(&spec.name)?;
            plugins.add(&engine, spec, &clock, &credentials, compiled.as_ref()).await?;
        }
        plugins.check_owners()?;
        Ok(plugins)
    }

    /// The names of the claim mappers, in their order.
    pub fn claim_mappers(&self) -> impl Iterator<Item = &str> {
        self.mappers.iter().map(ClaimMapper::name)
    }

    /// The names of the approval channels.
    pub fn channels(&self) -> impl Iterator<Item = &str> {
        self.channels.iter().map(ApprovalChannel::name)
    }

    /// Runs the claim mappers that serve the application, in order, each seeing what the earlier ones made.
    ///
    /// # Errors
    /// The first plugin that denies or fails, unless its settings say that its claims may be left out.
    pub async fn map_claims(&self, input: ClaimInput) -> Result<Mapped, MapFailure> {
        claims::run_chain(&self.mappers, input).await
    }

    /// Sends a notice on its way through a channel.
    ///
    /// # Errors
    /// See [`ChannelFailureKind`].
    pub async fn begin(&self, channel: &str, notice: Notice) -> Result<Begun, ChannelFailure> {
        self.channel(channel)?.begin(notice).await
    }

    /// Asks a channel how the request with this handle stands.
    ///
    /// # Errors
    /// See [`ChannelFailureKind`].
    pub async fn poll(&self, channel: &str, handle: &[u8]) -> Result<ChannelState, ChannelFailure> {
        self.channel(channel)?.poll(handle).await
    }

    /// Has a channel read what came to its callback address.
    ///
    /// # Errors
    /// See [`ChannelFailureKind`].
    pub async fn on_callback(&self, channel: &str, callback: Callback) -> Result<Vec<Evidence>, ChannelFailure> {
        self.channel(channel)?.on_callback(callback).await
    }

    /// Has a channel take back the request with this handle.
    ///
    /// # Errors
    /// See [`ChannelFailureKind`].
    pub async fn cancel(&self, channel: &str, handle: &[u8]) -> Result<(), ChannelFailure> {
        self.channel(channel)?.cancel(handle).await
    }

    fn channel(&self, name: &str) -> Result<&ApprovalChannel, ChannelFailure> {
        let found = self.channels.iter().find(|channel| channel.name() == name);
        found.ok_or_else(|| ChannelFailure { channel: name.to_owned(), kind: ChannelFailureKind::Unknown })
    }

    fn check_name(&self, name: &str) -> Result<(), LoadError> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
            return Err(LoadError::of(name, "the name may have lower-case letters, digits and `-`, at most 64"));
        }
        if self.claim_mappers().chain(self.channels()).any(|taken| taken == name) {
            return Err(LoadError::of(name, "two plugins have this name"));
        }
        Ok(())
    }

    /// Each claim has one owner in an application, so no order of plugins decides what it says.
    fn check_owners(&self) -> Result<(), LoadError> {
        let mut rest = self.mappers.as_slice();
        while let Some((mapper, others)) = rest.split_first() {
            for other in others {
                if let Some(claim) = mapper.contended_claim(other) {
                    let what =
                        format!("`writes` grants the claim `{claim}`, which plugin `{}` writes too", mapper.name());
                    return Err(LoadError::of(other.name(), what));
                }
            }
            rest = others;
        }
        Ok(())
    }

    async fn add(
        &mut self,
        engine: &Engine,
        spec: PluginSpec,
        clock: &SharedClock,
        credentials: &Arc<dyn Credentials>,
        compiled: Option<&Arc<Compiled>>,
    ) -> Result<(), LoadError> {
        let PluginSpec { name, file, config, role, limits } = spec;
        let error = |what: String| LoadError::of(&name, what);
        if limits.concurrency == 0 {
            return Err(error("`concurrency` is 0, so it could never run; give at least 1".to_owned()));
        }
        if !config.is_object() {
            return Err(error("its settings are not a table".to_owned()));
        }
        let bytes = component_check::read(&name, &file)?;
        let surface = component_check::surface(&bytes).map_err(error)?;
        let (component, config) = (compile(engine, bytes, compiled).await.map_err(error)?, config.to_string());
        match role {
            Role::ClaimMapper { applications, writes, on_failure } => {
                expect(World::ClaimMapper, surface.world).map_err(error)?;
                let linked = claims::link(&component).map_err(|cause| error(format!("{cause:#}")))?;
                let runner = Runner::new(engine.clone(), &name, limits, Arc::clone(clock), None);
                let described = claims::describe(&runner, &linked).await.map_err(|fault| error(undescribed(&fault)))?;
                let Description { writes: writable, sinks, .. } = description(&described).map_err(error)?;
                let grants = Grants::new(writable, writes).map_err(error)?;
                let scope = Scope { applications, sinks };
                let mapper = ClaimMapper::new(runner, linked, scope, grants, on_failure, config);
                accepted(mapper.validate().await).map_err(error)?;
                self.mappers.push(mapper);
            }
            Role::ApprovalChannel { http } => {
                expect(World::ApprovalChannel, surface.world).map_err(error)?;
                let linked = approval::link(&component).map_err(|cause| error(format!("{cause:#}")))?;
                let egress = Egress::new(&http, limits.http_timeout, Arc::clone(credentials)).map_err(error)?;
                let runner = Runner::new(engine.clone(), &name, limits, Arc::clone(clock), Some(egress));
                let described =
                    approval::describe(&runner, &linked).await.map_err(|fault| error(undescribed(&fault)))?;
                description(&described).map_err(error)?;
                let channel = ApprovalChannel::new(runner, linked, config);
                accepted(channel.validate().await).map_err(error)?;
                self.channels.push(channel);
            }
        }
        Ok(())
    }
}

/// Finds out what a file is, and has it describe itself, as `assent plugin check` shows it.
///
/// # Errors
/// One plain sentence, if the file is not a plugin that this host can use.
pub async fn inspect(file: &Path) -> Result<Inspection, LoadError> {
    let name = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or("plugin");
    let error = |what: String| LoadError::of(name, what);
    let limits = Limits { concurrency: 1, ..Limits::default() };
    let bytes = component_check::read(name, file)?;
    let size = bytes.len();
    let surface = component_check::surface(&bytes).map_err(error)?;
    let engine = engine::engine(std::iter::once(&limits)).map_err(LoadError)?;
    let component = compile(&engine, bytes, None).await.map_err(error)?;
    let runner = Runner::new(engine, name, limits, Arc::new(SystemClock), None);
    let described = match surface.world {
        World::ClaimMapper => {
            let linked = claims::link(&component).map_err(|cause| error(format!("{cause:#}")))?;
            claims::describe(&runner, &linked).await
        }
        World::ApprovalChannel => {
            let linked = approval::link(&component).map_err(|cause| error(format!("{cause:#}")))?;
            approval::describe(&runner, &linked).await
        }
    };
    Ok(Inspection {
        world: surface.world,
        contract_version: component_check::VERSION,
        imports: surface.imports,
        size,
        description: description(&described.map_err(|fault| error(undescribed(&fault)))?).map_err(error)?,
    })
}

/// Compiles, if need be, off the async threads: it takes a good part of a second.
async fn compile(engine: &Engine, bytes: Vec<u8>, compiled: Option<&Arc<Compiled>>) -> Result<Component, String> {
    let (engine, compiled) = (engine.clone(), compiled.cloned());
    let component = tokio::task::spawn_blocking(move || match compiled {
        Some(compiled) => compiled.component(&engine, &bytes),
        None => engine::compile(&engine, &bytes),
    });
    component.await.map_err(|error| format!("the component can't be compiled: {error}"))?
}

/// Whether a component is made for the role that the settings give it.
fn expect(role: World, found: World) -> Result<(), String> {
    if role == found {
        return Ok(());
    }
    Err(format!("the settings make it {}, but the component is {}", role.role(), found.role()))
}

/// A component that fails before it has said what it is.
fn undescribed(fault: &Fault) -> String {
    format!("it can't describe itself: it {fault}")
}

/// Reads what a component says about itself.
fn description(json: &str) -> Result<Description, String> {
    serde_json::from_str(json).map_err(|error| format!("its description of itself can't be read: {error}"))
}

/// What a plugin says about its settings.
fn accepted(answer: Result<Result<(), Vec<String>>, Fault>) -> Result<(), String> {
    match answer {
        Ok(Ok(())) => Ok(()),
        Ok(Err(errors)) => Err(errors.iter().map(|error| engine::one_line(error)).collect::<Vec<_>>().join("; ")),
        Err(fault) => Err(format!("its check of the settings failed: it {fault}")),
    }
}
