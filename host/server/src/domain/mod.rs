//! The use cases: what happens, without how it is asked for (`http`) or spoken of (`oidc`).
//!
//! Each answers with an outcome that the caller renders. Nothing here knows of axum or SQL.

pub mod admin;
pub mod approvals;
pub mod audit;
pub mod claims;
pub mod devices;
pub mod keys;
pub mod operations;
pub mod portal;
pub mod protected_actions;
pub mod sessions;
pub mod sign_in;

use std::sync::Arc;
use std::time::Duration;

use crate::config::Settings;
use crate::geoip::GeoIp;
use crate::keys::{KeyError, KeyRing, MasterKey, PushKey, SigningError};
use assent_model::clock::{SharedClock, Timestamp};
use assent_model::entropy::SharedEntropy;
use assent_plugin_host::Plugins;
use assent_plugin_host::egress::Egress;
use assent_store::{Store, StoreError};

/// What every use case works with.
pub struct Host {
    /// The settings in force.
    pub settings: Settings,
    /// The issuer's URL.
    pub issuer: String,
    /// The database.
    pub store: Store,
    /// Seals keys and authenticates cookies.
    pub master_key: MasterKey,
    /// Signs ID tokens, and knows them again.
    pub key_ring: KeyRing,
    /// Identifies this host to push services.
    pub push_key: Arc<PushKey>,
    /// The way out, to the addresses that applications registered.
    pub egress: Egress,
    /// Where addresses are.
    pub geoip: GeoIp,
    /// SAML keys that were opened before.
    pub saml_keys: crate::keys::saml::OpenKeys,
    /// Key sets of applications that were fetched lately.
    pub fetched_keys: keys::client_keys::FetchedKeys,
    /// Asks devices' passkeys and checks what they answer. `None` where the base URL names an address: a passkey belongs to
    /// a domain.
    pub passkeys: Option<devices::passkey::RelyingParty>,
    /// The plugins.
    pub plugins: Plugins,
    /// The digest of what whoever reads the metrics shows.
    pub metrics_secret: Option<assent_model::secret::Digest>,
    /// The operator's logo, where they have one.
    pub logo: Option<operations::branding::Logo>,
    /// What the plugins did, on its way to the store.
    pub traces: claims::traces::Traces,
    /// How long answers take.
    pub latency: operations::latency::LatencyHistograms,
    /// How the streams of the audit log fare.
    pub audit_streams: audit::Streams,
    /// How the plugins were exchanged.
    pub reloads: operations::plugins::Reloads,
    /// The file that the settings come from, where there is one.
    pub settings_file: Option<std::path::PathBuf>,
    /// Tells waiting requests of changes.
    pub wakeups: operations::wakeups::Wakeups,
    /// Who came how often.
    pub rate_limits: operations::rate_limits::Limits,
    /// The time.
    pub clock: SharedClock,
    /// Randomness.
    pub entropy: SharedEntropy,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host")
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// The present moment.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// An internal failure. The user can only retry; the log has the cause.
#[derive(Debug, thiserror::Error)]
pub enum InternalError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A signature.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// A SAML message could not be written or signed.
    #[error("a SAML message could not be made: {0}")]
    Saml(String),
    /// A question to a passkey could not be made.
    #[error("a passkey could not be asked: {0}")]
    Passkey(String),
    /// A plugin.
    #[error("the plugin {0}")]
    Plugin(String),
    /// A value could not be serialized.
    #[error("a value could not be serialized: {0}")]
    Serialization(#[from] serde_json::Error),
}

const fn seconds(count: u32) -> Duration {
    Duration::from_secs(count as u64)
}
