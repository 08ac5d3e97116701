//! The OpenID Connect endpoints, under `/oidc`.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::domain::Services;
use crate::domain::keys::signing_keys::KEY_SET_CACHE;
use crate::domain::operations::traffic::rate_limits::limit::RateLimitError;
use crate::domain::sign_in::context::{Agreement, SignInContext};
use crate::domain::sign_in::{repeat, test_sign_in};
use crate::http::context::Browser;
use crate::http::oidc::client_calls::{authorization, is_form};
use crate::http::oidc::client_certificate::ClientCertificate;
use crate::http::oidc::dpop_header::{PROOF, dpop_challenge, proof_header, with_nonce};
use crate::http::page_error::{ErrorTexts, PageError};
use crate::http::page_routes::Visitor;
use crate::http::pages::OperatorDetail;
use crate::http::reply::{fault_in_words, see_other, unavailable, with_browser};
use crate::http::sign_in::answer::deliver;
use crate::http::sign_in::login;
use crate::http::sign_in::login::no_login::disabled_application;
use crate::http::sign_in::test_sign_in::open_test_sign_in;
use crate::http::{operator_details, request_id};
use crate::messages::Message;
use crate::oidc::authorize::answer::{AuthenticatedAuthorization, AuthorizeOutcome};
use crate::oidc::authorize::response::AuthorizationAnswer;
use crate::oidc::authorize::source::RequestSource;
use crate::oidc::authorize::{
    self, AcceptedAuthorization, AuthorizeError, Unanswerable, UnusablePush, answer, interaction,
};
use crate::oidc::bearer::{BearerError, BearerToken, ProofUse, TokenScheme, token_of};
use crate::oidc::parameters::Parameters;
use crate::oidc::userinfo::UserInfo;
use crate::oidc::{discovery, pushed_request, userinfo};
use assent_model::id::{Did, LoginId};
use assent_model::login::{AuthorizationRequest, GivenAnswer, LoginRequest};
use assent_model::redirect::RedirectPolicy;
use assent_store::{ReplayCheck, SignOnState};

/// How clients may cache the discovery document and the key set.
const CACHED: &str = "public, max-age=300";
// A key signs only after the caches of clients have it.
const _: () = assert!(KEY_SET_CACHE.as_secs() == 300);

/// `GET /oidc/.well-known/openid-configuration`
pub(crate) async fn configuration(State(services): State<Arc<Services>>) -> Response {
    public_json(discovery::document(&services).to_string())
}

/// `GET /oidc/jwks`: the keys that verify ID tokens: the current, the next and the previous signing keys (RFC 7517
/// section 5).
pub(crate) async fn jwks(State(services): State<Arc<Services>>) -> Response {
    let key_set = services.key_ring.published_key_set(services.now());
    public_json(key_set.json().to_owned())
}

/// `GET /oidc/receipts/keys`: all keys that sign or signed receipts, with their periods.
pub(crate) async fn receipt_keys(State(services): State<Arc<Services>>) -> Response {
    public_json(
        services
            .key_ring
            .receipt_key_set(&services.issuer)
            .to_string(),
    )
}

fn public_json(document: String) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static(CACHED)),
    ];
    (headers, document).into_response()
}

/// `GET /oidc/auth`
pub(crate) async fn auth(
    State(services): State<Arc<Services>>,
    RawQuery(query): RawQuery,
    browser: Browser,
) -> Response {
    let parameters = Parameters::parse(query.unwrap_or_default().as_bytes());
    let browser = browser.speaking(parameters.as_ref().ok().and_then(Parameters::language));
    let language = browser.language();
    let reply = async {
        let parameters = parameters?;
        let (parameters, source, is_used) =
            match pushed_request::named(&services, &parameters).await? {
                Some(pushed) => {
                    let source = RequestSource::Pushed(pushed.its_use);
                    (pushed.parameters, source, pushed.is_used)
                }
                None => (parameters, RequestSource::Browser, false),
            };
        let tried = parameters
            .get("redirect_uri")
            .and_then(|address| test_sign_in::id_from_address(&services, address));
        let tried = open_test_sign_in(&services, &browser, tried).await?;
        let client = parameters.get("client_id").unwrap_or_default();
        let read = browser.sign_on_state(&services, client).await?;
        let policy = RedirectPolicy::for_browser(tried.as_ref());
        let known = read.as_ref().map(|read| &read.application);
        let checked = authorize::check(&services, &parameters, source, policy, known).await;
        let accepted = match checked {
            Ok(accepted) => accepted,
            Err(AuthorizeError::Answer(answer)) => {
                return Err(answered(&services, source, client, answer).await);
            }
            Err(other) => return Err(other),
        };
        match is_used {
            true => again(&services, &browser, &accepted.request).await,
            false => begin(&services, &browser, accepted, read).await,
        }
    };
    let response = match reply.await {
        Ok(response) => response,
        Err(AuthorizeError::Page(why)) => unanswerable(&services, &why)
            .await
            .render(&services, language),
        Err(AuthorizeError::Answer(answer)) => {
            let login = LoginId::new(services.now(), &*services.entropy);
            deliver(&services, language, &answer, login).await
        }
        Err(AuthorizeError::Internal(error)) => PageError::from(error).render(&services, language),
    };
    with_browser(response, &services, &browser)
}

/// `POST /oidc/auth`: the same request with its parameters in the body. The browser repeats it with GET, because it
/// sends no `SameSite=Lax` cookie when another site posts.
pub(crate) async fn auth_by_post(
    Visitor { services, .. }: Visitor,
    body: Bytes,
) -> Result<Response, PageError> {
    match std::str::from_utf8(&body) {
        Ok(query) if query.len() <= 8 * 1024 && query.bytes().all(|b| b.is_ascii_graphic()) => {
            Ok(see_other(&format!("/oidc/auth?{query}")))
        }
        _ => Err(unanswerable(&services, &Unanswerable::Request).await),
    }
}

/// Returns the answer of a used pushed request again to the browser that received it, for a short time, or else the
/// reason why the request cannot be used.
async fn again(
    services: &Services,
    browser: &Browser,
    request: &AuthorizationRequest,
) -> Result<Response, AuthorizeError> {
    let since = services.now() - GivenAnswer::REPEATABLE;
    if let Some(pushed) = request.pushed
        && let Some(code) =
            repeat::open_code(services, pushed.code, since, browser.secret()).await?
    {
        let answer = answer::repeated_code(services, request, &code);
        let login = LoginId::new(services.now(), &*services.entropy);
        return Ok(deliver(services, browser.language(), &answer, login).await);
    }
    let why = Unanswerable::PushedRequest(UnusablePush::Used, request.application.clone());
    Err(AuthorizeError::Page(why))
}

/// Uses up the pushed request that an error answers before a sign-in begins. A second answer is a page.
async fn answered(
    services: &Services,
    source: RequestSource,
    client: &str,
    answer: AuthorizationAnswer,
) -> AuthorizeError {
    let (RequestSource::Pushed(pushed), Ok(client)) = (source, client.parse::<Did>()) else {
        return AuthorizeError::Answer(answer);
    };
    match services.store.claim_message(pushed.claim()).await {
        Ok(ReplayCheck::FirstUse) => AuthorizeError::Answer(answer),
        Ok(ReplayCheck::Replayed) => {
            AuthorizeError::Page(Unanswerable::PushedRequest(UnusablePush::Used, client))
        }
        Err(error) => AuthorizeError::Internal(error.into()),
    }
}

async fn begin(
    services: &Services,
    browser: &Browser,
    accepted: AcceptedAuthorization,
    read: Option<SignOnState>,
) -> Result<Response, AuthorizeError> {
    let request = &accepted.request;
    let session = match browser.signed_in_by(services, read).await? {
        Some(signed_in)
            if !request.select_account
                && interaction::session_suffices(
                    services,
                    &accepted.application,
                    request,
                    &signed_in,
                )? =>
        {
            Some(signed_in)
        }
        _ => None,
    };
    if accepted.silent && session.is_none() {
        let source = match request.pushed {
            Some(pushed) => RequestSource::Pushed(pushed),
            None => RequestSource::Browser,
        };
        let answer = accepted.login_required(services);
        let client = request.application.as_str();
        return Err(answered(services, source, client, answer).await);
    }
    let login_request = LoginRequest::Oidc(Box::new(request.clone()));
    let begun = match login::begin::begin(services, browser, login_request, None, session).await {
        Ok(begun) => begun,
        Err(error) => return Ok(error.render(services, browser.language())),
    };
    let Some(authenticated_user) = &begun.authenticated_user else {
        return Ok(begun.page(services).await?);
    };
    let login = begun.open().id();
    let authenticated = AuthenticatedAuthorization {
        login: begun.open(),
        application: Some(&accepted.application),
        request,
        authenticated_user,
        agreement: Agreement::Open,
    };
    let observer = test_sign_in::observer::observer(services, request.purpose);
    let request_id = request_id::current();
    let context = SignInContext {
        services,
        observer: &*observer,
        request_id: &request_id,
    };
    if accepted.silent {
        let answer = answer::respond_silently(context, authenticated).await?;
        return Ok(match answer {
            Some(answer) => deliver(services, browser.language(), &answer, login).await,
            None => unanswerable(services, &Unanswerable::Request)
                .await
                .render(services, browser.language()),
        });
    }
    Ok(match answer::respond(context, authenticated).await? {
        AuthorizeOutcome::Granted(answer) | AuthorizeOutcome::Failed(answer) => {
            deliver(services, browser.language(), &answer, login).await
        }
        // The login page shows the failure, and can be reloaded.
        AuthorizeOutcome::AskConsent(_)
        | AuthorizeOutcome::Denied(_)
        | AuthorizeOutcome::AnsweredBefore => begun.page(services).await?,
    })
}

/// Returns the page of a request that has no valid application and redirect URI.
async fn unanswerable(services: &Services, why: &Unanswerable) -> PageError {
    let what_happened = match why {
        Unanswerable::NoClient | Unanswerable::Client(_) => {
            Message::new("error-request-application")
        }
        Unanswerable::Disabled(_) => return disabled_application(why),
        Unanswerable::NoRedirectUri(_) => Message::new("error-request-no-address"),
        Unanswerable::RedirectUri { .. } => Message::new("error-request-address"),
        Unanswerable::Request => Message::new("error-request-unreadable"),
        Unanswerable::RequestObject { .. } => Message::new("error-request-object"),
        Unanswerable::PushedRequest(UnusablePush::Unknown, _) => {
            Message::new("error-request-unknown")
        }
        Unanswerable::PushedRequest(UnusablePush::Expired, _) => {
            Message::new("error-request-expired")
        }
        Unanswerable::PushedRequest(UnusablePush::Used, _) => Message::new("error-request-replay"),
    };
    ErrorTexts {
        status: StatusCode::BAD_REQUEST,
        title: Message::new("error-request"),
        what_happened,
        what_to_do: Message::new("error-request-again"),
    }
    .caused_by(why)
    .with_details(details(services, why).await)
}

/// Returns the details that the application's operator needs to find the mistake.
async fn details(services: &Services, why: &Unanswerable) -> Vec<OperatorDetail> {
    let (mut details, parameter) = match why {
        Unanswerable::NoClient => (Vec::new(), "client_id"),
        Unanswerable::Client(received) => {
            let id = operator_details::client_id();
            (vec![operator_details::value_of(id, received)], "client_id")
        }
        Unanswerable::NoRedirectUri(application) => (
            operator_details::client(services, application).await,
            "redirect_uri",
        ),
        Unanswerable::RedirectUri { application, asked } => {
            let mut details = operator_details::client(services, application).await;
            details.push(operator_details::address(asked));
            (details, "redirect_uri")
        }
        Unanswerable::RequestObject { application, .. } => (
            operator_details::client(services, application).await,
            "request",
        ),
        Unanswerable::PushedRequest(_, application) => (
            operator_details::client(services, application).await,
            "request_uri",
        ),
        Unanswerable::Disabled(_) | Unanswerable::Request => return Vec::new(),
    };
    details.push(operator_details::parameter(parameter));
    details
}

/// `GET` and `POST /oidc/me`
pub(crate) async fn me(
    State(services): State<Arc<Services>>,
    certificate: Option<ClientCertificate>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let proof = proof_header(&headers);
    let reply = async {
        let in_body = posted_token(&headers, &body)?;
        let (scheme, token) = match (authorization(&headers), &in_body) {
            // The client must send the token in only one way (RFC 6750 section 2).
            (Some(_), Some(_)) => return Err(BearerError::InvalidRequest),
            (None, Some(token)) => (TokenScheme::Bearer, token.as_str()),
            (header, None) => token_of(header)?,
        };
        let shown = BearerToken {
            token,
            scheme,
            certificate: certificate.as_ref().map(ClientCertificate::der),
            proof,
            method: method.as_str(),
            path: userinfo::PATH,
            proof_use: ProofUse::OnThisInstance,
        };
        userinfo::respond(&services, shown).await
    };
    let reply = reply.await;
    if let Err(error) = &reply {
        note_rejection(&services, &headers, &body, error);
    }
    let mut response = match reply {
        Ok(UserInfo::Plain(claims)) => Json(claims).into_response(),
        Ok(UserInfo::Signed(token)) => ([(CONTENT_TYPE, "application/jwt")], token).into_response(),
        Err(error) => bearer_error(&services, &error, &headers),
    };
    no_store(&mut response);
    with_nonce(&services, headers.contains_key(PROOF), response)
}

/// Notes a rejected request for the administrator of the application.
fn note_rejection(services: &Services, headers: &HeaderMap, body: &[u8], error: &BearerError) {
    let header = authorization(headers);
    let in_body = posted_token(headers, body).ok().flatten();
    let in_header = token_of(header).ok().map(|(_, token)| token);
    if let Some(token) = in_header.or(in_body.as_deref()) {
        userinfo::note_rejection(services, token, header, proof_header(headers), error);
    }
}

/// The token in a form's `access_token` (RFC 6750 section 2.2).
fn posted_token(headers: &HeaderMap, body: &[u8]) -> Result<Option<String>, BearerError> {
    if !is_form(headers) {
        return Ok(None);
    }
    let parameters = Parameters::parse(body).map_err(|_| BearerError::InvalidRequest)?;
    parameters
        .refuse_repeated()
        .map_err(|_| BearerError::InvalidRequest)?;
    Ok(parameters.get("access_token").map(str::to_owned))
}

/// Returns the error response (RFC 6750 section 3).
fn bearer_error(services: &Services, error: &BearerError, headers: &HeaderMap) -> Response {
    let mut description = error.to_string();
    let status = match error {
        BearerError::Missing
        | BearerError::InvalidToken
        | BearerError::InvalidProof(_)
        | BearerError::UseNonce => StatusCode::UNAUTHORIZED,
        BearerError::InvalidRequest => StatusCode::BAD_REQUEST,
        BearerError::InsufficientScope(_) => StatusCode::FORBIDDEN,
        BearerError::Busy => StatusCode::SERVICE_UNAVAILABLE,
        BearerError::Internal(cause) => {
            description = fault_in_words(services, "UserInfo failed", cause);
            StatusCode::INTERNAL_SERVER_ERROR
        }
    };
    let challenges = match (error.code(), token_of(authorization(headers))) {
        (Some(_), Ok((TokenScheme::Dpop, _))) => vec![dpop_challenge(error)],
        (Some(code), _) => vec![format!(
            "Bearer error=\"{code}\", error_description=\"{description}\""
        )],
        (None, _) => vec!["Bearer".to_owned(), dpop_challenge(error)],
    };
    // The specification has the same status for a missing token.
    let body =
        json!({"error": error.code().unwrap_or("invalid_token"), "error_description": description});
    let mut response = (status, Json(body)).into_response();
    if matches!(error, BearerError::Busy) {
        response
            .headers_mut()
            .insert(RETRY_AFTER, RateLimitError::SOON.seconds().into());
    }
    if matches!(error, BearerError::Internal(cause) if cause.is_outage()) {
        return unavailable(response);
    }
    if status.is_client_error() {
        for challenge in challenges {
            if let Ok(challenge) = HeaderValue::from_str(&challenge) {
                response.headers_mut().append(WWW_AUTHENTICATE, challenge);
            }
        }
    }
    response
}

fn no_store(response: &mut Response) {
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
}
