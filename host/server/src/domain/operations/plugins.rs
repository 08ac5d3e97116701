//! Plugins as the operator sets them up, and their exchange while the server serves.

use std::sync::PoisonError;

use crate::config;
use crate::domain::admin::AdminError;
use crate::domain::operations::plugin_reloads::{Previous, Reload, ReloadError, table};
use crate::domain::operations::plugin_specs::plugin_specs;
use crate::domain::{Services, audit};
use assent_model::audit::{AuditContext, Event};

/// The plugins that were there before the last exchange, if there was one since the server started.
pub fn previous(services: &Services) -> Option<Previous> {
    services.reloads.sets().previous.clone()
}

/// The plugins that were there before the last exchange, if they are known by this digest.
///
/// # Errors
/// [`AdminError::Conflict`] if there are none, or others than are meant.
pub fn previous_known_by(
    services: &Services,
    digest: Option<&str>,
) -> Result<Previous, AdminError> {
    let previous = previous(services).ok_or(AdminError::Conflict(
        "the plugins were not reloaded since the instance started",
    ))?;
    if digest.is_some_and(|digest| digest != previous.digest) {
        return Err(AdminError::Conflict(
            "the plugins were reloaded in the meantime, so a rollback would restore others; read the list again",
        ));
    }
    Ok(previous)
}

/// Puts the plugins back that were there before the last exchange, compiled and set up as they were; those of now are
/// the previous ones then. With a digest, those that are known by it or none. The files and settings on disk stay as
/// they are, and count again at the next exchange and the next start.
///
/// # Errors
/// [`AdminError::Conflict`] as [`previous_known_by`].
pub async fn roll_back(
    services: &Services,
    digest: Option<&str>,
    by: &AuditContext,
) -> Result<(), AdminError> {
    let _alone = services.reloads.one_at_a_time.lock().await;
    let previous = previous_known_by(services, digest)?;
    let replaced = services.plugins.replace_set(previous.set.clone());
    services.reloads.exchanged(
        services.now(),
        replaced,
        previous.settings.clone(),
        &services.settings,
    );
    let now = services.now();
    *services
        .reloads
        .last
        .lock()
        .unwrap_or_else(PoisonError::into_inner) = Some(Reload {
        at: now,
        error: None,
        needs_restart: Vec::new(),
    });
    tracing::warn!("plugins rolled back");
    // They are not in the database, so there is no transaction to share.
    let entry =
        audit::entry(services, Event::PluginsRolledBack, by).with("plugins", loaded(services));
    if let Err(error) = services.store.append_audit(vec![entry]).await {
        tracing::error!(%error, "audit entry of the plugin rollback not written");
    }
    Ok(())
}

/// Whether an exchange would bring other plugins, or other settings of them: the files and the settings on disk are not
/// those that are loaded.
pub async fn changed_on_disk(services: &Services) -> bool {
    let known = services
        .reloads
        .sets()
        .settings
        .clone()
        .unwrap_or_else(|| table(&services.settings));
    let (file, set) = (services.settings_file.clone(), services.plugins.set());
    let looked = tokio::task::spawn_blocking(move || {
        // Settings that can't be read are other ones; without a file they can't change.
        let has_other_settings =
            file.is_some_and(|file| config::load(&file).map_or(true, |new| table(&new) != known));
        has_other_settings || set.has_other_files()
    });
    looked.await.unwrap_or(true)
}

/// Reads the plugins' settings anew, loads the plugins, has each check its settings and tries it out; then all of them
/// take the place of those that were there, at once. Where anything is wrong, those that were there go on.
///
/// # Errors
/// What is wrong, for the operator, who finds it in the log and with [`last_reload`] too.
pub async fn reload(services: &Services, by: &AuditContext) -> Result<Reload, ReloadError> {
    let _alone = services.reloads.one_at_a_time.lock().await;
    let exchanged = exchange(services).await;
    let reload = Reload {
        at: services.now(),
        error: exchanged.as_ref().err().map(ToString::to_string),
        needs_restart: exchanged.as_ref().map(Clone::clone).unwrap_or_default(),
    };
    *services
        .reloads
        .last
        .lock()
        .unwrap_or_else(PoisonError::into_inner) = Some(reload.clone());
    match exchanged {
        Ok(needs_restart) => {
            let names: Vec<_> = services
                .plugins
                .status()
                .into_iter()
                .map(|status| status.identity.plugin)
                .collect();
            tracing::info!(plugins = names.join(", "), "plugins reloaded");
            // They are not in the database, so there is no transaction to share.
            let entry = audit::entry(services, Event::PluginsReloaded, by)
                .with("plugins", loaded(services));
            if let Err(error) = services.store.append_audit(vec![entry]).await {
                tracing::error!(%error, "audit entry of the plugin reload not written");
            }
            if !needs_restart.is_empty() {
                tracing::warn!(
                    tables = needs_restart.join(", "),
                    "other changed settings need a restart"
                );
            }
            Ok(reload)
        }
        Err(error) => {
            tracing::error!(%error, "plugin reload failed, the previous plugins stay in use");
            Err(error)
        }
    }
}

/// The plugins that are loaded, each with its version and the digest of its file, for the audit log.
fn loaded(services: &Services) -> Vec<serde_json::Value> {
    let identities = services
        .plugins
        .status()
        .into_iter()
        .map(|status| status.identity);
    identities
        .map(|one| serde_json::json!({"name": one.plugin, "version": one.version, "sha256": one.sha256}))
        .collect()
}

/// How the last exchange went, if there was one since the server started.
pub fn last_reload(services: &Services) -> Option<Reload> {
    services
        .reloads
        .last
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

async fn exchange(services: &Services) -> Result<Vec<String>, ReloadError> {
    let file = services
        .settings_file
        .as_deref()
        .ok_or(ReloadError::NoFile)?;
    let settings = config::load(file)?;
    let replaced = services
        .plugins
        .reload(plugin_specs(&settings.plugins)?)
        .await?;
    services.reloads.exchanged(
        services.now(),
        replaced,
        table(&settings),
        &services.settings,
    );
    Ok(changed_tables(&services.settings, &settings))
}

/// The tables that are not the same, but for the plugins'.
fn changed_tables(old: &config::Settings, new: &config::Settings) -> Vec<String> {
    let tables = |settings: &config::Settings| serde_json::to_value(settings).unwrap_or_default();
    let (old, new) = (tables(old), tables(new));
    let names = new.as_object().into_iter().flat_map(|tables| tables.keys());
    let tables = names
        .filter(|name| *name != "plugins" && old.get(name) != new.get(name))
        .cloned();
    // These two of the plugins' table are read at the start alone.
    let keys = ["trace_retention", "compiled_folder"]
        .into_iter()
        .filter(|key| {
            let at = format!("/plugins/{key}");
            old.pointer(&at) != new.pointer(&at)
        });
    tables
        .chain(keys.map(|key| format!("plugins.{key}")))
        .collect()
}
