//! The composition root: the only place that wires everything.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::config::{HumanDuration, Settings};
use crate::domain::operations::bootstrap::{BootstrapResult, bootstrap};
use crate::domain::operations::branding::{Logo, LogoError};
use crate::domain::operations::plugin_specs::{SecretFileError, plugin_specs};
use crate::domain::{self, Host};
use crate::geoip::{GeoIp, GeoIpError};
use crate::http::tls::{Clients, Identity, TlsError};
use crate::http::{self, Listener, Newcomers};
use crate::keys::{self, KeyError, KeyRing, MasterKey, MasterKeyError, PushKey};
use crate::oidc::backchannel;
use assent_model::audit::chain::ChainKey;
use assent_model::clock::{SharedClock, SystemClock};
use assent_model::entropy::{SharedEntropy, SystemEntropy};
use assent_model::id::KeyId;
use assent_model::key::{KeyMaterial, KeyPurpose, KeyTimes, SigningKey};
use assent_plugin_host::outgoing::Outgoing;
use assent_plugin_host::{Compiled, Compiler, Credentials, LoadError, Loader, Plugins};
use assent_store::{Chaining, Database, Retention, Store, StoreError};

/// How often the GeoIP file is checked for changes.
const PLACES: Duration = Duration::from_secs(60);
/// How often rows that are over are deleted.
const SWEEP: Duration = Duration::from_secs(10 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How often the signing keys are read anew: so soon a host notices what a command or another host did to them.
const KEYS: Duration = Duration::from_secs(3);
/// How many connections there may be, where the system lets the process have as many descriptors.
const MOST_CONNECTIONS: u64 = 20_000;
/// Below this the operator is told: each waiting page and phone holds a connection.
const FEW_CONNECTIONS: u64 = 2_000;
/// How many descriptors are left for files, the database and outgoing requests.
const OTHER_DESCRIPTORS: u64 = 256;

/// Why the host did not start. The message says what to do.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant is what it wraps")]
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
    #[error("first start: {0}")]
    FirstStart(#[from] crate::domain::admin::AdminError),
    #[error("{}: cannot write the demo application's settings: {reason}", file.display())]
    DemoFile {
        file: std::path::PathBuf,
        reason: std::io::Error,
    },
    #[error(
        "cannot listen on {address}: {reason}. Is another program using the port? `{setting}` names another"
    )]
    Listen {
        setting: &'static str,
        address: SocketAddr,
        reason: std::io::Error,
    },
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    GeoIp(#[from] GeoIpError),
    #[error(transparent)]
    Logo(#[from] LogoError),
}

/// What the host takes from its surroundings.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The time.
    pub clock: SharedClock,
    /// Randomness.
    pub entropy: SharedEntropy,
    /// What compiles plugins.
    pub compiler: Compiler,
    /// The file that the settings come from, where there is one, to be read again.
    pub settings_file: Option<PathBuf>,
}

impl Surroundings {
    /// Those of this program, with the settings of this file.
    pub fn of_this_program(settings_file: &Path) -> Self {
        Self {
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            compiler: Compiler::of_this_program(),
            settings_file: Some(settings_file.to_owned()),
        }
    }
}

/// Opens the database and the keys, and loads the plugins: everything but the listener.
pub async fn compose(
    settings: Settings,
    surroundings: Surroundings,
) -> Result<Arc<Host>, StartError> {
    let Surroundings {
        clock,
        entropy,
        compiler,
        settings_file,
    } = surroundings;
    let database = Database::open(&settings.database.url).await?;
    let master_key = match &settings.keys.master_key {
        Some(text) => MasterKey::from_text(text, "keys.master_key")?,
        // A fresh key in place of a lost one would open nothing, and hide that the old one is missing.
        None if database.holds_keys().await? => MasterKey::read(&settings.keys.master_key_file)?,
        None => MasterKey::read_or_make(&settings.keys.master_key_file, &*entropy)?,
    };
    let chaining = Chaining::new(
        ChainKey::new(master_key.authenticate("audit chain", b"")?),
        Arc::clone(&entropy),
    );
    let store = Store::start(database, chaining).await?;
    let kept = with_first_keys(&store, &master_key, &clock, &entropy).await?;
    let key_ring = KeyRing::open(&kept, &master_key)?;
    let push_key = Arc::new(PushKey::open(
        push_key(&kept)?,
        &master_key,
        settings.origin(),
    )?);
    let credentials = Arc::new(PushCredentials {
        key: Arc::clone(&push_key),
        clock: Arc::clone(&clock),
    });
    let compiled = match &settings.plugins.compiled_folder {
        Some(folder) => Some(Compiled::new(
            folder.clone(),
            master_key.authenticate("compiled plugins", b"")?.into(),
        )),
        None => None,
    };
    let specs = plugin_specs(&settings.plugins)?;
    let plugins = Plugins::load(
        specs,
        Loader::new(Arc::clone(&clock), credentials, compiler, compiled),
    )
    .await?;
    // A host that does not start serves nobody: what an application's plugin does wrong is that application's harm alone.
    if let Err(error) = plugins.try_out().await {
        tracing::warn!(%error, "a plugin fails with what it was tried out with");
    }
    let metrics_secret = match &settings.http.metrics_secret_file {
        Some(file) => Some(
            domain::operations::plugin_specs::read_long_secret(
                "http.metrics_secret_file",
                file,
                16,
            )?
            .digest(),
        ),
        None => None,
    };
    let geoip = GeoIp::open(settings.geoip.database_file.as_deref())?;
    let logo = logo(&settings)?;
    let passkeys = domain::devices::relying_party::RelyingParty::new(&settings);
    let outgoing = Outgoing::new(settings.egress.allow_private_addresses);
    Ok(Arc::new(Host {
        issuer: settings.issuer(),
        rate_limits: crate::domain::operations::rate_limits::Limits::new(settings.rate_limits),
        settings,
        outgoing,
        geoip,
        saml_keys: crate::keys::saml::OpenKeys::default(),
        fetched_keys: domain::keys::fetched_keys::FetchedKeys::default(),
        passkeys,
        store,
        master_key,
        key_ring,
        push_key,
        plugins,
        metrics_secret,
        logo,
        traces: domain::claims::trace_queue::Traces::default(),
        latency: domain::operations::latency::LatencyHistograms::default(),
        audit_streams: domain::audit::Streams::default(),
        reloads: domain::operations::plugin_reloads::Reloads::default(),
        settings_file,
        wakeups: crate::domain::operations::wakeups::Wakeups::default(),
        clock,
        entropy,
    }))
}

/// The operator's logo, if the settings name one.
pub fn logo(settings: &Settings) -> Result<Option<Logo>, LogoError> {
    settings
        .branding
        .logo_file
        .as_deref()
        .map(Logo::read)
        .transpose()
}

/// All keys, after a fresh one was made for each purpose that had none which may sign.
async fn with_first_keys(
    store: &Store,
    master: &MasterKey,
    clock: &SharedClock,
    entropy: &SharedEntropy,
) -> Result<Vec<SigningKey>, StartError> {
    let mut kept = store.signing_keys().await?;
    for purpose in KeyPurpose::ALL {
        let own: Vec<&SigningKey> = kept.iter().filter(|key| key.purpose == purpose).collect();
        if own.iter().any(|key| key.may_sign()) {
            continue;
        }
        let last = own
            .iter()
            .map(|key| key.times.generation)
            .max()
            .unwrap_or_default();
        let sealed = keys::generate(purpose, master, &**entropy).await?;
        let now = clock.now();
        let fresh = SigningKey {
            id: KeyId::new(now, &**entropy),
            purpose,
            material: KeyMaterial::Sealed(sealed),
            times: KeyTimes::at_once(last + 1, now),
        };
        // If another host that starts at the same moment was first, its key is the one.
        store.add_key(fresh, Vec::new()).await?;
        kept = store.signing_keys().await?;
    }
    Ok(kept)
}

fn push_key(kept: &[SigningKey]) -> Result<&str, StartError> {
    let mut own = kept.iter().filter(|key| key.purpose == KeyPurpose::Push);
    let sealed = own.find_map(|key| match &key.material {
        KeyMaterial::Sealed(sealed) => Some(sealed.as_str()),
        KeyMaterial::Public(_) => None,
    });
    sealed.ok_or(StartError::Store(StoreError::Internal(
        "the push key has no private key",
    )))
}

/// Lets the plugins' outgoing requests carry the push key's signature without their seeing it.
struct PushCredentials {
    key: Arc<PushKey>,
    clock: SharedClock,
}

impl Credentials for PushCredentials {
    fn vapid(&self, audience_origin: &str) -> Option<String> {
        match self.key.authorization(audience_origin, self.clock.now()) {
            Ok(header) => Some(header),
            Err(error) => {
                tracing::error!(%error, "no VAPID header could be made");
                None
            }
        }
    }
}

/// Makes what the first start makes, if this is the first.
pub async fn prepare_bootstrap(host: &Host) -> Result<Option<BootstrapResult>, StartError> {
    let Some(settings) = &host.settings.bootstrap else {
        return Ok(None);
    };
    let Some(made) = bootstrap(host, settings).await? else {
        return Ok(None);
    };
    if let (Some(demo), Some(client_id)) = (&settings.demo, &made.demo) {
        let client = serde_json::json!({
            "issuer": host.issuer,
            "client_id": client_id,
            "redirect_uri": demo.redirect_uri,
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

/// A host that serves.
#[derive(Debug)]
pub struct Running {
    /// What it works with.
    pub host: Arc<Host>,
    /// Where it listens.
    pub address: SocketAddr,
    stop: tokio::sync::watch::Sender<bool>,
    servers: JoinSet<()>,
    /// What goes on in the background: deleting, looking after keys, telling applications, carrying approvals, keeping traces.
    background: JoinSet<()>,
}

/// The ports that a host serves on.
#[derive(Debug)]
pub struct Ports {
    /// That of `http.listen`.
    pub main: TcpListener,
    /// That of `http.mtls.listen`, where there is one.
    pub mtls: Option<TcpListener>,
}

/// Takes the ports that the settings name. Apart from [`serve`], so that a port that was left to the system (`:0`) is
/// known before the settings name it.
pub async fn listen(settings: &Settings) -> Result<Ports, StartError> {
    let main = bind("http.listen", settings.http.listen).await?;
    let mtls = match &settings.http.mtls {
        Some(mtls) => Some(bind("http.mtls.listen", mtls.listen).await?),
        None => None,
    };
    Ok(Ports { main, mtls })
}

async fn bind(setting: &'static str, address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address)
        .await
        .map_err(|reason| StartError::Listen {
            setting,
            address,
            reason,
        })
}

/// The certificates of the listeners.
#[derive(Debug)]
pub struct Identities {
    main: Option<Arc<Identity>>,
    mtls: Option<Arc<Identity>>,
}

/// Reads the certificates and keys that the settings name.
pub fn identities(settings: &Settings, clock: &SharedClock) -> Result<Identities, StartError> {
    let load = |table, files, clients| {
        Identity::load(table, files, clients, Arc::clone(clock)).map(Arc::new)
    };
    let (main, mtls) = (settings.http.tls.clone(), settings.http.mtls.as_ref());
    Ok(Identities {
        main: main
            .map(|files| load("http.tls", files, Clients::Anonymous))
            .transpose()?,
        mtls: mtls
            .map(|mtls| load("http.mtls", mtls.tls(), Clients::MayShowCertificate))
            .transpose()?,
    })
}

/// Serves until it is stopped.
pub fn serve(host: Arc<Host>, ports: Ports) -> Result<Running, StartError> {
    let Identities {
        main: tls,
        mtls: mtls_identity,
    } = identities(&host.settings, &host.clock)?;
    let unusable = |reason| StartError::Listen {
        setting: "http.listen",
        address: host.settings.http.listen,
        reason,
    };
    let address = ports.main.local_addr().map_err(unusable)?;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let router = http::router(Arc::clone(&host));
    let most = most_connections();
    let listener = |socket, tls, most_connections| Listener {
        socket,
        tls,
        most_connections,
        newcomers: Newcomers {
            most_of_network: usize::try_from(host.settings.http.connections_per_network)
                .unwrap_or(usize::MAX),
            patience: host.settings.http.first_request_timeout.get(),
            exempt: host.settings.http.trusted_proxies.clone(),
        },
        head_timeout: host.settings.http.head_timeout.get(),
        write_timeout: host.settings.http.write_timeout.get(),
    };
    let mut servers = JoinSet::new();
    let mut most_of_main = most;
    if let (Some(socket), Some(identity)) = (ports.mtls, mtls_identity) {
        // Whoever fills one listener shall not fill the other.
        let most_of_mtls = most / 4;
        most_of_main -= most_of_mtls;
        let listener = listener(socket, Some(identity), most_of_mtls);
        servers.spawn(http::serve(
            listener,
            http::mtls_router(router.clone()),
            told(stopped.clone()),
        ));
    }
    servers.spawn(http::serve(
        listener(ports.main, tls, most_of_main),
        router,
        told(stopped),
    ));
    let mut background = JoinSet::new();
    background.spawn(sweep(Arc::clone(&host)));
    background.spawn(keep_keys(Arc::clone(&host)));
    background.spawn(refresh_geoip(Arc::clone(&host)));
    background.spawn(backchannel::deliver(Arc::clone(&host)));
    background.spawn(domain::approvals::deliveries::run(Arc::clone(&host)));
    background.spawn(domain::claims::traces::keep(Arc::clone(&host)));
    background.spawn(domain::audit::stream(Arc::clone(&host)));
    Ok(Running {
        host,
        address,
        stop,
        servers,
        background,
    })
}

/// How many connections the descriptors of this process are enough for.
fn most_connections() -> usize {
    let descriptors = rlimit::Resource::NOFILE.get_soft().unwrap_or(1024);
    let most = descriptors
        .saturating_sub(OTHER_DESCRIPTORS)
        .max(descriptors / 4)
        .clamp(1, MOST_CONNECTIONS);
    if most < FEW_CONNECTIONS {
        tracing::warn!(
            descriptors,
            most,
            "few connections can be served at once: raise `ulimit -n` or LimitNOFILE"
        );
    } else {
        tracing::info!(descriptors, most, "connections that can be served at once");
    }
    usize::try_from(most).unwrap_or(usize::MAX)
}

async fn told(mut stopped: tokio::sync::watch::Receiver<bool>) {
    // An error means that nobody is left to tell it, which is the same.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

async fn sweep(host: Arc<Host>) {
    let lifetimes = host.settings.lifetimes;
    let after = |lifetime: HumanDuration, grace| lifetime.get() + grace;
    let retention = Retention {
        // Anybody may begin a login, so nothing of it is kept.
        logins: after(lifetimes.login, Duration::ZERO),
        access_tokens: after(
            lifetimes
                .access_token
                .max(lifetimes.client_credentials_token),
            DAY,
        ),
        refresh_tokens: after(lifetimes.refresh_token, DAY),
        sessions: after(host.settings.session.absolute_timeout, DAY),
        enrolments: after(lifetimes.enrolment, DAY),
        admin_tokens: after(lifetimes.admin_token, DAY),
        traces: domain::claims::traces::kept(&host),
        audit: domain::audit::kept(&host),
        streams: host.settings.audit.stream.names(),
        denials: host.settings.approvals.denial_reset_after.get(),
    };
    loop {
        if let Err(error) = domain::audit::sum_up_repeated(&host).await {
            tracing::warn!(%error, "repeated requests could not be summed up in the audit log");
        }
        match host.store.apply_retention(retention, host.now()).await {
            Ok(rows) => tracing::debug!(rows, "old rows deleted"),
            Err(error) => tracing::warn!(%error, "old rows could not be deleted"),
        }
        if let Err(error) = domain::admin::count_sign_ins(&host).await {
            tracing::warn!(%error, "the sign-ins of the last hours could not be counted");
        }
        if let Err(error) = domain::keys::saml_keys::maintain(&host).await {
            tracing::warn!(%error, "the SAML certificates could not be looked after");
        }
        tokio::time::sleep(SWEEP).await;
    }
}

/// Publishes, retires and forgets signing keys when it is time, and notices what others did.
async fn keep_keys(host: Arc<Host>) {
    loop {
        if let Err(error) = domain::keys::signing_keys::maintain(&host).await {
            tracing::warn!(%error, "the signing keys could not be looked after");
        }
        tokio::time::sleep(KEYS).await;
    }
}

/// Reads the GeoIP database again when its file changes.
async fn refresh_geoip(host: Arc<Host>) {
    loop {
        tokio::time::sleep(PLACES).await;
        let host = Arc::clone(&host);
        match tokio::task::spawn_blocking(move || host.geoip.refresh()).await {
            Ok(Ok(false)) | Err(_) => {}
            Ok(Ok(true)) => tracing::info!("the GeoIP database was read again"),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the GeoIP database cannot be read again; the earlier one stays in use");
            }
        }
    }
}

impl Running {
    /// Serves until `signal` comes or the server fails, then lets requests under way end.
    pub async fn until(mut self, signal: impl Future<Output = ()>) {
        tokio::select! {
            () = signal => {}
            _ = self.servers.join_next() => {}
        }
        self.stop().await;
    }

    /// Lets requests under way end, and closes the database.
    pub async fn stop(mut self) {
        // Nobody listens if the server has failed.
        let _ = self.stop.send(true);
        self.background.abort_all();
        while self.servers.join_next().await.is_some() {}
        self.host.store.close().await;
    }
}
