//! The subject of a command: a component, with its project if there is one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::build;
use crate::plugin::{Plugin, PluginSource};
use crate::toolchain::Choice;

/// A component, and its project.
#[derive(Debug)]
pub struct BuiltComponent {
    /// The component.
    pub component: PathBuf,
    /// The project, or the packed plugin, if a folder was given.
    pub plugin: Option<Plugin>,
}

impl BuiltComponent {
    /// Returns the component in a file, or that of the project in a folder. The project is built first.
    ///
    /// # Errors
    /// If there is no component or project, or the project cannot be built.
    pub fn from_path(path: &Path, choice: Choice) -> Result<Self> {
        if path.is_file() {
            return Ok(Self {
                component: path.to_owned(),
                plugin: None,
            });
        }
        if !path.is_dir() {
            bail!(
                "{} does not exist; specify the folder of a plugin, or the file of a component",
                path.display()
            );
        }
        let plugin = build::build(&[path.to_owned()], choice)?
            .pop()
            .context("a build has a plugin")?;
        Ok(Self {
            component: plugin.component(),
            plugin: Some(plugin),
        })
    }

    /// Returns the folder of the fixtures: the given one, or that of the project.
    ///
    /// # Errors
    /// If there is no such folder.
    pub fn fixtures(&self, chosen: Option<&Path>) -> Result<PathBuf> {
        match (chosen, &self.plugin) {
            (Some(chosen), _) => Ok(chosen.to_owned()),
            (
                None,
                Some(Plugin {
                    folder,
                    source: PluginSource::Packed(_),
                    ..
                }),
            ) => bail!(
                "{} is packed, and has no fixtures; specify them with `--fixture`, or use the folder of the plugin's \
                 project",
                folder.display()
            ),
            (None, Some(plugin)) => Ok(plugin.folder.join("fixtures")),
            (None, None) => {
                bail!(
                    "a file has no fixtures; specify them with `--fixture`, or use the folder of a plugin"
                )
            }
        }
    }
}
