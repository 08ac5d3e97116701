//! A workbench for plugin authors: one component in the server's own runtime, without the rest of the server.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use wasmtime::Engine;
use wasmtime::component::Component;

use super::approval::{
    ApprovalChannel, Callback, CallbackContent, ChannelFailureKind, ChannelRequest, ChannelState,
    StartedRequest,
};
use super::call::Runner;
use super::call::state::EgressMode;
use super::claims::{
    self, ChainPurpose, ClaimInput, ClaimMapper, MapFailureKind, MapperRun, MapperRunEnd,
    MapperScope, TracedChange,
};
use super::compiler::Compiler;
use super::component_check::{self, Surface};
use super::contract::LinkedComponent;
use super::contracts::Contracts;
use super::description::{Description, Inspection, PluginIdentity};
use super::engine::{self, Pool};
use super::fault::{Fault, LoadError};
use super::load::{compile, describe, link};
use super::log_line::one_line;
use super::meter::Meter;
use super::protected::Grants;
use super::script::{Script, SharedScript};
use super::share::Share;
use super::spec::{CallLimits, OnFailure, Trust};
use super::turns::Turns;
use super::usage::{CallResult, Usage};
use super::world::World;
use assent_model::clock::{ManualClock, SharedClock, SystemClock, Timestamp};
use assent_model::secret::Digest;

/// A compiled component.
pub struct Workbench {
    inspection: Inspection,
    compiled: CompiledComponent,
}

/// The parts from which a component's calls are created.
struct CompiledComponent {
    name: String,
    surface: Surface,
    contracts: Contracts,
    engine: Engine,
    component: Component,
    limits: CallLimits,
    turns: Arc<Turns>,
}

/// The result and the resource use of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredOutcome<T> {
    /// The result.
    pub outcome: T,
    /// The resource use. Zero if the plugin was not called.
    pub usage: Usage,
}

impl<T, E> MeasuredOutcome<Result<T, E>> {
    /// Applies a function to the value of a successful result.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> MeasuredOutcome<Result<U, E>> {
        MeasuredOutcome {
            outcome: self.outcome.map(change),
            usage: self.usage,
        }
    }
}

/// A claim mapper with its settings.
pub struct MapperUnderTest(ClaimMapper);

/// An approval channel with its settings and a stopped clock.
pub struct ChannelUnderTest(ApprovalChannel);

/// Compiles a file and returns its kind and its description of itself, for `assent-plugin check`.
///
/// # Errors
/// One plain sentence, if the server cannot use the file as a plugin.
pub async fn inspect(file: &Path, compiler: &Compiler) -> Result<Inspection, LoadError> {
    let limits = CallLimits {
        concurrency: 1,
        ..CallLimits::default()
    };
    Ok(Workbench::open(file, limits, compiler).await?.inspection)
}

impl Workbench {
    /// Compiles a component, detects its kind, and reads its description of itself.
    ///
    /// # Errors
    /// One plain sentence, if the server cannot use the file as a plugin.
    pub async fn open(
        file: &Path,
        limits: CallLimits,
        compiler: &Compiler,
    ) -> Result<Self, LoadError> {
        let name = file
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or("plugin");
        let error = |what: String| LoadError::in_plugin(name, what);
        let bytes = component_check::read(name, file)?;
        let (size, sha256) = (bytes.len(), Digest::sha256(&bytes).to_text());
        let contracts = Contracts::released();
        let surface = component_check::surface(&bytes, &contracts).map_err(error)?;
        component_check::check_limits(&bytes, &limits).map_err(error)?;
        let pool = if surface.world == World::ClaimMapper {
            Pool::Warm
        } else {
            Pool::Cold
        };
        let turns = Arc::new(Turns::of_processors());
        let engine = engine::engine(pool, std::iter::once(&limits), &turns).map_err(LoadError)?;
        let component = compile(&engine, bytes, compiler, None)
            .await
            .map_err(error)?;
        let compiled = CompiledComponent {
            name: name.to_owned(),
            surface,
            contracts,
            engine,
            component,
            limits,
            turns,
        };
        let (linked, runner) = compiled
            .plugin(Arc::new(SystemClock), EgressMode::Closed)
            .map_err(error)?;
        let description = describe(linked.as_described(), &runner)
            .await
            .map_err(error)?;
        let Surface {
            world,
            version,
            imports,
        } = compiled.surface.clone();
        let inspection = Inspection {
            world,
            contract_version: version,
            imports,
            size,
            sha256,
            description,
        };
        Ok(Self {
            inspection,
            compiled,
        })
    }

    /// Returns the kind of the component, and its description of itself.
    pub fn inspection(&self) -> &Inspection {
        &self.inspection
    }

    /// Returns the plugin's errors about these settings. Each error is a sentence. The list is empty if the settings
    /// are valid.
    ///
    /// # Errors
    /// The plugin fails.
    pub async fn validate(&self, config: &Value) -> Result<Vec<String>, Fault> {
        let plugin = self
            .compiled
            .plugin(Arc::new(SystemClock), EgressMode::Closed);
        let (linked, runner) = plugin.map_err(|why| Fault::Answer(one_line(&why)))?;
        let config = config.to_string();
        let answer = linked
            .as_described()
            .validate(&runner, &config)
            .await
            .result?;
        Ok(answer
            .err()
            .unwrap_or_default()
            .iter()
            .map(|error| one_line(error))
            .collect())
    }

    /// Returns the claim mapper with these settings. It has a grant for every claim in its description.
    ///
    /// # Errors
    /// The component is not a claim mapper, or it requests a protected claim.
    pub fn mapper(&self, config: &Value) -> Result<MapperUnderTest, LoadError> {
        let error = |what: String| self.error(what);
        let (linked, runner) = self
            .compiled
            .plugin(Arc::new(SystemClock), EgressMode::Closed)
            .map_err(error)?;
        let LinkedComponent::Mapper(component) = linked else {
            return Err(self.wrong_role(World::ClaimMapper));
        };
        let Description {
            writes,
            sinks,
            denies,
            ..
        } = self.inspection.description.clone();
        Ok(MapperUnderTest(ClaimMapper {
            lookups: Share::quarter_of(runner.limits()),
            identity: self.identity(),
            runner,
            component,
            scope: MapperScope {
                applications: None,
                sinks,
            },
            grants: Grants::whole(writes).map_err(error)?,
            denies,
            on_failure: OnFailure::Fail,
            result_max_age: Duration::ZERO,
            config: config.to_string(),
        }))
    }

    /// Returns the approval channel with these settings at this time. The script returns the responses to its requests.
    ///
    /// # Errors
    /// The component is not an approval channel.
    pub fn channel(
        &self,
        config: &Value,
        now: Timestamp,
        script: Script,
    ) -> Result<ChannelUnderTest, LoadError> {
        let outside = EgressMode::Scripted(Arc::new(SharedScript::new(script)));
        let plugin = self
            .compiled
            .plugin(Arc::new(ManualClock::new(now)), outside);
        let (linked, runner) = plugin.map_err(|what| self.error(what))?;
        let (component, trust) = match linked {
            LinkedComponent::Channel(component) => (component, Trust::Verified),
            LinkedComponent::Delegated(component) => (component, Trust::Delegated),
            LinkedComponent::Mapper(_) => return Err(self.wrong_role(World::ApprovalChannel)),
        };
        let (identity, config) = (self.identity(), config.to_string());
        let (shows_letters, applications) = (false, None);
        Ok(ChannelUnderTest(ApprovalChannel {
            identity,
            runner,
            component,
            trust,
            shows_letters,
            applications,
            config,
        }))
    }

    fn identity(&self) -> Arc<PluginIdentity> {
        let Inspection {
            description,
            sha256,
            ..
        } = &self.inspection;
        Arc::new(PluginIdentity {
            plugin: self.compiled.name.clone(),
            component: description.name.clone(),
            version: description.version.clone(),
            sha256: sha256.clone(),
        })
    }

    fn error(&self, what: String) -> LoadError {
        LoadError::in_plugin(&self.compiled.name, what)
    }

    fn wrong_role(&self, expected: World) -> LoadError {
        self.error(format!(
            "it is {}, not {}",
            self.inspection.world.role(),
            expected.role()
        ))
    }
}

impl CompiledComponent {
    /// Links the component again. Returns it with a new runner for its calls.
    fn plugin(
        &self,
        clock: SharedClock,
        outside: EgressMode,
    ) -> Result<(LinkedComponent, Runner), String> {
        let linked = link(&self.contracts, &self.surface, &self.component)?;
        let (engine, limits, meter) = (self.engine.clone(), self.limits, Arc::new(Meter::new()));
        let turns = Arc::clone(&self.turns);
        Ok((
            linked,
            Runner::new(engine, &self.name, limits, clock, outside, meter, turns),
        ))
    }
}

impl MapperUnderTest {
    /// Returns the mapper's changes. Each edit is checked as in a sign-in. No changes if its description omits this
    /// destination.
    pub async fn map(
        &self,
        input: ClaimInput,
    ) -> MeasuredOutcome<Result<Vec<TracedChange>, MapFailureKind>> {
        let chain = std::slice::from_ref(&self.0);
        let ran = claims::run_chain(chain, input, ChainPurpose::Preview).await;
        let mut steps = ran.map_or_else(|failure| failure.steps, |mapped| mapped.steps);
        let Some(MapperRun { usage, end, .. }) = steps.pop() else {
            return MeasuredOutcome {
                outcome: Ok(Vec::new()),
                usage: Usage::default(),
            };
        };
        let outcome = match end {
            MapperRunEnd::Changed(changes) => Ok(changes),
            MapperRunEnd::LeftOut(fault) => Err(MapFailureKind::Fault(fault)),
            MapperRunEnd::Stopped(kind) => Err(kind),
        };
        MeasuredOutcome { outcome, usage }
    }
}

impl ChannelUnderTest {
    /// Sends an approval request: a notice, or a question for a delegated channel.
    pub async fn begin(
        &self,
        opening: ChannelRequest,
    ) -> MeasuredOutcome<Result<StartedRequest, ChannelFailureKind>> {
        let Self(ApprovalChannel {
            runner,
            component,
            config,
            ..
        }) = self;
        let MeasuredOutcome { outcome, usage } =
            measured_outcome(component.begin(runner, config, opening).await);
        MeasuredOutcome {
            outcome: outcome
                .and_then(|begun| begun.check_handle().map_err(ChannelFailureKind::Fault)),
            usage,
        }
    }

    /// Polls the state of the request with this handle.
    pub async fn poll(
        &self,
        handle: Vec<u8>,
    ) -> MeasuredOutcome<Result<ChannelState, ChannelFailureKind>> {
        let Self(ApprovalChannel {
            runner,
            component,
            config,
            ..
        }) = self;
        measured_outcome(component.poll(runner, config, handle).await)
    }

    /// Passes a callback to the channel.
    pub async fn on_callback(
        &self,
        callback: Callback,
    ) -> MeasuredOutcome<Result<CallbackContent, ChannelFailureKind>> {
        let Self(ApprovalChannel {
            runner,
            component,
            config,
            ..
        }) = self;
        measured_outcome(component.on_callback(runner, config, callback).await)
    }

    /// Cancels the request with this handle.
    pub async fn cancel(&self, handle: Vec<u8>) -> MeasuredOutcome<Result<(), ChannelFailureKind>> {
        let Self(ApprovalChannel {
            runner,
            component,
            config,
            ..
        }) = self;
        measured_outcome(component.cancel(runner, config, handle).await)
    }
}

fn measured_outcome<T>(
    ran: CallResult<Result<T, ChannelFailureKind>>,
) -> MeasuredOutcome<Result<T, ChannelFailureKind>> {
    MeasuredOutcome {
        outcome: ran
            .result
            .unwrap_or_else(|fault| Err(ChannelFailureKind::Fault(fault))),
        usage: ran.usage,
    }
}
