//! The use cases: what happens, without how it is asked for (`http`) or spoken of (`oidc`).
//!
//! Each answers with an outcome that the caller renders. Nothing here knows of axum or SQL.

pub mod account;
pub mod admin;
pub mod approval;
pub mod audit;
pub mod channels;
pub mod claims;
pub mod client_keys;
pub mod consent;
pub mod deliveries;
pub mod device;
pub mod evidence;
pub mod first_start;
pub mod history;
pub mod idempotency;
pub mod keys;
pub mod known_browsers;
pub mod limits;
pub mod login;
pub mod looks;
pub mod name_id;
pub mod news;
pub mod passkey;
pub mod plugins;
pub mod portal;
pub mod recent;
pub mod recovery;
pub mod responses;
pub mod saml_keys;
pub mod scan;
pub mod session;
pub mod signals;
pub mod token_claims;
pub mod traces;
pub mod trials;

use std::sync::Arc;
use std::time::Duration;

use crate::clock::{SharedClock, Timestamp};
use crate::config::Settings;
use crate::entropy::SharedEntropy;
use crate::keys::{KeyError, KeyRing, MasterKey, PushKey, SigningError};
use crate::outgoing::Outgoing;
use crate::places::Places;
use crate::plugins::Plugins;
use crate::store::{Store, StoreError};

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
    pub outgoing: Outgoing,
    /// Where addresses are.
    pub places: Places,
    /// SAML keys that were opened before.
    pub saml_keys: crate::keys::saml::OpenKeys,
    /// Key sets of applications that were fetched lately.
    pub fetched_keys: client_keys::FetchedKeys,
    /// Asks devices' passkeys and checks what they answer. `None` where the base URL names an address: a passkey belongs to
    /// a domain.
    pub passkeys: Option<passkey::RelyingParty>,
    /// The plugins.
    pub plugins: Plugins,
    /// The digest of what whoever reads the metrics shows.
    pub metrics_secret: Option<crate::secret::Digest>,
    /// The operator's logo, where they have one.
    pub logo: Option<looks::Logo>,
    /// What the plugins did, on its way to the store.
    pub traces: traces::Traces,
    /// How long answers take.
    pub responses: responses::Responses,
    /// How the streams of the audit log fare.
    pub audit_streams: audit::Streams,
    /// How the plugins were exchanged.
    pub reloads: plugins::Reloads,
    /// The file that the settings come from, where there is one.
    pub settings_file: Option<std::path::PathBuf>,
    /// Tells waiting requests of changes.
    pub signals: signals::Signals,
    /// Who came how often.
    pub limits: limits::Limits,
    /// The time.
    pub clock: SharedClock,
    /// Randomness.
    pub entropy: SharedEntropy,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl Host {
    /// The present moment.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// Something broke in the host; the person can only try again, and the log says what it was.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
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
}

const fn seconds(count: u32) -> Duration {
    Duration::from_secs(count as u64)
}
