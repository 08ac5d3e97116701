//! Plugins as the operator sets them up, and their exchange while the host serves.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::config;
use crate::domain::admin::AdminError;
use crate::domain::{Host, audit};
use assent_model::audit::{AuditContext, Event};
use assent_model::clock::Timestamp;
use assent_model::secret::{Digest, Secret};
use assent_plugin_host::{
    Credential, CredentialGrant, HttpGrant, Limits, LoadError, OnFailure, PluginSet, PluginSpec,
    Role, Trust,
};

/// The longest secret that is read from a file, in bytes.
const LONGEST_SECRET: u64 = 8 << 10;
/// How many plugins are named to a person who puts them back.
const MOST_NAMED: usize = 6;

/// A file with a secret can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{setting} {}: {reason}", file.display())]
pub struct SecretFileError {
    setting: String,
    file: PathBuf,
    reason: String,
}

/// The settings of the plugins, in the runtime's terms, with the secrets that they name.
pub fn plugin_specs(settings: &config::Plugins) -> Result<Vec<PluginSpec>, SecretFileError> {
    let mappers = settings
        .claim_mappers
        .iter()
        .map(|plugin| Ok(mapper(plugin)));
    let channels = settings.approval_channels.iter().map(channel);
    mappers.chain(channels).collect()
}

fn mapper(plugin: &config::ClaimMapper) -> PluginSpec {
    PluginSpec {
        name: plugin.name.clone(),
        file: plugin.file.clone(),
        sha256: digest(plugin.sha256.as_deref()),
        config: serde_json::Value::Object(plugin.config.clone()),
        role: Role::ClaimMapper {
            applications: applications(plugin.applications.as_deref()),
            writes: plugin.writes.clone(),
            on_failure: match plugin.on_failure {
                config::OnFailure::Fail => OnFailure::Fail,
                config::OnFailure::Omit => OnFailure::Omit,
            },
        },
        limits: limits(&plugin.limits, Limits::default()),
    }
}

fn channel(plugin: &config::ApprovalChannel) -> Result<PluginSpec, SecretFileError> {
    let credentials = plugin
        .credentials
        .iter()
        .map(|credential| grant(&plugin.name, credential));
    Ok(PluginSpec {
        name: plugin.name.clone(),
        file: plugin.file.clone(),
        sha256: digest(plugin.sha256.as_deref()),
        config: serde_json::Value::Object(plugin.config.clone()),
        role: Role::ApprovalChannel {
            applications: applications(plugin.applications.as_deref()),
            trust: match plugin.trust {
                config::Trust::Verified => Trust::Verified,
                config::Trust::Delegated => Trust::Delegated,
            },
            shows_letters: plugin.shows_letters,
            http: HttpGrant {
                hosts: plugin.http_hosts.clone(),
                allow_private: plugin.allow_private_addresses,
                follow_redirects: plugin.follow_redirects,
                credentials: credentials.collect::<Result<_, _>>()?,
            },
        },
        limits: limits(&plugin.limits, Limits::of_channel()),
    })
}

fn grant(
    plugin: &str,
    credential: &config::Credential,
) -> Result<CredentialGrant, SecretFileError> {
    let setting = format!("plugin `{plugin}`: `secret_file`");
    let (hosts, credential) = match credential {
        config::Credential::Vapid { hosts } => (hosts, Credential::Vapid),
        config::Credential::Header {
            hosts,
            header,
            prefix,
            secret_file,
        } => {
            let secret = read_secret(&setting, secret_file)?;
            (
                hosts,
                Credential::Header {
                    name: header.clone(),
                    prefix: prefix.clone(),
                    secret,
                },
            )
        }
        config::Credential::Signature {
            hosts,
            key_id,
            secret_file,
        } => (
            hosts,
            Credential::Signature {
                key_id: key_id.clone(),
                key: read_secret(&setting, secret_file)?,
            },
        ),
    };
    Ok(CredentialGrant {
        hosts: hosts.clone(),
        credential,
    })
}

/// Reads a secret that `setting` names a file of, with at least so many characters.
pub fn read_long_secret(
    setting: &str,
    file: &Path,
    least: usize,
) -> Result<Secret, SecretFileError> {
    let secret = read_secret(setting, file)?;
    if secret.expose().len() < least {
        let reason = format!("it has less than {least} characters");
        return Err(SecretFileError {
            setting: setting.to_owned(),
            file: file.to_owned(),
            reason,
        });
    }
    Ok(secret)
}

/// Reads a secret that `setting` names a file of.
pub fn read_secret(setting: &str, file: &Path) -> Result<Secret, SecretFileError> {
    let error = |reason: String| SecretFileError {
        setting: setting.to_owned(),
        file: file.to_owned(),
        reason,
    };
    let length = std::fs::metadata(file)
        .map_err(|reason| error(reason.to_string()))?
        .len();
    if length > LONGEST_SECRET {
        return Err(error(format!("it is longer than {LONGEST_SECRET} bytes")));
    }
    let text = std::fs::read_to_string(file).map_err(|reason| error(reason.to_string()))?;
    match text.trim() {
        "" => Err(error("it is empty".to_owned())),
        secret => Ok(Secret::new(secret)),
    }
}

/// The settings were checked: each is a DID.
fn applications(ids: Option<&[String]>) -> Option<Vec<assent_model::id::Did>> {
    ids.map(|ids| ids.iter().filter_map(|id| id.parse().ok()).collect())
}

/// The settings were checked: it is a digest.
fn digest(text: Option<&str>) -> Option<Digest> {
    text.and_then(Digest::from_text)
}

fn limits(settings: &config::PluginLimits, default: Limits) -> Limits {
    Limits {
        fuel: settings.fuel,
        deadline: settings.deadline.get(),
        memory_bytes: usize::try_from(settings.memory.bytes()).unwrap_or(usize::MAX),
        http_timeout: settings.http_timeout.get(),
        concurrency: settings.concurrency.unwrap_or(default.concurrency),
        waiting: settings.waiting,
        ..default
    }
}

/// Exchanges the plugins one at a time, and remembers how it went the last time.
#[derive(Debug, Default)]
pub struct Reloads {
    one_at_a_time: tokio::sync::Mutex<()>,
    last: Mutex<Option<Reload>>,
    sets: Mutex<Sets>,
}

/// What the plugins that are loaded come from, and those that they took the place of.
#[derive(Debug, Default)]
struct Sets {
    /// The plugins' settings as they were loaded, where that was not at the start.
    settings: Option<serde_json::Value>,
    previous: Option<Previous>,
    /// How often plugins were exchanged.
    exchanges: u64,
}

/// The plugins that were there before the last exchange, as they were loaded.
#[derive(Clone, Debug)]
pub struct Previous {
    /// When they were exchanged.
    pub until: Timestamp,
    /// The plugins.
    pub set: PluginSet,
    /// What they are known by: after another exchange they are others, even if they have the same components.
    pub digest: String,
    /// Their settings.
    settings: serde_json::Value,
}

/// How an exchange of the plugins went.
#[derive(Clone, Debug)]
pub struct Reload {
    /// When it was.
    pub at: Timestamp,
    /// Why the plugins that were there go on; `None` if they were exchanged.
    pub error: Option<String>,
    /// Tables of the settings that are not what the host was started with. They count after a restart.
    pub needs_restart: Vec<String>,
}

/// Why plugins were not exchanged. Those that were there go on.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant is what it wraps")]
pub enum ReloadError {
    #[error("the host was started without a settings file, so there is nothing to read anew")]
    NoFile,
    #[error(transparent)]
    Settings(#[from] config::ConfigError),
    #[error(transparent)]
    Secret(#[from] SecretFileError),
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// The plugins' table of the settings.
fn table(settings: &config::Settings) -> serde_json::Value {
    serde_json::to_value(&settings.plugins).unwrap_or_default()
}

impl Reloads {
    /// Whether plugins are being exchanged at this moment.
    pub fn is_under_way(&self) -> bool {
        self.one_at_a_time.try_lock().is_err()
    }

    fn sets(&self) -> MutexGuard<'_, Sets> {
        self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that plugins with these settings took the place of others.
    fn exchanged(&self, host: &Host, set: PluginSet, settings: serde_json::Value) {
        let mut sets = self.sets();
        let before = sets
            .settings
            .replace(settings)
            .unwrap_or_else(|| table(&host.settings));
        let until = host.now();
        sets.exchanges += 1;
        let known =
            serde_json::json!([sets.exchanges, until.millis(), set.identities()]).to_string();
        let digest = Digest::of(known.as_bytes()).to_text();
        sets.previous = Some(Previous {
            until,
            set,
            digest,
            settings: before,
        });
    }
}

/// The plugins that were there before the last exchange, if there was one since the host started.
pub fn previous(host: &Host) -> Option<Previous> {
    host.reloads.sets().previous.clone()
}

/// The plugins that were there before the last exchange, if they are known by this digest.
///
/// # Errors
/// [`AdminError::Conflict`] if there are none, or others than are meant.
pub fn previous_known_by(host: &Host, digest: Option<&str>) -> Result<Previous, AdminError> {
    let previous = previous(host).ok_or(AdminError::Conflict(
        "the plugins were not exchanged since the host started",
    ))?;
    if digest.is_some_and(|digest| digest != previous.digest) {
        return Err(AdminError::Conflict(
            "the plugins were exchanged meanwhile, so others would be put back; look at what they are now",
        ));
    }
    Ok(previous)
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

/// Puts the plugins back that were there before the last exchange, compiled and set up as they were; those of now are the
/// previous ones then. With a digest, those that are known by it or none. The files and settings on disk stay as they are, and count again at the
/// next exchange and the next start.
///
/// # Errors
/// [`AdminError::Conflict`] as [`previous_known_by`].
pub async fn roll_back(
    host: &Host,
    digest: Option<&str>,
    by: &AuditContext,
) -> Result<(), AdminError> {
    let _alone = host.reloads.one_at_a_time.lock().await;
    let previous = previous_known_by(host, digest)?;
    let replaced = host.plugins.put(previous.set.clone());
    host.reloads
        .exchanged(host, replaced, previous.settings.clone());
    let now = host.now();
    *host
        .reloads
        .last
        .lock()
        .unwrap_or_else(PoisonError::into_inner) = Some(Reload {
        at: now,
        error: None,
        needs_restart: Vec::new(),
    });
    tracing::warn!("the plugins were put back that were there before the last exchange");
    // They are not in the database, so there is no transaction to share.
    let entry = audit::entry(host, Event::PluginsRolledBack, by).with("plugins", loaded(host));
    if let Err(error) = host.store.append_audit(vec![entry]).await {
        tracing::error!(%error, "the audit log was not told that the plugins were put back");
    }
    Ok(())
}

/// Whether an exchange would bring other plugins, or other settings of them: the files and the settings on disk are not those
/// that are loaded.
pub async fn changed_on_disk(host: &Host) -> bool {
    let known = host
        .reloads
        .sets()
        .settings
        .clone()
        .unwrap_or_else(|| table(&host.settings));
    let (file, set) = (host.settings_file.clone(), host.plugins.set());
    let looked = tokio::task::spawn_blocking(move || {
        // Settings that can't be read are other ones; without a file they can't change.
        let has_other_settings =
            file.is_some_and(|file| config::load(&file).map_or(true, |new| table(&new) != known));
        has_other_settings || set.has_other_files()
    });
    looked.await.unwrap_or(true)
}

/// Reads the plugins' settings anew, loads the plugins, has each check its settings and tries it out; then all of them take
/// the place of those that were there, at once. Where anything is wrong, those that were there go on.
///
/// # Errors
/// What is wrong, for the operator, who finds it in the log and with [`last_reload`] too.
pub async fn reload(host: &Host, by: &AuditContext) -> Result<Reload, ReloadError> {
    let _alone = host.reloads.one_at_a_time.lock().await;
    let exchanged = exchange(host).await;
    let reload = Reload {
        at: host.now(),
        error: exchanged.as_ref().err().map(ToString::to_string),
        needs_restart: exchanged.as_ref().map(Clone::clone).unwrap_or_default(),
    };
    *host
        .reloads
        .last
        .lock()
        .unwrap_or_else(PoisonError::into_inner) = Some(reload.clone());
    match exchanged {
        Ok(needs_restart) => {
            let names: Vec<_> = host
                .plugins
                .status()
                .into_iter()
                .map(|status| status.identity.plugin)
                .collect();
            tracing::info!(plugins = names.join(", "), "the plugins were exchanged");
            // They are not in the database, so there is no transaction to share.
            let entry =
                audit::entry(host, Event::PluginsReloaded, by).with("plugins", loaded(host));
            if let Err(error) = host.store.append_audit(vec![entry]).await {
                tracing::error!(%error, "the audit log was not told that the plugins were exchanged");
            }
            if !needs_restart.is_empty() {
                tracing::warn!(
                    tables = needs_restart.join(", "),
                    "other settings changed too; they count after a restart"
                );
            }
            Ok(reload)
        }
        Err(error) => {
            tracing::error!(%error, "the plugins were not exchanged; those that were there go on");
            Err(error)
        }
    }
}

/// The plugins that are loaded, each with its version and the digest of its file, for the audit log.
fn loaded(host: &Host) -> Vec<serde_json::Value> {
    let identities = host
        .plugins
        .status()
        .into_iter()
        .map(|status| status.identity);
    identities
        .map(|one| serde_json::json!({"name": one.plugin, "version": one.version, "sha256": one.sha256}))
        .collect()
}

/// How the last exchange went, if there was one since the host started.
pub fn last_reload(host: &Host) -> Option<Reload> {
    host.reloads
        .last
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

async fn exchange(host: &Host) -> Result<Vec<String>, ReloadError> {
    let file = host.settings_file.as_deref().ok_or(ReloadError::NoFile)?;
    let settings = config::load(file)?;
    let replaced = host
        .plugins
        .reload(plugin_specs(&settings.plugins)?)
        .await?;
    host.reloads.exchanged(host, replaced, table(&settings));
    Ok(changed_tables(&host.settings, &settings))
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
