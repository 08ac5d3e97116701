//! The sets of plugins that were replaced.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::config;
use crate::domain::operations::plugin_specs::SecretFileError;
use assent_model::clock::Timestamp;
use assent_model::secret::Digest;
use assent_plugin_host::{LoadError, PluginSet};

/// How many plugins are named to a person who puts them back.
const MOST_NAMED: usize = 6;

/// Exchanges the plugins one at a time, and remembers how it went the last time.
#[derive(Debug, Default)]
pub struct Reloads {
    pub(super) one_at_a_time: tokio::sync::Mutex<()>,
    pub(super) last: Mutex<Option<Reload>>,
    pub(super) sets: Mutex<Sets>,
}

/// What the plugins that are loaded come from, and those that they took the place of.
#[derive(Debug, Default)]
pub(super) struct Sets {
    /// The plugins' settings as they were loaded, where that was not at the start.
    pub(super) settings: Option<serde_json::Value>,
    pub(super) previous: Option<Previous>,
    /// How often plugins were exchanged.
    pub(super) exchanges: u64,
}

/// The plugins that were there before the last exchange, as they were loaded.
#[derive(Clone, Debug)]
pub struct Previous {
    /// When they were replaced.
    pub until: Timestamp,
    /// The plugins.
    pub set: PluginSet,
    /// What they are known by: after another exchange they are others, even if they have the same components.
    pub digest: String,
    /// Their settings.
    pub(super) settings: serde_json::Value,
}

/// How an exchange of the plugins went.
#[derive(Clone, Debug)]
pub struct Reload {
    /// When it was.
    pub at: Timestamp,
    /// Why the plugins that were there go on; `None` if they were exchanged.
    pub error: Option<String>,
    /// Tables of the settings that are not what the server was started with. They count after a restart.
    pub needs_restart: Vec<String>,
}

/// Why plugins were not exchanged. Those that were there go on.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant is what it wraps")]
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

/// The plugins' table of the settings.
pub(super) fn table(settings: &config::Settings) -> serde_json::Value {
    serde_json::to_value(&settings.plugins).unwrap_or_default()
}

impl Reloads {
    /// Whether plugins are being exchanged at this moment.
    pub fn is_under_way(&self) -> bool {
        self.one_at_a_time.try_lock().is_err()
    }

    pub(super) fn sets(&self) -> MutexGuard<'_, Sets> {
        self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that plugins with these settings took the place of others. `started_with` are the settings of the start.
    pub(super) fn exchanged(
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
    /// Which plugins they are, in a line that a person reads.
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
