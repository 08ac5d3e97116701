//! The replaced sets of plugins.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::config;
use crate::domain::operations::plugins::specs::SecretFileError;
use assent_model::clock::Timestamp;
use assent_model::secret::Digest;
use assent_plugin_host::{LoadError, PluginSet};

/// The largest number of plugins that a summary of a rollback names.
const MOST_NAMED: usize = 6;

/// The lock for exchanges of the plugins, and the result of the last one.
#[derive(Debug, Default)]
pub struct Reloads {
    pub(crate) one_at_a_time: tokio::sync::Mutex<()>,
    pub(crate) last: Mutex<Option<Reload>>,
    pub(crate) sets: Mutex<Sets>,
}

/// The settings of the loaded plugins, and the plugins that they replaced.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    /// The settings of the loaded plugins. `None`: those of the start.
    pub(crate) settings: Option<serde_json::Value>,
    pub(crate) previous: Option<Previous>,
    /// The number of exchanges.
    pub(crate) exchanges: u64,
}

/// The plugins before the last exchange, as they were loaded.
#[derive(Clone, Debug)]
pub struct Previous {
    /// The time at which they were replaced.
    pub until: Timestamp,
    /// The plugins.
    pub set: PluginSet,
    /// The digest that identifies the set. It includes the exchange, so it differs after another exchange even with the
    /// same components.
    pub digest: String,
    /// The settings of the plugins.
    pub(crate) settings: serde_json::Value,
}

/// The result of an exchange of the plugins.
#[derive(Clone, Debug)]
pub struct Reload {
    /// The time of the exchange.
    pub at: Timestamp,
    /// The reason why the previous plugins continue. `None` if they were exchanged.
    pub error: Option<String>,
    /// Tables of the settings that differ from those of the start. They take effect after a restart.
    pub needs_restart: Vec<String>,
}

/// The reason why plugins were not exchanged. The previous plugins continue.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the wrapped types have the documentation")]
pub enum ReloadError {
    #[error("the server was started without a settings file, so it cannot read the settings again")]
    NoFile,
    #[error(transparent)]
    Settings(#[from] config::ConfigError),
    #[error(transparent)]
    Secret(#[from] SecretFileError),
    #[error(transparent)]
    Load(#[from] LoadError),
}

pub(crate) fn table(settings: &config::Settings) -> serde_json::Value {
    serde_json::to_value(&settings.plugins).unwrap_or_default()
}

impl Reloads {
    /// Returns whether an exchange is in progress.
    pub fn is_under_way(&self) -> bool {
        self.one_at_a_time.try_lock().is_err()
    }

    pub(crate) fn sets(&self) -> MutexGuard<'_, Sets> {
        self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an exchange with plugins of these settings. `started_with` are the settings of the start.
    pub(crate) fn record_exchange(
        &self,
        until: Timestamp,
        set: PluginSet,
        settings: serde_json::Value,
        started_with: &config::Settings,
    ) {
        let mut sets = self.sets();
        let before = sets
            .settings
            .replace(settings)
            .unwrap_or_else(|| table(started_with));
        sets.exchanges += 1;
        let known =
            serde_json::json!([sets.exchanges, until.millis(), set.identities()]).to_string();
        let digest = Digest::sha256(known.as_bytes()).to_text();
        sets.previous = Some(Previous {
            until,
            set,
            digest,
            settings: before,
        });
    }
}

impl Previous {
    /// Returns the plugins in one line of text.
    pub fn in_words(&self) -> String {
        let plugins = self.set.identities();
        let start = |text: &str, most: usize| -> String {
            text.chars()
                .filter(char::is_ascii_graphic)
                .take(most)
                .collect()
        };
        let named = plugins.iter().take(MOST_NAMED).map(|one| {
            format!(
                "{} {} ({})",
                start(&one.plugin, 40),
                start(&one.version, 20),
                start(&one.sha256, 12)
            )
        });
        let mut named: Vec<String> = named.collect();
        match plugins.len().saturating_sub(MOST_NAMED) {
            _ if plugins.is_empty() => named.push("none".to_owned()),
            0 => {}
            more => named.push(format!("and {more} more")),
        }
        named.join(", ")
    }
}
