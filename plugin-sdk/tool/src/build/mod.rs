//! The build of a plugin's project to its component.

mod rust;
mod typescript;

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::description::settle;
use crate::plugin::{Plugin, PluginSource};
use crate::process::wait;
use crate::toolchain::Choice;
use assent_admin_client::terminal;
use assent_model::printable::lines;
use assent_plugin_host::{Compiler, inspect};

/// Builds the plugins in these folders. Returns the plugins; each has its component in place.
///
/// # Errors
/// If a folder has no plugin, a program is missing, or a build fails.
pub fn build(folders: &[PathBuf], choice: Choice) -> Result<Vec<Plugin>> {
    let plugins = folders
        .iter()
        .map(|folder| Plugin::read(folder))
        .collect::<Result<Vec<_>>>()?;
    rust::build(&plugins, choice)?;
    for plugin in plugins
        .iter()
        .filter(|plugin| matches!(plugin.source, PluginSource::TypeScript))
    {
        typescript::build(plugin).with_context(|| format!("plugin `{}`", plugin.name))?;
    }
    Ok(plugins)
}

/// Builds the plugins in these folders and writes their `plugin.toml`. Then it lists the components: the path, a tab,
/// and the size in bytes.
///
/// # Errors
/// If a plugin cannot be built, or a file cannot be written.
pub fn list(folders: &[PathBuf], choice: Choice) -> Result<()> {
    let mut listed = String::new();
    for plugin in build(folders, choice)? {
        let file = plugin.component();
        match wait(inspect(&file, &Compiler::InProcess))? {
            Ok(inspection) => settle(&plugin, &inspection)?,
            // The build succeeded anyway, because a later version of Assent may support the component.
            Err(error) => terminal::note(format_args!(
                "assent-plugin: plugin.toml was not written: {}",
                lines(&error.to_string())
            )),
        }
        let size = std::fs::metadata(&file)
            .with_context(|| format!("{} cannot be read", file.display()))?
            .len();
        listed.push_str(&format!("{}\t{size}\n", file.display()));
    }
    terminal::print(&listed)
}
