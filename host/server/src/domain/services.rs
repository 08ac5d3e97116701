//! What every use case works with.

use std::path::PathBuf;
use std::sync::Arc;

use tracing_appender::non_blocking::ErrorCounter;

use super::approvals::leased_work::LeasedWork;
use super::audit::streams::Streams;
use super::claims::result_cache::ClaimResults;
use super::claims::trace_queue::Traces;
use super::devices::long_polls::LongPolls;
use super::devices::relying_party::RelyingParty;
use super::keys::fetched_keys::FetchedKeys;
use super::operations::admission::Admission;
use super::operations::branding::Logo;
use super::operations::draining::DrainSwitch;
use super::operations::error_references::ErrorReferences;
use super::operations::metrics::Metrics;
use super::operations::plugin_reloads::Reloads;
use super::operations::rate_limits::RateLimiters;
use super::operations::signed_documents::SignedDocuments;
use super::operations::span_sampler::SpanSampler;
use super::operations::task_restarts::TaskRestarts;
use super::operations::wakeups::Wakeups;
use crate::config::Settings;
use crate::geoip::GeoIp;
use crate::keys::saml::OpenKeys;
use crate::keys::{KeyError, KeyRing, MasterKeys, PushKey, RootSecret, SealingKeys, TokenSealer};
use crate::otlp::Collector;
use crate::smtp::Mailer;
use assent_model::clock::{SharedClock, Timestamp};
use assent_model::entropy::SharedEntropy;
use assent_model::secret::Digest;
use assent_plugin_host::Plugins;
use assent_plugin_host::egress::Egress;
use assent_store::Store;

/// What every use case works with.
pub struct Services {
    /// The settings in force.
    pub settings: Settings,
    /// The issuer's URL.
    pub issuer: String,
    /// The database.
    pub store: Store,
    /// The master keys of the settings.
    pub master_keys: MasterKeys,
    /// Everything is derived from it that stays the same while keys change.
    pub root_secret: RootSecret,
    /// Seals private keys, cookies and short-lived records.
    pub sealing_keys: Arc<SealingKeys>,
    /// Seals and opens access and refresh tokens.
    pub token_sealer: TokenSealer,
    /// Signs ID tokens, and knows them again.
    pub key_ring: KeyRing,
    /// Identifies this server to push services.
    pub push_key: Arc<PushKey>,
    /// The way out, to the addresses that applications registered.
    pub egress: Egress,
    /// Sends email, if the settings name an SMTP server.
    pub mailer: Option<Mailer>,
    /// Where addresses are.
    pub geoip: GeoIp,
    /// SAML keys that were opened before.
    pub saml_keys: OpenKeys,
    /// Signed documents that did not change.
    pub signed_documents: SignedDocuments,
    /// Key sets of applications that were fetched lately.
    pub fetched_keys: FetchedKeys,
    /// Asks devices' passkeys and checks what they answer. `None` where the base URL names an address: a passkey
    /// belongs to a domain.
    pub passkeys: Option<RelyingParty>,
    /// The plugins.
    pub plugins: Plugins,
    /// Results of the claim mappers for repeated requests.
    pub claim_results: ClaimResults,
    /// The digest of what whoever reads the metrics shows.
    pub metrics_secret: Option<Digest>,
    /// The operator's logo, where they have one.
    pub logo: Option<Logo>,
    /// What the plugins did, on its way to the store.
    pub traces: Traces,
    /// The measurements of this instance.
    pub metrics: Metrics,
    /// Where traces and metrics are exported to.
    pub collector: Option<Arc<Collector>>,
    /// Which requests are traced.
    pub span_sampler: SpanSampler,
    /// The error pages that it showed lately.
    pub error_references: ErrorReferences,
    /// How often background tasks were restarted.
    pub task_restarts: TaskRestarts,
    /// How the streams of the audit log fare.
    pub audit_streams: Streams,
    /// How the plugins were exchanged.
    pub reloads: Reloads,
    /// The file that the settings come from, where there is one.
    pub settings_file: Option<PathBuf>,
    /// Counts the lines that the log dropped, where it drops any.
    pub dropped_log_lines: Option<ErrorCounter>,
    /// Whether it is about to stop.
    pub draining: DrainSwitch,
    /// Which requests it executes under overload.
    pub admission: Arc<Admission>,
    /// Wakes background tasks.
    pub wakeups: Wakeups,
    /// The requests of devices that wait for changes.
    pub long_polls: LongPolls,
    /// What this instance has leased for approval channels.
    pub leased_work: LeasedWork,
    /// Who came how often.
    pub rate_limits: RateLimiters,
    /// The time.
    pub clock: SharedClock,
    /// Randomness.
    pub entropy: SharedEntropy,
}

impl std::fmt::Debug for Services {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Services")
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

impl Services {
    /// The present moment.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Seals `plain` for `purpose`.
    ///
    /// # Errors
    /// If the cryptographic library fails.
    pub fn seal(&self, purpose: &str, plain: &[u8]) -> Result<String, KeyError> {
        self.sealing_keys
            .seal(purpose, plain, self.now(), &*self.entropy)
    }
}
