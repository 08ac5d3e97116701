//! The endpoints of dynamic client registration (RFC 7591, RFC 7592).

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request, State};
use axum::http::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::domain::Services;
use crate::domain::operations::traffic::rate_limits::limit::RateLimitError;
use crate::http::forwarded::address_of;
use crate::http::header_text;
use crate::http::oidc::client_calls::{authorization, in_its_words, never_stored};
use crate::http::oidc::dpop_header::{PROOF, proof_header, with_nonce};
use crate::http::oidc::paths::REGISTER;
use crate::http::reply::{fault_in_words, unavailable};
use crate::oidc::registration::error::RegistrationError;
use crate::oidc::registration::requests;
use assent_model::audit::Origin;
use assent_model::client_registration::ClientRegistration;

/// Converts rejections of outer layers into the form of an error of RFC 7591 section 3.2.2.
pub(crate) fn rejection_in_its_words(response: Response) -> Response {
    let allowed = response.headers().get(ALLOW).cloned();
    match allowed {
        Some(allowed) if response.status() == StatusCode::METHOD_NOT_ALLOWED => {
            let description = "the method is not one of the header Allow";
            let status = StatusCode::METHOD_NOT_ALLOWED;
            let mut response = error_body(status, "invalid_request", description);
            response.headers_mut().insert(ALLOW, allowed);
            response
        }
        _ => in_its_words(response),
    }
}

/// The caller of an endpoint, if the server has registration enabled.
pub(crate) struct RegistrationCaller {
    from: Origin,
    authorization: Option<String>,
    method: Method,
    /// The `DPoP` headers.
    proofs: HeaderMap,
}

impl RegistrationCaller {
    /// Uses the proof of a request to this path with a valid token, if it has one.
    async fn use_proof(&self, services: &Services, path: &str) -> Result<(), RegistrationError> {
        let (proof, method) = (proof_header(&self.proofs), self.method.as_str());
        requests::use_proof(services, proof, method, path).await
    }

    fn answer(&self, services: &Services, reply: Result<Response, RegistrationError>) -> Response {
        let response = match reply {
            Ok(response) => never_stored(response),
            Err(error) => error_response(services, &error),
        };
        with_nonce(services, self.proofs.contains_key(PROOF), response)
    }

    /// Returns the registration of this application, if the caller has its registration access token, and uses the
    /// proof of the request.
    async fn registration(
        &self,
        services: &Services,
        application: &str,
    ) -> Result<ClientRegistration, RegistrationError> {
        let authorization = self.authorization.as_deref();
        let registration = requests::registration(services, application, authorization).await?;
        self.use_proof(services, &path_of(application)).await?;
        Ok(registration)
    }
}

impl FromRequestParts<Arc<Services>> for RegistrationCaller {
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        services: &Arc<Services>,
    ) -> Result<Self, Response> {
        if !services.settings.oidc.registration.enabled {
            let description = "this server registers no applications by themselves";
            let status = StatusCode::NOT_FOUND;
            return Err(error_body(status, "invalid_request", description));
        }
        Ok(Self {
            from: Origin {
                address: address_of(services, &parts.extensions, &parts.headers),
                browser: None,
            },
            authorization: authorization(&parts.headers).map(str::to_owned),
            method: parts.method.clone(),
            proofs: proofs_of(&parts.headers),
        })
    }
}

fn proofs_of(headers: &HeaderMap) -> HeaderMap {
    let proofs = headers.get_all(PROOF).into_iter();
    proofs.map(|proof| (PROOF, proof.clone())).collect()
}

/// The path of a registered application, as in its `registration_client_uri`.
fn path_of(application: &str) -> String {
    format!("{REGISTER}/{application}")
}

/// `POST /oidc/register`
pub(crate) async fn register(
    State(services): State<Arc<Services>>,
    caller: RegistrationCaller,
    request: Request,
) -> Response {
    let reply = async {
        // The body is read only with a valid token.
        let token = requests::initial_access(&services, caller.authorization.as_deref()).await?;
        caller.use_proof(&services, REGISTER).await?;
        let body = match body_of(&services, request).await {
            Ok(body) => body,
            Err(rejection) => return Ok(rejection),
        };
        let registered = requests::register(&services, &token, caller.from.clone(), &body).await?;
        Ok((StatusCode::CREATED, Json(registered)).into_response())
    };
    let reply = reply.await;
    caller.answer(&services, reply)
}

/// `GET /oidc/register/{client_id}`
pub(crate) async fn read(
    State(services): State<Arc<Services>>,
    caller: RegistrationCaller,
    Path(application): Path<String>,
) -> Response {
    let reply = async {
        let registration = caller.registration(&services, &application).await?;
        let metadata = requests::read(&services, &registration).await?;
        Ok(with_token(metadata, caller.authorization.as_deref()).into_response())
    };
    let reply = reply.await;
    caller.answer(&services, reply)
}

/// `PUT /oidc/register/{client_id}`
pub(crate) async fn update(
    State(services): State<Arc<Services>>,
    caller: RegistrationCaller,
    Path(application): Path<String>,
    request: Request,
) -> Response {
    let reply = async {
        let registration = caller.registration(&services, &application).await?;
        requests::count_update(&services, &registration)?;
        let body = match body_of(&services, request).await {
            Ok(body) => body,
            Err(rejection) => return Ok(rejection),
        };
        let metadata =
            requests::update(&services, registration, caller.from.clone(), &body).await?;
        Ok(with_token(metadata, caller.authorization.as_deref()).into_response())
    };
    let reply = reply.await;
    caller.answer(&services, reply)
}

/// `DELETE /oidc/register/{client_id}`
pub(crate) async fn delete(
    State(services): State<Arc<Services>>,
    caller: RegistrationCaller,
    Path(application): Path<String>,
) -> Response {
    let reply = async {
        let registration = caller.registration(&services, &application).await?;
        requests::delete(&services, &registration, caller.from.clone()).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    };
    let reply = reply.await;
    caller.answer(&services, reply)
}

/// Returns metadata with the registration access token of the request, which RFC 7592 section 3 requires. The database
/// has only its digest.
fn with_token(mut metadata: Value, authorization: Option<&str>) -> Json<Value> {
    let token = authorization.and_then(|header| header.split_once(' '));
    if let (Some((_, token)), Some(members)) = (token, metadata.as_object_mut()) {
        let token = json!(token.trim());
        members.insert("registration_access_token".to_owned(), token);
    }
    Json(metadata)
}

/// Reads a JSON body. The result of another one is its rejection.
async fn body_of(services: &Arc<Services>, request: Request) -> Result<Bytes, Response> {
    if !is_json(request.headers()) {
        let expected = "the body must be application/json".to_owned();
        return Err(error_response(
            services,
            &RegistrationError::InvalidMetadata(expected),
        ));
    }
    Bytes::from_request(request, services)
        .await
        .map_err(IntoResponse::into_response)
}

fn is_json(headers: &HeaderMap) -> bool {
    header_text::media_type(headers) == "application/json"
}

/// Returns the error response (RFC 7591 section 3.2.2, RFC 6750 section 3).
fn error_response(services: &Services, error: &RegistrationError) -> Response {
    let mut description = error.to_string();
    let status = match error {
        RegistrationError::InvalidToken => StatusCode::UNAUTHORIZED,
        RegistrationError::Forbidden(_) => StatusCode::FORBIDDEN,
        RegistrationError::Conflict(_) => StatusCode::SERVICE_UNAVAILABLE,
        RegistrationError::TooManyUpdates(_) | RegistrationError::TooManyFailures(_) => {
            StatusCode::TOO_MANY_REQUESTS
        }
        RegistrationError::InvalidRedirectUri(_)
        | RegistrationError::InvalidMetadata(_)
        | RegistrationError::InvalidSoftwareStatement(_)
        | RegistrationError::UnapprovedSoftwareStatement
        | RegistrationError::InvalidProof(_)
        | RegistrationError::UseNonce => StatusCode::BAD_REQUEST,
        RegistrationError::Internal(cause) => {
            description = fault_in_words(services, "a registration failed", cause);
            StatusCode::INTERNAL_SERVER_ERROR
        }
    };
    let mut response = error_body(status, error.code(), &description);
    match error {
        RegistrationError::InvalidToken => {
            let challenge = HeaderValue::from_static("Bearer error=\"invalid_token\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        RegistrationError::Conflict(_) => retry_after(&mut response, RateLimitError::SOON),
        RegistrationError::TooManyUpdates(exhausted)
        | RegistrationError::TooManyFailures(exhausted) => retry_after(&mut response, *exhausted),
        RegistrationError::Internal(cause) if cause.is_outage() => {
            response = unavailable(response);
        }
        _ => {}
    }
    response
}

/// Returns an error response with its JSON, which no cache stores.
fn error_body(status: StatusCode, code: &str, description: &str) -> Response {
    let body = Json(json!({"error": code, "error_description": description}));
    never_stored((status, body).into_response())
}

fn retry_after(response: &mut Response, exhausted: RateLimitError) {
    let seconds = exhausted.seconds();
    response.headers_mut().insert(RETRY_AFTER, seconds.into());
}
