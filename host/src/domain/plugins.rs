//! Plugins as the operator sets them up.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config;
use crate::plugins::{Credential, CredentialGrant, HttpGrant, Limits, OnFailure, PluginSpec, Role, Trust};
use crate::secret::{Digest, Secret};

/// The longest secret that is read from a file, in bytes.
const LONGEST_SECRET: u64 = 8 << 10;

/// A file with a credential can't be used.
#[derive(Debug, thiserror::Error)]
#[error("plugin `{plugin}`: `secret_file` {}: {reason}", file.display())]
pub struct SecretFileError {
    plugin: String,
    file: PathBuf,
    reason: String,
}

/// The settings of the plugins, in the runtime's terms, with the secrets that they name.
pub fn plugin_specs(settings: &config::Plugins) -> Result<Vec<PluginSpec>, SecretFileError> {
    let mappers = settings.claims.iter().map(|plugin| Ok(mapper(plugin)));
    let channels = settings.approval_channels.iter().map(channel);
    mappers.chain(channels).collect()
}

fn mapper(plugin: &config::ClaimMapper) -> PluginSpec {
    PluginSpec {
        name: plugin.name.clone(),
        file: plugin.file.clone(),
        sha256: digest(plugin.sha256.as_ref()),
        config: serde_json::Value::Object(plugin.config.clone()),
        role: Role::ClaimMapper {
            applications: applications(plugin.applications.as_ref()),
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
    let credentials = plugin.credentials.iter().map(|credential| grant(&plugin.name, credential));
    Ok(PluginSpec {
        name: plugin.name.clone(),
        file: plugin.file.clone(),
        sha256: digest(plugin.sha256.as_ref()),
        config: serde_json::Value::Object(plugin.config.clone()),
        role: Role::ApprovalChannel {
            applications: applications(plugin.applications.as_ref()),
            trust: match plugin.trust {
                config::Trust::Verified => Trust::Verified,
                config::Trust::Delegated => Trust::Delegated,
            },
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

fn grant(plugin: &str, credential: &config::Credential) -> Result<CredentialGrant, SecretFileError> {
    let (hosts, credential) = match credential {
        config::Credential::Vapid { hosts } => (hosts, Credential::Vapid),
        config::Credential::Header { hosts, header, prefix, secret_file } => {
            let secret = read_secret(plugin, secret_file)?;
            let value = Secret::new(format!("{prefix}{}", secret.expose()));
            (hosts, Credential::Header { name: header.clone(), value })
        }
        config::Credential::Signature { hosts, key_id, secret_file } => {
            (hosts, Credential::Signature { key_id: key_id.clone(), key: read_secret(plugin, secret_file)? })
        }
    };
    Ok(CredentialGrant { hosts: hosts.clone(), credential })
}

fn read_secret(plugin: &str, file: &Path) -> Result<Secret, SecretFileError> {
    let error = |reason: String| SecretFileError { plugin: plugin.to_owned(), file: file.to_owned(), reason };
    let length = std::fs::metadata(file).map_err(|reason| error(reason.to_string()))?.len();
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
fn applications(ids: Option<&Vec<String>>) -> Option<Vec<crate::id::Did>> {
    ids.map(|ids| ids.iter().filter_map(|id| id.parse().ok()).collect())
}

/// The settings were checked: it is a digest.
fn digest(text: Option<&String>) -> Option<Digest> {
    text.and_then(|text| Digest::from_text(text))
}

fn limits(settings: &config::PluginLimits, default: Limits) -> Limits {
    Limits {
        fuel: settings.fuel,
        deadline: Duration::from_millis(settings.deadline_ms.into()),
        memory_bytes: (settings.memory_mib as usize) << 20,
        http_timeout: Duration::from_millis(settings.http_timeout_ms.into()),
        concurrency: settings.concurrency.unwrap_or(default.concurrency),
        waiting: settings.waiting,
        ..default
    }
}
