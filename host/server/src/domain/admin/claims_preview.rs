//! What an application would be told about a person, without a sign-in: by the plugins of current, or with a candidate among
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::command::{AdminCommand, AdminContext, ApprovedPlan, Execution, Planned};
use super::{AdminError, Result, account, invalid, registered};
use crate::domain::claims::name_id;
use crate::domain::claims::standard_claims;
use crate::domain::claims::standard_claims::{ApplicationClaims, Subject};
use crate::domain::claims::token_claims::IssuerClaims;
use crate::domain::protected_actions::ProtectedAction;
use crate::domain::sign_in::access::{AccessDenied, obstacle};
use crate::domain::{Host, InternalError, audit};
use assent_model::account::Account;
use assent_model::administration::Permission;
use assent_model::application::{Application, RegisteredApplication};
use assent_model::audit::{AuditContext, Event};
use assent_model::caller::Principal;
use assent_model::id::{AccountId, Did};
use assent_model::saml::{NameIdFormat, ServiceProvider};
use assent_model::scope::{Scope, Scopes};
use assent_model::secret::Digest;
use assent_model::session::{Amr, Authentication};
use assent_model::user::User;
use assent_plugin_host::{
    Candidate, CandidateError, LogLine, MapFailure, MapFailureKind, MapperRun, MapperRunEnd,
    PluginSet, SamlAttribute, Sink, TracedChange,
};

/// The longest name that a plugin may have, in characters.
const LONGEST_NAME: usize = 64;

/// What is to be previewed.
#[derive(Clone, Debug, serde::Serialize)]
pub struct PreviewRequest {
    /// Whose claims.
    pub account: AccountId,
    /// The scopes, one space between them; of those that the application may use. All of these where it is missing.
    pub scope: Option<String>,
    /// Where the claims would go; everywhere where an application of this protocol is told something, if there is none.
    pub sinks: Vec<Sink>,
}

/// What an application would be told in one place.
#[derive(Clone, Debug)]
pub struct Preview {
    /// Where the claims would go.
    pub sink: Sink,
    /// The scopes that count.
    pub scopes: Scopes,
    /// What keeps the person out before a plugin is asked. What would be told without that is shown all the same.
    pub obstacle: Option<AccessDenied>,
    /// What an ID token says of itself.
    pub token: Option<PreviewedToken>,
    /// What an assertion would call the person.
    pub name_id: Option<PreviewedName>,
    /// What it would be told, or the plugin that keeps it from being told anything.
    pub told: std::result::Result<PreviewContent, MapperStop>,
    /// Where each value comes from, the removed ones too.
    pub origins: Vec<Origin>,
    /// What each plugin did.
    pub steps: Vec<MapperRun>,
}

/// What an application would be told.
#[derive(Clone, Debug)]
pub enum PreviewContent {
    /// Claims, as the host and the plugins make them; without those of the token itself, such as `exp`.
    Claims(Map<String, Value>),
    /// Attributes.
    Attributes(Vec<SamlAttribute>),
}

/// What an ID token says beside what is said of the person.
#[derive(Clone, Debug)]
pub struct PreviewedToken {
    /// What is known before.
    pub known: IssuerClaims,
    /// Whether the claims of the scopes are at UserInfo alone.
    pub slim: bool,
}

/// What an assertion would call a person.
#[derive(Clone, Debug)]
pub struct PreviewedName {
    /// The format: the one that is given where a request asks for none.
    pub format: NameIdFormat,
    /// The text; none where each session has one of its own.
    pub value: Option<String>,
}

/// Who keeps an application from being told.
#[derive(Clone, Debug)]
pub struct MapperStop {
    /// The plugin.
    pub plugin: String,
    /// Whether it decided that the person does not get in, rather than failed.
    pub denied: bool,
    /// Why.
    pub reason: String,
}

/// Where a value comes from, or why it is not there.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// The claim, or the attribute's name.
    pub name: String,
    /// The plugin that had the last word; `None` for the host.
    pub plugin: Option<String>,
    /// What was done.
    pub change: ValueChange,
    /// The scope that stands for the claim, where there is one.
    pub scope: Option<Scope>,
}

/// What was done to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueChange {
    /// The server provided it.
    Provided,
    /// A plugin added it.
    Added,
    /// A plugin put another value in the place of one that was there.
    Replaced,
    /// A plugin removed it.
    Removed,
}

/// What changes with a candidate.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// By the plugins of current.
    pub current: Vec<Preview>,
    /// With the candidate among them.
    pub candidate: Vec<Preview>,
    /// What is not the same.
    pub differences: Vec<Difference>,
    /// The candidate's log lines.
    pub log: Vec<LogLine>,
}

/// A value that is not the same with a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where it would go.
    pub sink: Sink,
    /// The claim or attribute, as a JSON pointer (RFC 6901); `/stopped` where a plugin keeps the application from being told.
    pub path: String,
    /// Its value current, if there is one.
    pub current: Option<Value>,
    /// Its value with the candidate, if there is one.
    pub candidate: Option<Value>,
}

/// Makes the claims as a sign-in at this moment would, by the same code; nothing is kept, and no plugin can tell.
///
/// # Errors
/// [`AdminError::NotFound`] or [`AdminError::Invalid`] if the request does not fit the application.
/// Otherwise if the database or a plugin fails.
pub async fn preview(
    host: &Host,
    application: &Did,
    request: &PreviewRequest,
) -> Result<Vec<Preview>> {
    PreviewSubject::find(host, application, request)
        .await?
        .by(host, &host.plugins.set())
        .await
}

/// Compares what an application would be told with what a candidate plugin would have it told.
#[derive(Clone, Debug, serde::Serialize)]
pub struct TryCandidate {
    /// The application.
    pub application: Did,
    /// Whose claims.
    pub request: PreviewRequest,
    /// The candidate.
    pub candidate: Candidate,
}

impl AdminCommand for TryCandidate {
    type Plan = Self;
    type Outcome = Comparison;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Self>> {
        let (host, caller) = (&context.host, &context.caller);
        let authorization = caller
            .authorize(Permission::PluginsWrite, "you may not try plugins")?
            .and(caller.authorize(
                Permission::ClaimsRead,
                "this needs the permission claims:read too, which you do not have",
            )?);
        let component = self.candidate.component.as_deref().map(Digest::of);
        if component.is_some() && matches!(caller.principal, Principal::Application(_)) {
            return Err(AdminError::Forbidden(
                "a service account can't upload a component; use the console or a token of `assent admin token`",
            ));
        }
        let plugin = &self.candidate.plugin;
        let action = match component.filter(|digest| !host.plugins.has_component(digest)) {
            Some(digest) if !is_approved(context, plugin, &digest).await? => {
                Some(ProtectedAction::TryComponent {
                    plugin: plugin.clone(),
                    component: digest.to_text(),
                })
            }
            _ => None,
        };
        Ok(Planned::new(authorization, self.clone(), action))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<Self>,
        by: &AuditContext,
    ) -> Result<Execution<Comparison>> {
        let plan = approved.into_plan();
        let host = Arc::clone(&context.host);
        if let (Some(_), Some(console), Some(component)) = (
            by.approval.as_ref(),
            context.console(),
            &plan.candidate.component,
        ) {
            // It may be tried until the console's session ends. An approval for one plugin is none for another, because the
            // component runs with the grants of the plugin.
            let (session, component) = (console.signed_in.session.id, Digest::of(component));
            host.store
                .approve_component(session, &plan.candidate.plugin, &component, host.now())
                .await?;
        }
        let alone = host
            .rate_limits
            .candidate
            .hold(())
            .ok_or(AdminError::TooMany(
                "another candidate is tried at this moment",
            ))?;
        host.rate_limits
            .candidates
            .count_call(&(), host.now())
            .map_err(|_| {
                AdminError::TooMany(
                    "too many candidates were tried in the last minute; try again in a while",
                )
            })?;
        let by = by.clone();
        // It goes on to its end even where nobody waits for it any more, and none begins before that.
        let compared = tokio::spawn(async move {
            let Self {
                application,
                request,
                candidate,
            } = plan;
            let compared = compare(&host, &application, &request, candidate, &by).await;
            drop(alone);
            compared
        });
        let compared = compared
            .await
            .map_err(|error| InternalError::Plugin(format!("comparison broke off: {error}")))?;
        compared.map(Execution::Done)
    }
}

/// Whether the administrator approved the component for this plugin in this session of the console.
async fn is_approved(context: &AdminContext, plugin: &str, component: &Digest) -> Result<bool> {
    let Some(console) = context.console() else {
        return Ok(false);
    };
    let session = console.signed_in.session.id;
    let store = &context.host.store;
    Ok(store
        .is_component_approved(session, plugin, component)
        .await?)
}

/// The same by the plugins of today and with a candidate among them, which is loaded for this alone.
///
/// # Errors
/// [`AdminError::Invalid`] at `candidate` for one that can't be used, at `candidate/config` for one that needs settings of its own.
async fn compare(
    host: &Host,
    application: &Did,
    request: &PreviewRequest,
    candidate: Candidate,
    by: &AuditContext,
) -> Result<Comparison> {
    let previewed = PreviewSubject::find(host, application, request).await?;
    record_preview(host, application, &previewed, &candidate, by).await?;
    let (set, journal) = host
        .plugins
        .with_candidate(candidate)
        .await
        .map_err(|error| {
            let field = match error {
                CandidateError::NeedsConfig => "candidate/config",
                CandidateError::Load(_) => "candidate",
            };
            invalid(field, error.to_string())
        })?;
    let current = previewed.by(host, &host.plugins.set()).await?;
    let candidate = previewed.by(host, &set).await?;
    let differences = current
        .iter()
        .zip(&candidate)
        .flat_map(|(current, candidate)| differences(current, candidate));
    Ok(Comparison {
        differences: differences.collect(),
        current,
        candidate,
        log: journal.lines(),
    })
}

/// Tells the audit log of a candidate before it runs: it sees what is known of a person.
async fn record_preview(
    host: &Host,
    application: &Did,
    previewed: &PreviewSubject,
    Candidate {
        plugin, component, ..
    }: &Candidate,
    by: &AuditContext,
) -> Result<()> {
    let digest = match component {
        Some(bytes) => Some(Digest::of(bytes).to_text()),
        None => {
            let known = host
                .plugins
                .set()
                .identities()
                .into_iter()
                .find(|identity| identity.plugin == *plugin);
            known.map(|identity| identity.sha256)
        }
    };
    let entry = audit::entry(host, Event::ClaimsCompared, by)
        .about(previewed.user.id)
        .of(application.clone());
    let entry = entry
        .with("account", previewed.account.id.to_string())
        .with(
            "plugin",
            plugin.chars().take(LONGEST_NAME).collect::<String>(),
        )
        .with("sha256", digest);
    host.store.append_audit(vec![entry]).await?;
    Ok(())
}

/// About whom, for whom, and where.
struct PreviewSubject {
    user: User,
    account: Account,
    authentication: Authentication,
    at: PreviewTarget,
}

/// The application, and the places of its protocol.
enum PreviewTarget {
    Client(Arc<Application>, Scopes, Vec<Sink>),
    ServiceProvider(Arc<ServiceProvider>),
}

impl PreviewSubject {
    async fn find(host: &Host, application: &Did, request: &PreviewRequest) -> Result<Self> {
        let account = account(host, request.account).await?;
        if account.application_id != *application {
            return Err(AdminError::NotFound("account"));
        }
        let user = super::user(host, account.user_id).await?;
        let authentication = Authentication {
            at: host.now(),
            amr: vec![Amr::Swk, Amr::User],
            channel: None,
        };
        let wants_saml = |sink: &Sink| *sink == Sink::SamlAssertion;
        let at = match registered(host, application).await? {
            RegisteredApplication::Client(client) => {
                if request.sinks.iter().any(wants_saml) {
                    return Err(invalid(
                        "sink",
                        "expected id-token, userinfo or introspection for this application",
                    ));
                }
                let allowed = &client.settings.scopes;
                let scopes = match &request.scope {
                    Some(text) => Scopes::parse(text)
                        .ok_or_else(|| {
                            invalid("scope", "expected known scopes with a space between them")
                        })?
                        .both(allowed),
                    None => allowed.clone(),
                };
                let named = |sink: &Sink| request.sinks.is_empty() || request.sinks.contains(sink);
                let sinks = [Sink::IdToken, Sink::Userinfo, Sink::Introspection]
                    .into_iter()
                    .filter(named)
                    .collect();
                PreviewTarget::Client(client, scopes, sinks)
            }
            RegisteredApplication::ServiceProvider(provider) => {
                if !request.sinks.iter().all(wants_saml) {
                    return Err(invalid(
                        "sink",
                        "expected saml-assertion for this application",
                    ));
                }
                PreviewTarget::ServiceProvider(provider)
            }
        };
        Ok(Self {
            user,
            account,
            authentication,
            at,
        })
    }

    async fn by(&self, host: &Host, plugins: &PluginSet) -> Result<Vec<Preview>> {
        let Self {
            user,
            account,
            authentication,
            at,
        } = self;
        let kept_out = obstacle(user, Some(account));
        match at {
            PreviewTarget::Client(client, scopes, sinks) => {
                let sub = standard_claims::subject_of(host, client, user)?;
                let mut previews = Vec::new();
                for sink in sinks {
                    let subject = Subject {
                        application: client,
                        user,
                        account,
                        scopes,
                        authentication: (*sink != Sink::Userinfo).then_some(authentication),
                        sub: &sub,
                        requested: &BTreeMap::new(),
                    };
                    let made = standard_claims::map_by(host, plugins, subject, *sink).await;
                    let made = made.map(|ApplicationClaims { claims, steps }| {
                        (PreviewContent::Claims(claims), steps)
                    });
                    let token = (*sink == Sink::IdToken).then(|| PreviewedToken {
                        known: IssuerClaims::new(host, client),
                        slim: client.settings.slim_id_token,
                    });
                    previews.push(Preview {
                        obstacle: kept_out,
                        token,
                        ..finish(*sink, scopes.clone(), made)
                    });
                }
                Ok(previews)
            }
            PreviewTarget::ServiceProvider(provider) => {
                let made = standard_claims::attributes_by(
                    host,
                    plugins,
                    provider,
                    (user, account),
                    authentication,
                )
                .await;
                let made =
                    made.map(|(attributes, steps)| (PreviewContent::Attributes(attributes), steps));
                let name_id = self.name_id(host, provider)?;
                let nameless = name_id.is_none().then_some(AccessDenied::NoName);
                let finished = finish(Sink::SamlAssertion, Scopes::default(), made);
                Ok(vec![Preview {
                    obstacle: kept_out.or(nameless),
                    name_id,
                    ..finished
                }])
            }
        }
    }

    /// What an assertion would call the person; `None` where there is nothing to call them by.
    fn name_id(&self, host: &Host, provider: &ServiceProvider) -> Result<Option<PreviewedName>> {
        let format = provider.settings.name_id.default;
        // It follows from the session, of which there is none.
        if format == NameIdFormat::Transient {
            return Ok(Some(PreviewedName {
                format,
                value: None,
            }));
        }
        let made = name_id::name_id_for(host, provider, &self.user, &self.account, "", format)?;
        Ok(made.map(|name| PreviewedName {
            format: name.format,
            value: Some(name.value),
        }))
    }
}

fn finish(
    sink: Sink,
    scopes: Scopes,
    made: std::result::Result<(PreviewContent, Vec<MapperRun>), MapFailure>,
) -> Preview {
    let (told, origins, steps) = match made {
        Ok((told, steps)) => {
            let origins = origins(&told, &steps);
            (Ok(told), origins, steps)
        }
        Err(MapFailure {
            plugin,
            kind,
            steps,
        }) => {
            let (denied, reason) = match kind {
                MapFailureKind::Deny(reason) => (true, reason),
                MapFailureKind::Fault(fault) => (false, fault.to_string()),
            };
            (
                Err(MapperStop {
                    plugin,
                    denied,
                    reason,
                }),
                Vec::new(),
                steps,
            )
        }
    };
    Preview {
        sink,
        scopes,
        obstacle: None,
        token: None,
        name_id: None,
        told,
        origins,
        steps,
    }
}

/// Where each value comes from: first the host's, then what the plugins did, the last word on each.
fn origins(told: &PreviewContent, steps: &[MapperRun]) -> Vec<Origin> {
    let mut origins: Vec<Origin> = Vec::new();
    let mut put = |origin: Origin| {
        origins.retain(|known| known.name != origin.name);
        origins.push(origin);
    };
    if let PreviewContent::Claims(claims) = told {
        for name in claims.keys() {
            put(Origin {
                name: name.clone(),
                plugin: None,
                change: ValueChange::Provided,
                scope: Scope::of_claim(name),
            });
        }
    }
    let mut began_without: BTreeSet<&str> = BTreeSet::new();
    for step in steps {
        let MapperRunEnd::Changed(changes) = &step.end else {
            continue;
        };
        for change in changes {
            let (name, change) = match change {
                TracedChange::Attribute(attribute) => (attribute.name.as_str(), ValueChange::Added),
                TracedChange::Claim {
                    name,
                    before,
                    after,
                } => {
                    if before.is_none() {
                        began_without.insert(name);
                    }
                    let there = !began_without.contains(name.as_str());
                    (
                        name.as_str(),
                        match (there, after) {
                            (_, None) => ValueChange::Removed,
                            (true, Some(_)) => ValueChange::Replaced,
                            (false, Some(_)) => ValueChange::Added,
                        },
                    )
                }
            };
            let plugin = Some(step.plugin.plugin.clone());
            put(Origin {
                name: name.to_owned(),
                plugin,
                change,
                scope: Scope::of_claim(name),
            });
        }
    }
    origins
}

/// What is not the same in one place.
fn differences(current: &Preview, candidate: &Preview) -> Vec<Difference> {
    let (left, right) = (values(current), values(candidate));
    let paths: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let differing = paths
        .into_iter()
        .filter(|path| left.get(*path) != right.get(*path));
    differing
        .map(|path| Difference {
            sink: current.sink,
            path: path.clone(),
            current: left.get(path).cloned(),
            candidate: right.get(path).cloned(),
        })
        .collect()
}

/// What is told, by its place.
fn values(preview: &Preview) -> BTreeMap<String, Value> {
    let at =
        |kind: &str, name: &str| format!("/{kind}/{}", name.replace('~', "~0").replace('/', "~1"));
    match &preview.told {
        Ok(PreviewContent::Claims(claims)) => claims
            .iter()
            .map(|(name, value)| (at("claims", name), value.clone()))
            .collect(),
        Ok(PreviewContent::Attributes(attributes)) => {
            let mut values: BTreeMap<String, Value> = BTreeMap::new();
            for attribute in attributes {
                let added = attribute.values.iter().cloned().map(Value::String);
                let known = values
                    .entry(at("attributes", &attribute.name))
                    .or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(known) = known {
                    known.extend(added);
                }
            }
            values
        }
        Err(stopped) => [(
            "/stopped".to_owned(),
            Value::String(format!("{}: {}", stopped.plugin, stopped.reason)),
        )]
        .into_iter()
        .collect(),
    }
}
