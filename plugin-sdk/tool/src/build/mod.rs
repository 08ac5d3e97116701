//! Building: from a plugin's project to its component.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use assent_model::printable::lines;
use assent_plugin_host::{Compiler, inspect};

use crate::plugin::{Plugin, Source};
use crate::subject::settle;
use crate::toolchain::Choice;

mod rust;
mod typescript;

/// Builds the plugins in these folders; the plugins, each with its component in place.
pub fn build(folders: &[PathBuf], choice: Choice) -> Result<Vec<Plugin>> {
    let plugins = folders
        .iter()
        .map(|folder| Plugin::read(folder))
        .collect::<Result<Vec<_>>>()?;
    rust::build(&plugins, choice)?;
    for plugin in plugins
        .iter()
        .filter(|plugin| matches!(plugin.source, Source::TypeScript))
    {
        typescript::build(plugin).with_context(|| format!("plugin `{}`", plugin.name))?;
    }
    Ok(plugins)
}

/// Builds the plugins in these folders, writes their `plugin.toml`, and lists the components: path, a tab, size in bytes.
#[allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this list is the command's result"
)]
pub fn list(folders: &[PathBuf], choice: Choice) -> Result<()> {
    for plugin in build(folders, choice)? {
        let file = plugin.component();
        match crate::wait(inspect(&file, &Compiler::InProcess))? {
            Ok(inspection) => settle(&plugin, &inspection)?,
            // The component is built all the same; a later version of Assent may serve it.
            Err(error) => eprintln!(
                "assent-plugin: plugin.toml was not written: {}",
                lines(&error.to_string())
            ),
        }
        let size = std::fs::metadata(&file)
            .with_context(|| format!("{} can't be read", file.display()))?
            .len();
        println!("{}\t{size}", file.display());
    }
    Ok(())
}

/// Runs a command that has to succeed. What it says goes where cargo's goes: standard output is for the answer.
fn run(command: &mut Command, failed: &str) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.stdout(std::io::stderr()).status();
    let status = status.with_context(|| format!("{program} can't be run; is it installed?"))?;
    if !status.success() {
        bail!("{failed}");
    }
    Ok(())
}

/// Leaves a file alone that is already right, so that what depends on it is not rebuilt.
pub fn write_if_changed(file: &Path, bytes: &[u8]) -> Result<()> {
    if std::fs::read(file).is_ok_and(|present| present == bytes) {
        return Ok(());
    }
    let write = || {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        // A host that starts meanwhile sees the old file or the new one, never half of it.
        let fresh = file.with_extension("new");
        std::fs::write(&fresh, bytes)?;
        std::fs::rename(&fresh, file)
    };
    write().with_context(|| format!("{} can't be written", file.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

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
}
