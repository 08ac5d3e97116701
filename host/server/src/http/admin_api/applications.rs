//! Applications.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::conditional::Versioned;
use super::context::Context;
use super::input::{Limit, List, Query, Search, Text, after, parse, parse_strictly};
use super::routes::Area;
use super::saml_metadata;
use super::service_provider_view;
use crate::domain::Host;
use crate::domain::admin::{
    self, ApplicationQuery, ClientChange, CreateClient, CreateServiceProvider, DeleteApplication,
    RotateClientSecret, ServiceProviderChange, SubjectKind, UpdateClient, UpdateServiceProvider,
};
use crate::http::admin_api::service_provider_view::ServiceProviderView;
use crate::http::admin_api::values::{id_of, moment};
use crate::http::problem::Problem;
use crate::saml::metadata::Given;
use assent_model::administration::{AdminScope, AdminScopes, Permission, ProtectedActionKind};
use assent_model::application::{
    Application, ApplicationType, ConsentPolicy, GrantType, Protocol, Registered, SubjectType,
};
use assent_model::client_auth::{ClientAuthMethod, ClientAuthentication, ClientKeys};
use assent_model::key::SigningAlgorithm;
use assent_model::redirect::RedirectUri;
use assent_model::saml::ServiceProvider;
use assent_model::scope::{Scope, Scopes};

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "applications",
            "Applications: OpenID Connect clients and SAML service providers.",
        )
        .noun(
            "applications.secret",
            "The secret of an OpenID Connect client.",
        )
        .noun(
            "redirect-uris",
            "Redirect URIs, before an application has them.",
        )
        .route(
            "applications.list",
            Permission::ApplicationsRead,
            routes!(list),
        )
        .protected(
            "applications.create",
            Permission::ApplicationsWrite,
            ProtectedActionKind::GrantAdminScopes,
            routes!(create),
        )
        .route(
            "applications.show",
            Permission::ApplicationsRead,
            routes!(read),
        )
        .protected(
            "applications.update",
            Permission::ApplicationsWrite,
            ProtectedActionKind::UpdateApplication,
            routes!(update),
        )
        .protected(
            "applications.delete",
            Permission::ApplicationsWrite,
            ProtectedActionKind::DeleteApplication,
            routes!(remove),
        )
        .protected(
            "applications.secret.rotate",
            Permission::ApplicationsWrite,
            ProtectedActionKind::RotateClientSecret,
            routes!(rotate_secret),
        )
        .route(
            "redirect-uris.validate",
            Permission::ApplicationsRead,
            routes!(validate_redirect_uri),
        )
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

fn view(application: Application) -> ApplicationView {
    let settings = application.settings;
    let token_endpoint_auth_method = settings.auth_method();
    let (subject_type, sector_identifier) = match settings.subject_type {
        SubjectType::Public => (SubjectKind::Public, None),
        SubjectType::Pairwise { sector } => (SubjectKind::Pairwise, Some(sector)),
    };
    let (uri, session_required) = settings
        .backchannel_logout
        .map(|logout| (logout.uri.to_string(), logout.session_required))
        .unzip();
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
        initiate_login_uri: settings
            .initiate_login_uri
            .map(|uri| uri.as_str().to_owned()),
        lenient_assertion_audience: settings.lenient_assertion_audience,
        admin_scopes: settings.admin_scopes,
        created_at: moment(application.created_at),
        updated_at: moment(application.updated_at),
    }
}

fn keys(authentication: ClientAuthentication) -> Keys {
    let none = Keys::default();
    match authentication {
        ClientAuthentication::PrivateKeyJwt(ClientKeys::Jwks(keys)) => Keys {
            jwks: Some(json!({"keys": keys})),
            ..none
        },
        ClientAuthentication::PrivateKeyJwt(ClientKeys::JwksUri(uri)) => Keys {
            jwks_uri: Some(uri.into()),
            ..none
        },
        ClientAuthentication::TlsClientCertificate(certificate) => Keys {
            certificate: Some(certificate.pem),
            ..none
        },
        _ => none,
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
            Registered::Client(client) => {
                Self::Client(Box::new(view(Arc::unwrap_or_clone(client))))
            }
            Registered::ServiceProvider(provider) => Self::ServiceProvider(Box::new(
                service_provider_view::view(Arc::unwrap_or_clone(provider)),
            )),
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
    change: ClientChange,
}

/// A SAML service provider. With `metadata` or `metadata_url` the metadata says what the other members do not.
#[derive(ToSchema)]
#[allow(dead_code, reason = "it describes what is read in two steps")]
struct NewServiceProvider {
    #[schema(inline)]
    protocol: service_provider_view::Saml,
    #[serde(flatten)]
    given: Given,
    #[serde(flatten)]
    change: ServiceProviderChange,
}

/// What changes an application: the members of its protocol.
#[derive(ToSchema)]
#[schema(as = ApplicationChange)]
#[serde(untagged)]
#[allow(
    dead_code,
    reason = "it describes what is read once the protocol is known"
)]
enum AnyChange {
    Client(ClientChange),
    ServiceProvider(ServiceProviderChange),
}

/// Create an application.
#[utoipa::path(post, path = "/applications", request_body = New, responses((status = 201, description = "The application.", body = View)))]
async fn create(
    context: Context,
    Text(body): Text,
) -> Result<(StatusCode, Versioned<View>), Problem> {
    let (protocol, body) = unspoken(&body)?;
    if protocol == Protocol::Saml {
        let (change, notes) = saml_metadata::described(&context, &body).await?;
        let provider = context.run(CreateServiceProvider(change)).await?;
        let view = saved(&context.0.host, provider, notes);
        return Ok((StatusCode::CREATED, view));
    }
    // Who forgets the protocol would be told the members of the other one.
    let members: Map<String, Value> = parse(&body)?;
    if let Some(member) = ["entity_id", "acs", "metadata", "metadata_url"]
        .iter()
        .find(|name| members.contains_key(**name))
    {
        return Err(Problem::field(
            member,
            "a SAML application needs \"protocol\": \"saml\" beside it",
        ));
    }
    let application = context.run(CreateClient(parse_strictly(&body)?)).await?;
    let version = application.version;
    let view = View::Client(Box::new(view(application)));
    Ok((StatusCode::CREATED, Versioned(version, view)))
}

/// A service provider that was just saved, with the notes of its import and those of its settings.
fn saved(host: &Host, provider: ServiceProvider, mut notes: Vec<String>) -> Versioned<View> {
    notes.extend(admin::service_provider_notes(host, &provider));
    let version = provider.version;
    Versioned(
        version,
        View::ServiceProvider(Box::new(
            service_provider_view::view(provider).with_notes(notes),
        )),
    )
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
    let ApplicationsQuery {
        q,
        protocol,
        after: cursor,
        limit,
    } = query;
    let query = ApplicationQuery {
        q: q.text().unwrap_or_default(),
        protocol,
        after: after(cursor.as_deref())?,
    };
    let rows = admin::find_applications(&host, &query, limit.and_one()).await?;
    Ok(Json(List::of(
        rows,
        limit.get(),
        |row| row.id().to_string(),
        View::from,
    )))
}

/// Read an application.
#[utoipa::path(get, path = "/applications/{id}", responses((status = 200, description = "The application.", body = View)))]
async fn read(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
) -> Result<Versioned<View>, Problem> {
    let found = admin::registered(&host, &id_of(&id, "application")?).await?;
    Ok(Versioned(found.version(), found.into()))
}

/// Update an application.
///
/// A change to `client_secret_jwt` creates a new client secret; only this response contains it.
#[utoipa::path(patch, path = "/applications/{id}", request_body = AnyChange, responses((status = 200, description = "The application as it is now.", body = View)))]
async fn update(
    context: Context,
    Path(id): Path<String>,
    Text(body): Text,
) -> Result<Versioned<View>, Problem> {
    let host = &context.0.host;
    let application = id_of(&id, "application")?;
    if let Registered::ServiceProvider(_) = admin::registered(host, &application).await? {
        let change = parse_strictly(&body)?;
        let command = UpdateServiceProvider {
            application,
            change,
        };
        return Ok(saved(host, context.run(command).await?, Vec::new()));
    }
    let change = parse_strictly(&body)?;
    let command = UpdateClient {
        application,
        change,
    };
    let (application, secret) = context.run(command).await?;
    let client_secret = secret.map(|secret| secret.expose().to_owned());
    let version = application.version;
    Ok(Versioned(
        version,
        View::Client(Box::new(ApplicationView {
            client_secret,
            ..view(application)
        })),
    ))
}

/// Delete an application.
///
/// With its accounts and tokens.
#[utoipa::path(delete, path = "/applications/{id}", responses((status = 204, description = "Deleted.")))]
async fn remove(context: Context, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    context
        .run(DeleteApplication(id_of(&id, "application")?))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A client secret.
#[derive(Serialize, ToSchema)]
#[schema(as = ClientSecret)]
struct SecretView {
    /// The secret, shown this once.
    client_secret: String,
}

/// Rotate the client secret.
///
/// The old secret is invalid at once.
#[utoipa::path(post, path = "/applications/{id}/secret/rotate", responses((status = 201, description = "The secret, shown this once.", body = SecretView)))]
async fn rotate_secret(
    context: Context,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<SecretView>), Problem> {
    let secret = context
        .run(RotateClientSecret(id_of(&id, "application")?))
        .await?;
    let view = SecretView {
        client_secret: secret.expose().to_owned(),
    };
    Ok((StatusCode::CREATED, Json(view)))
}

/// The redirect URI to validate.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct RedirectUriQuery {
    /// The type of the application.
    #[param(inline)]
    application_type: ApplicationType,
    /// The redirect URI.
    uri: String,
}

/// Whether a redirect URI can be registered.
#[derive(Serialize, ToSchema)]
struct RedirectUriValidation {
    /// Whether an application of this type may register the redirect URI.
    valid: bool,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// Validate a redirect URI before an application registers it.
///
/// The server stores nothing.
#[utoipa::path(get, path = "/redirect-uri-validations", params(RedirectUriQuery), responses((status = 200, description = "The result.", body = RedirectUriValidation)))]
async fn validate_redirect_uri(
    State(host): State<Arc<Host>>,
    Query(query): Query<RedirectUriQuery>,
) -> Json<RedirectUriValidation> {
    let checked = RedirectUri::register(
        &query.uri,
        query.application_type,
        host.settings.allow_insecure_redirect_uris,
    );
    let detail = checked.err().map(|unfit| unfit.to_string());
    Json(RedirectUriValidation {
        valid: detail.is_none(),
        detail,
    })
}
