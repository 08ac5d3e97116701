//! The dev loop: it builds each change of the sources and tries it in a running instance, which does not load it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use assent_admin_client::candidate::CandidateRun;
use assent_admin_client::connection::ServerConnection;
use assent_admin_client::terminal;
use assent_model::printable::lines;
use assent_model::text::to_utf8;
use assent_plugin_host::{Compiler, inspect};
use serde_json::{Map, Value};
use tokio::runtime::Runtime;

use crate::built_component::BuiltComponent;
use crate::check::thousands;
use crate::description::{must_be_grantable, role, settle};
use crate::pack::Example;
use crate::plugin::{MANIFEST, Plugin, PluginSource, Role};
use crate::report::report;
use crate::toolchain::Choice;

/// The interval between two checks of the sources.
const INTERVAL: Duration = Duration::from_millis(300);
/// The folders of build outputs.
const BUILT: [&str; 4] = ["target", "node_modules", "build", "pack"];
/// The files of build outputs.
const WRITTEN: [&str; 2] = [MANIFEST, "Cargo.lock"];

/// The candidate and the instance that tries it.
#[derive(clap::Args)]
pub struct DevOptions {
    /// The folder of the plugin's project.
    plugin: PathBuf,
    /// The application: its name or id.
    #[arg(long)]
    application: String,
    /// The user of the claims: name, email address or id.
    #[arg(long)]
    user: String,
    /// The scopes, with a space between them. The default is every scope that the application may request.
    #[arg(long)]
    scope: Option<String>,
    /// The plugin in the instance's settings that the component replaces. The default is the plugin with the project's
    /// name. If no plugin has this name, the component runs after the others.
    #[arg(long, value_name = "NAME")]
    replace: Option<String>,
    /// A TOML file with the plugin's settings. The default is the settings of its first fixture.
    #[arg(long, value_name = "FILE")]
    plugin_config: Option<PathBuf>,
    /// Build and try the component once, then exit: 1 if it failed or could not be compared in each sink, otherwise 0.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    connection: ServerConnection,
}

/// Builds the plugin and tries it in an instance: once, or after each change of its sources.
///
/// # Errors
/// If the plugin cannot be built, or the instance cannot be reached. After a later change the command prints such an
/// error and continues.
pub fn dev(options: DevOptions, choice: Choice) -> Result<()> {
    let plugin = Plugin::read(&options.plugin)?;
    if let PluginSource::Rust(package) = &plugin.source
        && let Some(role) = package.role
    {
        must_be_a_mapper(role)?;
    }
    let DevOptions {
        plugin: folder,
        application,
        user,
        scope,
        replace,
        plugin_config,
        once,
        connection,
    } = options;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let mut round = Round {
        runtime: runtime.context("the runtime cannot start")?,
        name: replace.unwrap_or(plugin.name),
        subject: format!("in {application}, for {user}"),
        run: CandidateRun::new(connection, application, user, scope),
        folder,
        plugin_config,
        choice,
    };
    if once {
        return round.run();
    }
    loop {
        let before = round.watched_files();
        if let Err(error) = round.run() {
            report(&error);
        }
        print_line(&format!(
            "\nWatching {}. Ctrl-C ends.",
            round.folder.display()
        ));
        let mut now = round.watched_files();
        while now == before {
            std::thread::sleep(INTERVAL);
            now = round.watched_files();
        }
        // An editor may write several files, or one file several times. So the build waits until the files stop
        // changing.
        loop {
            std::thread::sleep(INTERVAL);
            let later = round.watched_files();
            if later == now {
                break;
            }
            now = later;
        }
    }
}

fn must_be_a_mapper(role: Role) -> Result<()> {
    if role.is_mapper() {
        return Ok(());
    }
    bail!(
        "`dev` tries claim mappers only, and this is a plugin with the role {role}; run its fixtures with \
         `assent-plugin test`, and try it with a stub of the vendor: see \"Try a channel with a stub\" in \
         docs/developers/approval-channels.md"
    )
}

fn print_line(text: &str) {
    terminal::report_line(format_args!("{text}"));
}

/// The inputs of each round.
struct Round {
    runtime: Runtime,
    folder: PathBuf,
    /// The plugin that the component replaces.
    name: String,
    /// The application and the user, as text.
    subject: String,
    plugin_config: Option<PathBuf>,
    run: CandidateRun,
    choice: Choice,
}

/// The files of a project, with their modification times and sizes.
type FileStates = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

impl Round {
    /// Builds the component and tries it.
    fn run(&mut self) -> Result<()> {
        let subject = BuiltComponent::from_path(&self.folder, self.choice)?;
        let plugin = subject
            .plugin
            .as_ref()
            .context("`dev` needs the folder of a project")?;
        let inspection = self
            .runtime
            .block_on(inspect(&subject.component, &Compiler::InProcess))?;
        must_be_a_mapper(role(&inspection))?;
        settle(plugin, &inspection)?;
        must_be_grantable(&inspection)?;
        let file = subject.component.display();
        let bytes =
            std::fs::read(&subject.component).with_context(|| format!("{file} cannot be read"))?;
        let config = self.config()?;
        let report = self
            .runtime
            .block_on(self.run.run(&self.name, &bytes, config.as_ref()))?;
        let described = &inspection.description;
        let size = thousands(&inspection.size);
        let what = lines(&format!(
            "{} {} ({size} bytes) {}",
            described.name, described.version, self.subject
        ));
        print_line(&format!("\n{what}:\n{}", report.text.trim_end()));
        if let Some(fault) = report.fault {
            bail!("{fault}; see the reason above");
        }
        Ok(())
    }

    /// Returns the plugin's settings.
    fn config(&self) -> Result<Option<Map<String, Value>>> {
        let value = match &self.plugin_config {
            Some(file) => {
                let text = std::fs::read(file)
                    .and_then(to_utf8)
                    .with_context(|| format!("{} cannot be read", file.display()))?;
                Some(
                    toml::from_str(&text)
                        .with_context(|| format!("{} is not as expected", file.display()))?,
                )
            }
            None => Example::read(&self.folder.join("fixtures"), Role::ClaimMapper).config,
        };
        Ok(value.and_then(|value| value.as_object().cloned()))
    }

    fn watched_files(&self) -> FileStates {
        let mut watched = FileStates::new();
        scan_folder(&self.folder, &mut watched);
        if let Some(file) = &self.plugin_config {
            note(file, &mut watched);
        }
        watched
    }
}

/// Records the files below a folder, without the output of a build.
fn scan_folder(folder: &Path, watched: &mut FileStates) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if name.starts_with('.') || WRITTEN.contains(&name.as_ref()) {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if !BUILT.contains(&name.as_ref()) {
                scan_folder(&path, watched);
            }
        } else {
            note(&path, watched);
        }
    }
}

fn note(file: &Path, watched: &mut FileStates) {
    if let Ok(found) = std::fs::metadata(file) {
        watched.insert(file.to_owned(), (found.modified().ok(), found.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_watched_and_build_output_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let file = folder.path().join(path);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("created");
            std::fs::write(file, text).expect("written");
        };
        let watched = || {
            let mut watched = FileStates::new();
            scan_folder(folder.path(), &mut watched);
            watched
        };
        write("src/lib.rs", "one");
        write("fixtures/a.json", "{}");
        let before = watched();
        assert_eq!(before.len(), 2);
        for built in [
            "target/debug/a",
            "build/a.wasm",
            "node_modules/a/b.js",
            "pack/a.wasm",
            ".git/a",
        ] {
            write(built, "built");
        }
        write("plugin.toml", "generated");
        write("Cargo.lock", "locked");
        assert_eq!(watched(), before);
        write("src/lib.rs", "another");
        assert_ne!(watched(), before);
    }
}
