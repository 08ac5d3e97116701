//! The composition root: the only module that creates and connects the parts of the server.

pub mod error;
pub mod listen;
mod maintenance;
pub mod master_keys;
pub mod serve;
mod supervision;
mod unix_socket;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::{MailSecurity, Migrate, Settings};
use crate::domain::Services;
use crate::domain::operations::bootstrap::{BootstrapResult, bootstrap};
use crate::domain::operations::branding::{Logo, LogoFileError};
use crate::domain::operations::plugins::specs::{plugin_specs, read_secret};
use crate::domain::operations::telemetry::error_references::ErrorReferences;
use crate::domain::operations::telemetry::metrics::LostLogLines;
use crate::domain::operations::telemetry::span_sampler::SpanSampler;
use crate::domain::operations::traffic::admission::Admission;
use crate::domain::operations::traffic::long_polls::LongPolls;
use crate::domain::operations::traffic::rate_limits::RateLimiters;
use crate::domain::sign_in::details_types::DetailsTypeNames;
use crate::geoip::GeoIp;
use crate::keys::client_authorities::ClientAuthorities;
use crate::keys::{KeyError, KeyRing, PushKey, RootSecret, SealingKeys, TokenSealer};
use crate::otlp::Collector;
use crate::smtp::connection::SmtpSecurity;
use crate::smtp::{Mailer, SmtpServer};
use crate::{domain, keys};
use assent_model::audit::chain::ChainKey;
use assent_model::clock::{SharedClock, SystemClock};
use assent_model::entropy::{SharedEntropy, SystemEntropy};
use assent_model::id::KeyId;
use assent_model::key::{KeyMaterial, KeyPurpose, KeyTimes, SigningKey};
use assent_model::secret::{Digest, Secret};
use assent_plugin_host::egress::Egress;
use assent_plugin_host::{CompilationCache, Compiler, Credentials, Loader, Plugins};
use assent_store::{
    ChainContext, ConnectionCounts, Database, DatabaseOptions, MigrationPolicy, Store, StoreError,
};

use error::StartError;
use master_keys::OpenedKeys;
use zeroize::Zeroizing;

/// The external dependencies of the server, as [`compose`] receives them.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The clock.
    pub clock: SharedClock,
    /// The source of randomness.
    pub entropy: SharedEntropy,
    /// The compiler of plugins.
    pub compiler: Compiler,
    /// The settings file, which a reload reads again. `None`: the settings do not come from a file.
    pub settings_file: Option<PathBuf>,
    /// The number of lines that the log dropped. `None`: the log never drops lines.
    pub dropped_log_lines: Option<LostLogLines>,
    /// The collector that receives traces and metrics.
    pub collector: Option<Arc<Collector>>,
    /// Whether this process is an instance that serves, and not a single command. Such an instance writes its first
    /// heartbeat at once.
    pub serves: bool,
}

impl Environment {
    /// Returns the environment of this process, with the settings of this file.
    pub fn of_this_program(settings_file: &Path) -> Self {
        Self {
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            compiler: Compiler::of_this_program(),
            settings_file: Some(settings_file.to_owned()),
            dropped_log_lines: None,
            collector: None,
            serves: false,
        }
    }
}

/// Opens the database and the keys, and loads the plugins: everything except the listeners.
///
/// # Errors
/// If the database, a key, a plugin, or a file that the settings name cannot be used.
pub async fn compose(
    settings: Settings,
    surroundings: Environment,
) -> Result<Arc<Services>, StartError> {
    let Environment {
        clock,
        entropy,
        compiler,
        settings_file,
        dropped_log_lines,
        collector,
        serves,
    } = surroundings;
    master_keys::check_creation(&settings.keys)?;
    let options = database_options(&settings);
    let database = Database::open_with(&settings.database.url, options).await?;
    let opening = master_keys::open(&settings.keys, &database, &*clock, &*entropy);
    let opened = Box::pin(opening).await?;
    let store = start_store(database, &opened, &clock, &entropy, serves).await?;
    let signing_keys = with_first_keys(&store, &opened.sealing, &clock, &entropy).await?;
    let key_ring = KeyRing::open(&signing_keys, &opened.sealing)?;
    let token_sealer = TokenSealer::new(Arc::clone(&opened.sealing));
    let push_key = Arc::new(PushKey::open(
        push_key(&signing_keys)?,
        &opened.sealing,
        settings.origin(),
    )?);
    let credentials = Arc::new(PushCredentials {
        key: Arc::clone(&push_key),
        clock: Arc::clone(&clock),
    });
    let compiled = compilation_cache(&settings, &opened)?;
    let specs = plugin_specs(&settings.plugins)?;
    let plugins = Plugins::load(
        specs,
        Loader::new(Arc::clone(&clock), credentials, compiler, compiled),
    )
    .await?;
    // A plugin that fails the smoke test does not stop the start: it harms only the applications that use it. A server
    // that does not start harms all.
    if let Err(error) = plugins.try_out().await {
        tracing::warn!(%error, "plugin smoke test failed");
    }
    let metrics_secret = metrics_secret(&settings)?;
    let mailer = mailer(&settings)?;
    let geoip = GeoIp::open(settings.geoip.database_file.as_deref())?;
    let logo = logo(&settings)?;
    let passkeys = domain::devices::relying_party::RelyingParty::new(&settings);
    let egress = Egress::new(settings.egress.allow_private_addresses);
    let span_sampler = match &collector {
        Some(_) => SpanSampler::new(settings.telemetry.traced_share),
        None => SpanSampler::default(),
    };
    let details_types = DetailsTypeNames::new(store.details_type_names().await?);
    let under_way = Arc::clone(store.requests_under_way());
    Ok(Arc::new(Services {
        issuer: settings.issuer(),
        rate_limits: RateLimiters::new(settings.rate_limits, &settings.oidc),
        backchannel_long_polls: LongPolls::new(
            1,
            usize::try_from(settings.oidc.backchannel.long_polls).unwrap_or(usize::MAX),
        ),
        client_authorities: client_authorities(&settings, &clock)?,
        settings,
        egress,
        mailer,
        geoip,
        saml_keys: crate::keys::saml::OpenKeys::default(),
        used_proofs: domain::operations::traffic::used_proofs::UsedProofs::default(),
        fetched_keys: domain::keys::fetched_keys::FetchedKeys::default(),
        fetched_objects: domain::fetched_objects::FetchedObjects::default(),
        details_types,
        passkeys,
        store,
        master_keys: opened.master,
        root_secret: opened.root,
        sealing_keys: opened.sealing,
        key_ring,
        token_sealer,
        push_key,
        plugins,
        metrics_secret,
        logo,
        claim_results: domain::claims::result_cache::ClaimResults::default(),
        error_references: ErrorReferences::default(),
        traces: domain::claims::trace_queue::Traces::default(),
        recent_requests: domain::operations::request_queue::RecentRequests::default(),
        metrics: domain::operations::telemetry::metrics::Metrics::default(),
        span_sampler,
        collector,
        task_restarts: domain::operations::telemetry::metrics::TaskRestarts::default(),
        audit_streams: domain::audit::streams::Streams::default(),
        reloads: domain::operations::plugins::reloads::Reloads::default(),
        settings_file,
        dropped_log_lines,
        draining: domain::operations::traffic::draining::DrainSwitch::default(),
        admission: Arc::new(Admission::of_processors(under_way)),
        signed_documents: domain::keys::signed_documents::SignedDocuments::default(),
        wakeups: crate::domain::operations::wakeups::Wakeups::default(),
        // An app needs one. A second one may wait on a lost connection.
        long_polls: LongPolls::new(2, usize::MAX),
        leased_work: domain::approvals::lease::LeasedWork::default(),
        clock,
        entropy,
    }))
}

/// Returns the folder of compiled plugins, which a key of the root secret authenticates; `None` without the setting.
fn compilation_cache(
    settings: &Settings,
    opened: &OpenedKeys,
) -> Result<Option<CompilationCache>, StartError> {
    let Some(folder) = &settings.plugins.compiled_folder else {
        return Ok(None);
    };
    let key = opened.root.derive("compiled plugins", b"")?.into();
    Ok(Some(CompilationCache::new(folder.clone(), key)))
}

/// Returns the collector that the settings name. The collector distinguishes the runs of the server by a random
/// identifier from `entropy`.
///
/// # Errors
/// If the file with the headers cannot be used, or TLS cannot be set up.
pub fn collector(
    settings: &Settings,
    entropy: &SharedEntropy,
) -> Result<Option<Arc<Collector>>, StartError> {
    let telemetry = &settings.telemetry;
    let Some(endpoint) = &telemetry.otlp_endpoint else {
        return Ok(None);
    };
    let headers = match &telemetry.headers_file {
        Some(file) => Some(read_secret("telemetry.headers_file", file)?),
        None => None,
    };
    let headers = headers.as_ref().map_or("", Secret::expose);
    let instance = hex::encode(entropy.bytes::<16>());
    let collector = Collector::new(endpoint.clone(), headers, instance)?;
    Ok(Some(Arc::new(collector)))
}

/// Reads the authorities whose certificates applications may present, if the settings name a file of them.
///
/// # Errors
/// If the file cannot be read, or has no root authority.
pub fn client_authorities(
    settings: &Settings,
    clock: &SharedClock,
) -> Result<Option<Arc<ClientAuthorities>>, StartError> {
    let Some(file) = settings.http.authorities_file() else {
        return Ok(None);
    };
    let loaded = ClientAuthorities::load(file, Arc::clone(clock))?;
    Ok(Some(Arc::new(loaded)))
}

/// Returns the digest of the secret that a client of the metrics endpoint must send, if the settings name a secret.
fn metrics_secret(settings: &Settings) -> Result<Option<Digest>, StartError> {
    let Some(file) = &settings.metrics.secret_file else {
        return Ok(None);
    };
    let name = "metrics.secret_file";
    let secret = domain::operations::plugins::specs::read_long_secret(name, file, 16)?;
    Ok(Some(secret.digest()))
}

/// Reads the secret files that the settings name, except master keys and the secrets of plugins. Returns an error for
/// each file that cannot be read or has unusable content. Each error begins with the key of the setting.
pub fn secret_file_errors(settings: &Settings, entropy: &SharedEntropy) -> Vec<StartError> {
    let pin = settings.keys.pkcs11.as_ref();
    let pin = pin.map(|token| read_secret("keys.pkcs11.pin_file", &token.pin_file));
    [
        metrics_secret(settings).err(),
        mailer(settings).err(),
        collector(settings, entropy).err(),
        pin.and_then(Result::err).map(StartError::from),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn database_options(settings: &Settings) -> DatabaseOptions {
    DatabaseOptions {
        connections: ConnectionCounts {
            read: settings.database.read_connections,
            write: settings.database.write_connections,
        },
        migrate: match settings.database.migrate {
            None => MigrationPolicy::SqliteOrEmpty,
            Some(Migrate::Automatic) => MigrationPolicy::Automatic,
            Some(Migrate::Manual) => MigrationPolicy::Manual,
        },
        ..DatabaseOptions::default()
    }
}

/// Returns the context that authenticates the audit log.
pub fn chain_context(
    root_secret: &RootSecret,
    entropy: &SharedEntropy,
) -> Result<ChainContext, StartError> {
    let key = Zeroizing::new(root_secret.derive("audit chain", b"")?);
    let key = ChainKey::new(&key).map_err(KeyError::from)?;
    Ok(ChainContext::new(key, Arc::clone(entropy)))
}

/// Starts the store. An instance that serves writes its first heartbeat before it compiles its plugins, because a
/// contracting migration must not overlook the instance.
async fn start_store(
    database: Database,
    opened: &OpenedKeys,
    clock: &SharedClock,
    entropy: &SharedEntropy,
    serves: bool,
) -> Result<Store, StartError> {
    let chaining = chain_context(&opened.root, entropy)?;
    let master_key = opened.master.current.fingerprint();
    let store = Store::start(database, chaining, master_key).await?;
    if serves {
        store.probe(&**clock).await?;
        master_keys::store_wrapped_keys(opened, &store, &**entropy).await?;
    }
    Ok(store)
}

/// Returns the operator's logo, if the settings name one.
///
/// # Errors
/// If the file cannot be read, or is not a supported image.
pub fn logo(settings: &Settings) -> Result<Option<Logo>, LogoFileError> {
    settings
        .branding
        .logo_file
        .as_deref()
        .map(Logo::read)
        .transpose()
}

/// Returns the client of the SMTP server, if the settings name a server.
///
/// # Errors
/// If the settings of the server, the password file or the CA file cannot be used.
pub fn mailer(settings: &Settings) -> Result<Option<Mailer>, StartError> {
    let Some(mail) = &settings.mail else {
        return Ok(None);
    };
    let unusable = || StartError::Mail("the settings cannot be used".to_owned());
    let (host, port) = mail.server().ok_or_else(unusable)?;
    let password = match (&mail.password, &mail.password_file) {
        (Some(password), _) => Some(Secret::new(password.as_str())),
        (None, Some(file)) => Some(read_secret("mail.password_file", file)?),
        (None, None) => None,
    };
    let base_host = settings.base_url.host_str().unwrap_or("localhost");
    let server = SmtpServer {
        host,
        port,
        security: match mail.security {
            MailSecurity::Starttls => SmtpSecurity::StartTls,
            MailSecurity::Implicit => SmtpSecurity::Implicit,
            MailSecurity::None => SmtpSecurity::None,
        },
        credentials: mail.user.clone().zip(password),
        from: mail.sender().ok_or_else(unusable)?,
        hello_name: mail
            .hello_name
            .as_deref()
            .unwrap_or(base_host)
            .trim_matches(['[', ']'])
            .to_owned(),
        timeout: mail.timeout.get(),
    };
    Mailer::new(server, mail.ca_file.as_deref())
        .map(Some)
        .map_err(StartError::Mail)
}

/// Returns all signing keys, after it added a new key for each purpose in use without a key that may sign.
async fn with_first_keys(
    store: &Store,
    sealing: &SealingKeys,
    clock: &SharedClock,
    entropy: &SharedEntropy,
) -> Result<Vec<SigningKey>, StartError> {
    let mut signing_keys = store.signing_keys().await?;
    for purpose in KeyPurpose::ALL {
        let own: Vec<&SigningKey> = signing_keys
            .iter()
            .filter(|key| key.purpose == purpose)
            .collect();
        let is_used = purpose.has_key_at_start() || !own.is_empty();
        if !is_used || own.iter().any(|key| key.may_sign()) {
            continue;
        }
        let last = own
            .iter()
            .map(|key| key.times.generation)
            .max()
            .unwrap_or_default();
        let sealed = keys::generate(purpose, sealing, clock.now(), &**entropy).await?;
        let now = clock.now();
        let fresh = SigningKey {
            id: KeyId::new(now, &**entropy),
            purpose,
            material: KeyMaterial::Sealed(sealed),
            times: KeyTimes::at_once(last + 1, now),
        };
        // If another instance started at the same moment and was faster, the key of that instance remains.
        store.add_key(fresh, Vec::new()).await?;
        signing_keys = store.signing_keys().await?;
    }
    Ok(signing_keys)
}

fn push_key(keys: &[SigningKey]) -> Result<&str, StartError> {
    let mut own = keys.iter().filter(|key| key.purpose == KeyPurpose::Push);
    let sealed = own.find_map(|key| match &key.material {
        KeyMaterial::Sealed(sealed) => Some(sealed.as_str()),
        KeyMaterial::Public(_) => None,
    });
    sealed.ok_or(StartError::Store(StoreError::Internal(
        "the push key has no private key",
    )))
}

/// The credentials that sign the plugins' outgoing requests with the push key. The plugins do not see the signature.
struct PushCredentials {
    key: Arc<PushKey>,
    clock: SharedClock,
}

impl Credentials for PushCredentials {
    fn vapid(&self, audience_origin: &str) -> Option<String> {
        match self.key.authorization(audience_origin, self.clock.now()) {
            Ok(header) => Some(header),
            Err(error) => {
                tracing::error!(%error, "VAPID header not created");
                None
            }
        }
    }
}

/// Runs the bootstrap, if this is the first start.
///
/// # Errors
/// If the first administrator or the demo application cannot be created, or the file for the demo application cannot be
/// written.
pub async fn prepare_bootstrap(services: &Services) -> Result<Option<BootstrapResult>, StartError> {
    let Some(settings) = &services.settings.bootstrap else {
        return Ok(None);
    };
    let Some(made) = bootstrap(services, settings).await? else {
        return Ok(None);
    };
    if let (Some(demo), Some(client_id)) = (&settings.demo, &made.demo) {
        let client = serde_json::json!({
            "issuer": services.issuer,
            "client_id": client_id,
            "redirect_uri": demo.redirect_uri,
            "post_logout_redirect_uri": demo.post_logout_redirect_uri,
        });
        let failed = |reason| StartError::DemoFile {
            file: demo.client_file.clone(),
            reason,
        };
        if let Some(folder) = demo.client_file.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        std::fs::write(&demo.client_file, format!("{client:#}\n")).map_err(failed)?;
    }
    Ok(Some(made))
}
