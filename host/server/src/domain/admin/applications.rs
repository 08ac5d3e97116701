//! Applications.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use url::Url;
use utoipa::ToSchema;

use super::changes::Settings;
use super::command::{
    AdminCommand, AdminContext, ApprovedPlan, Execution, Planned, changed_members,
};
use super::{AdminError, Result, fresh_did, invalid};
use crate::domain::protected_actions::{ClientState, ProtectedAction};
use crate::domain::{Host, InternalError, audit};
use crate::keys::client;
use assent_model::administration::{AdminScope, AdminScopes, Permission};
use assent_model::application::{
    Application, ApplicationType, BackchannelLogout, ConsentPolicy, GrantType, InitiateLoginUri,
    OidcSettings, Protocol, RegisteredApplication, SubjectType,
};
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::caller::Caller;
use assent_model::caller::{Authorization, Denied};
use assent_model::client_auth::{ClientAuthMethod, ClientAuthentication, ClientKeys};
use assent_model::id::Did;
use assent_model::key::SigningAlgorithm;
use assent_model::name::display_text;
use assent_model::redirect::RedirectUri;
use assent_model::scope::{Scope, Scopes};
use assent_model::secret::Secret;
use assent_plugin_host::egress::Egress;
use assent_store::VersionedWrite;

/// How many redirect URIs of a kind an application may have.
const MOST_URIS: usize = 50;

assent_model::admin_command! {
    /// What makes or changes an OpenID Connect client. What is missing stays as it is; a new one has it as usual.
    #[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    pub struct ClientChange, protected ProtectedClientMembers {
        /// A new application must have one, and it stays.
        protected application_type: Option<ApplicationType>,
        /// The name that people see. A new application must have one.
        protected name: Option<String>,
        /// Where a person may be sent back to: compared letter by letter.
        protected redirect_uris: Option<Vec<String>>,
        /// Where a person may be sent after signing out.
        protected post_logout_redirect_uris: Option<Vec<String>>,
        /// What it may ask for.
        #[schema(value_type = Option<Vec<Scope>>)]
        protected scopes: Option<Vec<String>>,
        /// The grant types that it may use.
        protected grant_types: Option<Vec<GrantType>>,
        /// How it authenticates itself.
        protected token_endpoint_auth_method: Option<ClientAuthMethod>,
        /// A JSON Web Key Set (RFC 7517 section 5).
        #[schema(value_type = Option<Object>)]
        protected jwks: Option<Value>,
        /// Where that is fetched from.
        protected jwks_uri: Option<String>,
        /// A public key in PEM form.
        protected public_key: Option<String>,
        /// A certificate in PEM form.
        protected certificate: Option<String>,
        /// How its ID tokens are signed.
        protected id_token_signed_response_alg: Option<SigningAlgorithm>,
        /// Whether its ID tokens leave the claims of the scopes to UserInfo.
        harmless slim_id_token: Option<bool>,
        /// Whether it has a `sub` of its own sector.
        protected subject_type: Option<SubjectKind>,
        /// The host name of the sector; without one, the one that its redirect URIs have in common.
        protected sector_identifier: Option<String>,
        /// Whether people are asked.
        protected consent: Option<ConsentPolicy>,
        /// Where it is notified of the end of sessions; null takes it away.
        #[serde(default, deserialize_with = "present")]
        protected backchannel_logout_uri: Option<Option<String>>,
        /// Whether it needs `sid` in a logout token.
        harmless backchannel_logout_session_required: Option<bool>,
        /// Where a sign-in to it can be begun from here; null takes it away.
        #[serde(default, deserialize_with = "present")]
        protected initiate_login_uri: Option<Option<String>>,
        /// Whether its client assertions may name the token endpoint as their audience, and not the issuer. A server that knows one of
        /// its assertions could then use it here. Not for an application with `admin_scopes`.
        protected lenient_assertion_audience: Option<bool>,
        /// What it may do in the admin API as itself. Only an owner may say.
        #[schema(value_type = Option<Vec<AdminScope>>)]
        protected admin_scopes: Option<AdminScopes>,
    }
}

/// What an application calls people: what everybody calls them, or something of its own sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SubjectType)]
pub enum SubjectKind {
    /// What everybody calls them.
    Public,
    /// Something of its own sector.
    Pairwise,
}

/// Distinguishes `null`, which takes the value away (RFC 7396), from a missing member.
fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Creates an OpenID Connect client. Its Client ID is a fresh DID.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CreateClient(pub ClientChange);

impl AdminCommand for CreateClient {
    type Plan = Application;
    type Outcome = Application;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Application>> {
        let Self(change) = self;
        let authorization = authorize(&context.caller, change)?;
        let kind = change
            .application_type
            .ok_or_else(|| invalid("application_type", "expected web, spa or native"))?;
        let application = made(&context.host, kind, change.clone())?;
        let action = change
            .admin_scopes
            .is_some()
            .then(|| ProtectedAction::CreateApplication(ClientState::of(&application)));
        Ok(Planned::new(authorization, application, action))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<Application>,
        by: &AuditContext,
    ) -> Result<Execution<Application>> {
        let application = approved.into_plan();
        let host = &context.host;
        let entry = audit::entry(host, Event::ApplicationCreated, by).of(application.id.clone());
        let entry = Settings::of_client(&application).made(entry);
        host.store
            .insert_application(application.clone(), vec![entry])
            .await?;
        tracing::info!(application = %application.id, "application created");
        Ok(Execution::Done(application))
    }
}

/// Authorizes the caller to say all of this of a client.
fn authorize(caller: &Caller, change: &ClientChange) -> std::result::Result<Authorization, Denied> {
    if change.admin_scopes.is_some() {
        caller.authorize(
            Permission::RolesWrite,
            "admin_scopes: only an owner may give or take them",
        )
    } else {
        caller.authorize_application_writes()
    }
}

/// How an application is to authenticate itself: with at most one of the four kinds of key.
struct AuthenticationChange {
    method: Option<ClientAuthMethod>,
    jwks: Option<Value>,
    jwks_uri: Option<String>,
    public_key: Option<String>,
    certificate: Option<String>,
}

/// A new application, not yet kept.
fn made(host: &Host, kind: ApplicationType, change: ClientChange) -> Result<Application> {
    let now = host.now();
    let mut application = Application {
        id: fresh_did()?,
        name: String::new(),
        settings: OidcSettings::new(kind),
        secret: None,
        sealed_secret: None,
        version: 1,
        created_at: now,
        updated_at: now,
    };
    if change.name.is_none() {
        return Err(invalid("name", "expected a name"));
    }
    apply(host, &mut application, change)?;
    Ok(application)
}

/// Updates a client. A change to `client_secret_jwt` makes a new client secret, which is answered, this once:
/// of the old one nothing is kept that would do.
#[derive(Clone, Debug, serde::Serialize)]
pub struct UpdateClient {
    /// The client.
    pub application: Did,
    /// What changes.
    pub change: ClientChange,
}

/// A client before and after an update.
#[derive(Clone, Debug)]
pub struct ClientUpdate {
    before: Application,
    after: Application,
}

impl AdminCommand for UpdateClient {
    type Plan = ClientUpdate;
    type Outcome = (Application, Option<Secret>);

    async fn plan(&self, context: &AdminContext) -> Result<Planned<ClientUpdate>> {
        let (host, caller, change) = (&context.host, &context.caller, &self.change);
        let before = application(host, &self.application).await?;
        let authorization = caller
            .authorize_application(&before)?
            .and(authorize(caller, change)?);
        if change.application_type.is_some() {
            return Err(invalid(
                "application_type",
                "it can't be changed; make a new application",
            ));
        }
        context.expected.check(before.version)?;
        let mut after = before.clone();
        apply(host, &mut after, change.clone())?;
        // Of a service account every change is protected.
        let is_service = |client: &Application| client.settings.is_service_account();
        let are_shown = is_service(&before) || is_service(&after);
        let members = change.members();
        let is_protected = members
            .iter()
            .any(|member| member.is_protected || is_service(&before));
        let action = is_protected.then(|| ProtectedAction::UpdateClient {
            application: before.id.clone(),
            before: ClientState::of(&before),
            after: ClientState::of(&after),
            members: changed_members(members, are_shown),
        });
        Ok(Planned::new(
            authorization,
            ClientUpdate { before, after },
            action,
        ))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<ClientUpdate>,
        by: &AuditContext,
    ) -> Result<Execution<(Application, Option<Secret>)>> {
        let ClientUpdate { before, mut after } = approved.into_plan();
        let host = &context.host;
        let entry = |event| audit::entry(host, event, by).of(before.id.clone());
        after.updated_at = host.now();
        let method = after.settings.auth_method();
        let is_new = method != before.settings.auth_method();
        let fresh = (is_new && method == ClientAuthMethod::ClientSecretJwt)
            .then(|| give_secret(host, &mut after))
            .transpose()?;
        if method != ClientAuthMethod::ClientSecretJwt {
            after.sealed_secret = None;
        }
        if !method.uses_secret() {
            after.secret = None;
        }
        let mut entries: Vec<Entry> = Settings::of_client(&before)
            .change(
                Settings::of_client(&after),
                entry(Event::ApplicationChanged),
            )
            .into_iter()
            .collect();
        entries.extend(fresh.is_some().then(|| entry(Event::ClientSecretRotated)));
        let written = host
            .store
            .update_application(after.clone(), entries)
            .await?;
        if written == VersionedWrite::Stale {
            return Ok(Execution::Overtaken);
        }
        after.version += 1;
        tracing::info!(application = %after.id, "application changed");
        Ok(Execution::Done((after, fresh)))
    }
}

/// Gives a web application a new client secret. It is shown this once; the old one is worth nothing from now on.
#[derive(Clone, Debug, serde::Serialize)]
pub struct RotateClientSecret(pub Did);

impl AdminCommand for RotateClientSecret {
    type Plan = Application;
    type Outcome = Secret;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Application>> {
        let client = match registered(&context.host, &self.0).await? {
            RegisteredApplication::Client(client) => Arc::unwrap_or_clone(client),
            RegisteredApplication::ServiceProvider(_) => {
                return Err(invalid(
                    "protocol",
                    "a SAML application has certificates, and no secret",
                ));
            }
        };
        let authorization = context.caller.authorize_application(&client)?;
        if !client.settings.application_type.is_confidential() {
            return Err(invalid(
                "application_type",
                "only a web application has a client secret",
            ));
        }
        let method = client.settings.auth_method();
        if !method.uses_secret() {
            let expected = format!(
                "the application authenticates itself with {}, without a secret",
                method.as_str()
            );
            return Err(invalid("token_endpoint_auth_method", expected));
        }
        let action = ProtectedAction::RotateClientSecret(client.id.clone());
        Ok(Planned::protected(authorization, client, action))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<Application>,
        by: &AuditContext,
    ) -> Result<Execution<Secret>> {
        let mut application = approved.into_plan();
        let host = &context.host;
        let id = application.id.clone();
        let secret = give_secret(host, &mut application)?;
        application.updated_at = host.now();
        let entry = audit::entry(host, Event::ClientSecretRotated, by).of(id.clone());
        let written = host
            .store
            .update_application(application, vec![entry])
            .await?;
        if written == VersionedWrite::Stale {
            return Ok(Execution::Overtaken);
        }
        tracing::info!(application = %id, "client secret made");
        Ok(Execution::Done(secret))
    }
}

fn give_secret(host: &Host, application: &mut Application) -> Result<Secret> {
    let secret = Secret::random(&*host.entropy);
    application.secret = Some(secret.digest());
    application.sealed_secret = match application.settings.auth_method() {
        ClientAuthMethod::ClientSecretJwt => {
            let purpose = client::secret_purpose(&application.id);
            let sealed = host
                .master_key
                .seal(&purpose, secret.expose().as_bytes(), &*host.entropy);
            Some(sealed.map_err(InternalError::from)?)
        }
        _ => None,
    };
    Ok(secret)
}

fn apply(host: &Host, application: &mut Application, change: ClientChange) -> Result<()> {
    let keys = AuthenticationChange {
        method: change.token_endpoint_auth_method,
        jwks: change.jwks,
        jwks_uri: change.jwks_uri,
        public_key: change.public_key,
        certificate: change.certificate,
    };
    let (allow_insecure, egress) = (host.settings.allow_insecure_redirect_uris, &host.egress);
    if let Some(name) = change.name {
        application.name = display_text(&name, 120).ok_or_else(|| {
            invalid(
                "name",
                "expected 1 to 120 characters, none of them control characters",
            )
        })?;
    }
    let settings = &mut application.settings;
    let kind = settings.application_type;
    if let Some(texts) = change.redirect_uris {
        settings.redirect_uris = uris("redirect_uris", &texts, kind, allow_insecure)?;
    }
    if let Some(texts) = change.post_logout_redirect_uris {
        settings.post_logout_redirect_uris =
            uris("post_logout_redirect_uris", &texts, kind, allow_insecure)?;
    }
    if let Some(names) = change.scopes {
        settings.scopes = scopes(&names)?;
    }
    if let Some(grant_types) = change.grant_types {
        settings.grant_types = grant_types.into_iter().collect();
        if settings.grant_types.is_empty() {
            return Err(invalid("grant_types", "expected one at least"));
        }
    }
    settings.authentication = authentication(settings, keys, egress)?;
    settings.id_token_algorithm = change
        .id_token_signed_response_alg
        .unwrap_or(settings.id_token_algorithm);
    settings.slim_id_token = change.slim_id_token.unwrap_or(settings.slim_id_token);
    settings.consent = change.consent.unwrap_or(settings.consent);
    let pairwise = change
        .subject_type
        .map(|kind| kind == SubjectKind::Pairwise);
    settings.subject_type = subject_type(settings, pairwise, change.sector_identifier)?;
    if let Some(uri) = change.backchannel_logout_uri {
        settings.backchannel_logout = match uri {
            None => None,
            Some(text) => Some(BackchannelLogout {
                uri: server_address("backchannel_logout_uri", &text, egress)?,
                session_required: settings
                    .backchannel_logout
                    .as_ref()
                    .is_some_and(|logout| logout.session_required),
            }),
        };
    }
    match (
        change.backchannel_logout_session_required,
        &mut settings.backchannel_logout,
    ) {
        (Some(required), Some(logout)) => logout.session_required = required,
        (Some(true), None) => {
            return Err(invalid(
                "backchannel_logout_session_required",
                "expected a backchannel_logout_uri with it",
            ));
        }
        _ => {}
    }
    if let Some(uri) = change.initiate_login_uri {
        let checked = uri.map(|text| InitiateLoginUri::parse(&text)).transpose();
        settings.initiate_login_uri =
            checked.map_err(|unfit| invalid("initiate_login_uri", unfit.to_string()))?;
    }
    settings.admin_scopes = change
        .admin_scopes
        .unwrap_or_else(|| settings.admin_scopes.clone());
    if settings.admin_scopes_of(&settings.admin_scopes) != settings.admin_scopes {
        return Err(invalid(
            "admin_scopes",
            "expected a web application with the grant type client_credentials",
        ));
    }
    settings.lenient_assertion_audience = change
        .lenient_assertion_audience
        .unwrap_or(settings.lenient_assertion_audience);
    if settings.lenient_assertion_audience && settings.is_service_account() {
        let expected = "expected false for an application with admin_scopes: the audience of its client assertions must be the issuer";
        return Err(invalid("lenient_assertion_audience", expected));
    }
    if settings.redirect_uris.is_empty()
        && settings.grant_types.contains(&GrantType::AuthorizationCode)
    {
        return Err(invalid(
            "redirect_uris",
            "expected one redirect URI at least",
        ));
    }
    Ok(())
}

fn uris(
    field: &'static str,
    texts: &[String],
    kind: ApplicationType,
    allow_insecure: bool,
) -> Result<Vec<RedirectUri>> {
    if texts.len() > MOST_URIS {
        return Err(invalid(field, format!("expected {MOST_URIS} at most")));
    }
    let checked = texts
        .iter()
        .map(|text| RedirectUri::register(text, kind, allow_insecure));
    checked
        .collect::<std::result::Result<_, _>>()
        .map_err(|error| invalid(field, error.to_string()))
}

fn scopes(names: &[String]) -> Result<Scopes> {
    let known: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(invalid(
            "scopes",
            format!(
                "{unknown:?} is unknown; expected some of {}",
                known.join(", ")
            ),
        ));
    }
    let scopes = Scopes::known(&names.join(" "));
    if !scopes.has(Scope::OpenId) {
        return Err(invalid("scopes", "expected openid among them"));
    }
    Ok(scopes)
}

/// How the application will authenticate itself.
fn authentication(
    settings: &OidcSettings,
    change: AuthenticationChange,
    egress: &Egress,
) -> Result<ClientAuthentication> {
    const FIELD: &str = "token_endpoint_auth_method";
    let method = change.method.unwrap_or_else(|| settings.auth_method());
    let keys = [
        change.jwks.is_some(),
        change.jwks_uri.is_some(),
        change.public_key.is_some(),
        change.certificate.is_some(),
    ];
    let given = keys.into_iter().filter(|given| *given).count();
    if !settings.application_type.is_confidential() {
        return match (method, given) {
            (ClientAuthMethod::None, 0) => Ok(settings.authentication.clone()),
            _ => Err(invalid(
                FIELD,
                "an SPA or native application has none, and no keys",
            )),
        };
    }
    let without_keys = |authentication| match given {
        0 => Ok(authentication),
        _ => Err(invalid(
            FIELD,
            format!("{} takes no keys or certificates", method.as_str()),
        )),
    };
    match method {
        ClientAuthMethod::None => Err(invalid(FIELD, "a web application must authenticate itself")),
        ClientAuthMethod::ClientSecretBasic => {
            without_keys(ClientAuthentication::ClientSecretBasic)
        }
        ClientAuthMethod::ClientSecretPost => without_keys(ClientAuthentication::ClientSecretPost),
        ClientAuthMethod::ClientSecretJwt => without_keys(ClientAuthentication::ClientSecretJwt),
        ClientAuthMethod::PrivateKeyJwt => match (&settings.authentication, given) {
            (ClientAuthentication::PrivateKeyJwt(_), 0) => Ok(settings.authentication.clone()),
            (_, 1) => Ok(ClientAuthentication::PrivateKeyJwt(client_keys(
                change, egress,
            )?)),
            _ => Err(invalid(
                FIELD,
                "private_key_jwt takes one of jwks, jwks_uri, public_key and certificate",
            )),
        },
        ClientAuthMethod::TlsClientCertificate => {
            match (&settings.authentication, change.certificate, given) {
                (ClientAuthentication::TlsClientCertificate(_), None, 0) => {
                    Ok(settings.authentication.clone())
                }
                (_, Some(pem), 1) => {
                    let certificate = client::certificate(&pem)
                        .map_err(|error| invalid("certificate", error.to_string()))?;
                    Ok(ClientAuthentication::TlsClientCertificate(certificate))
                }
                _ => Err(invalid(
                    FIELD,
                    "tls_client_certificate takes a certificate, and nothing else",
                )),
            }
        }
    }
}

fn client_keys(change: AuthenticationChange, egress: &Egress) -> Result<ClientKeys> {
    let (field, keys) = match (
        change.jwks,
        change.jwks_uri,
        change.public_key,
        change.certificate,
    ) {
        (Some(set), ..) => ("jwks", client::keys_of_set(&set)),
        (_, Some(uri), ..) => {
            return Ok(ClientKeys::JwksUri(server_address(
                "jwks_uri", &uri, egress,
            )?));
        }
        (.., Some(pem), _) => ("public_key", client::key_of_pem(&pem).map(|key| vec![key])),
        (.., pem) => (
            "certificate",
            client::key_of_certificate(&pem.unwrap_or_default()).map(|key| vec![key]),
        ),
    };
    keys.map(ClientKeys::Jwks)
        .map_err(|error| invalid(field, error.to_string()))
}

/// An address of the application's server, which this host calls: none that it would refuse to call anyway.
pub(super) fn server_address(field: &'static str, text: &str, egress: &Egress) -> Result<Url> {
    let url = (text.len() <= 2000)
        .then(|| Url::parse(text).ok())
        .flatten();
    let fits = |url: &Url| {
        matches!(url.scheme(), "https" | "http")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
    };
    let url = url.filter(fits).ok_or_else(|| {
        invalid(
            field,
            "expected an address that starts with https://, without user name or fragment",
        )
    })?;
    egress.judge(&url).map_err(|refused| {
        let expected = "expected an address on the public internet that starts with https://; http and private addresses \
                        only with [egress] allow_private_addresses = true in the settings";
        invalid(field, format!("{refused}; {expected}"))
    })?;
    Ok(url)
}

fn subject_type(
    settings: &OidcSettings,
    pairwise: Option<bool>,
    sector: Option<String>,
) -> Result<SubjectType> {
    const FIELD: &str = "sector_identifier";
    let known = match &settings.subject_type {
        SubjectType::Public => None,
        SubjectType::Pairwise { sector } => Some(sector.clone()),
    };
    if !pairwise.unwrap_or(known.is_some()) {
        return match sector {
            None => Ok(SubjectType::Public),
            Some(_) => Err(invalid(FIELD, "expected subject_type pairwise with it")),
        };
    }
    if let Some(given) = sector {
        return match url::Host::parse(&given) {
            Ok(host) => Ok(SubjectType::Pairwise {
                sector: host.to_string(),
            }),
            Err(_) => Err(invalid(
                FIELD,
                "expected a host name such as app.example.org",
            )),
        };
    }
    // OpenID Connect Core section 8.1: without a name of its own, the sector is the one host of the redirect URIs.
    let mut hosts: Vec<String> = settings
        .redirect_uris
        .iter()
        .filter_map(RedirectUri::host)
        .collect();
    hosts.dedup();
    match (known, hosts.as_slice()) {
        (Some(sector), _) => Ok(SubjectType::Pairwise { sector }),
        (None, [host]) => Ok(SubjectType::Pairwise {
            sector: host.clone(),
        }),
        (None, _) => Err(invalid(
            FIELD,
            "the redirect URIs have several hosts; expected a host name for their sector",
        )),
    }
}

/// The application with this id.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such OpenID Connect application. Otherwise if the database fails.
pub async fn application(host: &Host, id: &Did) -> Result<Application> {
    host.store
        .application(id)
        .await?
        .map(Arc::unwrap_or_clone)
        .ok_or(AdminError::NotFound("application"))
}

/// The application with this id, whatever it speaks.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such application. Otherwise if the database fails.
pub async fn registered(host: &Host, id: &Did) -> Result<RegisteredApplication> {
    host.store
        .registered(id)
        .await?
        .ok_or(AdminError::NotFound("application"))
}

/// Up to `limit` applications whose id follows `after`.
///
/// # Errors
/// If the database fails.
pub async fn applications(
    host: &Host,
    after: Option<&Did>,
    limit: u32,
) -> Result<Vec<RegisteredApplication>> {
    Ok(host.store.applications(after, limit).await?)
}

/// Which applications are looked for.
#[derive(Clone, Debug, Default)]
pub struct ApplicationQuery {
    /// How the name begins, or a whole id; empty for any.
    pub q: String,
    /// Those of this protocol alone.
    pub protocol: Option<Protocol>,
    /// The id of the last one that is known.
    pub after: Option<Did>,
}

/// Up to `limit` applications that fit, in the order of their ids.
///
/// # Errors
/// If the database fails.
pub async fn find_applications(
    host: &Host,
    query: &ApplicationQuery,
    limit: u32,
) -> Result<Vec<RegisteredApplication>> {
    let ApplicationQuery { q, protocol, after } = query;
    if let Ok(id) = q.trim().parse::<Did>() {
        let fits = |found: &RegisteredApplication| {
            protocol.is_none_or(|protocol| found.protocol() == protocol)
                && after.as_ref().is_none_or(|after| id > *after)
        };
        return Ok(host
            .store
            .registered(&id)
            .await?
            .filter(fits)
            .into_iter()
            .collect());
    }
    Ok(host
        .store
        .applications_named(q.trim(), *protocol, after.as_ref(), limit)
        .await?)
}

/// Deletes an application with its accounts and tokens.
#[derive(Clone, Debug, serde::Serialize)]
pub struct DeleteApplication(pub Did);

impl AdminCommand for DeleteApplication {
    type Plan = RegisteredApplication;
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<RegisteredApplication>> {
        let known = registered(&context.host, &self.0).await?;
        let authorization = context.caller.authorize_registered(&known)?;
        context.expected.check(known.version())?;
        let action = ProtectedAction::DeleteApplication(known.id().clone());
        Ok(Planned::protected(authorization, known, action))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<RegisteredApplication>,
        by: &AuditContext,
    ) -> Result<Execution<()>> {
        let known = approved.into_plan();
        let (host, id) = (&context.host, known.id().clone());
        let settings = match &known {
            RegisteredApplication::Client(client) => Settings::of_client(client),
            RegisteredApplication::ServiceProvider(provider) => {
                Settings::of_service_provider(provider)
            }
        };
        let entry = settings
            .deletion_entry(audit::entry(host, Event::ApplicationDeleted, by).of(id.clone()));
        let written = host
            .store
            .delete_application(id.clone(), known.version(), vec![entry])
            .await?;
        if written == VersionedWrite::Stale {
            return Ok(Execution::Overtaken);
        }
        tracing::info!(application = %id, "application deleted");
        Ok(Execution::Done(()))
    }
}
