//! A loaded set of plugins. It stays usable after another set has replaced it.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::claims::{self, ChainPurpose, ClaimInput, MapFailure, MappedClaims};
use super::component_check;
use super::description::PluginIdentity;
use super::loaded::LoadedPlugins;
use super::sink::Sink;
use super::spec::PluginSpec;
use assent_model::id::Did;
use assent_model::secret::Digest;

/// A loaded set of plugins, with the components and settings of the time when it was loaded.
#[derive(Clone)]
pub struct PluginSet {
    pub(super) loaded: Arc<LoadedPlugins>,
    purpose: ChainPurpose,
}

/// Identifies a set of plugins. The identifier does not keep the set in memory.
#[derive(Clone)]
pub struct PluginSetId(Weak<LoadedPlugins>);

impl PartialEq for PluginSetId {
    fn eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl std::fmt::Debug for PluginSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PluginSet")
            .field(&self.identities())
            .finish()
    }
}

impl PluginSet {
    /// Returns a set for responses to applications.
    pub(super) fn new(loaded: Arc<LoadedPlugins>) -> Self {
        let purpose = ChainPurpose::Response;
        Self { loaded, purpose }
    }

    /// Returns the same set for previews. Its faults have a log message of their own, because no sign-in failed.
    #[must_use]
    pub fn for_previews(self) -> Self {
        let purpose = ChainPurpose::Preview;
        Self { purpose, ..self }
    }

    /// Returns the identities of the plugins: claim mappers in their order, then channels.
    pub fn identities(&self) -> Vec<PluginIdentity> {
        let mappers = self
            .loaded
            .mappers
            .iter()
            .map(|mapper| PluginIdentity::clone(mapper.identity()));
        mappers
            .chain(
                self.loaded
                    .channels
                    .iter()
                    .map(|channel| PluginIdentity::clone(&channel.identity)),
            )
            .collect()
    }

    /// Returns the identifier of this set.
    pub fn id(&self) -> PluginSetId {
        PluginSetId(Arc::downgrade(&self.loaded))
    }

    /// Returns the time for which the claim mappers' result for the application may be reused although the clock has
    /// advanced. It is the shortest time of the mappers that run.
    pub fn result_max_age(&self, application: &Did, sink: Sink) -> Duration {
        self.loaded
            .mappers
            .iter()
            .filter(|mapper| mapper.is_asked_for(application, sink))
            .map(|mapper| mapper.result_max_age)
            .min()
            .unwrap_or(Duration::MAX)
    }

    /// Runs the claim mappers of the application in order. Each mapper sees the result of the earlier ones.
    ///
    /// # Errors
    /// The first plugin that denies or fails, unless its settings permit the omission of its claims.
    pub async fn map_claims(&self, input: ClaimInput) -> Result<MappedClaims, MapFailure> {
        claims::run_chain(&self.loaded.mappers, input, self.purpose).await
    }

    /// Returns whether one of the files from which the set was loaded has changed or is missing. It reads all files, so
    /// an async thread must not call it.
    pub fn has_other_files(&self) -> bool {
        let loaded = self.identities();
        let is_same = |spec: &PluginSpec| {
            let known = loaded.iter().find(|identity| identity.plugin == spec.name);
            known.is_some_and(|identity| {
                digest_of(&spec.name, &spec.file).as_deref() == Some(identity.sha256.as_str())
            })
        };
        !self.loaded.specs.iter().all(is_same)
    }
}

fn digest_of(name: &str, file: &Path) -> Option<String> {
    component_check::read(name, file)
        .ok()
        .map(|bytes| Digest::sha256(&bytes).to_text())
}
