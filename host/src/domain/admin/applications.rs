//! Applications.

use std::sync::Arc;

use serde_json::Value;
use url::Url;

use super::changes::Settings;
use super::{Guard, Refused, Result, fresh_did, invalid};
use crate::domain::{Broken, Host, audit};
use crate::id::Did;
use crate::keys::client;
use crate::model::administration::AdminScopes;
use crate::model::application::{
    Application, ApplicationType, BackchannelLogout, ConsentPolicy, GrantType, InitiateLoginUri, OidcSettings,
    Protocol, Registered, SubjectType,
};
use crate::model::audit::{By, Entry, Event};
use crate::model::client_auth::{ClientAuthMethod, ClientAuthentication, ClientKeys};
use crate::model::key::SigningAlgorithm;
use crate::model::name::display_text;
use crate::model::redirect::RedirectUri;
use crate::model::scope::{Scope, Scopes};
use crate::outgoing::Outgoing;
use crate::secret::Secret;

/// How many redirect URIs of a kind an application may have.
const MOST_URIS: usize = 50;

/// What an administrator says of an application. `None` leaves a value as it is.
#[derive(Clone, Debug, Default)]
pub struct ApplicationChange {
    /// The name that people see.
    pub name: Option<String>,
    /// Where a person may be sent back to.
    pub redirect_uris: Option<Vec<String>>,
    /// Where a person may be sent after signing out.
    pub post_logout_redirect_uris: Option<Vec<String>>,
    /// What it may ask for.
    pub scopes: Option<Vec<String>>,
    /// The grant types that it may use.
    pub grant_types: Option<Vec<GrantType>>,
    /// How it authenticates itself.
    pub authentication: AuthenticationChange,
    /// How its ID tokens are signed.
    pub id_token_algorithm: Option<SigningAlgorithm>,
    /// Whether its ID tokens leave the claims of the scopes to UserInfo.
    pub slim_id_token: Option<bool>,
    /// `true`: a `sub` of its own sector (pairwise); `false`: the public one.
    pub pairwise: Option<bool>,
    /// The host name that names the sector; without one, the one that its redirect URIs have in common.
    pub sector: Option<String>,
    /// Whether people are asked.
    pub consent: Option<ConsentPolicy>,
    /// Where it is told that a session ended; `Some(None)` takes it away.
    pub backchannel_logout_uri: Option<Option<String>>,
    /// Whether it needs `sid` in a logout token.
    pub backchannel_logout_session_required: Option<bool>,
    /// Where a sign-in to it can be begun from here; `Some(None)` takes it away.
    pub initiate_login_uri: Option<Option<String>>,
    /// Whether its client assertions may name the token endpoint as their audience.
    pub lenient_assertion_audience: Option<bool>,
    /// What it may do in the admin API as itself.
    pub admin_scopes: Option<AdminScopes>,
}

/// What an administrator says of how an application authenticates itself: at most one of the four kinds of key.
#[derive(Clone, Debug, Default)]
pub struct AuthenticationChange {
    /// The method.
    pub method: Option<ClientAuthMethod>,
    /// A JSON Web Key Set with its public keys (RFC 7517 section 5).
    pub jwks: Option<Value>,
    /// Where that is fetched from.
    pub jwks_uri: Option<String>,
    /// A public key in PEM form.
    pub public_key: Option<String>,
    /// A certificate in PEM form.
    pub certificate: Option<String>,
}

/// Makes an application of this type. Its Client ID is a fresh DID.
pub async fn create_application(
    host: &Host,
    kind: ApplicationType,
    change: ApplicationChange,
    by: &By,
) -> Result<Application> {
    let application = made(host, kind, change)?;
    let entry = audit::entry(host, Event::ApplicationCreated, by).of(application.id.clone());
    let entry = Settings::of_client(&application).made(entry);
    host.store.insert_application(application.clone(), vec![entry]).await?;
    tracing::info!(application = %application.id, "application created");
    Ok(application)
}

/// Refuses what a new application can't be made of, and does nothing: for whoever asks somebody before it is done. What it would be.
pub fn foresee_application(host: &Host, kind: ApplicationType, change: ApplicationChange) -> Result<Application> {
    made(host, kind, change)
}

/// The same of a change: what the application is, and what it would be.
pub async fn foresee_application_change(
    host: &Host,
    id: &Did,
    change: ApplicationChange,
    guard: Guard<'_, Application>,
) -> Result<(Application, Application)> {
    let before = application(host, id).await?;
    guard(&before)?;
    let mut after = before.clone();
    apply(host, &mut after, change)?;
    Ok((before, after))
}

/// A new application, not yet kept.
fn made(host: &Host, kind: ApplicationType, change: ApplicationChange) -> Result<Application> {
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

/// Changes an application. A change to `client_secret_jwt` makes a new client secret, which is answered, this once:
/// of the old one nothing is kept that would do.
pub async fn change_application(
    host: &Host,
    id: &Did,
    change: ApplicationChange,
    by: &By,
    guard: Guard<'_, Application>,
) -> Result<(Application, Option<Secret>)> {
    let entry = |event| audit::entry(host, event, by).of(id.clone());
    // Whoever changed it in between is not undone: it is read again, and the change made to what is there now.
    loop {
        let mut application = application(host, id).await?;
        guard(&application)?;
        let before = application.settings.auth_method();
        let settings = Settings::of_client(&application);
        apply(host, &mut application, change.clone())?;
        application.updated_at = host.now();
        let method = application.settings.auth_method();
        let fresh = (method != before && method == ClientAuthMethod::ClientSecretJwt)
            .then(|| give_secret(host, &mut application))
            .transpose()?;
        if method != ClientAuthMethod::ClientSecretJwt {
            application.sealed_secret = None;
        }
        if !method.uses_secret() {
            application.secret = None;
        }
        let mut entries: Vec<Entry> =
            settings.change(Settings::of_client(&application), entry(Event::ApplicationChanged)).into_iter().collect();
        entries.extend(fresh.is_some().then(|| entry(Event::ClientSecretMade)));
        if host.store.update_application(application.clone(), entries).await? {
            application.version += 1;
            tracing::info!(application = %id, "application changed");
            return Ok((application, fresh));
        }
    }
}

/// Gives a web application a new client secret. It is shown this once; the old one is worth nothing from now on.
pub async fn create_secret(host: &Host, id: &Did, by: &By, guard: Guard<'_, Application>) -> Result<Secret> {
    loop {
        if let Registered::ServiceProvider(_) = registered(host, id).await? {
            return Err(invalid("protocol", "a SAML application has certificates, and no secret"));
        }
        let mut application = application(host, id).await?;
        guard(&application)?;
        if !application.settings.application_type.is_confidential() {
            return Err(invalid("application_type", "only a web application has a client secret"));
        }
        let method = application.settings.auth_method();
        if !method.uses_secret() {
            let expected = format!("the application authenticates itself with {}, without a secret", method.as_str());
            return Err(invalid("token_endpoint_auth_method", expected));
        }
        let secret = give_secret(host, &mut application)?;
        application.updated_at = host.now();
        let entry = audit::entry(host, Event::ClientSecretMade, by).of(id.clone());
        if host.store.update_application(application, vec![entry]).await? {
            tracing::info!(application = %id, "client secret made");
            return Ok(secret);
        }
    }
}

fn give_secret(host: &Host, application: &mut Application) -> Result<Secret> {
    let secret = Secret::random(&*host.entropy);
    application.secret = Some(secret.digest());
    application.sealed_secret = match application.settings.auth_method() {
        ClientAuthMethod::ClientSecretJwt => {
            let purpose = client::secret_purpose(&application.id);
            let sealed = host.master_key.seal(&purpose, secret.expose().as_bytes(), &*host.entropy);
            Some(sealed.map_err(Broken::from)?)
        }
        _ => None,
    };
    Ok(secret)
}

fn apply(host: &Host, application: &mut Application, change: ApplicationChange) -> Result<()> {
    let (development, outgoing) = (host.settings.development, &host.outgoing);
    if let Some(name) = change.name {
        application.name = display_text(&name, 120)
            .ok_or_else(|| invalid("name", "expected 1 to 120 characters, none of them control characters"))?;
    }
    let settings = &mut application.settings;
    let kind = settings.application_type;
    if let Some(texts) = change.redirect_uris {
        settings.redirect_uris = uris("redirect_uris", &texts, kind, development)?;
    }
    if let Some(texts) = change.post_logout_redirect_uris {
        settings.post_logout_redirect_uris = uris("post_logout_redirect_uris", &texts, kind, development)?;
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
    settings.authentication = authentication(settings, change.authentication, outgoing)?;
    settings.id_token_algorithm = change.id_token_algorithm.unwrap_or(settings.id_token_algorithm);
    settings.slim_id_token = change.slim_id_token.unwrap_or(settings.slim_id_token);
    settings.consent = change.consent.unwrap_or(settings.consent);
    settings.subject_type = subject_type(settings, change.pairwise, change.sector)?;
    if let Some(uri) = change.backchannel_logout_uri {
        settings.backchannel_logout = match uri {
            None => None,
            Some(text) => Some(BackchannelLogout {
                uri: server_address("backchannel_logout_uri", &text, outgoing)?,
                session_required: settings.backchannel_logout.as_ref().is_some_and(|logout| logout.session_required),
            }),
        };
    }
    match (change.backchannel_logout_session_required, &mut settings.backchannel_logout) {
        (Some(required), Some(logout)) => logout.session_required = required,
        (Some(true), None) => {
            return Err(invalid("backchannel_logout_session_required", "expected a backchannel_logout_uri with it"));
        }
        _ => {}
    }
    if let Some(uri) = change.initiate_login_uri {
        let checked = uri.map(|text| InitiateLoginUri::parse(&text)).transpose();
        settings.initiate_login_uri = checked.map_err(|unfit| invalid("initiate_login_uri", unfit.to_string()))?;
    }
    settings.admin_scopes = change.admin_scopes.unwrap_or_else(|| settings.admin_scopes.clone());
    if settings.admin_scopes_of(&settings.admin_scopes) != settings.admin_scopes {
        return Err(invalid("admin_scopes", "expected a web application with the grant type client_credentials"));
    }
    settings.lenient_assertion_audience =
        change.lenient_assertion_audience.unwrap_or(settings.lenient_assertion_audience);
    if settings.lenient_assertion_audience && settings.is_service_account() {
        let expected = "expected false for an application with admin_scopes: the audience of its client assertions must be the issuer";
        return Err(invalid("lenient_assertion_audience", expected));
    }
    if settings.redirect_uris.is_empty() && settings.grant_types.contains(&GrantType::AuthorizationCode) {
        return Err(invalid("redirect_uris", "expected one redirect URI at least"));
    }
    Ok(())
}

fn uris(field: &'static str, texts: &[String], kind: ApplicationType, development: bool) -> Result<Vec<RedirectUri>> {
    if texts.len() > MOST_URIS {
        return Err(invalid(field, format!("expected {MOST_URIS} at most")));
    }
    let checked = texts.iter().map(|text| RedirectUri::register(text, kind, development));
    checked.collect::<std::result::Result<_, _>>().map_err(|error| invalid(field, error.to_string()))
}

fn scopes(names: &[String]) -> Result<Scopes> {
    let known: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(invalid("scopes", format!("{unknown:?} is unknown; expected some of {}", known.join(", "))));
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
    outgoing: &Outgoing,
) -> Result<ClientAuthentication> {
    const FIELD: &str = "token_endpoint_auth_method";
    let method = change.method.unwrap_or_else(|| settings.auth_method());
    let keys =
        [change.jwks.is_some(), change.jwks_uri.is_some(), change.public_key.is_some(), change.certificate.is_some()];
    let given = keys.into_iter().filter(|given| *given).count();
    if !settings.application_type.is_confidential() {
        return match (method, given) {
            (ClientAuthMethod::None, 0) => Ok(settings.authentication.clone()),
            _ => Err(invalid(FIELD, "an SPA or native application has none, and no keys")),
        };
    }
    let without_keys = |authentication| match given {
        0 => Ok(authentication),
        _ => Err(invalid(FIELD, format!("{} takes no keys or certificates", method.as_str()))),
    };
    match method {
        ClientAuthMethod::None => Err(invalid(FIELD, "a web application must authenticate itself")),
        ClientAuthMethod::ClientSecretBasic => without_keys(ClientAuthentication::ClientSecretBasic),
        ClientAuthMethod::ClientSecretPost => without_keys(ClientAuthentication::ClientSecretPost),
        ClientAuthMethod::ClientSecretJwt => without_keys(ClientAuthentication::ClientSecretJwt),
        ClientAuthMethod::PrivateKeyJwt => match (&settings.authentication, given) {
            (ClientAuthentication::PrivateKeyJwt(_), 0) => Ok(settings.authentication.clone()),
            (_, 1) => Ok(ClientAuthentication::PrivateKeyJwt(client_keys(change, outgoing)?)),
            _ => Err(invalid(FIELD, "private_key_jwt takes one of jwks, jwks_uri, public_key and certificate")),
        },
        ClientAuthMethod::TlsClientCertificate => match (&settings.authentication, change.certificate, given) {
            (ClientAuthentication::TlsClientCertificate(_), None, 0) => Ok(settings.authentication.clone()),
            (_, Some(pem), 1) => {
                let certificate =
                    client::certificate(&pem).map_err(|error| invalid("certificate", error.to_string()))?;
                Ok(ClientAuthentication::TlsClientCertificate(certificate))
            }
            _ => Err(invalid(FIELD, "tls_client_certificate takes a certificate, and nothing else")),
        },
    }
}

fn client_keys(change: AuthenticationChange, outgoing: &Outgoing) -> Result<ClientKeys> {
    let (field, keys) = match (change.jwks, change.jwks_uri, change.public_key, change.certificate) {
        (Some(set), ..) => ("jwks", client::keys_of_set(&set)),
        (_, Some(uri), ..) => return Ok(ClientKeys::JwksUri(server_address("jwks_uri", &uri, outgoing)?)),
        (.., Some(pem), _) => ("public_key", client::key_of_pem(&pem).map(|key| vec![key])),
        (.., pem) => ("certificate", client::key_of_certificate(&pem.unwrap_or_default()).map(|key| vec![key])),
    };
    keys.map(ClientKeys::Jwks).map_err(|error| invalid(field, error.to_string()))
}

/// An address of the application's server, which this host calls: none that it would refuse to call anyway.
pub(super) fn server_address(field: &'static str, text: &str, outgoing: &Outgoing) -> Result<Url> {
    let url = (text.len() <= 2000).then(|| Url::parse(text).ok()).flatten();
    let fits = |url: &Url| {
        matches!(url.scheme(), "https" | "http")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
    };
    let url = url.filter(fits).ok_or_else(|| {
        invalid(field, "expected an address that starts with https://, without user name or fragment")
    })?;
    outgoing.judge(&url).map_err(|refused| {
        let expected = "expected an address on the public internet that starts with https://; http and private addresses \
                        only with [outgoing] allow_private_addresses = true in the settings";
        invalid(field, format!("{refused}; {expected}"))
    })?;
    Ok(url)
}

fn subject_type(settings: &OidcSettings, pairwise: Option<bool>, sector: Option<String>) -> Result<SubjectType> {
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
            Ok(host) => Ok(SubjectType::Pairwise { sector: host.to_string() }),
            Err(_) => Err(invalid(FIELD, "expected a host name such as app.example.org")),
        };
    }
    // OpenID Connect Core section 8.1: without a name of its own, the sector is the one host of the redirect URIs.
    let mut hosts: Vec<String> = settings.redirect_uris.iter().filter_map(RedirectUri::host).collect();
    hosts.dedup();
    match (known, hosts.as_slice()) {
        (Some(sector), _) => Ok(SubjectType::Pairwise { sector }),
        (None, [host]) => Ok(SubjectType::Pairwise { sector: host.clone() }),
        (None, _) => Err(invalid(FIELD, "the redirect URIs have several hosts; expected a host name for their sector")),
    }
}

/// The application with this id.
pub async fn application(host: &Host, id: &Did) -> Result<Application> {
    host.store.application(id).await?.map(Arc::unwrap_or_clone).ok_or(Refused::NotFound("application"))
}

/// The application with this id, whatever it speaks.
pub async fn registered(host: &Host, id: &Did) -> Result<Registered> {
    host.store.registered(id).await?.ok_or(Refused::NotFound("application"))
}

/// Up to `limit` applications whose id follows `after`.
pub async fn applications(host: &Host, after: Option<&Did>, limit: u32) -> Result<Vec<Registered>> {
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
pub async fn find_applications(host: &Host, query: &ApplicationQuery, limit: u32) -> Result<Vec<Registered>> {
    let ApplicationQuery { q, protocol, after } = query;
    if let Ok(id) = q.trim().parse::<Did>() {
        let fits = |found: &Registered| {
            protocol.is_none_or(|protocol| found.protocol() == protocol)
                && after.as_ref().is_none_or(|after| id > *after)
        };
        return Ok(host.store.registered(&id).await?.filter(fits).into_iter().collect());
    }
    Ok(host.store.applications_named(q.trim(), *protocol, after.as_ref(), limit).await?)
}

/// Deletes an application with its accounts and tokens.
pub async fn delete_application(host: &Host, id: &Did, by: &By, guard: Guard<'_, Registered>) -> Result<()> {
    loop {
        let known = registered(host, id).await?;
        guard(&known)?;
        let settings = match &known {
            Registered::Client(client) => Settings::of_client(client),
            Registered::ServiceProvider(provider) => Settings::of_service_provider(provider),
        };
        let entry = settings.gone(audit::entry(host, Event::ApplicationDeleted, by).of(id.clone()));
        if host.store.delete_application(id.clone(), known.version(), vec![entry]).await? {
            break;
        }
    }
    tracing::info!(application = %id, "application deleted");
    Ok(())
}
