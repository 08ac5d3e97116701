//! Rust: cargo builds a core module, which is then encoded as a component.

use std::path::Path;

use anyhow::{Context, Result};
use wit_component::ComponentEncoder;

use crate::files::write_if_changed;
use crate::plugin::{Crate, Plugin, PluginSource};
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

/// Builds the plugins that are crates, each by a command of its own: the role is a feature of the SDK, and one command
/// enables a feature of a crate for all packages.
///
/// # Errors
/// If no toolchain is usable, or cargo fails.
pub fn build(plugins: &[Plugin], choice: Choice) -> Result<()> {
    let mut toolchain = None;
    for plugin in plugins {
        let PluginSource::Rust(package) = &plugin.source else {
            continue;
        };
        let toolchain = match &mut toolchain {
            Some(found) => found,
            none => none.insert(Toolchain::find(choice)?),
        };
        compile(toolchain, plugin, package)?;
        let module = toolchain
            .target_folder(&package.target)
            .join(TARGET)
            .join("plugin")
            .join(&package.module);
        let component = encode(&module).with_context(|| format!("plugin `{}`", plugin.name))?;
        write_if_changed(&plugin.component(), &component)?;
    }
    Ok(())
}

/// Builds a plugin with cargo.
fn compile(toolchain: &Toolchain, plugin: &Plugin, package: &Crate) -> Result<()> {
    let mut cargo = toolchain.cargo_rustc(&toolchain.target_folder(&package.target));
    cargo
        .args(["--lib", "--profile", "plugin", "--manifest-path"])
        .arg(package.workspace.join("Cargo.toml"))
        .args(["--package", &package.package]);
    if !package.has_profile() {
        cargo.args(PROFILE.iter().flat_map(|setting| ["--config", setting]));
    }
    cargo.arg("--").args(toolchain.flags());
    run(
        &mut cargo,
        &format!("cargo could not build {}", plugin.name),
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
