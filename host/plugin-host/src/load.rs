//! The loader: it builds callable plugins from the operator's settings.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::Engine;
use wasmtime::component::Component;

use super::admission::{BuiltPlugin, check_name, check_owners};
use super::call::Runner;
use super::call::state::EgressMode;
use super::compiled::{self, CompilationCache};
use super::compiler::Compiler;
use super::component_check::{self, Surface};
use super::contract::{DescribedComponent, LinkedComponent};
use super::contracts::Contracts;
use super::description::{Description, PluginIdentity};
use super::engine::{self, Pool};
use super::fault::LoadError;
use super::loaded::LoadedPlugins;
use super::log_line::{Journal, one_line};
use super::meter::Meter;
use super::names;
use super::plugin_egress::PluginEgress;
use super::spec::{CallLimits, Credentials, NoCredentials, PluginSpec, Role, Trust};
use super::turns::Turns;
use super::world::World;
use assent_model::clock::{SharedClock, SystemClock};
use assent_model::secret::Digest;

/// Loads plugins, with the parts of the server that all of them share.
pub struct Loader {
    clock: SharedClock,
    credentials: Arc<dyn Credentials>,
    compiler: Compiler,
    compiled: Option<Arc<CompilationCache>>,
    contracts: Contracts,
    /// The turns of all plugins together.
    turns: Arc<Turns>,
    /// The meters by the operator's names for the plugins, so that the metrics survive a reload.
    meters: Mutex<HashMap<String, Arc<Meter>>>,
}

impl Loader {
    /// Creates a loader. It stores compiled plugins in `compiled` for the next start.
    pub fn new(
        clock: SharedClock,
        credentials: Arc<dyn Credentials>,
        compiler: Compiler,
        compiled: Option<CompilationCache>,
    ) -> Self {
        let contracts = Contracts::released();
        let (compiled, turns) = (compiled.map(Arc::new), Arc::new(Turns::of_processors()));
        Self {
            clock,
            credentials,
            compiler,
            compiled,
            contracts,
            turns,
            meters: Mutex::default(),
        }
    }

    /// Adds the support of one more version of a contract.
    #[cfg(test)]
    pub(super) fn with_version(mut self, version: super::contract::ContractVersion) -> Self {
        self.contracts = self.contracts.with(version);
        self
    }

    /// Compiles and checks every plugin.
    pub(super) async fn load(&self, specs: Vec<PluginSpec>) -> Result<LoadedPlugins, LoadError> {
        let engine = |pool| {
            let limits = specs
                .iter()
                .filter(|spec| spec.role.pool() == pool)
                .map(|spec| &spec.limits);
            engine::engine(pool, limits, &self.turns).map_err(LoadError)
        };
        let (warm, cold) = (engine(Pool::Warm)?, engine(Pool::Cold)?);
        let mut loaded = LoadedPlugins::default();
        for spec in specs {
            check_name(&loaded, &spec.name)?;
            let engine = match spec.role.pool() {
                Pool::Warm => &warm,
                Pool::Cold => &cold,
            };
            self.add(&mut loaded, engine, spec).await?;
        }
        check_owners(&loaded.mappers)?;
        Ok(loaded)
    }

    /// Creates an engine with room for one concurrent call of one claim mapper.
    pub(super) fn engine_for_one(&self, limits: &CallLimits) -> Result<Engine, LoadError> {
        engine::engine(Pool::Warm, std::iter::once(limits), &self.turns).map_err(LoadError)
    }

    async fn add(
        &self,
        loaded: &mut LoadedPlugins,
        engine: &Engine,
        spec: PluginSpec,
    ) -> Result<(), LoadError> {
        let bytes = component_check::read(&spec.name, &spec.file)?;
        let meter = self
            .meter(&spec.name)
            .map_err(|what| LoadError::in_plugin(&spec.name, what))?;
        let build = PluginBuild {
            bytes,
            cache: self.compiled.as_ref(),
            meter,
            as_asked: false,
            journal: None,
        };
        self.build(loaded, engine, spec, build).await
    }

    /// Builds a plugin from a component and adds it to the loaded ones.
    pub(super) async fn build(
        &self,
        loaded: &mut LoadedPlugins,
        engine: &Engine,
        spec: PluginSpec,
        build: PluginBuild<'_>,
    ) -> Result<(), LoadError> {
        loaded.specs.push(spec.clone());
        let name = spec.name.clone();
        let built = self.built(engine, spec, build).await;
        built
            .and_then(|plugin| plugin.admit(loaded))
            .map_err(|what| LoadError::in_plugin(&name, what))
    }

    /// Checks, compiles and links a component. Then the component describes itself and checks its settings.
    async fn built(
        &self,
        engine: &Engine,
        spec: PluginSpec,
        build: PluginBuild<'_>,
    ) -> Result<BuiltPlugin, String> {
        let PluginBuild {
            bytes,
            cache,
            meter,
            as_asked,
            journal,
        } = build;
        let digest = check_settings(&spec, &bytes)?;
        let surface = component_check::surface(&bytes, &self.contracts)?;
        spec.role.expects(surface.world)?;
        component_check::check_limits(&bytes, &spec.limits)?;
        let outside = self.outside(&spec)?;
        let component = compile(engine, bytes, &self.compiler, cache).await?;
        let linked = link(&self.contracts, &surface, &component)?;
        let (clock, turns) = (Arc::clone(&self.clock), Arc::clone(&self.turns));
        let PluginSpec {
            name,
            config,
            role,
            limits,
            ..
        } = spec;
        let runner = Runner::new(engine.clone(), &name, limits, clock, outside, meter, turns)
            .with_journal(journal);
        let description = describe(linked.as_described(), &runner).await?;
        let config = config.to_string();
        validate(linked.as_described(), &runner, &config).await?;
        let identity = Arc::new(PluginIdentity {
            plugin: name,
            component: description.name.clone(),
            version: description.version.clone(),
            sha256: digest.to_text(),
        });
        Ok(BuiltPlugin {
            identity,
            role: if as_asked {
                role.with_claims_of(&description)
            } else {
                role
            },
            linked,
            runner,
            description,
            config,
        })
    }

    /// Returns the permitted destinations of a plugin's HTTP requests.
    fn outside(&self, spec: &PluginSpec) -> Result<EgressMode, String> {
        let Role::ApprovalChannel { http, .. } = &spec.role else {
            return Ok(EgressMode::Closed);
        };
        let egress = PluginEgress::new(
            http,
            spec.limits.http_timeout,
            Arc::clone(&self.credentials),
            Arc::clone(&self.clock),
        )?;
        Ok(EgressMode::Granted(Arc::new(egress)))
    }

    fn meter(&self, name: &str) -> Result<Arc<Meter>, String> {
        let mut meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = meters.get(name) {
            return Ok(Arc::clone(known));
        }
        let meter = Arc::new(Meter::new());
        meters.insert(name.to_owned(), Arc::clone(&meter));
        Ok(meter)
    }
}

/// The parts from which a plugin is built.
pub(super) struct PluginBuild<'a> {
    /// The component.
    pub(super) bytes: Vec<u8>,
    /// The cache of the compiled component, if it is stored.
    pub(super) cache: Option<&'a Arc<CompilationCache>>,
    /// The metrics of its calls.
    pub(super) meter: Arc<Meter>,
    /// Whether a claim mapper may write the claims that its description names, instead of those that the settings
    /// grant.
    pub(super) as_asked: bool,
    /// The journal of its calls' log lines, if there is one.
    pub(super) journal: Option<Arc<Journal>>,
}

/// Returns the claims that a description names. A wildcard leaves the choice to the operator, so it grants nothing
/// here.
fn asked_by_name(writes: &[String]) -> Vec<String> {
    writes
        .iter()
        .filter(|name| !matches!(name.as_str(), "*" | "attribute:*"))
        .cloned()
        .collect()
}

/// Runs the checks that need only the settings and the file. Returns the digest of the file.
fn check_settings(spec: &PluginSpec, bytes: &[u8]) -> Result<Digest, String> {
    if spec.limits.concurrency == 0 {
        return Err("`concurrency` is 0, so it could never run; set at least 1".to_owned());
    }
    if !spec.config.is_object() {
        return Err("its settings are not a table".to_owned());
    }
    let digest = Digest::sha256(bytes);
    if spec
        .sha256
        .as_ref()
        .is_some_and(|expected| *expected != digest)
    {
        return Err(format!(
            "`{}` has the digest {}, which differs from `sha256`",
            spec.file.display(),
            digest.to_text()
        ));
    }
    Ok(digest)
}

impl Role {
    fn pool(&self) -> Pool {
        match self {
            Self::ClaimMapper { .. } => Pool::Warm,
            Self::ApprovalChannel { .. } => Pool::Cold,
        }
    }

    /// Returns the role of a claim mapper with the claims that a description names, instead of those that the settings
    /// grant.
    fn with_claims_of(self, description: &Description) -> Self {
        match self {
            Self::ClaimMapper {
                applications,
                on_failure,
                result_max_age,
                ..
            } => Self::ClaimMapper {
                applications,
                writes: asked_by_name(&description.writes),
                on_failure,
                result_max_age,
            },
            channel @ Self::ApprovalChannel { .. } => channel,
        }
    }

    /// Checks that a component has the world of this role.
    fn expects(&self, found: World) -> Result<(), String> {
        let expected = match self {
            Self::ClaimMapper { .. } => World::ClaimMapper,
            Self::ApprovalChannel {
                trust: Trust::Verified,
                ..
            } => World::ApprovalChannel,
            Self::ApprovalChannel {
                trust: Trust::Delegated,
                ..
            } => World::DelegatedChannel,
        };
        if expected == found {
            return Ok(());
        }
        let hint = match (expected, found) {
            (World::ApprovalChannel, World::DelegatedChannel) => {
                ": it accepts the vendor's decision as an approval, which requires `trust = \"delegated\"`"
            }
            _ => "",
        };
        Err(format!(
            "the settings make it {}, but the component is {}{hint}",
            expected.role(),
            found.role()
        ))
    }
}

/// Compiles a component, or loads it from the cache. It runs outside the async threads, because compilation takes most
/// of a second.
pub(super) async fn compile(
    engine: &Engine,
    bytes: Vec<u8>,
    compiler: &Compiler,
    cache: Option<&Arc<CompilationCache>>,
) -> Result<Component, String> {
    let (engine, compiler, cache) = (engine.clone(), compiler.clone(), cache.cloned());
    let component = tokio::task::spawn_blocking(move || match cache {
        Some(cache) => cache.component(&engine, &compiler, &bytes),
        None => compiled::compile(&engine, &compiler, &bytes),
    });
    component
        .await
        .map_err(|error| format!("the component cannot be compiled: {error}"))?
}

pub(super) fn link(
    contracts: &Contracts,
    surface: &Surface,
    component: &Component,
) -> Result<LinkedComponent, String> {
    let version = contracts
        .find(surface.world, &surface.version)
        .ok_or("its contract is not supported")?;
    (version.link)(component).map_err(|cause| format!("it violates its contract: {cause:#}"))
}

/// Calls the plugin's check of its settings.
async fn validate(
    component: &dyn DescribedComponent,
    runner: &Runner,
    config: &str,
) -> Result<(), String> {
    match component.validate(runner, config).await.result {
        Ok(Ok(())) => Ok(()),
        Ok(Err(errors)) => Err(errors
            .iter()
            .map(|error| one_line(error))
            .collect::<Vec<_>>()
            .join("; ")),
        Err(fault) => Err(format!("its check of the settings failed: it {fault}")),
    }
}

/// Returns the component's description of itself.
pub(super) async fn describe(
    component: &dyn DescribedComponent,
    runner: &Runner,
) -> Result<Description, String> {
    let json = component.describe(runner).await.result;
    let json = json.map_err(|fault| format!("it cannot describe itself: it {fault}"))?;
    let read = serde_json::from_str(&json)
        .map_err(|error| format!("its description of itself cannot be read: {error}"))?;
    names::check_names(read)
}

/// Loads plugins without credentials. It compiles each of them in this process, without a cache.
impl Default for Loader {
    fn default() -> Self {
        Self::new(
            Arc::new(SystemClock),
            Arc::new(NoCredentials),
            Compiler::InProcess,
            None,
        )
    }
}
