//! A set of plugins that was loaded, whatever has taken its place since.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::claims::{self, ClaimInput, MapFailure, MappedClaims};
use super::component_check;
use super::description::PluginIdentity;
use super::loaded::LoadedPlugins;
use super::sink::Sink;
use super::spec::PluginSpec;
use assent_model::id::Did;
use assent_model::secret::Digest;

/// A set of plugins that was loaded, compiled as it was, with the settings it had.
#[derive(Clone)]
pub struct PluginSet(pub(super) Arc<LoadedPlugins>);

/// Identifies a set of plugins, and does not keep it loaded.
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
    /// Which plugins it has: claim mappers in their order, then channels.
    pub fn identities(&self) -> Vec<PluginIdentity> {
        let mappers = self
            .0
            .mappers
            .iter()
            .map(|mapper| PluginIdentity::clone(mapper.identity()));
        mappers
            .chain(
                self.0
                    .channels
                    .iter()
                    .map(|channel| PluginIdentity::clone(&channel.identity)),
            )
            .collect()
    }

    /// Identifies this set.
    pub fn id(&self) -> PluginSetId {
        PluginSetId(Arc::downgrade(&self.0))
    }

    /// How long the claim mappers' result for the application may be reused although the time has changed: the shortest
    /// time of those that run.
    pub fn result_max_age(&self, application: &Did, sink: Sink) -> Duration {
        self.0
            .mappers
            .iter()
            .filter(|mapper| mapper.is_asked_for(application, sink))
            .map(|mapper| mapper.result_max_age)
            .min()
            .unwrap_or(Duration::MAX)
    }

    /// Runs its claim mappers that serve the application, in order, each seeing what the earlier ones made.
    ///
    /// # Errors
    /// The first plugin that denies or fails, unless its settings say that its claims may be left out.
    pub async fn map_claims(&self, input: ClaimInput) -> Result<MappedClaims, MapFailure> {
        claims::run_chain(&self.0.mappers, input).await
    }

    /// Whether the files that it was loaded from are other ones now, or gone. It reads them all, so it is not for an
    /// async thread.
    pub fn has_other_files(&self) -> bool {
        let loaded = self.identities();
        let is_same = |spec: &PluginSpec| {
            let known = loaded.iter().find(|identity| identity.plugin == spec.name);
            known.is_some_and(|identity| {
                digest_of(&spec.name, &spec.file).as_deref() == Some(identity.sha256.as_str())
            })
        };
        !self.0.specs.iter().all(is_same)
    }
}

fn digest_of(name: &str, file: &Path) -> Option<String> {
    component_check::read(name, file)
        .ok()
        .map(|bytes| Digest::sha256(&bytes).to_text())
}
