//! Candidates: claim mappers that run on trial in the chain and are never loaded.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::admission::check_owners;
use super::component_check;
use super::fault::LoadError;
use super::load::PluginBuild;
use super::loaded::LoadedPlugins;
use super::log_line::Journal;
use super::meter::Meter;
use super::plugins::Plugins;
use super::set::PluginSet;
use super::spec::{CallLimits, OnFailure, PluginSpec, Role};
use assent_model::secret::Digest;

/// A claim mapper on trial.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The plugin of the chain that the candidate replaces. With a new name, the candidate runs after the other
    /// plugins.
    pub plugin: String,
    /// The component. If it is missing, the candidate uses the component of the replaced plugin.
    pub component: Option<Vec<u8>>,
    /// The settings. If they are missing, the candidate uses those of the replaced plugin; then the component must be
    /// the same too.
    pub config: Option<Map<String, Value>>,
}

/// The serialized form identifies the component by its SHA-256 digest, because a component may be large.
impl Serialize for Candidate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            plugin,
            component,
            config,
        } = self;
        let component = component
            .as_ref()
            .map(|bytes| Digest::sha256(bytes).to_text());
        (plugin, component, config).serialize(serializer)
    }
}

/// The reason why a candidate cannot run.
#[derive(Debug, thiserror::Error)]
pub enum CandidateError {
    /// The settings of the replaced plugin may hold secrets, and another component could disclose them.
    #[error(
        "expected settings: the component differs from the loaded one, so it does not get the settings of the plugin \
         that it replaces"
    )]
    NeedsConfig,
    /// The component or its settings are not usable.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl Plugins {
    /// Returns the current claim mappers with the candidate among them. The candidate is compiled and checks its
    /// settings. It has the grants of the plugin that it replaces. A candidate with a new name may write the claims
    /// that its description names one by one, unless another plugin writes them. The server stores nothing of it. The
    /// journal receives the log lines of the candidate.
    ///
    /// # Errors
    /// The reason, as one sentence.
    pub async fn with_candidate(
        &self,
        candidate: Candidate,
    ) -> Result<(PluginSet, Arc<Journal>), CandidateError> {
        let today = self.loaded.load_full();
        let Candidate {
            plugin,
            component,
            config,
        } = candidate;
        let known = today.specs.iter().find(|spec| spec.name == plugin);
        if known.is_some_and(|spec| !matches!(spec.role, Role::ClaimMapper { .. })) {
            return Err(LoadError::in_plugin(
                &plugin,
                "it is an approval channel; only claim mappers write claims",
            )
            .into());
        }
        let place = today
            .mappers
            .iter()
            .position(|mapper| mapper.name() == plugin);
        let bytes = match (component, known) {
            (Some(bytes), _) => bytes,
            (None, Some(spec)) => loaded_bytes(&today, spec).await?,
            (None, None) => {
                return Err(LoadError::in_plugin(
                    &plugin,
                    "no plugin has this name, so `component` is required",
                )
                .into());
            }
        };
        if config.is_none() && known.is_some() && !is_loaded(&today, &plugin, &bytes) {
            return Err(CandidateError::NeedsConfig);
        }
        let base = known.cloned().unwrap_or_else(|| newcomer(&plugin));
        let limits = CallLimits {
            concurrency: 1,
            ..base.limits
        };
        let config = config.map_or(base.config, Value::Object);
        let spec = PluginSpec {
            sha256: None,
            config,
            limits,
            ..base
        };
        let engine = self.loader.engine_for_one(&limits)?;
        let meter = Arc::new(Meter::new());
        let mut loaded = LoadedPlugins::default();
        let journal = Arc::new(Journal::default());
        let build = PluginBuild {
            bytes,
            cache: None,
            meter,
            as_asked: known.is_none(),
            journal: Some(Arc::clone(&journal)),
        };
        super::admission::check_name(&loaded, &plugin)?;
        self.loader.build(&mut loaded, &engine, spec, build).await?;
        let mut mappers = today.mappers.clone();
        match place.and_then(|place| mappers.get_mut(place)) {
            Some(taken) => loaded
                .mappers
                .into_iter()
                .for_each(|mapper| *taken = mapper),
            None => mappers.append(&mut loaded.mappers),
        }
        check_owners(&mappers)?;
        let loaded = LoadedPlugins {
            mappers,
            ..LoadedPlugins::default()
        };
        Ok((PluginSet::new(Arc::new(loaded)), journal))
    }
}

/// Returns the settings of a plugin that the operator has not configured. A failure of it ends the sign-in.
fn newcomer(name: &str) -> PluginSpec {
    PluginSpec {
        name: name.to_owned(),
        file: PathBuf::new(),
        sha256: None,
        config: Value::Object(Map::new()),
        role: Role::ClaimMapper {
            applications: None,
            writes: Vec::new(),
            on_failure: OnFailure::Fail,
            result_max_age: Duration::ZERO,
        },
        limits: CallLimits::default(),
    }
}

/// Reads the loaded component from its file.
async fn loaded_bytes(today: &LoadedPlugins, spec: &PluginSpec) -> Result<Vec<u8>, LoadError> {
    let (name, file) = (spec.name.clone(), spec.file.clone());
    let read = tokio::task::spawn_blocking(move || component_check::read(&name, &file));
    let bytes = read
        .await
        .map_err(|error| LoadError::in_plugin(&spec.name, error))??;
    if is_loaded(today, &spec.name, &bytes) {
        return Ok(bytes);
    }
    Err(LoadError::in_plugin(
        &spec.name,
        "its file was changed after it was loaded; reload the plugins, or send the `component`",
    ))
}

/// Returns whether these bytes are the component of the claim mapper with this name.
fn is_loaded(today: &LoadedPlugins, name: &str, bytes: &[u8]) -> bool {
    let digest = Digest::sha256(bytes).to_text();
    today
        .mappers
        .iter()
        .any(|mapper| mapper.name() == name && mapper.identity().sha256 == digest)
}
