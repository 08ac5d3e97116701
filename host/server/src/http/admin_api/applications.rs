//! Applications: OpenID Connect clients and SAML service providers.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::conditional::VersionedResponse;
use super::context::Context;
use super::input::{Query, UnparsedJson, id_of, parse, parse_change};
use super::routes::Area;
use super::{application_list, saml_metadata};
use crate::domain::admin::{
    ClientChange, ClientDocument, CreateClient, CreateServiceProvider, DeleteApplication,
    OpenIdConnect, Saml, ServiceProviderChange, ServiceProviderDocument, UpdateClient,
    UpdateServiceProvider,
};
use crate::domain::{Services, admin};
use crate::http::admin_api::application_view::RegisteredApplicationView;
use crate::http::problem::Problem;
use crate::saml::metadata::MetadataSource;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::application::Protocol;
use assent_model::application_type::ApplicationType;
use assent_model::redirect::RedirectUri;
use assent_model::saml::ServiceProvider;

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "applications",
            "Applications: OpenID Connect clients and SAML service providers.",
        )
        .route(
            "list",
            Permission::ApplicationsRead,
            routes!(application_list::list),
        )
        .route("create", Permission::ApplicationsWrite, routes!(create))
        .protected(ProtectedActionKind::GrantAdminScopes)
        .route("show", Permission::ApplicationsRead, routes!(read))
        .route("update", Permission::ApplicationsWrite, routes!(update))
        .protected(ProtectedActionKind::UpdateApplication)
        .route("delete", Permission::ApplicationsWrite, routes!(remove))
        .protected(ProtectedActionKind::DeleteApplication)
        .noun(
            "redirect-uris",
            "Redirect URIs, before an application has them.",
        )
        .route(
            "validate",
            Permission::ApplicationsRead,
            routes!(validate_redirect_uri),
        )
}

/// The member of a body that names the protocol.
#[derive(Deserialize)]
struct WithProtocol {
    #[serde(default)]
    protocol: Protocol,
}

/// A new application: `protocol` determines the further members.
#[derive(Serialize, ToSchema)]
#[schema(as = NewApplication)]
#[serde(untagged)]
enum New {
    Client(Box<NewClient>),
    ServiceProvider(Box<NewServiceProvider>),
}

/// An OpenID Connect client.
#[derive(Serialize, ToSchema)]
struct NewClient {
    #[schema(inline, required = false)]
    protocol: OpenIdConnect,
    #[serde(flatten)]
    change: ClientChange,
}

/// A SAML service provider. Members override the values of `metadata` or `metadata_url`.
#[derive(Serialize, ToSchema)]
struct NewServiceProvider {
    #[schema(inline)]
    protocol: Saml,
    #[serde(flatten)]
    source: MetadataSource,
    #[serde(flatten)]
    change: ServiceProviderChange,
}

impl New {
    /// Reads a body. The other members depend on the protocol.
    fn read(body: &Bytes) -> Result<Self, Problem> {
        let WithProtocol { protocol } = parse(body)?;
        let mut members: Map<String, Value> = parse(body)?;
        members.remove("protocol");
        if protocol == Protocol::Saml {
            let provider = NewServiceProvider::read(members)?;
            return Ok(Self::ServiceProvider(Box::new(provider)));
        }
        parse_change(&body_of(&members))
            .map(|change| {
                Self::Client(Box::new(NewClient {
                    protocol: OpenIdConnect::default(),
                    change,
                }))
            })
            .map_err(|problem| without_protocol(members).unwrap_or(problem))
    }
}

/// Returns a problem if the body is valid for a service provider, except that it does not name the protocol.
fn without_protocol(members: Map<String, Value>) -> Option<Problem> {
    NewServiceProvider::read(members).ok()?;
    Some(Problem::field(
        "protocol",
        "a SAML application needs \"protocol\": \"saml\"",
    ))
}

impl NewServiceProvider {
    /// Reads the members of a body without the protocol.
    fn read(mut members: Map<String, Value>) -> Result<Self, Problem> {
        let source = parse(&body_of(&members))?;
        members.remove("metadata");
        members.remove("metadata_certificate");
        Ok(Self {
            protocol: Saml::Saml,
            source,
            change: parse_change(&body_of(&members))?,
        })
    }
}

fn body_of(members: &Map<String, Value>) -> Vec<u8> {
    serde_json::to_vec(members).unwrap_or_default()
}

/// An update of an application: the members of its protocol.
#[derive(ToSchema)]
#[schema(as = ApplicationChange)]
#[serde(untagged)]
pub(super) enum AnyChange {
    Client(Box<ClientChange>),
    ServiceProvider(Box<ServiceProviderChange>),
}

impl AnyChange {
    fn read(protocol: Protocol, body: &Bytes) -> Result<Self, Problem> {
        match protocol {
            Protocol::OpenidConnect => parse_change(body).map(Box::new).map(Self::Client),
            Protocol::Saml => parse_change(body).map(Box::new).map(Self::ServiceProvider),
        }
    }

    /// Reads a body that names the protocol.
    pub(super) fn with_protocol(body: &Bytes) -> Result<Self, Problem> {
        let WithProtocol { protocol } = parse(body)?;
        let mut members: Map<String, Value> = parse(body)?;
        members.remove("protocol");
        Self::read(protocol, &body_of(&members).into())
    }
}

/// Create an application.
#[utoipa::path(
    post,
    path = "/applications",
    request_body = New,
    responses((status = 201, description = "The application.", body = RegisteredApplicationView))
)]
async fn create(
    context: Context,
    UnparsedJson(body): UnparsedJson,
) -> Result<(StatusCode, VersionedResponse<RegisteredApplicationView>), Problem> {
    match New::read(&body)? {
        New::Client(client) => {
            let application = context.run(CreateClient(client.change)).await?;
            let version = application.version;
            let view =
                RegisteredApplicationView::Client(Box::new(ClientDocument::new(&application)));
            Ok((StatusCode::CREATED, VersionedResponse(version, view)))
        }
        New::ServiceProvider(provider) => {
            let NewServiceProvider { source, change, .. } = *provider;
            let (change, notes) = saml_metadata::describe(&context, &source, change).await?;
            let provider = context.run(CreateServiceProvider(change)).await?;
            let view = saved_provider(&context.0.services, &provider, notes);
            Ok((StatusCode::CREATED, view))
        }
    }
}

/// Returns the view of a saved service provider, with the notes of its import and of its settings.
fn saved_provider(
    services: &Services,
    provider: &ServiceProvider,
    mut notes: Vec<String>,
) -> VersionedResponse<RegisteredApplicationView> {
    notes.extend(admin::service_provider_notes(services, provider));
    let document = ServiceProviderDocument {
        notes,
        ..ServiceProviderDocument::new(provider)
    };
    let view = RegisteredApplicationView::ServiceProvider(Box::new(document));
    VersionedResponse(provider.version, view)
}

/// Read an application.
#[utoipa::path(
    get,
    path = "/applications/{id}",
    responses((status = 200, description = "The application.", body = RegisteredApplicationView))
)]
async fn read(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<VersionedResponse<RegisteredApplicationView>, Problem> {
    let id = id_of(&id, "application")?;
    let found = admin::registered_application(&services, &id).await?;
    let management = admin::management_of_application(&services, &id).await?;
    let mut sources = admin::registration_sources(&services, std::slice::from_ref(&id)).await?;
    let version = found.version();
    let view = RegisteredApplicationView::from(found)
        .with_management(management)
        .with_registration(sources.remove(&id));
    Ok(VersionedResponse(version, view))
}

/// Update an application.
///
/// A change to `client_secret_jwt` creates a new client secret; only this response contains it.
#[utoipa::path(
    patch,
    path = "/applications/{id}",
    request_body = AnyChange,
    responses((status = 200, description = "The updated application.", body = RegisteredApplicationView))
)]
async fn update(
    context: Context,
    Path(id): Path<String>,
    UnparsedJson(body): UnparsedJson,
) -> Result<VersionedResponse<RegisteredApplicationView>, Problem> {
    let services = &context.0.services;
    let application = id_of(&id, "application")?;
    let protocol = admin::registered_application(services, &application)
        .await?
        .protocol();
    let change = match AnyChange::read(protocol, &body)? {
        AnyChange::Client(change) => *change,
        AnyChange::ServiceProvider(change) => {
            let command = UpdateServiceProvider {
                application,
                change: *change,
            };
            let provider = context.run(command).await?;
            return Ok(saved_provider(services, &provider, Vec::new()));
        }
    };
    let command = UpdateClient {
        application,
        change,
    };
    let (application, secret) = Box::pin(context.run(command)).await?;
    let document = ClientDocument {
        client_secret: secret.map(|secret| secret.expose().to_owned()),
        ..ClientDocument::new(&application)
    };
    let view = RegisteredApplicationView::Client(Box::new(document));
    Ok(VersionedResponse(application.version, view))
}

/// Delete an application.
///
/// Deletes its accounts and tokens as well.
#[utoipa::path(delete, path = "/applications/{id}", responses((status = 204, description = "Deleted.")))]
async fn remove(context: Context, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    context
        .no_content(DeleteApplication(id_of(&id, "application")?))
        .await
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
    /// The reason, if it is not valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// The risk of a valid redirect URI, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// Validate a redirect URI before an application registers it.
///
/// The server stores nothing.
#[utoipa::path(
    get,
    path = "/redirect-uri-validations",
    params(RedirectUriQuery),
    responses((status = 200, description = "The result.", body = RedirectUriValidation))
)]
async fn validate_redirect_uri(
    State(services): State<Arc<Services>>,
    Query(query): Query<RedirectUriQuery>,
) -> Json<RedirectUriValidation> {
    let checked = RedirectUri::register(
        &query.uri,
        query.application_type,
        services.settings.allow_insecure_redirect_uris,
    );
    let warning = checked
        .as_ref()
        .ok()
        .and_then(|uri| uri.warning(query.application_type))
        .map(|warning| warning.to_string());
    let detail = checked.err().map(|unfit| unfit.to_string());
    Json(RedirectUriValidation {
        valid: detail.is_none(),
        detail,
        warning,
    })
}
