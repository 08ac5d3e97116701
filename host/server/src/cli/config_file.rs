//! The settings file, and the server's database and keys for a command.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use clap::Args;

use crate::app::Environment;
use crate::config::Settings;
use crate::domain::Services;
use crate::{app, config};
use assent_store::Store;

/// The settings of a source tree.
const LOCAL_FILE: &str = "config/assent.toml";
/// The settings of an installed package.
const SYSTEM_FILE: &str = "/etc/assent/assent.toml";

#[derive(Clone, Debug, Args)]
pub(super) struct ConfigFile {
    /// The settings. The default is /etc/assent/assent.toml if it exists, or config/assent.toml in this folder.
    #[arg(long, value_name = "FILE", env = "ASSENT_CONFIG")]
    config: Option<PathBuf>,
}

impl ConfigFile {
    pub(super) fn path(&self) -> &Path {
        match &self.config {
            Some(file) => file,
            // A file in the current folder, which may belong to another user, never replaces the installed one.
            None if Path::new(SYSTEM_FILE).exists() => Path::new(SYSTEM_FILE),
            None => Path::new(LOCAL_FILE),
        }
    }
}

pub(super) fn settings(file: &Path) -> anyhow::Result<Settings> {
    Ok(config::load(file)?)
}

/// Opens the server's database and keys, without its plugins, for one command.
pub(super) async fn host_without_plugins(file: &Path) -> anyhow::Result<Arc<Services>> {
    let settings = Settings {
        plugins: config::Plugins::default(),
        ..settings(file)?
    };
    // In another folder than the server's, a command would create a database of its own and use it by mistake.
    if !Store::may_exist(&settings.database.url) {
        bail!(
            "there is no database at {}; the first start of `assent serve` creates it. If its path is relative, start \
             the command in the folder in which the server was started",
            settings.database.url
        );
    }
    check_user(&settings.database.url)?;
    let composing = app::compose(settings, Environment::of_this_program(file));
    Ok(Box::pin(composing).await?)
}

/// Rejects a command of root on the SQLite database of another user: files that root creates beside the database would
/// lock the server out.
pub(super) fn check_user(database: &str) -> anyhow::Result<()> {
    let Some(file) =
        Store::database_file(database).filter(|_| rustix::process::geteuid().is_root())
    else {
        return Ok(());
    };
    // A file that does not exist yet belongs to the owner of its folder.
    let owner = file
        .ancestors()
        .find_map(|path| std::fs::metadata(path).ok())
        .map_or(0, |metadata| metadata.uid());
    if owner != 0 {
        bail!(
            "{} belongs to another user. Run the command as that user, for example: sudo -u '#{owner}' assent ...",
            file.display()
        );
    }
    Ok(())
}
