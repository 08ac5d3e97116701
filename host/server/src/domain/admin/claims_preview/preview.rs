//! The preview of the claims about a user that an application would receive.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::domain::Services;
use crate::domain::admin::applications::require_known_scopes;
use crate::domain::admin::{AdminError, Result, account, invalid, registered_application};
use crate::domain::claims::name_id::MissingName;
use crate::domain::claims::standard_claims::{ApplicationClaims, ClaimSubject};
use crate::domain::claims::token_claims::IssuerClaims;
use crate::domain::claims::{name_id, standard_claims};
use crate::domain::sign_in::access::{AccessDenied, account_in, obstacle};
use assent_model::account::Account;
use assent_model::application::{Application, RegisteredApplication};
use assent_model::id::{AccountId, Did, UserId};
use assent_model::saml::{NameIdFormat, ServiceProvider};
use assent_model::scope::{Scope, Scopes};
use assent_model::session::{Amr, Authentication};
use assent_model::user::User;
use assent_plugin_host::{
    MapFailure, MapFailureKind, MapperRun, MapperRunEnd, PluginSet, SamlAttribute, Sink,
    TracedChange,
};

assent_model::admin_command! {
    /// The request for a preview.
    #[derive(Clone, Debug, serde::Serialize)]
    pub struct PreviewRequest {
        /// The account.
        target account: PreviewedAccount,
        /// The scopes, separated by spaces, from those that the application may use. `None`: all of these.
        harmless scope: Option<String>,
        /// The receivers of the claims. Empty: all receivers of the application's protocol.
        harmless sinks: Vec<Sink>,
    }
}

/// The account of a preview.
#[derive(Clone, Copy, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PreviewedAccount {
    /// A stored account.
    Stored(AccountId),
    /// The account that a sign-in of this user would use. An assignment may imply it, so it need not be stored.
    OfUser(UserId),
}

/// The content that an application would receive through one sink.
#[derive(Clone, Debug)]
pub struct Preview {
    /// The receiver of the claims.
    pub sink: Sink,
    /// The effective scopes.
    pub scopes: Scopes,
    /// The reason for which the user is denied before a plugin is called. The preview shows the content of an allowed
    /// sign-in nevertheless.
    pub obstacle: Option<AccessDenied>,
    /// The claims of an ID token about itself.
    pub token: Option<PreviewedToken>,
    /// The NameID of an assertion.
    pub name_id: Option<PreviewedName>,
    /// The content, or the plugin that prevents the response.
    pub content: std::result::Result<PreviewContent, MapperStop>,
    /// The origin of each value, including removed values.
    pub origins: Vec<ClaimOrigin>,
    /// The run of each plugin.
    pub steps: Vec<MapperRun>,
}

/// The content that an application would receive.
#[derive(Clone, Debug)]
pub enum PreviewContent {
    /// Claims, as the server and the plugins produce them, without those of the token itself, such as `exp`.
    Claims(Map<String, Value>),
    /// Attributes.
    Attributes(Vec<SamlAttribute>),
}

/// The claims of an ID token that are not about the user.
#[derive(Clone, Debug)]
pub struct PreviewedToken {
    /// The claims with values that are known before the sign-in.
    pub known: IssuerClaims,
    /// Whether the claims of the scopes are only at UserInfo.
    pub slim: bool,
}

/// The NameID of an assertion.
#[derive(Clone, Debug)]
pub struct PreviewedName {
    /// The format for a request that specifies no format.
    pub format: NameIdFormat,
    /// The text. `None` if each session has its own.
    pub value: Option<String>,
}

/// The plugin that prevents the response to an application.
#[derive(Clone, Debug)]
pub struct MapperStop {
    /// The plugin.
    pub plugin: String,
    /// Whether the plugin denied access to the user. Otherwise it failed.
    pub denied: bool,
    /// The reason.
    pub reason: String,
}

/// The origin of a value, or the reason why it is missing.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimOrigin {
    /// The name of the claim or attribute.
    pub name: String,
    /// The last plugin that changed the value. `None`: the server.
    pub plugin: Option<String>,
    /// The kind of the change.
    pub change: ValueChange,
    /// The scope to which the claim belongs, if there is one.
    pub scope: Option<Scope>,
}

/// A kind of change of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueChange {
    /// The server provided it.
    Provided,
    /// A plugin added it.
    Added,
    /// A plugin replaced an existing value.
    Replaced,
    /// A plugin removed it.
    Removed,
}

/// Computes the claims with the code of a sign-in at this moment. Stores nothing, and the plugins cannot detect the
/// preview.
///
/// # Errors
/// [`AdminError::NotFound`] or [`AdminError::Invalid`] if the request does not fit the application. Otherwise if a
/// plugin fails.
pub async fn preview(
    services: &Services,
    application: &Did,
    request: &PreviewRequest,
) -> Result<Vec<Preview>> {
    PreviewSubject::find(services, application, request)
        .await?
        .preview_with(services, &services.plugins.set())
        .await
}

/// Computes the claims of a user with this account, which need not be stored yet. See [`preview`].
///
/// # Errors
/// As [`preview`].
pub async fn preview_of(
    services: &Services,
    user: User,
    account: Account,
    scope: Option<&str>,
    sinks: &[Sink],
) -> Result<Vec<Preview>> {
    PreviewSubject::new(services, user, account, scope, sinks)
        .await?
        .preview_with(services, &services.plugins.set())
        .await
}

/// The user, the application and the sinks of a preview.
pub(super) struct PreviewSubject {
    pub(super) user: User,
    pub(super) account: Account,
    authentication: Authentication,
    at: PreviewTarget,
}

/// The application, and the sinks of its protocol.
enum PreviewTarget {
    Client(Arc<Application>, Scopes, Vec<Sink>),
    ServiceProvider(Arc<ServiceProvider>),
}

impl PreviewSubject {
    pub(super) async fn find(
        services: &Services,
        application: &Did,
        request: &PreviewRequest,
    ) -> Result<Self> {
        let (user, account) = match request.account {
            PreviewedAccount::Stored(id) => {
                let account = account(services, id).await?;
                if account.application_id != *application {
                    return Err(AdminError::NotFound("account"));
                }
                (
                    super::super::user(services, account.user_id).await?,
                    account,
                )
            }
            PreviewedAccount::OfUser(id) => {
                registered_application(services, application).await?;
                let user = super::super::user(services, id).await?;
                let account = account_in(services, &user, application).await?;
                let expected = "expected a user with access to the application";
                (user, account.ok_or_else(|| invalid("user", expected))?)
            }
        };
        let scope = request.scope.as_deref();
        Self::new(services, user, account, scope, &request.sinks).await
    }

    async fn new(
        services: &Services,
        user: User,
        account: Account,
        scope: Option<&str>,
        requested: &[Sink],
    ) -> Result<Self> {
        let authentication = Authentication {
            at: services.now(),
            amr: vec![Amr::Swk, Amr::User],
            channel: None,
        };
        let wants_saml = |sink: &Sink| *sink == Sink::SamlAssertion;
        let at = match registered_application(services, &account.application_id).await? {
            RegisteredApplication::Client(client) => {
                if requested.iter().any(wants_saml) {
                    return Err(invalid(
                        "sink",
                        "expected id-token, userinfo or introspection for this application",
                    ));
                }
                let allowed = &client.settings.scopes;
                let scopes = match scope {
                    Some(text) => {
                        let names = text.split(' ').filter(|name| !name.is_empty());
                        require_known_scopes("scope", names)?;
                        Scopes::parse_known(text).both(allowed)
                    }
                    None => allowed.clone(),
                };
                let named = |sink: &Sink| requested.is_empty() || requested.contains(sink);
                let sinks = [Sink::IdToken, Sink::Userinfo, Sink::Introspection]
                    .into_iter()
                    .filter(named)
                    .collect();
                PreviewTarget::Client(client, scopes, sinks)
            }
            RegisteredApplication::ServiceProvider(provider) => {
                if !requested.iter().all(wants_saml) {
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

    pub(super) async fn preview_with(
        &self,
        services: &Services,
        plugins: &PluginSet,
    ) -> Result<Vec<Preview>> {
        let Self {
            user,
            account,
            authentication,
            at,
        } = self;
        let plugins = &plugins.clone().for_previews();
        let denial = obstacle(user, Some(account));
        match at {
            PreviewTarget::Client(client, scopes, sinks) => {
                let sub = standard_claims::subject_of(services, client, user)?;
                let mut previews = Vec::new();
                for sink in sinks {
                    let subject = ClaimSubject {
                        application: client,
                        user,
                        account,
                        scopes,
                        authentication: (*sink != Sink::Userinfo).then_some(authentication),
                        sub: &sub,
                        requested: &BTreeMap::new(),
                    };
                    let made = standard_claims::map_by(services, plugins, subject, *sink).await;
                    let made = made.map(|ApplicationClaims { claims, steps }| {
                        (PreviewContent::Claims(claims), steps)
                    });
                    let token = (*sink == Sink::IdToken).then(|| PreviewedToken {
                        known: IssuerClaims::new(services, client),
                        slim: client.settings.slim_id_token,
                    });
                    previews.push(Preview {
                        obstacle: denial,
                        token,
                        ..finish(*sink, scopes.clone(), made)
                    });
                }
                Ok(previews)
            }
            PreviewTarget::ServiceProvider(provider) => {
                let made = standard_claims::attributes_by(
                    services,
                    plugins,
                    provider,
                    user,
                    account,
                    authentication,
                )
                .await;
                let made =
                    made.map(|(attributes, steps)| (PreviewContent::Attributes(attributes), steps));
                let name_id = self.name_id(services, provider)?;
                let nameless = name_id.as_ref().err().copied();
                let nameless = nameless.map(AccessDenied::of_missing_name);
                let finished = finish(Sink::SamlAssertion, Scopes::default(), made);
                Ok(vec![Preview {
                    obstacle: denial.or(nameless),
                    name_id: name_id.ok(),
                    ..finished
                }])
            }
        }
    }

    /// Returns the NameID of an assertion, or the reason why there is none.
    fn name_id(
        &self,
        services: &Services,
        provider: &ServiceProvider,
    ) -> Result<std::result::Result<PreviewedName, MissingName>> {
        let format = provider.settings.name_id.default;
        // A transient NameID is derived from the session, which a preview does not have.
        if format == NameIdFormat::Transient {
            return Ok(Ok(PreviewedName {
                format,
                value: None,
            }));
        }
        let made = name_id::name_id_for(services, provider, &self.user, &self.account, "", format)?;
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
    let (content, origins, steps) = match made {
        Ok((content, steps)) => {
            let origins = origins(&content, &steps);
            (Ok(content), origins, steps)
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
        content,
        origins,
        steps,
    }
}

/// Returns the origin of each value: first the server, then the changes by plugins. For each value the last change
/// counts.
fn origins(content: &PreviewContent, steps: &[MapperRun]) -> Vec<ClaimOrigin> {
    let mut origins: Vec<ClaimOrigin> = Vec::new();
    let mut put = |origin: ClaimOrigin| {
        origins.retain(|known| known.name != origin.name);
        origins.push(origin);
    };
    if let PreviewContent::Claims(claims) = content {
        for name in claims.keys() {
            put(ClaimOrigin {
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
            put(ClaimOrigin {
                name: name.to_owned(),
                plugin,
                change,
                scope: Scope::of_claim(name),
            });
        }
    }
    origins
}
