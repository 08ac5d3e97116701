//! The reasons why the server does not start.

use crate::config::ListenAddress;
use crate::domain::operations::branding::LogoFileError;
use crate::domain::operations::plugins::specs::SecretFileError;
use crate::geoip::GeoIpError;
use crate::http::tls::TlsError;
use crate::keys::client_authorities::AuthoritiesError;
use crate::keys::{KeyError, MasterKeyError};
use crate::otlp::CollectorError;
use assent_plugin_host::LoadError;
use assent_store::StoreError;

/// The reason why the server did not start. The message says how to correct it.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the wrapped types have the documentation")]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    MasterKey(#[from] MasterKeyError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Plugin(#[from] LoadError),
    #[error(transparent)]
    PluginSettings(#[from] SecretFileError),
    #[error("bootstrap: {0}")]
    FirstStart(#[from] crate::domain::admin::AdminError),
    #[error("{}: cannot write the demo application's settings: {reason}", file.display())]
    DemoFile {
        file: std::path::PathBuf,
        reason: std::io::Error,
    },
    #[error(
        "cannot listen on {address}: {reason}. Is another program using it? `{setting}` names another"
    )]
    Listen {
        setting: &'static str,
        address: ListenAddress,
        reason: std::io::Error,
    },
    #[error("mail: {0}")]
    Mail(String),
    #[error("telemetry.headers_file: {0}")]
    Telemetry(#[from] CollectorError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    ClientAuthorities(#[from] AuthoritiesError),
    #[error(transparent)]
    GeoIp(#[from] GeoIpError),
    #[error(transparent)]
    Logo(#[from] LogoFileError),
}
