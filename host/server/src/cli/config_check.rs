//! `assent config check`

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use crate::app::Environment;
use crate::app::listen;
use crate::cli::config_file::settings;
use crate::config::Settings;
use crate::domain::audit::stream::check as check_streams;
use crate::domain::operations::plugins::specs::each_plugin_spec;
use crate::geoip::GeoIp;
use crate::{app, config};
use assent_admin_client::terminal;
use assent_plugin_host as plugins;
use assent_store::Database;

/// Validated settings.
pub(super) struct CheckedSettings {
    pub(super) settings: Settings,
    /// Probable mistakes.
    pub(super) warnings: Vec<String>,
    /// Facts that may surprise an operator.
    pub(super) notes: Vec<String>,
}

pub(super) async fn run(file: &Path) -> anyhow::Result<()> {
    let checked = check(file).await?;
    for warning in checked.warnings {
        terminal::note(format_args!("{}: warning: {warning}", file.display()));
    }
    for note in checked.notes {
        terminal::note(format_args!("{}: note: {note}", file.display()));
    }
    terminal::report_line(format_args!("{}: valid", file.display()));
    Ok(())
}

/// Reads the settings and the files that they name, and loads and tests the plugins.
///
/// # Errors
/// A line for each error, with file and line or environment variable, and key.
pub(super) async fn check(file: &Path) -> anyhow::Result<CheckedSettings> {
    let settings = settings(file)?;
    let mut problems = Problems {
        file,
        found: Vec::new(),
    };
    check_files(&settings, &mut problems);
    let loaded = load_plugins(&settings, &mut problems).await;
    let Some(loaded) = loaded.filter(|_| problems.found.is_empty()) else {
        anyhow::bail!(problems.found.join("\n"));
    };
    let mut warnings = Vec::new();
    if !loaded.may_write_attributes() {
        warnings.push(
            "no claim mapper writes attributes, so assertions have none and `custom_attributes` of SAML applications \
             have no effect (the plugin saml-attributes, with writes = [\"attribute:*\"])"
                .to_owned(),
        );
    }
    let notes = config::notes(&settings);
    Ok(CheckedSettings {
        settings,
        warnings,
        notes,
    })
}

/// Collects the errors.
struct Problems<'a> {
    file: &'a Path,
    /// The lines: place, key and reason.
    found: Vec<String>,
}

impl Problems<'_> {
    /// Returns the value, or records an error that begins with the key of the setting and a colon.
    fn note<T>(&mut self, result: Result<T, impl Display>) -> Option<T> {
        result.map_err(|error| self.add(&error.to_string())).ok()
    }

    /// Returns the value, or records an error of the setting with this key.
    fn note_of<T>(&mut self, key: &str, result: Result<T, impl Display>) -> Option<T> {
        self.note(result.map_err(|error| format!("{key}: {error}")))
    }

    fn add(&mut self, error: &str) {
        let (key, _) = error.split_once(':').unwrap_or((error, ""));
        let place = config::source_of(self.file, key);
        self.found.push(format!("{place}: {error}"));
    }
}

/// Reads the files that the settings name, except the plugins.
fn check_files(settings: &Settings, problems: &mut Problems<'_>) {
    let Environment { clock, entropy, .. } = Environment::of_this_program(problems.file);
    problems.note(listen::identities(settings, &clock));
    problems.note_of("database.url", Database::check_url(&settings.database.url));
    for error in app::secret_file_errors(settings, &entropy) {
        problems.add(&error.to_string());
    }
    problems.note(app::client_authorities(settings, &clock));
    problems.note(GeoIp::open(settings.geoip.database_file.as_deref()));
    problems.note(app::logo(settings));
    problems.note(check_streams(&settings.audit.stream));
    if let Some(folder) = &settings.plugins.compiled_folder {
        let checked = plugins::check_compiled_folder(folder)
            .map_err(|error| format!("{}: {error}", folder.display()));
        problems.note_of("plugins.compiled_folder", checked);
    }
}

/// Loads and tests the plugins. Returns `None` if there is an error.
async fn load_plugins(
    settings: &Settings,
    problems: &mut Problems<'_>,
) -> Option<plugins::Plugins> {
    let mut specs = Vec::new();
    for (key, spec) in each_plugin_spec(&settings.plugins) {
        specs.extend(problems.note(spec).map(|spec| (key, spec)));
    }
    let loader = || {
        let Environment {
            clock, compiler, ..
        } = Environment::of_this_program(problems.file);
        plugins::Loader::new(clock, Arc::new(plugins::NoCredentials), compiler, None)
    };
    let load = async |specs| {
        let loaded = plugins::Plugins::load(specs, loader()).await?;
        loaded.try_out().await?;
        Ok::<_, plugins::LoadError>(loaded)
    };
    let all = specs.iter().map(|(_, spec)| spec.clone()).collect();
    let error = match load(all).await {
        Ok(loaded) => return Some(loaded),
        Err(error) => error,
    };
    // The first error ends the loading: each plugin by itself shows whether others have errors.
    let mut errors = Vec::new();
    for (key, spec) in specs {
        if let Err(error) = load(vec![spec]).await {
            errors.push(format!("{key}: {error}"));
        }
    }
    if errors.is_empty() {
        errors.push(format!("plugins: {error}"));
    }
    for error in errors {
        problems.add(&error);
    }
    None
}
