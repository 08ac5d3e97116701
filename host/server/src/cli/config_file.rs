//! The settings file, and what a command needs of this machine's server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use clap::Args;

use crate::app::Environment;
use crate::config::Settings;
use crate::domain::Services;
use crate::{app, config};
use assent_store::Store;

#[derive(Clone, Debug, Args)]
pub(super) struct ConfigFile {
    /// The settings.
    #[arg(long, value_name = "FILE", default_value = "config/assent.toml")]
    pub(super) config: PathBuf,
}

pub(super) fn settings(file: &Path) -> anyhow::Result<Settings> {
    Ok(config::load(file)?)
}

/// The server's database and keys, without its plugins, for one command.
pub(super) async fn host_without_plugins(file: &Path) -> anyhow::Result<Arc<Services>> {
    let settings = Settings {
        plugins: config::Plugins::default(),
        ..settings(file)?
    };
    // In another folder than the server's, a command would make a database of its own and speak of that one.
    if !Store::may_exist(&settings.database.url) {
        bail!(
            "there is no database at {}; start the command in the folder in which `assent serve` was started",
            settings.database.url
        );
    }
    Ok(app::compose(settings, Environment::of_this_program(file)).await?)
}
