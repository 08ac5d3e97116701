//! Loading: from the operator's settings to plugins that can be called.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::Engine;
use wasmtime::component::Component;

use super::approval::ApprovalChannel;
use super::call::{Journal, Outside, Runner, one_line};
use super::claims::{ClaimMapper, Parts, Scope};
use super::compiled::{self, Compiled};
use super::compiler::Compiler;
use super::component_check::{self, Surface, World};
use super::contract::{Contracts, Described, Linked};
use super::egress::Egress;
use super::engine::{self, Pool};
use super::fault::LoadError;
use super::meter::Meter;
use super::names;
use super::protected::Grants;
use super::spec::{Credentials, HttpGrant, NoCredentials, OnFailure, PluginSpec, Role, Trust};
use super::turns::Turns;
use super::{Description, Granted, Identity, Loaded};
use crate::clock::{SharedClock, SystemClock};
use crate::secret::Digest;

/// What loading takes from the host.
pub struct Loader {
    clock: SharedClock,
    credentials: Arc<dyn Credentials>,
    compiler: Compiler,
    compiled: Option<Arc<Compiled>>,
    contracts: Contracts,
    /// Those of all plugins together.
    turns: Arc<Turns>,
    /// By the operator's name, so that what is counted goes on after a reload.
    meters: Mutex<HashMap<String, Arc<Meter>>>,
}

impl Loader {
    /// What was compiled is kept in `compiled` for the next time.
    pub fn new(
        clock: SharedClock,
        credentials: Arc<dyn Credentials>,
        compiler: Compiler,
        compiled: Option<Compiled>,
    ) -> Self {
        let contracts = Contracts::released();
        let (compiled, turns) = (compiled.map(Arc::new), Arc::new(Turns::of_processors()));
        Self { clock, credentials, compiler, compiled, contracts, turns, meters: Mutex::default() }
    }

    /// Serves one more version of a contract.
    #[cfg(test)]
    pub(super) fn with_version(mut self, version: super::contract::Version) -> Self {
        self.contracts = self.contracts.with(version);
        self
    }

    /// Compiles, checks and tries out every plugin.
    pub(super) async fn load(&self, specs: Vec<PluginSpec>) -> Result<Loaded, LoadError> {
        let engine = |pool| {
            let limits = specs.iter().filter(|spec| spec.role.pool() == pool).map(|spec| &spec.limits);
            engine::engine(pool, limits, &self.turns).map_err(LoadError)
        };
        let (warm, cold) = (engine(Pool::Warm)?, engine(Pool::Cold)?);
        let mut loaded = Loaded::default();
        for spec in specs {
            check_name(&loaded, &spec.name)?;
            let engine = match spec.role.pool() {
                Pool::Warm => &warm,
                Pool::Cold => &cold,
            };
            self.add(&mut loaded, engine, spec).await?;
        }
        check_owners(&loaded.mappers)?;
        Ok(loaded)
    }

    /// An engine with room for one call of one claim mapper at a time.
    pub(super) fn engine_for_one(&self, limits: &super::Limits) -> Result<Engine, LoadError> {
        engine::engine(Pool::Warm, std::iter::once(limits), &self.turns).map_err(LoadError)
    }

    async fn add(&self, loaded: &mut Loaded, engine: &Engine, spec: PluginSpec) -> Result<(), LoadError> {
        let bytes = component_check::read(&spec.name, &spec.file)?;
        let meter = self.meter(&spec.name).map_err(|what| LoadError::of(&spec.name, what))?;
        let build = Build { bytes, kept: self.compiled.as_ref(), meter, as_asked: false, journal: None };
        self.build(loaded, engine, spec, build).await
    }

    /// Makes a plugin of a component and adds it to those that are there.
    pub(super) async fn build(
        &self,
        loaded: &mut Loaded,
        engine: &Engine,
        spec: PluginSpec,
        build: Build<'_>,
    ) -> Result<(), LoadError> {
        loaded.specs.push(spec.clone());
        let PluginSpec { name, file, sha256, config, role, limits } = spec;
        let Build { bytes, kept, meter, as_asked, journal } = build;
        let error = |what: String| LoadError::of(&name, what);
        if limits.concurrency == 0 {
            return Err(error("`concurrency` is 0, so it could never run; give at least 1".to_owned()));
        }
        if !config.is_object() {
            return Err(error("its settings are not a table".to_owned()));
        }
        let digest = Digest::of(&bytes);
        if sha256.is_some_and(|expected| expected != digest) {
            let what =
                format!("`{}` has the digest {}, not the one that `sha256` names", file.display(), digest.to_text());
            return Err(error(what));
        }
        let surface = component_check::surface(&bytes, &self.contracts).map_err(error)?;
        role.expects(surface.world).map_err(error)?;
        component_check::fits(&bytes, &limits).map_err(error)?;
        let outside = match &role {
            Role::ClaimMapper { .. } => Outside::Closed,
            Role::ApprovalChannel { http, .. } => {
                let clock = Arc::clone(&self.clock);
                let egress = Egress::new(http, limits.http_timeout, Arc::clone(&self.credentials), clock);
                Outside::Granted(Arc::new(egress.map_err(error)?))
            }
        };
        let component = compile(engine, bytes, &self.compiler, kept).await.map_err(error)?;
        let linked = link(&self.contracts, &surface, &component).map_err(error)?;
        let (clock, turns) = (Arc::clone(&self.clock), Arc::clone(&self.turns));
        let runner = Runner::new(engine.clone(), &name, limits, clock, outside, meter, turns).with_journal(journal);
        let described = describe(linked.described(), &runner).await.map_err(error)?;
        let config = config.to_string();
        validate(linked.described(), &runner, &config).await.map_err(error)?;
        let identity = Arc::new(Identity {
            plugin: name.clone(),
            component: described.name.clone(),
            version: described.version.clone(),
            sha256: digest.to_text(),
        });
        let role = match role {
            Role::ClaimMapper { applications, on_failure, .. } if as_asked => {
                Role::ClaimMapper { applications, writes: asked_by_name(&described.writes), on_failure }
            }
            role => role,
        };
        loaded.granted.insert(name.clone(), Granted::of(&role));
        match (role, linked) {
            (Role::ClaimMapper { applications, writes, on_failure }, Linked::Mapper(component)) => {
                if described.denies && on_failure == OnFailure::Omit {
                    let what =
                        "`on_failure` is omit, but the component may turn people away: a fault of it would let them in";
                    return Err(error(what.to_owned()));
                }
                let grants = Grants::new(described.writes, writes).map_err(error)?;
                let scope = Scope { applications, sinks: described.sinks };
                loaded.mappers.push(Arc::new(ClaimMapper::new(Parts {
                    identity,
                    runner,
                    component,
                    scope,
                    grants,
                    on_failure,
                    config,
                })));
            }
            (
                Role::ApprovalChannel { applications, trust, shows_letters, http },
                Linked::Channel(component) | Linked::Delegated(component),
            ) => {
                asked_for(&described, &http).map_err(error)?;
                loaded.channels.push(ApprovalChannel {
                    identity,
                    runner,
                    component,
                    trust,
                    shows_letters,
                    applications,
                    config,
                });
            }
            // Its world was compared with its role above.
            (_, _) => return Err(error("the component is of another role".to_owned())),
        }
        Ok(())
    }

    fn meter(&self, name: &str) -> Result<Arc<Meter>, String> {
        let mut meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = meters.get(name) {
            return Ok(Arc::clone(known));
        }
        let meter = Arc::new(Meter::new()?);
        meters.insert(name.to_owned(), Arc::clone(&meter));
        Ok(meter)
    }
}

/// What a plugin is made from.
pub(super) struct Build<'a> {
    /// The component.
    pub(super) bytes: Vec<u8>,
    /// Where what is compiled is kept, if it is.
    pub(super) kept: Option<&'a Arc<Compiled>>,
    /// What counts its calls.
    pub(super) meter: Arc<Meter>,
    /// Whether a claim mapper may write what its description names, in place of what the settings grant.
    pub(super) as_asked: bool,
    /// Where the log lines of its calls are kept, if they are.
    pub(super) journal: Option<Arc<Journal>>,
}

/// The claims that a description names. Where it leaves the choice to the operator, nobody chose, so nothing is granted.
fn asked_by_name(writes: &[String]) -> Vec<String> {
    writes.iter().filter(|name| !matches!(name.as_str(), "*" | "attribute:*")).cloned().collect()
}

impl Role {
    fn pool(&self) -> Pool {
        match self {
            Self::ClaimMapper { .. } => Pool::Warm,
            Self::ApprovalChannel { .. } => Pool::Cold,
        }
    }

    /// Whether a component is made for this role.
    fn expects(&self, found: World) -> Result<(), String> {
        let wanted = match self {
            Self::ClaimMapper { .. } => World::ClaimMapper,
            Self::ApprovalChannel { trust: Trust::Verified, .. } => World::ApprovalChannel,
            Self::ApprovalChannel { trust: Trust::Delegated, .. } => World::DelegatedChannel,
        };
        if wanted == found {
            return Ok(());
        }
        let said = match (wanted, found) {
            (World::ApprovalChannel, World::DelegatedChannel) => {
                ": it takes a vendor's word for an approval, which works only with `trust = \"delegated\"`"
            }
            _ => "",
        };
        Err(format!("the settings make it {}, but the component is {}{said}", wanted.role(), found.role()))
    }
}

/// Compiles, if need be, off the async threads: it takes a good part of a second.
pub(super) async fn compile(
    engine: &Engine,
    bytes: Vec<u8>,
    compiler: &Compiler,
    kept: Option<&Arc<Compiled>>,
) -> Result<Component, String> {
    let (engine, compiler, kept) = (engine.clone(), compiler.clone(), kept.cloned());
    let component = tokio::task::spawn_blocking(move || match kept {
        Some(kept) => kept.component(&engine, &compiler, &bytes),
        None => compiled::compile(&engine, &compiler, &bytes),
    });
    component.await.map_err(|error| format!("the component can't be compiled: {error}"))?
}

pub(super) fn link(contracts: &Contracts, surface: &Surface, component: &Component) -> Result<Linked, String> {
    let version = contracts.find(surface.world, &surface.version).ok_or("its contract is not served")?;
    (version.link)(component).map_err(|cause| format!("it does not keep to its contract: {cause:#}"))
}

/// What a component says about itself.
pub(super) async fn describe(component: &dyn Described, runner: &Runner) -> Result<Description, String> {
    let json = component.describe(runner).await.result;
    let json = json.map_err(|fault| format!("it can't describe itself: it {fault}"))?;
    let read =
        serde_json::from_str(&json).map_err(|error| format!("its description of itself can't be read: {error}"))?;
    names::checked(read)
}

/// Has a plugin check its settings.
async fn validate(component: &dyn Described, runner: &Runner, config: &str) -> Result<(), String> {
    match component.validate(runner, config).await.result {
        Ok(Ok(())) => Ok(()),
        Ok(Err(errors)) => Err(errors.iter().map(|error| one_line(error)).collect::<Vec<_>>().join("; ")),
        Err(fault) => Err(format!("its check of the settings failed: it {fault}")),
    }
}

/// The operator grants nothing that the component does not ask for.
fn asked_for(described: &Description, granted: &HttpGrant) -> Result<(), String> {
    let asks = |host: &String| described.hosts.iter().any(|asked| asked == "*" || asked == host);
    if let Some(host) = granted.hosts.iter().find(|host| !asks(host)) {
        let known = if described.hosts.is_empty() { "none".to_owned() } else { described.hosts.join(", ") };
        return Err(format!(
            "`http_hosts` grants `{host}`, which the component does not ask for (it asks for: {known})"
        ));
    }
    if granted.follow_redirects && !described.follow_redirects {
        return Err("`follow_redirects` is granted, which the component does not ask for".to_owned());
    }
    Ok(())
}

pub(super) fn check_name(loaded: &Loaded, name: &str) -> Result<(), LoadError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        return Err(LoadError::of(name, "the name may have lower-case letters, digits and `-`, at most 64"));
    }
    let mut mappers = loaded.mappers.iter().map(|mapper| mapper.name());
    let mut channels = loaded.channels.iter().map(ApprovalChannel::name);
    if mappers.any(|taken| taken == name) || channels.any(|taken| taken == name) {
        return Err(LoadError::of(name, "two plugins have this name"));
    }
    Ok(())
}

/// Each claim has one owner in an application, so no order of plugins decides what it says.
pub(super) fn check_owners(mappers: &[Arc<ClaimMapper>]) -> Result<(), LoadError> {
    let mut rest = mappers;
    while let Some((mapper, others)) = rest.split_first() {
        for other in others {
            if let Some(claim) = mapper.contended_claim(other) {
                let what = format!("`writes` grants the claim `{claim}`, which plugin `{}` writes too", mapper.name());
                return Err(LoadError::of(other.name(), what));
            }
        }
        rest = others;
    }
    Ok(())
}

/// Loads plugins that have no credentials, and compiles them anew in this process.
impl Default for Loader {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock), Arc::new(NoCredentials), Compiler::InProcess, None)
    }
}
