//! Building: cargo makes a core module, which is then encoded as a component.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use wit_component::ComponentEncoder;

use crate::plugin::Plugin;
use crate::toolchain::{Choice, TARGET, Toolchain};

/// The profile for workspaces that have none of that name: small and fast, and a panic ends the call anyway.
const PROFILE: [&str; 6] = [
    "profile.plugin.inherits=\"release\"",
    "profile.plugin.opt-level=3",
    "profile.plugin.lto=true",
    "profile.plugin.codegen-units=1",
    "profile.plugin.panic=\"abort\"",
    "profile.plugin.strip=true",
];

/// Builds the crates in these folders and lists what was made: its path, a tab, its size in bytes.
pub fn build(folders: &[PathBuf], choice: Choice) -> Result<()> {
    let plugins = folders.iter().map(|folder| Plugin::read(folder)).collect::<Result<Vec<_>>>()?;
    let toolchain = Toolchain::find(choice)?;
    for group in groups(&plugins) {
        compile(&toolchain, &group)?;
    }
    for plugin in &plugins {
        let module = toolchain.target_folder(&plugin.target).join(TARGET).join("plugin").join(&plugin.module);
        let component = encode(&module).with_context(|| format!("plugin `{}`", plugin.name))?;
        let file = plugin.target.join("plugins").join(format!("{}.wasm", plugin.name));
        write_if_changed(&file, &component)?;
        announce(&file, component.len());
    }
    Ok(())
}

/// Plugins that one cargo command can build: those of one workspace and one role, since the role is a feature of the SDK and
/// cargo gives a crate all features that anything in the command asks for.
fn groups(plugins: &[Plugin]) -> Vec<Vec<&Plugin>> {
    let mut groups: Vec<Vec<&Plugin>> = Vec::new();
    for plugin in plugins {
        let same = |other: &&Plugin| other.workspace == plugin.workspace && other.role == plugin.role;
        match groups.iter_mut().find(|group| group.first().is_some_and(same)) {
            Some(group) => group.push(plugin),
            None => groups.push(vec![plugin]),
        }
    }
    groups
}

/// Has cargo build a group of plugins.
fn compile(toolchain: &Toolchain, group: &[&Plugin]) -> Result<()> {
    let Some(first) = group.first() else { return Ok(()) };
    let mut cargo = toolchain.cargo_build(&toolchain.target_folder(&first.target));
    cargo.args(["--lib", "--profile", "plugin", "--manifest-path"]).arg(first.workspace.join("Cargo.toml"));
    if !first.has_profile() {
        cargo.args(PROFILE.iter().flat_map(|setting| ["--config", setting]));
    }
    for plugin in group {
        cargo.args(["--package", &plugin.package]);
    }
    let status = cargo.status().with_context(|| format!("{} can't be run", cargo.get_program().to_string_lossy()))?;
    if !status.success() {
        bail!(
            "cargo could not build {}",
            group.iter().map(|plugin| plugin.name.as_str()).collect::<Vec<_>>().join(", ")
        );
    }
    Ok(())
}

/// Encodes a core module as a component of the world that the SDK noted in it.
fn encode(module: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(module).with_context(|| format!("{} can't be read", module.display()))?;
    ComponentEncoder::default().validate(true).module(&bytes)?.encode().context(
        "the module does not make a component; does the crate call `claim_mapper!` or `approval_channel!` once?",
    )
}

/// Leaves a file alone that is already right, so that what depends on it is not rebuilt.
fn write_if_changed(file: &Path, bytes: &[u8]) -> Result<()> {
    if std::fs::read(file).is_ok_and(|present| present == bytes) {
        return Ok(());
    }
    let write = || {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        // A host that starts meanwhile sees the old file or the new one, never half of it.
        let fresh = file.with_extension("wasm.new");
        std::fs::write(&fresh, bytes)?;
        std::fs::rename(&fresh, file)
    };
    write().with_context(|| format!("{} can't be written", file.display()))
}

#[allow(clippy::print_stdout, reason = "this list is what the command is run for")]
fn announce(file: &Path, size: usize) {
    println!("{}\t{size}", file.display());
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::plugin::Role;

    fn plugin(name: &str, role: Role, workspace: &str) -> Plugin {
        Plugin {
            name: name.to_owned(),
            role,
            package: name.to_owned(),
            module: format!("{name}.wasm"),
            workspace: workspace.into(),
            target: "target".into(),
        }
    }

    #[test]
    fn roles_and_workspaces_are_built_apart() {
        let plugins = [
            plugin("a", Role::ClaimMapper, "one"),
            plugin("b", Role::ApprovalChannel, "one"),
            plugin("c", Role::ClaimMapper, "one"),
            plugin("d", Role::ClaimMapper, "two"),
        ];
        let names: Vec<Vec<&str>> =
            groups(&plugins).iter().map(|group| group.iter().map(|plugin| plugin.name.as_str()).collect()).collect();
        assert_eq!(names, [vec!["a", "c"], vec!["b"], vec!["d"]]);
    }

    #[test]
    fn a_file_that_is_right_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("plugins/a.wasm");
        write_if_changed(&file, b"one").expect("written");
        let before = std::fs::metadata(&file).expect("the file").ino();
        write_if_changed(&file, b"one").expect("left alone");
        assert_eq!(std::fs::metadata(&file).expect("the file").ino(), before);
        write_if_changed(&file, b"two").expect("replaced");
        assert_eq!(std::fs::read(&file).expect("the file"), b"two");
    }

    #[test]
    fn a_module_that_is_no_plugin_is_explained() {
        let folder = tempfile::tempdir().expect("a folder");
        let module = folder.path().join("a.wasm");
        assert!(encode(&module).is_err_and(|error| error.to_string().contains("can't be read")));
        std::fs::write(&module, b"not wasm").expect("written");
        assert!(encode(&module).is_err());
    }
}
