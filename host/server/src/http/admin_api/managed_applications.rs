//! Applications by the keys of their owners, for tools that create or update them from a description.

use std::str::FromStr;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::application_view::RegisteredApplicationView;
use super::applications::AnyChange;
use super::conditional::VersionedResponse;
use super::context::Context;
use super::input::{UnparsedJson, id_of};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{
    self, ChangeAction, ClientChange, DeleteApplication, ManagedSettings, OpenIdConnect,
    PutApplication, Saml, ServiceProviderChange,
};
use crate::http::problem::Problem;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::management::{Management, SlugError};

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "applications.by-key",
            "Applications by the keys of their owners.",
        )
        .route("show", Permission::ApplicationsRead, routes!(read))
        .route(
            "set",
            Permission::ApplicationsWrite,
            routes!(put_application),
        )
        .protected(ProtectedActionKind::ApplyManifest)
        .route("delete", Permission::ApplicationsWrite, routes!(remove))
        .protected(ProtectedActionKind::DeleteApplication)
}

/// An application: `protocol` determines the further members. A missing member has the default of a new application.
#[derive(Serialize, ToSchema)]
#[schema(as = ManagedApplication)]
#[serde(untagged)]
enum ManagedApplication {
    Client(Box<ManagedClient>),
    ServiceProvider(Box<ManagedServiceProvider>),
}

/// An OpenID Connect client.
#[derive(Serialize, ToSchema)]
struct ManagedClient {
    #[schema(inline, required = false)]
    protocol: OpenIdConnect,
    #[serde(flatten)]
    change: ClientChange,
}

/// A SAML service provider.
#[derive(Serialize, ToSchema)]
struct ManagedServiceProvider {
    #[schema(inline)]
    protocol: Saml,
    #[serde(flatten)]
    change: ServiceProviderChange,
}

impl ManagedApplication {
    fn read(body: &Bytes) -> Result<Self, Problem> {
        Ok(match AnyChange::with_protocol(body)? {
            AnyChange::Client(change) => Self::Client(Box::new(ManagedClient {
                protocol: OpenIdConnect::default(),
                change: *change,
            })),
            AnyChange::ServiceProvider(change) => {
                Self::ServiceProvider(Box::new(ManagedServiceProvider {
                    protocol: Saml::Saml,
                    change: *change,
                }))
            }
        })
    }
}

/// The owner and the key in a path. A text of another form names no object.
fn management(owner: &str, key: &str) -> Result<Management, Problem> {
    Ok(Management {
        owner: id_of(owner, "application")?,
        key: id_of(key, "application")?,
    })
}

/// Read the application with a key of an owner.
#[utoipa::path(
    get,
    path = "/applications/by-key/{owner}/{key}",
    responses((status = 200, description = "The application.", body = RegisteredApplicationView))
)]
async fn read(
    State(services): State<Arc<Services>>,
    Path((owner, key)): Path<(String, String)>,
) -> Result<VersionedResponse<RegisteredApplicationView>, Problem> {
    let management = management(&owner, &key)?;
    let found = admin::managed_application(&services, &management).await?;
    let version = found.version();
    let view = RegisteredApplicationView::from(found).with_management(Some(management));
    Ok(VersionedResponse(version, view))
}

/// Create the application with a key of an owner, or replace its settings.
///
/// The same request again changes nothing. A client secret stays, and no response contains one: create it afterwards.
#[utoipa::path(
    put,
    path = "/applications/by-key/{owner}/{key}",
    request_body = ManagedApplication,
    responses(
        (status = 200, description = "The application, which existed.", body = RegisteredApplicationView),
        (status = 201, description = "The new application.", body = RegisteredApplicationView)
    )
)]
async fn put_application(
    context: Context,
    Path((owner, key)): Path<(String, String)>,
    UnparsedJson(body): UnparsedJson,
) -> Result<(StatusCode, VersionedResponse<RegisteredApplicationView>), Problem> {
    let application = match ManagedApplication::read(&body)? {
        ManagedApplication::Client(client) => ManagedSettings::Client(Box::new(client.change)),
        ManagedApplication::ServiceProvider(provider) => {
            ManagedSettings::ServiceProvider(Box::new(provider.change))
        }
    };
    let management = Management {
        owner: slug("owner", &owner)?,
        key: slug("key", &key)?,
    };
    let command = PutApplication {
        owner: management.owner.clone(),
        key: management.key.clone(),
        application,
    };
    let (application, action) = context.run(command).await?;
    let status = match action {
        ChangeAction::Create => StatusCode::CREATED,
        ChangeAction::Update | ChangeAction::Adopt | ChangeAction::Delete => StatusCode::OK,
    };
    let version = application.version();
    let view = RegisteredApplicationView::from(application).with_management(Some(management));
    Ok((status, VersionedResponse(version, view)))
}

/// The part of a path that names a new object.
fn slug<T: FromStr<Err = SlugError>>(name: &str, text: &str) -> Result<T, Problem> {
    text.parse()
        .map_err(|error: SlugError| Problem::field(name, &error.to_string()))
}

/// Delete the application with a key of an owner.
///
/// Deletes its accounts and tokens as well.
#[utoipa::path(
    delete,
    path = "/applications/by-key/{owner}/{key}",
    responses((status = 204, description = "Deleted."))
)]
async fn remove(
    context: Context,
    Path((owner, key)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let management = management(&owner, &key)?;
    let found = admin::managed_application(&context.0.services, &management).await?;
    context
        .no_content(DeleteApplication(found.id().clone()))
        .await
}
