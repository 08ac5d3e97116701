//! `assent config check`

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;

use crate::app::Environment;
use crate::cli::config_file::settings;
use crate::config::Settings;
use crate::domain::operations::plugin_specs::plugin_specs;
use crate::geoip::GeoIp;
use crate::{app, config};
use assent_plugin_host as plugins;
use assent_store::Database;

/// Settings that are valid.
pub(super) struct CheckedSettings {
    pub(super) settings: Settings,
    /// What probably is a mistake.
    pub(super) warnings: Vec<String>,
    /// What may surprise an operator.
    pub(super) notes: Vec<String>,
}

pub(super) async fn run(file: &Path) -> anyhow::Result<()> {
    let checked = check(file).await?;
    for warning in checked.warnings {
        eprintln!("{}: warning: {warning}", file.display());
    }
    for note in checked.notes {
        eprintln!("{}: note: {note}", file.display());
    }
    println!("{}: valid", file.display());
    Ok(())
}

/// Reads the settings and the files that they name, and loads and tries the plugins.
///
/// # Errors
/// Each error names the file, and the line or key.
pub(super) async fn check(file: &Path) -> anyhow::Result<CheckedSettings> {
    let settings = settings(file)?;
    let specs = plugin_specs(&settings.plugins).with_context(|| file.display().to_string())?;
    let Environment {
        clock,
        compiler,
        entropy,
        ..
    } = Environment::of_this_program(file);
    app::identities(&settings, &clock).with_context(|| file.display().to_string())?;
    Database::check_url(&settings.database.url)
        .with_context(|| format!("{}: database.url", file.display()))?;
    app::check_secret_files(&settings, &entropy).with_context(|| file.display().to_string())?;
    GeoIp::open(settings.geoip.database_file.as_deref())
        .with_context(|| file.display().to_string())?;
    app::logo(&settings).with_context(|| file.display().to_string())?;
    crate::domain::audit::check_streams(&settings.audit.stream)
        .map_err(anyhow::Error::msg)
        .with_context(|| file.display().to_string())?;
    if let Some(folder) = &settings.plugins.compiled_folder {
        let key = || {
            format!(
                "{}: plugins.compiled_folder: {}",
                file.display(),
                folder.display()
            )
        };
        plugins::check_compiled_folder(folder)
            .map_err(anyhow::Error::msg)
            .with_context(key)?;
    }
    let loaded = plugins::Plugins::load(
        specs,
        plugins::Loader::new(clock, Arc::new(plugins::NoCredentials), compiler, None),
    )
    .await;
    let loaded = loaded.with_context(|| format!("{}: plugins", file.display()))?;
    loaded
        .try_out()
        .await
        .with_context(|| format!("{}: plugins", file.display()))?;
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
