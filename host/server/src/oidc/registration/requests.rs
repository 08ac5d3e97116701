//! The requests of applications that register, read, update and delete themselves.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::error::RegistrationError;
use super::metadata::{self, MetadataUse};
use super::{response, sector, software_statement};
use crate::domain::admin::RegistrationRequest;
use crate::domain::{InternalError, Services, admin};
use crate::oidc::bearer::{TokenScheme, token_of};
use crate::oidc::dpop::proof;
use crate::oidc::dpop::proof::{ProofHeader, ProvenRequest};
use assent_model::application::Application;
use assent_model::audit::Origin;
use assent_model::client_registration::{ClientRegistration, RegistrationToken};
use assent_model::id::Did;
use assent_telemetry::SPANS;

type Result<T> = std::result::Result<T, RegistrationError>;

/// Returns the initial access token in an `Authorization` header, if a quota is left.
///
/// # Errors
/// [`RegistrationError::InvalidToken`] without a valid token, [`RegistrationError::Forbidden`] without a quota.
pub async fn initial_access(
    services: &Services,
    authorization: Option<&str>,
) -> Result<RegistrationToken> {
    let text = bearer(authorization)?;
    let token = admin::registration_token(services, text).await?;
    let token = token.ok_or(RegistrationError::InvalidToken)?;
    admin::must_have_quota(services, &token)?;
    Ok(token)
}

/// Returns the registration of this application, if its registration access token is in the `Authorization` header.
///
/// # Errors
/// [`RegistrationError::InvalidToken`], also for an unknown application.
pub async fn registration(
    services: &Services,
    application: &str,
    authorization: Option<&str>,
) -> Result<ClientRegistration> {
    let text = bearer(authorization)?;
    let id: Did = application
        .parse()
        .map_err(|_| RegistrationError::InvalidToken)?;
    let found = admin::client_registration(services, &id, text).await?;
    found.ok_or(RegistrationError::InvalidToken)
}

/// Verifies the DPoP proof of a request with a valid token, and uses it once, on every instance. A proof is optional:
/// the tokens of registrations are bearer tokens, and the proof binds nothing.
///
/// # Errors
/// [`RegistrationError::InvalidProof`], [`RegistrationError::UseNonce`].
pub async fn use_proof(
    services: &Services,
    proof: ProofHeader<'_>,
    method: &str,
    path: &str,
) -> Result<()> {
    let Some(text) = proof.proof()? else {
        return Ok(());
    };
    let request = ProvenRequest {
        method,
        path,
        access_token: None,
    };
    let proof = proof::verify(services, text, request)?;
    Ok(proof::use_once(services, Some(proof)).await?)
}

fn bearer(authorization: Option<&str>) -> Result<&str> {
    match token_of(authorization) {
        Ok((TokenScheme::Bearer, text)) => Ok(text),
        Ok((TokenScheme::Dpop, _)) | Err(_) => Err(RegistrationError::InvalidToken),
    }
}

/// Registers an application (RFC 7591 section 3). Returns its metadata with the registration access token. An attempt
/// counts before it fetches a document, also if its client goes away.
///
/// # Errors
/// [`RegistrationError`] if the metadata is not permitted, or too many attempts with the token failed.
#[tracing::instrument(target = SPANS, skip_all, name = "oidc.registration")]
pub async fn register(
    services: &Arc<Services>,
    token: &RegistrationToken,
    from: Origin,
    body: &[u8],
) -> Result<Value> {
    admin::count_registration_attempt(services, token)
        .map_err(RegistrationError::TooManyFailures)?;
    let registered = register_counted(services, token, from, body).await?;
    admin::take_back_registration_attempt(services, token);
    Ok(registered)
}

async fn register_counted(
    services: &Arc<Services>,
    token: &RegistrationToken,
    from: Origin,
    body: &[u8],
) -> Result<Value> {
    let sent = software_statement::merged(services, metadata::document(body)?).await?;
    let mut request = metadata::request_of(&sent, MetadataUse::Registration)?;
    must_be_supported(services, &request)?;
    let redirect_uris = request.members.get("redirect_uris");
    let proven = sector::proven_sector(services, &sent, redirect_uris).await?;
    let is_pairwise = request.members.get("subject_type") == Some(&json!("pairwise"));
    if let Some(host) = proven.filter(|_| is_pairwise) {
        request
            .members
            .insert("sector_identifier".to_owned(), json!(host));
    }
    let scopes: Vec<&str> = token
        .limits
        .scopes
        .iter()
        .map(|scope| scope.as_str())
        .collect();
    let standard = || json!(scopes);
    request.members.entry("scopes").or_insert_with(standard);
    let (registered, access) = admin::register_client(services, token, from, request).await?;
    let mut metadata = response::metadata_of(
        services,
        &registered.application,
        &registered.registration,
        registered.secret.as_ref(),
    );
    let access = json!(access.expose());
    metadata.insert("registration_access_token".to_owned(), access);
    Ok(Value::Object(metadata))
}

/// Returns the metadata of an application (RFC 7592 section 2.1).
///
/// # Errors
/// [`RegistrationError::InvalidToken`] if the application was deleted meanwhile.
pub async fn read(services: &Services, registration: &ClientRegistration) -> Result<Value> {
    let application = known(services, registration).await?;
    let metadata = response::metadata_of(services, &application, registration, None);
    Ok(Value::Object(metadata))
}

/// Checks that the application may update itself now, and counts the update. This is before its body is read.
///
/// # Errors
/// [`RegistrationError::TooManyUpdates`].
pub fn count_update(services: &Services, registration: &ClientRegistration) -> Result<()> {
    admin::count_client_update(services, registration).map_err(RegistrationError::TooManyUpdates)
}

/// Updates an application (RFC 7592 section 2.2). The registration access token stays valid.
///
/// # Errors
/// [`RegistrationError`] if the metadata is not permitted.
#[tracing::instrument(target = SPANS, skip_all, name = "oidc.registration_update")]
pub async fn update(
    services: &Arc<Services>,
    registration: ClientRegistration,
    from: Origin,
    body: &[u8],
) -> Result<Value> {
    let sent = metadata::document(body)?;
    must_name(&registration, &sent)?;
    let known = known(services, &registration).await?;
    let sent = software_statement::merged(services, sent).await?;
    let request = metadata::request_of(&sent, MetadataUse::Update)?;
    must_be_supported(services, &request)?;
    let redirect_uris = request.members.get("redirect_uris");
    let proven = sector::proven_sector(services, &sent, redirect_uris).await?;
    sector::must_stay(&known.settings, &sent, redirect_uris, proven.as_deref())?;
    let updated = admin::update_registered_client(services, registration, from, request).await?;
    let metadata = response::metadata_of(
        services,
        &updated.application,
        &updated.registration,
        updated.secret.as_ref(),
    );
    Ok(Value::Object(metadata))
}

/// Deletes an application (RFC 7592 section 2.3).
///
/// # Errors
/// [`RegistrationError`] if only administrators may change the application now.
pub async fn delete(
    services: &Arc<Services>,
    registration: &ClientRegistration,
    from: Origin,
) -> Result<()> {
    Ok(admin::delete_registered_client(services, registration, from).await?)
}

/// Rejects an authentication method with a certificate on a server that receives none.
fn must_be_supported(services: &Services, request: &RegistrationRequest) -> Result<()> {
    const METHOD: &str = "token_endpoint_auth_method";
    let is_certificate = request.members.get(METHOD) == Some(&json!("tls_client_certificate"));
    match is_certificate && !services.settings.http.receives_certificates() {
        true => {
            let expected = "this server receives no client certificates";
            Err(RegistrationError::of_member(METHOD, expected))
        }
        false => Ok(()),
    }
}

/// Checks that an update names the application (RFC 7592 section 2.2).
fn must_name(registration: &ClientRegistration, sent: &Map<String, Value>) -> Result<()> {
    match sent.get("client_id") == Some(&json!(registration.application.as_str())) {
        true => Ok(()),
        false => Err(RegistrationError::of_member(
            "client_id",
            "expected the client_id of the registration",
        )),
    }
}

async fn known(services: &Services, registration: &ClientRegistration) -> Result<Application> {
    let found = services.store.application(&registration.application).await;
    let found = found.map_err(InternalError::from)?;
    found
        .map(Arc::unwrap_or_clone)
        .ok_or(RegistrationError::InvalidToken)
}
