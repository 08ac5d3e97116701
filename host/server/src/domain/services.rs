//! The common dependencies of all use cases.

use std::path::PathBuf;
use std::sync::Arc;

use super::audit::streams::Streams;
use super::claims::result_cache::ClaimResults;
use super::claims::trace_queue::Traces;
use super::devices::relying_party::RelyingParty;
use super::fetched_objects::FetchedObjects;
use super::keys::fetched_keys::FetchedKeys;
use super::operations::branding::Logo;
use super::operations::wakeups::Wakeups;
use crate::config::Settings;
use crate::domain::approvals::lease::LeasedWork;
use crate::domain::keys::signed_documents::SignedDocuments;
use crate::domain::operations::plugins::reloads::Reloads;
use crate::domain::operations::request_queue::RecentRequests;
use crate::domain::operations::telemetry::error_references::ErrorReferences;
use crate::domain::operations::telemetry::metrics::LostLogLines;
use crate::domain::operations::telemetry::metrics::Metrics;
use crate::domain::operations::telemetry::metrics::TaskRestarts;
use crate::domain::operations::telemetry::span_sampler::SpanSampler;
use crate::domain::operations::traffic::admission::Admission;
use crate::domain::operations::traffic::draining::DrainSwitch;
use crate::domain::operations::traffic::long_polls::LongPolls;
use crate::domain::operations::traffic::rate_limits::RateLimiters;
use crate::domain::operations::traffic::used_proofs::UsedProofs;
use crate::domain::sign_in::details_types::DetailsTypeNames;
use crate::geoip::GeoIp;
use crate::keys::client_authorities::ClientAuthorities;
use crate::keys::saml::OpenKeys;
use crate::keys::{KeyError, KeyRing, MasterKeys, PushKey, RootSecret, SealingKeys, TokenSealer};
use crate::otlp::Collector;
use crate::smtp::Mailer;
use assent_model::clock::{SharedClock, Timestamp};
use assent_model::entropy::SharedEntropy;
use assent_model::id::{BackchannelRequestId, DeviceId};
use assent_model::secret::Digest;
use assent_plugin_host::Plugins;
use assent_plugin_host::egress::Egress;
use assent_store::Store;

/// The common dependencies of all use cases.
pub struct Services {
    /// The settings in force.
    pub settings: Settings,
    /// The issuer's URL.
    pub issuer: String,
    /// The database.
    pub store: Store,
    /// The master keys of the settings.
    pub master_keys: MasterKeys,
    /// The secret from which all values are derived that must remain the same when keys change.
    pub root_secret: RootSecret,
    /// The keys that seal private keys, cookies and short-lived records.
    pub sealing_keys: Arc<SealingKeys>,
    /// The sealer of access and refresh tokens.
    pub token_sealer: TokenSealer,
    /// The keys that sign and verify ID tokens.
    pub key_ring: KeyRing,
    /// The key that identifies this server to push services.
    pub push_key: Arc<PushKey>,
    /// The egress policy for addresses that applications registered.
    pub egress: Egress,
    /// The client of the SMTP server, if the settings name one.
    pub mailer: Option<Mailer>,
    /// The locations of IP addresses.
    pub geoip: GeoIp,
    /// The authorities whose certificates applications may present, if the settings name a file of them.
    pub client_authorities: Option<Arc<ClientAuthorities>>,
    /// The cache of unsealed SAML keys.
    pub saml_keys: OpenKeys,
    /// The cache of signed documents.
    pub signed_documents: SignedDocuments,
    /// The cache of applications' key sets.
    pub fetched_keys: FetchedKeys,
    /// The last fetches of request objects.
    pub fetched_objects: FetchedObjects,
    /// The names of the registered types of authorization details.
    pub details_types: DetailsTypeNames,
    /// The relying party of passkeys, which creates challenges and verifies assertions. `None` if the base URL names an
    /// IP address, because a passkey belongs to a domain.
    pub passkeys: Option<RelyingParty>,
    /// The plugins.
    pub plugins: Plugins,
    /// The cache of claim mappers' results.
    pub claim_results: ClaimResults,
    /// The digest of the secret that clients of the metrics endpoint must send.
    pub metrics_secret: Option<Digest>,
    /// The operator's logo, if there is one.
    pub logo: Option<Logo>,
    /// The queue of claim traces.
    pub traces: Traces,
    /// The queue of requests of applications, for their administrators.
    pub recent_requests: RecentRequests,
    /// The metrics of this instance.
    pub metrics: Metrics,
    /// The collector that receives traces and metrics.
    pub collector: Option<Arc<Collector>>,
    /// The choice of traced requests.
    pub span_sampler: SpanSampler,
    /// The recent error pages of this instance.
    pub error_references: ErrorReferences,
    /// The restarts of background tasks.
    pub task_restarts: TaskRestarts,
    /// The states of the audit log's streams.
    pub audit_streams: Streams,
    /// The exchanges of plugins.
    pub reloads: Reloads,
    /// The settings file, if the settings come from one.
    pub settings_file: Option<PathBuf>,
    /// The number of lines that the log dropped. `None`: the log never drops lines.
    pub dropped_log_lines: Option<LostLogLines>,
    /// The switch that starts the draining of this instance.
    pub draining: DrainSwitch,
    /// The admission of requests under overload.
    pub admission: Arc<Admission>,
    /// The wake-ups of background tasks.
    pub wakeups: Wakeups,
    /// The pending long polls of devices.
    pub long_polls: LongPolls<DeviceId>,
    /// The pending long polls of applications for the results of back-channel requests.
    pub backchannel_long_polls: LongPolls<BackchannelRequestId>,
    /// The leases of this instance on the work of approval channels.
    pub leased_work: LeasedWork,
    /// The rate limiters.
    pub rate_limits: RateLimiters,
    /// The DPoP proofs that were used at this instance.
    pub used_proofs: UsedProofs,
    /// The clock.
    pub clock: SharedClock,
    /// The source of randomness.
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
    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Seals `plain` for `purpose`.
    pub fn seal(&self, purpose: &str, plain: &[u8]) -> Result<String, KeyError> {
        self.sealing_keys
            .seal(purpose, plain, self.now(), &*self.entropy)
    }
}
