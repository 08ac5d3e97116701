//! The endpoints that applications call themselves: token, introspection, revocation, pushed requests, back-channel
//! requests, device authorization requests, receipts.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, Path, Request, State};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, PRAGMA, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Json, RequestExt};
use serde_json::json;

use crate::domain::Services;
use crate::domain::operations::recent_requests::{self, RequestError};
use crate::domain::operations::request_queue::Sender;
use crate::domain::operations::traffic::admission::AdmittedRequest;
use crate::domain::operations::traffic::rate_limits::keys::Network;
use crate::domain::operations::traffic::rate_limits::limit::RateLimitError;
use crate::http::context::RequestOrigin;
use crate::http::header_text;
use crate::http::oidc::client_certificate::ClientCertificate;
use crate::http::oidc::dpop_header::{PROOF, proof_header, with_nonce};
use crate::http::oidc::paths;
use crate::http::operations::measured_request::Waited;
use crate::http::operations::rate_limits;
use crate::http::reply::{fault_in_words, unavailable};
use crate::oidc::client_auth::basic;
use crate::oidc::client_auth::{self, AuthenticatedClient, ClientAuthRequest, ClientEndpoint};
use crate::oidc::error::TokenError;
use crate::oidc::grant::long_poll::Patience;
use crate::oidc::parameters::Parameters;
use crate::oidc::request_parts::{named_client, parts_of};
use crate::oidc::tokens::{Presented, PresentedText};
use crate::oidc::{
    backchannel_authentication, device_authorization, grant, introspection, pushed_request,
    receipts, revocation,
};
use assent_model::id::Did;

/// Parameters with credentials. An address with one would be written to logs.
const CREDENTIALS: [&str; 2] = ["client_secret", "client_assertion"];

fn endpoint_at(path: &str) -> Option<ClientEndpoint> {
    if paths::is_receipt(path) {
        return Some(ClientEndpoint::Receipts);
    }
    ClientEndpoint::ALL
        .into_iter()
        .filter(|endpoint| *endpoint != ClientEndpoint::Receipts)
        .find(|endpoint| endpoint.path() == path)
}

/// A form that an application posted, with the application, which the form authenticates. A request with GET has its
/// parameters in the query, and its credentials in the `Authorization` header or in the certificate of the connection.
pub(crate) struct AuthenticatedForm {
    client: AuthenticatedClient,
    parameters: Parameters,
    presented: Option<Presented>,
    /// Whether the application accepts a signed introspection response.
    accepts_jwt: bool,
    from: Network,
    headers: CredentialHeaders,
    patience: Patience,
}

/// The headers of a request with which a client proves what it is.
struct CredentialHeaders {
    authorization: Option<HeaderValue>,
    /// Only the DPoP headers.
    proofs: HeaderMap,
}

impl CredentialHeaders {
    fn of(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(PROOF).iter();
        Self {
            authorization: headers.get(AUTHORIZATION).cloned(),
            proofs: lines.map(|line| (PROOF, line.clone())).collect(),
        }
    }

    fn authorization(&self) -> Option<&str> {
        self.authorization.as_ref().map(text_of)
    }
}

/// RFC 7240 section 2.
const PREFER: &str = "prefer";

/// The type of a signed introspection response (RFC 9701 section 5).
const INTROSPECTION_JWT: &str = "application/token-introspection+jwt";

impl FromRequest<Arc<Services>> for AuthenticatedForm {
    type Rejection = Response;

    async fn from_request(
        mut request: Request,
        services: &Arc<Services>,
    ) -> Result<Self, Response> {
        let from = request
            .extract_parts_with_state::<Network, _>(services)
            .await
            .map_err(IntoResponse::into_response)?;
        let certificate = request
            .extract_parts_with_state::<Option<ClientCertificate>, _>(services)
            .await;
        let certificate = certificate.map_err(IntoResponse::into_response)?;
        let query = match *request.method() {
            Method::GET | Method::HEAD => Some(request.uri().query().unwrap_or("").to_owned()),
            _ => None,
        };
        let is_form = is_form(request.headers());
        let admitted = request.extensions().get::<Arc<AdmittedRequest>>().cloned();
        let patience = Patience::new(preferred_wait(request.headers()), admitted);
        let headers = CredentialHeaders::of(request.headers());
        let has_proof = !headers.proofs.is_empty();
        let accepted = request.headers().get_all(ACCEPT).iter();
        let accepts_jwt = accepted
            .map(text_of)
            .any(|line| line.contains(INTROSPECTION_JWT));
        // The rules of the token endpoint are the strictest.
        let endpoint = endpoint_at(request.uri().path()).unwrap_or(ClientEndpoint::Token);
        let body = Bytes::from_request(request, services)
            .await
            .map_err(IntoResponse::into_response)?;
        let called = async {
            let parameters = match &query {
                Some(query) => parameters_of_query(query)?,
                None => parameters_of_form(is_form, &body)?,
            };
            let call = ClientAuthRequest {
                endpoint,
                from,
                authorization: headers.authorization(),
                certificate: certificate.as_ref().map(ClientCertificate::presented),
                proof: proof_header(&headers.proofs),
                parameters: &parameters,
                is_patient: endpoint == ClientEndpoint::Token
                    && patience.is_long()
                    && grant::may_wait(&parameters),
            };
            let text = match endpoint {
                ClientEndpoint::Token => grant::presented(services, &parameters),
                ClientEndpoint::Introspection | ClientEndpoint::Revocation => parameters
                    .get("token")
                    .and_then(|text| PresentedText::token(services, text)),
                ClientEndpoint::PushedRequest
                | ClientEndpoint::Backchannel
                | ClientEndpoint::DeviceAuthorization
                | ClientEndpoint::Receipts => None,
            };
            let authenticated = client_auth::authenticate(services, call, text).await;
            if let Err(error) = &authenticated {
                let named = named_client(&parameters, headers.authorization());
                note(
                    services,
                    named.as_ref().map(|id| (id, Sender::Stranger)),
                    endpoint,
                    &headers,
                    &parameters,
                    Some(error),
                );
            }
            let (client, presented) = authenticated?;
            Ok(Self {
                client,
                parameters,
                presented,
                accepts_jwt,
                from,
                headers,
                patience,
            })
        };
        called
            .await
            .map_err(|error| with_nonce(services, has_proof, error_response(services, &error)))
    }
}

fn parameters_of_form(is_form: bool, body: &[u8]) -> Result<Parameters, TokenError> {
    if !is_form {
        let expected = "the body must be application/x-www-form-urlencoded".to_owned();
        return Err(TokenError::InvalidRequest(expected));
    }
    unrepeated_parameters(body)
}

/// Returns the parameters of a request with GET, which has no credentials in its address (RFC 6749 section 2.3.1).
fn parameters_of_query(query: &str) -> Result<Parameters, TokenError> {
    let parameters = unrepeated_parameters(query.as_bytes())?;
    match CREDENTIALS.into_iter().find(|name| parameters.has(name)) {
        Some(name) => Err(TokenError::InvalidRequest(format!(
            "{name} must not be in the address; send it in the body, with POST"
        ))),
        None => Ok(parameters),
    }
}

fn unrepeated_parameters(text: &[u8]) -> Result<Parameters, TokenError> {
    let parameters =
        Parameters::parse(text).map_err(|error| TokenError::InvalidRequest(error.to_string()))?;
    parameters
        .refuse_repeated()
        .map_err(|error| TokenError::InvalidRequest(error.to_string()))?;
    Ok(parameters)
}

/// Returns the time that the client prefers to wait for the response (`Prefer: wait=30`, RFC 7240 section 4.3). The
/// first such preference counts (section 2).
fn preferred_wait(headers: &HeaderMap) -> Duration {
    let lines = headers.get_all(PREFER).iter().map(text_of);
    let seconds = lines
        .flat_map(|line| line.split(','))
        .find_map(|preference| {
            let preference = preference.split(';').next().unwrap_or_default();
            let (name, value) = preference.split_once('=')?;
            let is_wait = name.trim().eq_ignore_ascii_case("wait");
            is_wait.then(|| value.trim().trim_matches('"').parse().unwrap_or(0))
        });
    Duration::from_secs(seconds.unwrap_or(0))
}

/// Notes a request for the administrator of the application that it names. Failures of this server are not its own.
fn note(
    services: &Services,
    application: Option<(&Did, Sender)>,
    endpoint: ClientEndpoint,
    headers: &CredentialHeaders,
    parameters: &Parameters,
    error: Option<&TokenError>,
) {
    let Some((application, sender)) = application else {
        return;
    };
    match error {
        Some(
            TokenError::Internal(_)
            | TokenError::Busy
            | TokenError::TooManyFailures(_)
            | TokenError::TooMany(_),
        ) => return,
        // The usual results of a poll would replace the other requests.
        Some(TokenError::AuthorizationPending | TokenError::SlowDown) => return,
        // Nothing is stored for unknown applications.
        Some(TokenError::InvalidClient { reason, .. }) if *reason == basic::UNKNOWN => return,
        _ => {}
    }
    let error = error.map(|error| RequestError {
        code: error.code().to_owned(),
        reason: error.to_string(),
    });
    recent_requests::record(
        services,
        application,
        sender,
        endpoint.path(),
        error,
        || {
            let proof = proof_header(&headers.proofs).proof().ok().flatten();
            parts_of(parameters, headers.authorization(), proof)
        },
    );
}

/// `POST /oidc/token`
pub(crate) async fn token(
    State(services): State<Arc<Services>>,
    called: AuthenticatedForm,
) -> Response {
    let AuthenticatedForm {
        client,
        parameters,
        presented,
        headers,
        patience,
        ..
    } = called;
    let id = &client.application.id;
    let exchanged = Box::pin(grant::exchange(
        &services,
        &client,
        &parameters,
        presented,
        &patience,
    ))
    .await;
    let (endpoint, error) = (ClientEndpoint::Token, exchanged.as_ref().err());
    note(
        &services,
        Some((id, Sender::Application)),
        endpoint,
        &headers,
        &parameters,
        error,
    );
    let mut response = match exchanged {
        Ok(tokens) => never_stored(Json(tokens).into_response()),
        Err(error) => {
            log_rejection(id, endpoint, &error);
            error_response(&services, &error)
        }
    };
    if patience.is_long() {
        response.extensions_mut().insert(Waited);
    }
    with_nonce(&services, client.proof.is_some(), response)
}

/// `POST /oidc/par`
pub(crate) async fn push(
    State(services): State<Arc<Services>>,
    called: AuthenticatedForm,
) -> Response {
    let AuthenticatedForm {
        client,
        parameters,
        from,
        headers,
        ..
    } = called;
    if let Some(rejection) = rejection_of_public(&services, &client, from, "pushed requests") {
        return rejection;
    }
    let id = &client.application.id;
    let pushed = pushed_request::push(&services, &client, &parameters).await;
    let (endpoint, error) = (ClientEndpoint::PushedRequest, pushed.as_ref().err());
    note(
        &services,
        Some((id, Sender::Application)),
        endpoint,
        &headers,
        &parameters,
        error,
    );
    let response = match pushed {
        Ok(pushed) => never_stored((StatusCode::CREATED, Json(pushed)).into_response()),
        Err(error) => {
            log_rejection(id, endpoint, &error);
            error_response(&services, &error)
        }
    };
    with_nonce(&services, client.proof.is_some(), response)
}

/// `POST /oidc/backchannel`
pub(crate) async fn ask(
    State(services): State<Arc<Services>>,
    RequestOrigin(origin): RequestOrigin,
    called: AuthenticatedForm,
) -> Response {
    let AuthenticatedForm {
        client,
        parameters,
        headers,
        ..
    } = called;
    let id = &client.application.id;
    let accepted =
        backchannel_authentication::accept(&services, &client, &parameters, origin).await;
    let (endpoint, error) = (ClientEndpoint::Backchannel, accepted.as_ref().err());
    note(
        &services,
        Some((id, Sender::Application)),
        endpoint,
        &headers,
        &parameters,
        error,
    );
    match accepted {
        Ok(response) => never_stored(Json(response).into_response()),
        Err(error) => {
            log_rejection(id, endpoint, &error);
            error_response(&services, &error)
        }
    }
}

/// `POST /oidc/device_authorization`
pub(crate) async fn authorize_device(
    State(services): State<Arc<Services>>,
    RequestOrigin(origin): RequestOrigin,
    called: AuthenticatedForm,
) -> Response {
    let AuthenticatedForm {
        client,
        parameters,
        from,
        headers,
        ..
    } = called;
    if let Some(rejection) =
        rejection_of_public(&services, &client, from, "device authorization requests")
    {
        return rejection;
    }
    let id = &client.application.id;
    let accepted = device_authorization::accept(&services, &client, &parameters, origin).await;
    let (endpoint, error) = (ClientEndpoint::DeviceAuthorization, accepted.as_ref().err());
    note(
        &services,
        Some((id, Sender::Application)),
        endpoint,
        &headers,
        &parameters,
        error,
    );
    match accepted {
        Ok(response) => never_stored(Json(response).into_response()),
        Err(error) => {
            log_rejection(id, endpoint, &error);
            error_response(&services, &error)
        }
    }
}

/// Counts a request of a public application. It is not authenticated, so the request is limited like that of a login
/// page, which it replaces. Returns the response to one too many.
fn rejection_of_public(
    services: &Services,
    client: &AuthenticatedClient,
    from: Network,
    requests: &'static str,
) -> Option<Response> {
    let settings = &client.application.settings;
    if settings.application_type.is_confidential() {
        return None;
    }
    let limit = &services.rate_limits.login_pages_per_ip;
    let counted = limit.count_call(&from, services.now());
    let exhausted = counted.err()?;
    Some(rate_limits::too_many_calls(requests, exhausted))
}

/// Writes a rejected request of an authenticated client to the log. Failures of this server have a log line of
/// their own. Earlier rejections and those by a limit have none, because any client could flood the log with them.
fn log_rejection(application: &Did, endpoint: ClientEndpoint, error: &TokenError) {
    match error {
        TokenError::InvalidRequest(_)
        | TokenError::InvalidGrant(_)
        | TokenError::InvalidProof(_)
        | TokenError::UseNonce
        | TokenError::Pushed { .. }
        | TokenError::InvalidScope(_)
        | TokenError::InvalidAuthorizationDetails(_)
        | TokenError::ExpiredToken
        | TokenError::AccessDenied(_)
        | TokenError::UnknownUser
        | TokenError::UnknownReceipt
        | TokenError::InvalidBindingMessage(_)
        | TokenError::ExpiredLoginHintToken
        | TokenError::UnauthorizedClient
        | TokenError::UnsupportedGrantType => {
            let (code, description) = (error.code(), error.to_string());
            match endpoint {
                ClientEndpoint::PushedRequest => tracing::info!(
                    %application, error = code, description,
                    "pushed authorization request rejected"
                ),
                ClientEndpoint::Backchannel => tracing::info!(
                    %application, error = code, description,
                    "back-channel request rejected"
                ),
                ClientEndpoint::DeviceAuthorization => tracing::info!(
                    %application, error = code, description,
                    "device authorization request rejected"
                ),
                ClientEndpoint::Token
                | ClientEndpoint::Introspection
                | ClientEndpoint::Revocation
                | ClientEndpoint::Receipts => tracing::info!(
                    %application, error = code, description,
                    "token request rejected"
                ),
            }
        }
        TokenError::InvalidClient { .. }
        | TokenError::ApplicationDisabled
        | TokenError::TooManyFailures(_)
        | TokenError::TooMany(_)
        | TokenError::AuthorizationPending
        | TokenError::SlowDown
        | TokenError::Busy
        | TokenError::Internal(_) => {}
    }
}

/// `POST /oidc/token/introspection`
pub(crate) async fn introspect(
    State(services): State<Arc<Services>>,
    called: AuthenticatedForm,
) -> Response {
    let AuthenticatedForm {
        client,
        parameters,
        presented,
        accepts_jwt,
        ..
    } = called;
    let reply = async {
        let introspection =
            introspection::introspect(&services, &client, &parameters, presented).await?;
        Ok(match accepts_jwt {
            false => Json(introspection).into_response(),
            true => {
                let signed = introspection::signed(&services, &client, &introspection).await?;
                ([(CONTENT_TYPE, INTROSPECTION_JWT)], signed).into_response()
            }
        })
    };
    match reply.await {
        Ok(response) => never_stored(response),
        Err(error) => error_response(&services, &error),
    }
}

/// `POST /oidc/token/revocation`
pub(crate) async fn revoke(
    State(services): State<Arc<Services>>,
    called: AuthenticatedForm,
) -> Response {
    let AuthenticatedForm {
        client,
        parameters,
        presented,
        ..
    } = called;
    match revocation::revoke(&services, &client, &parameters, presented).await {
        Ok(()) => never_stored(StatusCode::OK.into_response()),
        Err(error) => error_response(&services, &error),
    }
}

/// `GET` and `POST /oidc/receipts/{id}`. Clients that authenticate in the body use POST.
pub(crate) async fn receipt(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
    called: AuthenticatedForm,
) -> Response {
    match receipts::read(&services, &called.client, &id).await {
        Ok(receipt) => never_stored(Json(receipt).into_response()),
        Err(error) => error_response(&services, &error),
    }
}

/// Returns the error response (RFC 6749 section 5.2).
fn error_response(services: &Services, error: &TokenError) -> Response {
    let mut description = error.to_string();
    let status = match error {
        TokenError::TooManyFailures(exhausted) => {
            return rate_limits::too_many_calls("failed client authentications", *exhausted);
        }
        TokenError::TooMany(exhausted) => {
            return rate_limits::too_many_calls("back-channel requests", *exhausted);
        }
        TokenError::InvalidClient { .. } => StatusCode::UNAUTHORIZED,
        TokenError::UnknownReceipt => StatusCode::NOT_FOUND,
        TokenError::Busy => StatusCode::SERVICE_UNAVAILABLE,
        TokenError::Internal(cause) => {
            description = fault_in_words(services, "an application's request failed", cause);
            StatusCode::INTERNAL_SERVER_ERROR
        }
        _ => StatusCode::BAD_REQUEST,
    };
    let body = Json(json!({"error": error.code(), "error_description": description}));
    let mut response = (status, body).into_response();
    if matches!(
        error,
        TokenError::InvalidClient {
            by_header: true,
            ..
        }
    ) {
        response.headers_mut().insert(
            WWW_AUTHENTICATE,
            HeaderValue::from_static("Basic realm=\"token endpoint\""),
        );
    }
    if matches!(error, TokenError::Busy) {
        response
            .headers_mut()
            .insert(RETRY_AFTER, RateLimitError::SOON.seconds().into());
    }
    if matches!(error, TokenError::Internal(cause) if cause.is_outage()) {
        response = unavailable(response);
    }
    never_stored(response)
}

/// Whether the path is that of one of these endpoints.
pub(crate) fn is_endpoint(path: &str) -> bool {
    endpoint_at(path).is_some()
}

/// Converts rejections of outer layers into the form of RFC 6749 section 5.2: a body that is too large, an unsupported
/// method, a response that took too long.
pub(crate) fn in_its_words(response: Response) -> Response {
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE);
    if kind.is_some_and(|kind| kind == "application/json" || kind == INTROSPECTION_JWT) {
        return response;
    }
    let (error, description) = match status {
        StatusCode::PAYLOAD_TOO_LARGE => ("invalid_request", "the body is too large"),
        StatusCode::METHOD_NOT_ALLOWED => ("invalid_request", "the method must be POST"),
        StatusCode::URI_TOO_LONG => (
            "invalid_request",
            "the address is too long; send the parameters in the body",
        ),
        StatusCode::SERVICE_UNAVAILABLE => (
            "temporarily_unavailable",
            "the server is busy, or the response took too long; try again",
        ),
        status if status.is_client_error() => ("invalid_request", "the request cannot be read"),
        _ => ("server_error", "the server could not answer; try again"),
    };
    let mut answer = (
        status,
        Json(json!({"error": error, "error_description": description})),
    )
        .into_response();
    // The rejection's other headers stay, such as `Allow`.
    for (name, value) in response.headers() {
        if name != CONTENT_TYPE && name != CONTENT_LENGTH {
            answer.headers_mut().append(name, value.clone());
        }
    }
    never_stored(answer)
}

/// Forbids caching (RFC 6749 section 5.1).
pub(crate) fn never_stored(mut response: Response) -> Response {
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
        .headers_mut()
        .insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    header_text::media_type(headers) == "application/x-www-form-urlencoded"
}

pub(crate) fn authorization(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION).map(text_of)
}

/// Returns the text of a header. A header that is not text must still fail as a header, and must not count as missing.
fn text_of(value: &HeaderValue) -> &str {
    value.to_str().unwrap_or_default()
}
