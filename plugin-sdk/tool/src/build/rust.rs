//! Rust: cargo builds a core module, which is then encoded as a component.

use std::path::Path;

use anyhow::{Context, Result};
use wit_component::ComponentEncoder;

use crate::files::write_if_changed;
use crate::plugin::{Crate, Plugin, PluginSource, Role};
use crate::process::run;
use crate::toolchain::{Choice, TARGET, Toolchain};

/// The profile for workspaces without one of that name: small and fast. It aborts on a panic, because a panic ends the
/// call anyway.
const PROFILE: [&str; 6] = [
    "profile.plugin.inherits=\"release\"",
    "profile.plugin.opt-level=3",
    "profile.plugin.lto=true",
    "profile.plugin.codegen-units=1",
    "profile.plugin.panic=\"abort\"",
    "profile.plugin.strip=true",
];

/// Builds the plugins that are crates.
///
/// # Errors
/// If no toolchain is usable, or cargo fails.
pub fn build(plugins: &[Plugin], choice: Choice) -> Result<()> {
    let groups = groups(plugins);
    if groups.is_empty() {
        return Ok(());
    }
    let toolchain = Toolchain::find(choice)?;
    for group in &groups {
        compile(&toolchain, group)?;
        for (plugin, package) in group {
            let module = toolchain
                .target_folder(&package.target)
                .join(TARGET)
                .join("plugin")
                .join(&package.module);
            let component = encode(&module).with_context(|| format!("plugin `{}`", plugin.name))?;
            write_if_changed(&plugin.component(), &component)?;
        }
    }
    Ok(())
}

/// The plugins that one cargo command can build.
type Group<'a> = Vec<(&'a Plugin, &'a Crate)>;

/// Groups the plugins by workspace and role. The role is a feature of the SDK, and one cargo command enables a feature
/// of a crate for all packages.
fn groups(plugins: &[Plugin]) -> Vec<Group<'_>> {
    let mut groups: Vec<((&Path, Option<Role>), Group<'_>)> = Vec::new();
    for plugin in plugins {
        let PluginSource::Rust(package) = &plugin.source else {
            continue;
        };
        let key = (package.workspace.as_path(), package.role);
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, group)) => group.push((plugin, package)),
            None => groups.push((key, vec![(plugin, package)])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Builds a group of plugins with cargo.
fn compile(toolchain: &Toolchain, group: &Group<'_>) -> Result<()> {
    let Some((_, first)) = group.first() else {
        return Ok(());
    };
    let mut cargo = toolchain.cargo_build(&toolchain.target_folder(&first.target));
    cargo
        .args(["--lib", "--profile", "plugin", "--manifest-path"])
        .arg(first.workspace.join("Cargo.toml"));
    if !first.has_profile() {
        cargo.args(PROFILE.iter().flat_map(|setting| ["--config", setting]));
    }
    for (_, package) in group {
        cargo.args(["--package", &package.package]);
    }
    let names: Vec<&str> = group
        .iter()
        .map(|(plugin, _)| plugin.name.as_str())
        .collect();
    run(
        &mut cargo,
        &format!("cargo could not build {}", names.join(", ")),
    )
}

/// Encodes a core module as a component. The SDK recorded its world in the module.
fn encode(module: &Path) -> Result<Vec<u8>> {
    let bytes =
        std::fs::read(module).with_context(|| format!("{} cannot be read", module.display()))?;
    ComponentEncoder::default().validate(true).module(&bytes)?.encode().context(
        "the module cannot be converted to a component; does the crate call `claim_mapper!` or `approval_channel!` \
         once?",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin(name: &str, role: Role, workspace: &str) -> Plugin {
        let source = PluginSource::Rust(Crate {
            package: name.to_owned(),
            role: Some(role),
            module: format!("{name}.wasm"),
            workspace: workspace.into(),
            target: "target".into(),
        });
        Plugin {
            folder: name.into(),
            name: name.to_owned(),
            source,
        }
    }

    #[test]
    fn roles_and_workspaces_are_built_separately() {
        let plugins = [
            plugin("a", Role::ClaimMapper, "one"),
            plugin("b", Role::ApprovalChannel, "one"),
            plugin("c", Role::ClaimMapper, "one"),
            plugin("d", Role::ClaimMapper, "two"),
        ];
        let names = |group: &Group<'_>| {
            group
                .iter()
                .map(|(plugin, _)| plugin.name.clone())
                .collect()
        };
        let names: Vec<Vec<String>> = groups(&plugins).iter().map(names).collect();
        assert_eq!(names, [vec!["a", "c"], vec!["b"], vec!["d"]]);
    }

    #[test]
    fn an_unreadable_or_invalid_module_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let module = folder.path().join("a.wasm");
        assert!(encode(&module).is_err_and(|error| error.to_string().contains("cannot be read")));
        std::fs::write(&module, b"not wasm").expect("written");
        assert!(encode(&module).is_err());
    }
}
