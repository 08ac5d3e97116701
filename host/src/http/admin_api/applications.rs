//! Applications.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::conditional::{IfMatch, Versioned};
use super::input::{Limit, List, Query, Search, Text, after, parse};
use super::routes::Area;
use super::service_providers::{self, ServiceProviderView};
use super::{id_of, moment, saml_metadata};
use crate::domain::Host;
use crate::domain::admin::steps::Foreseen;
use crate::domain::admin::{
    self, ApplicationChange, ApplicationQuery, AuthenticationChange, Caller, ServiceProviderChange,
};
use crate::http::problem::Problem;
use crate::model::administration::{AdminScope, AdminScopes, Danger, Permission};
use crate::model::application::{
    Application, ApplicationType, ConsentPolicy, GrantType, Protocol, Registered, SubjectType,
};
use crate::model::client_auth::{ClientAuthMethod, ClientAuthentication, ClientKeys};
use crate::model::key::SigningAlgorithm;
use crate::model::redirect::RedirectUri;
use crate::model::saml::ServiceProvider;
use crate::model::scope::{Scope, Scopes};
use crate::saml::metadata::Given;

pub(super) fn routes() -> Area {
    Area::new("Applications")
        .route(Permission::ApplicationsRead, routes!(list))
        .danger(Permission::ApplicationsWrite, Danger::GiveAdminScopes, routes!(create))
        .route(Permission::ApplicationsRead, routes!(read))
        .danger(Permission::ApplicationsWrite, Danger::ChangeApplication, routes!(change))
        .danger(Permission::ApplicationsWrite, Danger::DeleteApplication, routes!(remove))
        .danger(Permission::ApplicationsWrite, Danger::NewSecret, routes!(secret))
        .route(Permission::ApplicationsRead, routes!(redirect_uri))
}

/// An OpenID Connect client. A secret is never in it, but the one that a change of the method just made.
#[derive(Serialize, ToSchema)]
#[schema(as = Client)]
pub(super) struct ApplicationView {
    /// The Client ID, a DID.
    id: String,
    /// The name that people see.
    name: String,
    #[schema(inline)]
    protocol: OpenIdConnect,
    application_type: ApplicationType,
    /// Where a person may be sent back to.
    #[schema(value_type = Vec<String>)]
    redirect_uris: Vec<RedirectUri>,
    /// Where a person may be sent after signing out.
    #[schema(value_type = Vec<String>)]
    post_logout_redirect_uris: Vec<RedirectUri>,
    /// What it may ask for.
    #[schema(value_type = Vec<Scope>)]
    scopes: Scopes,
    grant_types: Vec<GrantType>,
    token_endpoint_auth_method: ClientAuthMethod,
    has_secret: bool,
    /// The new secret, where this change made one; it is shown this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    #[serde(flatten)]
    keys: Keys,
    id_token_signed_response_alg: SigningAlgorithm,
    slim_id_token: bool,
    subject_type: SubjectKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    sector_identifier: Option<String>,
    consent: ConsentPolicy,
    backchannel_logout_uri: Option<String>,
    backchannel_logout_session_required: bool,
    initiate_login_uri: Option<String>,
    /// Whether its client assertions may name the token endpoint as their audience, and not the issuer.
    lenient_assertion_audience: bool,
    /// What it may do in the admin API as itself.
    #[schema(value_type = Vec<AdminScope>)]
    admin_scopes: AdminScopes,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
}

/// What an OpenID Connect client speaks.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum OpenIdConnect {
    OpenidConnect,
}

/// What is registered for the method: one of these, or none.
#[derive(Default, Serialize, ToSchema)]
struct Keys {
    /// A JSON Web Key Set (RFC 7517 section 5).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    jwks: Option<Value>,
    /// Where that is fetched from.
    #[serde(skip_serializing_if = "Option::is_none")]
    jwks_uri: Option<String>,
    /// A certificate in PEM form.
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<String>,
}

/// What an application calls people: what everybody calls them, or something of its own sector.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SubjectType)]
enum SubjectKind {
    Public,
    Pairwise,
}

fn view(application: Application) -> ApplicationView {
    let settings = application.settings;
    let token_endpoint_auth_method = settings.auth_method();
    let (subject_type, sector_identifier) = match settings.subject_type {
        SubjectType::Public => (SubjectKind::Public, None),
        SubjectType::Pairwise { sector } => (SubjectKind::Pairwise, Some(sector)),
    };
    let (uri, session_required) =
        settings.backchannel_logout.map(|logout| (logout.uri.to_string(), logout.session_required)).unzip();
    ApplicationView {
        id: application.id.to_string(),
        name: application.name,
        protocol: OpenIdConnect::OpenidConnect,
        application_type: settings.application_type,
        redirect_uris: settings.redirect_uris,
        post_logout_redirect_uris: settings.post_logout_redirect_uris,
        scopes: settings.scopes,
        grant_types: settings.grant_types.into_iter().collect(),
        token_endpoint_auth_method,
        has_secret: application.secret.is_some(),
        client_secret: None,
        keys: keys(settings.authentication),
        id_token_signed_response_alg: settings.id_token_algorithm,
        slim_id_token: settings.slim_id_token,
        subject_type,
        sector_identifier,
        consent: settings.consent,
        backchannel_logout_uri: uri,
        backchannel_logout_session_required: session_required.unwrap_or(false),
        initiate_login_uri: settings.initiate_login_uri.map(|uri| uri.as_str().to_owned()),
        lenient_assertion_audience: settings.lenient_assertion_audience,
        admin_scopes: settings.admin_scopes,
        created_at: moment(application.created_at),
        updated_at: moment(application.updated_at),
    }
}

fn keys(authentication: ClientAuthentication) -> Keys {
    let none = Keys::default();
    match authentication {
        ClientAuthentication::PrivateKeyJwt(ClientKeys::Jwks(keys)) => {
            Keys { jwks: Some(json!({"keys": keys})), ..none }
        }
        ClientAuthentication::PrivateKeyJwt(ClientKeys::JwksUri(uri)) => Keys { jwks_uri: Some(uri.into()), ..none },
        ClientAuthentication::TlsClientCertificate(certificate) => Keys { certificate: Some(certificate.pem), ..none },
        _ => none,
    }
}

/// What makes or changes an OpenID Connect client. What is missing stays as it is; a new one has it as usual.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ClientChange)]
struct Change {
    /// A new application must have one, and it stays.
    application_type: Option<ApplicationType>,
    /// The name that people see. A new application must have one.
    name: Option<String>,
    /// Where a person may be sent back to: compared letter by letter.
    redirect_uris: Option<Vec<String>>,
    post_logout_redirect_uris: Option<Vec<String>>,
    #[schema(value_type = Option<Vec<Scope>>)]
    scopes: Option<Vec<String>>,
    grant_types: Option<Vec<GrantType>>,
    token_endpoint_auth_method: Option<ClientAuthMethod>,
    /// A JSON Web Key Set (RFC 7517 section 5).
    #[schema(value_type = Option<Object>)]
    jwks: Option<Value>,
    /// Where that is fetched from.
    jwks_uri: Option<String>,
    /// A public key in PEM form.
    public_key: Option<String>,
    /// A certificate in PEM form.
    certificate: Option<String>,
    id_token_signed_response_alg: Option<SigningAlgorithm>,
    slim_id_token: Option<bool>,
    subject_type: Option<SubjectKind>,
    sector_identifier: Option<String>,
    consent: Option<ConsentPolicy>,
    #[serde(default, deserialize_with = "present")]
    backchannel_logout_uri: Option<Option<String>>,
    backchannel_logout_session_required: Option<bool>,
    #[serde(default, deserialize_with = "present")]
    initiate_login_uri: Option<Option<String>>,
    /// Whether its client assertions may name the token endpoint as their audience, and not the issuer. A server that knows one of
    /// its assertions could then use it here. Not for an application with `admin_scopes`.
    lenient_assertion_audience: Option<bool>,
    /// What it may do in the admin API as itself. Only an owner may say.
    #[schema(value_type = Option<Vec<AdminScope>>)]
    admin_scopes: Option<AdminScopes>,
}

/// A member that is there, null or not: null takes the value away (RFC 7396).
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl From<Change> for ApplicationChange {
    fn from(change: Change) -> Self {
        Self {
            name: change.name,
            redirect_uris: change.redirect_uris,
            post_logout_redirect_uris: change.post_logout_redirect_uris,
            scopes: change.scopes,
            grant_types: change.grant_types,
            authentication: AuthenticationChange {
                method: change.token_endpoint_auth_method,
                jwks: change.jwks,
                jwks_uri: change.jwks_uri,
                public_key: change.public_key,
                certificate: change.certificate,
            },
            id_token_algorithm: change.id_token_signed_response_alg,
            slim_id_token: change.slim_id_token,
            pairwise: change.subject_type.map(|kind| kind == SubjectKind::Pairwise),
            sector: change.sector_identifier,
            consent: change.consent,
            backchannel_logout_uri: change.backchannel_logout_uri,
            backchannel_logout_session_required: change.backchannel_logout_session_required,
            initiate_login_uri: change.initiate_login_uri,
            lenient_assertion_audience: change.lenient_assertion_audience,
            admin_scopes: change.admin_scopes,
        }
    }
}

impl Change {
    /// The change, if whoever calls may say all that it says.
    fn allowed(self, caller: &Caller) -> Result<ApplicationChange, Problem> {
        if self.admin_scopes.is_some() {
            caller.must_give_scopes()?;
        }
        Ok(self.into())
    }
}

/// An application of either protocol.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Application)]
pub(super) enum View {
    Client(Box<ApplicationView>),
    ServiceProvider(Box<ServiceProviderView>),
}

impl From<Registered> for View {
    fn from(application: Registered) -> Self {
        match application {
            Registered::Client(client) => Self::Client(Box::new(view(Arc::unwrap_or_clone(client)))),
            Registered::ServiceProvider(provider) => {
                Self::ServiceProvider(Box::new(service_providers::view(Arc::unwrap_or_clone(provider))))
            }
        }
    }
}

/// What a body says before its protocol is known.
#[derive(Deserialize)]
struct Spoken {
    #[serde(default)]
    protocol: Protocol,
}

/// The body without `protocol`, whose other members depend on it.
fn unspoken(body: &Bytes) -> Result<(Protocol, Bytes), Problem> {
    let Spoken { protocol } = parse(body)?;
    let mut members: Map<String, Value> = parse(body)?;
    members.remove("protocol");
    Ok((protocol, Value::Object(members).to_string().into()))
}

/// What makes an application: the protocol says which members there are.
#[derive(ToSchema)]
#[schema(as = NewApplication)]
#[serde(untagged)]
#[allow(dead_code, reason = "it describes what is read in two steps")]
enum New {
    Client(NewClient),
    ServiceProvider(NewServiceProvider),
}

/// An OpenID Connect client.
#[derive(ToSchema)]
#[allow(dead_code, reason = "it describes what is read in two steps")]
struct NewClient {
    #[schema(inline, required = false)]
    protocol: OpenIdConnect,
    #[serde(flatten)]
    change: Change,
}

/// A SAML service provider. With `metadata` or `metadata_url` the metadata says what the other members do not.
#[derive(ToSchema)]
#[allow(dead_code, reason = "it describes what is read in two steps")]
struct NewServiceProvider {
    #[schema(inline)]
    protocol: service_providers::Saml,
    #[serde(flatten)]
    given: Given,
    #[serde(flatten)]
    change: ServiceProviderChange,
}

/// What changes an application: the members of its protocol.
#[derive(ToSchema)]
#[schema(as = ApplicationChange)]
#[serde(untagged)]
#[allow(dead_code, reason = "it describes what is read once the protocol is known")]
enum AnyChange {
    Client(Change),
    ServiceProvider(ServiceProviderChange),
}

/// Make an application.
#[utoipa::path(post, path = "/applications", request_body = New, responses((status = 201, description = "The application.", body = View)))]
async fn create(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Text(body): Text,
) -> Result<(StatusCode, Versioned<View>), Problem> {
    let (protocol, body) = unspoken(&body)?;
    if protocol == Protocol::Saml {
        let (provider, notes) = saml_metadata::create(&host, &body, &caller.by).await?;
        return Ok((StatusCode::CREATED, saved(&host, provider, notes)));
    }
    // Who forgets the protocol would be told the members of the other one.
    let members: Map<String, Value> = parse(&body)?;
    if let Some(member) =
        ["entity_id", "acs", "metadata", "metadata_url"].iter().find(|name| members.contains_key(**name))
    {
        return Err(Problem::field(member, "a SAML application needs \"protocol\": \"saml\" beside it"));
    }
    let change: Change = parse(&body)?;
    let kind = change.application_type;
    let kind = kind.ok_or_else(|| Problem::field("application_type", "expected web, spa or native"))?;
    let application = admin::create_application(&host, kind, change.allowed(&caller)?, &caller.by).await?;
    let version = application.version;
    Ok((StatusCode::CREATED, Versioned(version, View::Client(Box::new(view(application))))))
}

/// A service provider that was just saved, with the notes of its import and those of its settings.
fn saved(host: &Host, provider: ServiceProvider, mut notes: Vec<String>) -> Versioned<View> {
    notes.extend(admin::service_provider_notes(host, &provider));
    let version = provider.version;
    Versioned(version, View::ServiceProvider(Box::new(service_providers::view(provider).with_notes(notes))))
}

/// The change of a client that is known, if whoever calls may say all that it says.
fn change_of_client(caller: &Caller, body: &[u8]) -> Result<ApplicationChange, Problem> {
    let change: Change = parse(body)?;
    if change.application_type.is_some() {
        return Err(Problem::field("application_type", "it can't be changed; make a new application"));
    }
    change.allowed(caller)
}

/// What a new client would be, or the application with this id after a change; refuses what can't be made of it. `None` for what is no
/// client, or is refused further on.
pub(super) async fn foresee(
    host: &Host,
    caller: &Caller,
    id: Option<&str>,
    when: &IfMatch,
    body: &[u8],
) -> Result<Option<Foreseen>, Problem> {
    let Some(id) = id else {
        let (protocol, body) = unspoken(&Bytes::copy_from_slice(body))?;
        let (Protocol::OpenidConnect, change) = (protocol, parse::<Change>(&body)?) else { return Ok(None) };
        let Some(kind) = change.application_type else { return Ok(None) };
        return Ok(Some(Foreseen::NewClient(admin::foresee_application(host, kind, change.allowed(caller)?)?.into())));
    };
    let id = id_of(id, "application")?;
    if let Registered::ServiceProvider(_) = admin::registered(host, &id).await? {
        let guard = |provider: &ServiceProvider| when.check(provider.version);
        let (before, after) = admin::foresee_service_provider_change(host, &id, parse(body)?, &guard).await?;
        return Ok(Some(Foreseen::ServiceProvider { before: before.into(), after: after.into() }));
    }
    let guard = |client: &Application| caller.must_reach_application(client).and_then(|()| when.check(client.version));
    let change = change_of_client(caller, body)?;
    let (before, after) = admin::foresee_application_change(host, &id, change, &guard).await?;
    Ok(Some(Foreseen::Client { before: before.into(), after: after.into() }))
}

/// Which applications are listed.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ApplicationsQuery {
    /// How the name begins, in upper or lower case; or a whole id.
    #[serde(default)]
    #[param(value_type = String, max_length = 254, required = false)]
    q: Search,
    /// Those of this protocol alone.
    #[param(inline)]
    protocol: Option<Protocol>,
    /// Where the page begins: `next` of the page before.
    after: Option<String>,
    /// How many items the page has at most.
    #[serde(default)]
    #[param(value_type = u32, minimum = 1, maximum = 200, default = 50, required = false)]
    limit: Limit,
}

/// List and search applications.
#[utoipa::path(get, path = "/applications", params(ApplicationsQuery), responses((status = 200, description = "A page of applications, in the order of their ids.", body = List<View>)))]
async fn list(
    State(host): State<Arc<Host>>,
    Query(query): Query<ApplicationsQuery>,
) -> Result<Json<List<View>>, Problem> {
    let ApplicationsQuery { q, protocol, after: cursor, limit } = query;
    let query = ApplicationQuery { q: q.text().unwrap_or_default(), protocol, after: after(cursor.as_deref())? };
    let rows = admin::find_applications(&host, &query, limit.and_one()).await?;
    Ok(Json(List::of(rows, limit.get(), |row| row.id().to_string(), View::from)))
}

/// Read an application.
#[utoipa::path(get, path = "/applications/{id}", responses((status = 200, description = "The application.", body = View)))]
async fn read(State(host): State<Arc<Host>>, Path(id): Path<String>) -> Result<Versioned<View>, Problem> {
    let found = admin::registered(&host, &id_of(&id, "application")?).await?;
    Ok(Versioned(found.version(), found.into()))
}

/// Change an application.
///
/// A change to `client_secret_jwt` makes a new client secret, which is answered, this once.
#[utoipa::path(patch, path = "/applications/{id}", request_body = AnyChange, responses((status = 200, description = "The application as it is now.", body = View)))]
async fn change(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    when: IfMatch,
    Text(body): Text,
) -> Result<Versioned<View>, Problem> {
    let id = id_of(&id, "application")?;
    if let Registered::ServiceProvider(_) = admin::registered(&host, &id).await? {
        let guard = |provider: &ServiceProvider| when.check(provider.version);
        let provider = admin::change_service_provider(&host, &id, parse(&body)?, &caller.by, &guard).await?;
        return Ok(saved(&host, provider, Vec::new()));
    }
    let change = change_of_client(&caller, &body)?;
    let guard = |client: &Application| caller.must_reach_application(client).and_then(|()| when.check(client.version));
    let (application, secret) = admin::change_application(&host, &id, change, &caller.by, &guard).await?;
    let client_secret = secret.map(|secret| secret.expose().to_owned());
    let version = application.version;
    Ok(Versioned(version, View::Client(Box::new(ApplicationView { client_secret, ..view(application) }))))
}

/// Delete an application.
///
/// With its accounts and tokens.
#[utoipa::path(delete, path = "/applications/{id}", responses((status = 204, description = "Deleted.")))]
async fn remove(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    when: IfMatch,
) -> Result<StatusCode, Problem> {
    let guard = |known: &Registered| caller.must_reach_registered(known).and_then(|()| when.check(known.version()));
    admin::delete_application(&host, &id_of(&id, "application")?, &caller.by, &guard).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A client secret.
#[derive(Serialize, ToSchema)]
#[schema(as = ClientSecret)]
struct SecretView {
    /// The secret, shown this once.
    client_secret: String,
}

/// Make a new client secret.
///
/// The old one is worth nothing from now on.
#[utoipa::path(post, path = "/applications/{id}/secret", responses((status = 201, description = "The secret, shown this once.", body = SecretView)))]
async fn secret(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<SecretView>), Problem> {
    let guard = |client: &Application| caller.must_reach_application(client);
    let secret = admin::create_secret(&host, &id_of(&id, "application")?, &caller.by, &guard).await?;
    Ok((StatusCode::CREATED, Json(SecretView { client_secret: secret.expose().to_owned() })))
}

/// A redirect URI that is thought of.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct RedirectUriQuery {
    /// Of an application of this type.
    #[param(inline)]
    application_type: ApplicationType,
    uri: String,
}

/// Whether a redirect URI can be registered.
#[derive(Serialize, ToSchema)]
struct RedirectUriCheck {
    fits: bool,
    /// What would.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// Check whether a redirect URI can be registered.
///
/// Nothing is kept. It is for whoever types one.
#[utoipa::path(get, path = "/checks/redirect-uri", params(RedirectUriQuery), responses((status = 200, description = "Whether it can.", body = RedirectUriCheck)))]
async fn redirect_uri(State(host): State<Arc<Host>>, Query(query): Query<RedirectUriQuery>) -> Json<RedirectUriCheck> {
    let checked = RedirectUri::register(&query.uri, query.application_type, host.settings.development);
    let detail = checked.err().map(|unfit| unfit.to_string());
    Json(RedirectUriCheck { fits: detail.is_none(), detail })
}
