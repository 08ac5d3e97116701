//! Applications.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::service_providers::{self, ServiceProviderView};
use super::{List, Page, id_of, moment, parse, saml_metadata};
use crate::domain::Host;
use crate::domain::admin::{self, ApplicationChange, AuthenticationChange};
use crate::http::problem::Problem;
use crate::model::application::{Application, ApplicationType, ConsentPolicy, GrantType, Registered, SubjectType};
use crate::model::audit::By;
use crate::model::client_auth::{ClientAuthMethod, ClientAuthentication, ClientKeys};
use crate::model::key::SigningAlgorithm;
use crate::model::redirect::RedirectUri;
use crate::model::scope::Scopes;

/// An application as the API shows it. A secret is never in it, but the one that a change of the method just made.
#[derive(Serialize)]
pub(super) struct ApplicationView {
    id: String,
    name: String,
    protocol: &'static str,
    application_type: ApplicationType,
    redirect_uris: Vec<RedirectUri>,
    post_logout_redirect_uris: Vec<RedirectUri>,
    scopes: Scopes,
    grant_types: Vec<GrantType>,
    token_endpoint_auth_method: ClientAuthMethod,
    has_secret: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    #[serde(flatten)]
    keys: Map<String, Value>,
    id_token_signed_response_alg: SigningAlgorithm,
    slim_id_token: bool,
    subject_type: SubjectKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    sector_identifier: Option<String>,
    consent: ConsentPolicy,
    backchannel_logout_uri: Option<String>,
    backchannel_logout_session_required: bool,
    initiate_login_uri: Option<String>,
    created_at: String,
    updated_at: String,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
        protocol: "openid_connect",
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
        created_at: moment(application.created_at),
        updated_at: moment(application.updated_at),
    }
}

/// What is registered for the method: `jwks`, `jwks_uri` or `certificate`.
fn keys(authentication: ClientAuthentication) -> Map<String, Value> {
    let (name, value) = match authentication {
        ClientAuthentication::PrivateKeyJwt(ClientKeys::Jwks(keys)) => ("jwks", json!({"keys": keys})),
        ClientAuthentication::PrivateKeyJwt(ClientKeys::JwksUri(uri)) => ("jwks_uri", json!(uri)),
        ClientAuthentication::TlsClientCertificate(certificate) => ("certificate", json!(certificate.pem)),
        _ => return Map::new(),
    };
    Map::from_iter([(name.to_owned(), value)])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    application_type: Option<ApplicationType>,
    name: Option<String>,
    redirect_uris: Option<Vec<String>>,
    post_logout_redirect_uris: Option<Vec<String>>,
    scopes: Option<Vec<String>>,
    grant_types: Option<Vec<GrantType>>,
    token_endpoint_auth_method: Option<ClientAuthMethod>,
    jwks: Option<Value>,
    jwks_uri: Option<String>,
    public_key: Option<String>,
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
        }
    }
}

fn unfit(detail: &str) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
}

/// An application of either protocol.
#[derive(Serialize)]
#[serde(untagged)]
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

/// What an application speaks.
#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Protocol {
    #[default]
    OpenidConnect,
    Saml,
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

/// `POST /applications`
pub(super) async fn create(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    body: Bytes,
) -> Result<(StatusCode, Json<View>), Problem> {
    let (protocol, body) = unspoken(&body)?;
    if protocol == Protocol::Saml {
        let provider = saml_metadata::create(&host, &body, &by).await?;
        let view = View::ServiceProvider(Box::new(service_providers::view(provider)));
        return Ok((StatusCode::CREATED, Json(view)));
    }
    // Who forgets the protocol would be told the members of the other one.
    let members: Map<String, Value> = parse(&body)?;
    if let Some(member) =
        ["entity_id", "acs", "metadata", "metadata_url"].iter().find(|name| members.contains_key(**name))
    {
        return Err(unfit(&format!("{member}: a SAML application needs \"protocol\": \"saml\" beside it")));
    }
    let change: Change = parse(&body)?;
    let kind = change.application_type.ok_or_else(|| unfit("expected application_type: web, spa or native"))?;
    let application = admin::create_application(&host, kind, change.into(), &by).await?;
    Ok((StatusCode::CREATED, Json(View::Client(Box::new(view(application))))))
}

/// `GET /applications`
pub(super) async fn list(State(host): State<Arc<Host>>, page: Page) -> Result<Json<List<View>>, Problem> {
    let rows = admin::applications(&host, page.after()?.as_ref(), page.limit + 1).await?;
    Ok(Json(List::of(rows, page.limit, |row| row.id().to_string(), View::from)))
}

/// `GET /applications/{id}`
pub(super) async fn read(State(host): State<Arc<Host>>, Path(id): Path<String>) -> Result<Json<View>, Problem> {
    Ok(Json(admin::registered(&host, &id_of(&id, "application")?).await?.into()))
}

/// `PATCH /applications/{id}`
pub(super) async fn change(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<View>, Problem> {
    let id = id_of(&id, "application")?;
    if let Registered::ServiceProvider(_) = admin::registered(&host, &id).await? {
        let provider = admin::change_service_provider(&host, &id, parse(&body)?, &by).await?;
        return Ok(Json(View::ServiceProvider(Box::new(service_providers::view(provider)))));
    }
    let change: Change = parse(&body)?;
    if change.application_type.is_some() {
        return Err(unfit("application_type: it can't be changed; make a new application"));
    }
    let (application, secret) = admin::change_application(&host, &id, change.into(), &by).await?;
    let client_secret = secret.map(|secret| secret.expose().to_owned());
    Ok(Json(View::Client(Box::new(ApplicationView { client_secret, ..view(application) }))))
}

/// `DELETE /applications/{id}`
pub(super) async fn remove(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    admin::delete_application(&host, &id_of(&id, "application")?, &by).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize)]
pub(super) struct SecretView {
    client_secret: String,
}

/// `POST /applications/{id}/secret`: a new client secret, shown this once.
pub(super) async fn secret(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<SecretView>), Problem> {
    let secret = admin::create_secret(&host, &id_of(&id, "application")?, &by).await?;
    Ok((StatusCode::CREATED, Json(SecretView { client_secret: secret.expose().to_owned() })))
}
