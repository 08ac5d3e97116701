//! The plugins of the settings, with their secrets.

use std::path::{Path, PathBuf};

use crate::config;
use assent_model::secret::{Digest, Secret};
use assent_model::text::to_utf8;
use assent_plugin_host::{
    CallLimits, Credential, CredentialGrant, HttpGrant, OnFailure, PluginSpec, Role, Trust,
};

/// The largest secret in a file, in bytes.
const LONGEST_SECRET: u64 = 8 << 10;

/// The error of a file with a secret that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{setting}: {}: {reason}", file.display())]
pub struct SecretFileError {
    setting: String,
    file: PathBuf,
    reason: String,
}

/// Returns the settings of the plugins in the runtime's terms, with the secrets that they name.
///
/// # Errors
/// [`SecretFileError`] if a file with a secret cannot be used.
pub fn plugin_specs(settings: &config::Plugins) -> Result<Vec<PluginSpec>, SecretFileError> {
    each_plugin_spec(settings).map(|(_, spec)| spec).collect()
}

/// Returns the same for each plugin, with the key of its table in the settings.
pub fn each_plugin_spec(
    settings: &config::Plugins,
) -> impl Iterator<Item = (String, Result<PluginSpec, SecretFileError>)> {
    let mappers = settings.claim_mappers.iter().enumerate();
    let mappers = mappers.map(|(number, plugin)| {
        let key = format!("plugins.claim_mappers.{number}");
        (key, Ok(mapper(plugin)))
    });
    let channels = settings.approval_channels.iter().enumerate();
    let channels = channels.map(|(number, plugin)| {
        let key = format!("plugins.approval_channels.{number}");
        let spec = channel(&key, plugin);
        (key, spec)
    });
    mappers.chain(channels)
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
            result_max_age: plugin.result_max_age.get(),
        },
        limits: limits(&plugin.limits, CallLimits::default()),
    }
}

/// Converts the settings of a channel. `table`: the key of its table.
fn channel(table: &str, plugin: &config::ApprovalChannel) -> Result<PluginSpec, SecretFileError> {
    let credentials = plugin.credentials.iter().enumerate();
    let credentials = credentials.map(|(place, credential)| {
        let key = format!("{table}.credentials.{place}.secret_file");
        grant(&key, credential)
    });
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
        limits: limits(&plugin.limits, CallLimits::of_channel()),
    })
}

/// Converts a credential. `setting`: the key of the file with the secret.
fn grant(
    setting: &str,
    credential: &config::Credential,
) -> Result<CredentialGrant, SecretFileError> {
    let (hosts, credential) = match credential {
        config::Credential::Vapid { hosts } => (hosts, Credential::Vapid),
        config::Credential::Header {
            hosts,
            header,
            prefix,
            secret_file,
        } => {
            let secret = read_secret(setting, secret_file)?;
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
                key: read_secret(setting, secret_file)?,
            },
        ),
    };
    Ok(CredentialGrant {
        hosts: hosts.clone(),
        credential,
    })
}

/// Reads a secret with a minimum length in characters from the file of `setting`.
///
/// # Errors
/// [`SecretFileError`] if the file cannot be used.
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

/// Reads a secret from the file of `setting`.
///
/// # Errors
/// [`SecretFileError`] if the file cannot be used.
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
    let text = std::fs::read(file)
        .and_then(to_utf8)
        .map_err(|reason| error(reason.to_string()))?;
    match text.trim() {
        "" => Err(error("it is empty".to_owned())),
        secret => Ok(Secret::new(secret)),
    }
}

/// Parses Client IDs. All are valid, because the settings were checked.
fn applications(ids: Option<&[String]>) -> Option<Vec<assent_model::id::Did>> {
    ids.map(|ids| ids.iter().filter_map(|id| id.parse().ok()).collect())
}

/// Parses a digest. It is valid, because the settings were checked.
pub(crate) fn digest(text: Option<&str>) -> Option<Digest> {
    text.and_then(Digest::from_text)
}

fn limits(settings: &config::PluginLimits, default: CallLimits) -> CallLimits {
    CallLimits {
        fuel: settings.fuel,
        deadline: settings.deadline.get(),
        memory_bytes: usize::try_from(settings.memory.bytes()).unwrap_or(usize::MAX),
        http_timeout: settings.http_timeout.get(),
        concurrency: settings.concurrency.unwrap_or(default.concurrency),
        queue_length: settings.queue_length,
        ..default
    }
}
