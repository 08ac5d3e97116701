//! The plugins of the operator, and their exchange while the server serves.

use std::sync::PoisonError;

use crate::config;
use crate::domain::admin::AdminError;
use crate::domain::operations::plugins::reloads::{Previous, Reload, ReloadError, table};
use crate::domain::operations::plugins::specs::plugin_specs;
use crate::domain::{Services, audit};
use assent_model::audit::{AuditContext, Event};

/// Returns the plugins before the last exchange, if there was one since the start.
pub fn previous(services: &Services) -> Option<Previous> {
    services.reloads.sets().previous.clone()
}

/// Returns the plugins before the last exchange, if they have this digest.
///
/// # Errors
/// [`AdminError::Conflict`] if there are none, or they have another digest.
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

/// Restores the plugins before the last exchange in their compiled form and with their settings. The current plugins
/// are the previous ones then. With a digest, only plugins with that digest are restored. The files and settings on
/// disk remain unchanged, and take effect at the next exchange or start.
///
/// # Errors
/// [`AdminError::Conflict`] as [`previous_known_by`].
pub async fn roll_back(
    services: &Services,
    digest: Option<&str>,
    by: &AuditContext,
) -> Result<(), AdminError> {
    let _guard = services.reloads.one_at_a_time.lock().await;
    let previous = previous_known_by(services, digest)?;
    let replaced = services.plugins.replace_set(previous.set.clone());
    services.reloads.record_exchange(
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
    // The plugins are not in the database, so there is no common transaction.
    let entry = audit::entry(services, Event::PluginsRolledBack, by)
        .with("plugins", loaded_plugins(services));
    if let Err(error) = services.store.append_audit(vec![entry]).await {
        tracing::error!(%error, "audit entry of the plugin rollback not written");
    }
    Ok(())
}

/// Returns whether an exchange would load other plugins or settings, because the files and the settings on disk differ
/// from the loaded ones.
pub async fn changed_on_disk(services: &Services) -> bool {
    let known = services
        .reloads
        .sets()
        .settings
        .clone()
        .unwrap_or_else(|| table(&services.settings));
    let (file, set) = (services.settings_file.clone(), services.plugins.set());
    let looked = tokio::task::spawn_blocking(move || {
        // Unreadable settings count as different. Without a file, the settings cannot change.
        let has_other_settings =
            file.is_some_and(|file| config::load(&file).map_or(true, |new| table(&new) != known));
        has_other_settings || set.has_other_files()
    });
    looked.await.unwrap_or(true)
}

/// Reads the plugins' settings again, loads the plugins, and has each validate its settings and pass a smoke test. Then
/// all of them replace the previous plugins at once. After any error the previous plugins continue.
///
/// # Errors
/// The error for the operator, which is also in the log and in [`last_reload`].
pub async fn reload(services: &Services, by: &AuditContext) -> Result<Reload, ReloadError> {
    let _guard = services.reloads.one_at_a_time.lock().await;
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
            // The plugins are not in the database, so there is no common transaction.
            let entry = audit::entry(services, Event::PluginsReloaded, by)
                .with("plugins", loaded_plugins(services));
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

/// Returns the loaded plugins for the audit log, each with its version and the digest of its file.
fn loaded_plugins(services: &Services) -> Vec<serde_json::Value> {
    let identities = services
        .plugins
        .status()
        .into_iter()
        .map(|status| status.identity);
    identities
        .map(|one| serde_json::json!({"name": one.plugin, "version": one.version, "sha256": one.sha256}))
        .collect()
}

/// Returns the result of the last exchange, if there was one since the start.
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
    services.reloads.record_exchange(
        services.now(),
        replaced,
        table(&settings),
        &services.settings,
    );
    Ok(changed_tables(&services.settings, &settings))
}

/// Returns the tables that differ, except the plugins' table.
fn changed_tables(old: &config::Settings, new: &config::Settings) -> Vec<String> {
    let tables = |settings: &config::Settings| serde_json::to_value(settings).unwrap_or_default();
    let (old, new) = (tables(old), tables(new));
    let names = new.as_object().into_iter().flat_map(|tables| tables.keys());
    let tables = names
        .filter(|name| *name != "plugins" && old.get(name) != new.get(name))
        .cloned();
    // These two keys of the plugins' table are read only at the start.
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
