//! What a command is about: a component, and the project it comes from where there is one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use assent::plugins::{Inspection, World, is_protected};

use crate::build;
use crate::plugin::{Manifest, Plugin, Role, Source};
use crate::toolchain::Choice;

/// A component, and its project.
#[derive(Debug)]
pub struct Subject {
    /// The component.
    pub component: PathBuf,
    /// The project, or the packed plugin, if a folder was given.
    pub plugin: Option<Plugin>,
}

impl Subject {
    /// The component in a file; or that of the project in a folder, which is built first.
    pub fn of(path: &Path, choice: Choice) -> Result<Self> {
        if path.is_file() {
            return Ok(Self { component: path.to_owned(), plugin: None });
        }
        if !path.is_dir() {
            bail!("there is no {}; give the folder of a plugin, or a component's file", path.display());
        }
        let plugin = build::build(&[path.to_owned()], choice)?.pop().context("a build has a plugin")?;
        Ok(Self { component: plugin.component(), plugin: Some(plugin) })
    }

    /// Where the fixtures are: in the project, or as they are given.
    pub fn fixtures(&self, given: Option<&Path>) -> Result<PathBuf> {
        match (given, &self.plugin) {
            (Some(given), _) => Ok(given.to_owned()),
            (None, Some(Plugin { folder, source: Source::Packed, .. })) => bail!(
                "{} is packed, and has no fixtures; name some with `--fixture`, or give the folder of the plugin's project",
                folder.display()
            ),
            (None, Some(plugin)) => Ok(plugin.folder.join("fixtures")),
            (None, None) => {
                bail!("a file has no fixtures of its own; name some with `--fixture`, or give the folder of a plugin")
            }
        }
    }
}

/// What a component turned out to be.
pub fn role(inspection: &Inspection) -> Role {
    match inspection.world {
        World::ClaimMapper => Role::ClaimMapper,
        World::ApprovalChannel => Role::ApprovalChannel,
        World::DelegatedChannel => Role::DelegatedApprovalChannel,
    }
}

/// In what `plugin.toml` says something else than the component, a sentence each.
pub fn disagreements(manifest: &Manifest, inspection: &Inspection) -> Vec<String> {
    let description = &inspection.description;
    let sinks =
        |sinks: &Option<Vec<String>>| sinks.as_ref().map_or_else(|| "everywhere".to_owned(), |sinks| sinks.join(", "));
    let described_sinks = description.sinks.as_ref().map(|sinks| sinks.iter().map(|sink| sink_name(*sink)).collect());
    let pairs = [
        ("name", manifest.name.clone(), description.name.clone()),
        ("version", manifest.version.clone(), description.version.clone()),
        ("role", manifest.role.to_string(), role(inspection).to_string()),
        ("summary", manifest.summary.clone(), description.summary.clone()),
        ("writes", sorted(&manifest.writes), sorted(&description.writes)),
        ("sinks", sinks(&manifest.sinks), sinks(&described_sinks)),
        ("hosts", sorted(&manifest.hosts), sorted(&description.hosts)),
    ];
    let packed = manifest.sha256.clone().map(|digest| ("sha256", digest, inspection.sha256.clone()));
    let differ = pairs.into_iter().chain(packed).filter(|(_, manifest, component)| manifest != component);
    differ
        .map(|(key, manifest, component)| format!("`{key}` is `{manifest}`, but the component says `{component}`"))
        .collect()
}

/// A list in words, whatever its order.
fn sorted(names: &[String]) -> String {
    let mut names = names.to_vec();
    names.sort();
    names.join(", ")
}

/// A sink as the contract names it.
pub fn sink_name(sink: assent::plugins::Sink) -> String {
    serde_json::to_value(sink).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Fails with all disagreements at once.
pub fn must_agree(plugin: &Plugin, inspection: &Inspection) -> Result<()> {
    let disagreements = disagreements(&plugin.manifest, inspection);
    if disagreements.is_empty() {
        return Ok(());
    }
    let file = plugin.folder.join("plugin.toml");
    bail!("{} does not say what the component says: {}", file.display(), disagreements.join("; "))
}

/// Fails where a component asks for claims that no plugin may write: a host would not load it.
pub fn must_be_grantable(inspection: &Inspection) -> Result<()> {
    let writes = inspection.description.writes.iter();
    let protected: Vec<String> = writes.filter(|claim| is_protected(claim)).map(|claim| format!("`{claim}`")).collect();
    if protected.is_empty() {
        return Ok(());
    }
    bail!("only the host writes {}, so no host would load this plugin; take it out of `writes`", protected.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_that_only_the_host_writes_are_refused() {
        let inspection = |writes: &[&str]| Inspection {
            world: World::ClaimMapper,
            contract_version: "1.0.0".to_owned(),
            imports: Vec::new(),
            size: 0,
            sha256: String::new(),
            description: serde_json::from_value(serde_json::json!({ "name": "a", "version": "1", "writes": writes }))
                .expect("a description"),
        };
        assert!(must_be_grantable(&inspection(&["department", "*", "attribute:sub"])).is_ok());
        let error = must_be_grantable(&inspection(&["department", "sub", "email_verified"])).expect_err("refused");
        assert!(error.to_string().starts_with("only the host writes `sub`, `email_verified`"), "{error}");
    }
}
