//! The authorization endpoint (RFC 6749 section 4.1.1, OpenID Connect Core 1.0 section 3.1.2): it checks the request,
//! and responds after the user is known.

pub mod answer;
mod checks;
mod details;
pub mod interaction;
pub mod request_object;
pub mod response;
pub mod source;

use response::AuthorizationAnswer;

use std::sync::Arc;

use checks::is_printable;
use request_object::EffectiveRequest;
use response::Destination;
use source::RequestSource;

use super::error::AuthorizeErrorCode;
use super::parameters::{Parameters, ParametersError};
use super::request_parts;
use crate::domain::operations::recent_requests::{self, RequestError};
use crate::domain::operations::request_queue::Sender;
use crate::domain::{InternalError, Services};
use assent_model::application::{Application, RegisteredApplication};
use assent_model::authorization_details::requested::AuthorizationDetails;
use assent_model::id::Did;
use assent_model::login::AuthorizationRequest;
use assent_model::name::QuotedText;
use assent_model::redirect::RedirectPolicy;
use assent_telemetry::SPANS;

/// The reason why a request gets no response to the application: its redirect URI is not known. A page shows the
/// reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswerable {
    /// `client_id` is missing or repeated.
    #[error("client_id is missing")]
    NoClient,
    /// `client_id` is unknown.
    #[error("no application has the client_id {0}")]
    Client(QuotedText),
    /// The application is disabled. The browser does not go there, because it may be disabled for a compromise.
    #[error("the application {0} is disabled")]
    Disabled(Did),
    /// `redirect_uri` is missing or repeated.
    #[error("redirect_uri is missing; the application is {0}")]
    NoRedirectUri(Did),
    /// `redirect_uri` is not registered.
    #[error(
        "redirect_uri is {asked}, which is not registered for {application}; it must match a registered one exactly"
    )]
    RedirectUri {
        /// The application.
        application: Did,
        /// The requested redirect URI.
        asked: QuotedText,
    },
    /// The request cannot be read.
    #[error("the request cannot be read")]
    Request,
    /// The request object is not valid, and the request has no known redirect URI.
    #[error("{description}; the application is {application}")]
    RequestObject {
        /// The error.
        code: AuthorizeErrorCode,
        /// The reason.
        description: String,
        /// The application.
        application: Did,
    },
    /// `request_uri` names no pushed request of this application that can be used (RFC 9126 section 4).
    #[error("request_uri is invalid: {0}; the application is {1}")]
    PushedRequest(UnusablePush, Did),
}

/// The reason why a pushed request cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusablePush {
    /// It is unknown, or of another application.
    #[error("the application has not pushed this request")]
    Unknown,
    /// It has expired.
    #[error("the pushed request has expired")]
    Expired,
    /// A sign-in answered it.
    #[error("the pushed request was used before")]
    Used,
}

/// A request with a known redirect URI that fails a check.
#[derive(Debug)]
pub struct RejectedRequest {
    destination: Destination,
    /// The error.
    pub code: AuthorizeErrorCode,
    /// The reason.
    pub description: String,
}

/// The reason why a check failed.
#[derive(Debug)]
pub enum CheckFailure {
    /// The redirect URI is not known.
    Unanswerable(Unanswerable),
    /// The application can receive the error.
    Rejected(Box<RejectedRequest>),
    /// An internal error.
    Internal(InternalError),
}

impl From<InternalError> for CheckFailure {
    fn from(error: InternalError) -> Self {
        Self::Internal(error)
    }
}

/// The reason why a request was rejected.
#[derive(Debug)]
pub enum AuthorizeError {
    /// A page shows the reason.
    Page(Unanswerable),
    /// The application receives the error.
    Answer(AuthorizationAnswer),
    /// An internal error.
    Internal(InternalError),
}

impl From<InternalError> for AuthorizeError {
    fn from(error: InternalError) -> Self {
        Self::Internal(error)
    }
}

/// An accepted request.
#[derive(Debug)]
pub struct AcceptedAuthorization {
    /// The request.
    pub request: AuthorizationRequest,
    /// Whether no page may be shown (`prompt=none`).
    pub silent: bool,
    /// The application at the time of the check.
    pub application: Arc<Application>,
}

impl AcceptedAuthorization {
    /// Returns the response when no page may be shown, and the session is missing or not sufficient.
    pub fn login_required(&self, services: &Services) -> AuthorizationAnswer {
        Destination::from_request(&self.request).error(
            &services.issuer,
            AuthorizeErrorCode::LoginRequired,
            "the user must sign in, and prompt=none forbids that",
        )
    }
}

/// Checks a request, and answers a rejected one. Until the client and the redirect URI are known, errors can only be
/// pages. Afterwards they go to the application. `known` is the application with the request's `client_id`, if this
/// HTTP request has read it.
///
/// # Errors
/// [`AuthorizeError`] if a check or the database fails.
#[tracing::instrument(target = SPANS, skip_all, name = "oidc.authorization_request")]
pub async fn check(
    services: &Services,
    parameters: &Parameters,
    source: RequestSource,
    policy: RedirectPolicy<'_>,
    known: Option<&RegisteredApplication>,
) -> Result<AcceptedAuthorization, AuthorizeError> {
    let mut fetched = None;
    let accepted = async {
        let application = find_application(services, parameters, known).await?;
        let mut request =
            request_object::effective(services, &application, parameters, source).await;
        fetched = request.take_fetched();
        accept(services, &application, request, source, policy).await
    };
    let accepted = accepted.await;
    let failure = accepted.as_ref().err();
    note(services, parameters, fetched.as_deref(), failure);
    accepted.map_err(|failure| match failure {
        CheckFailure::Unanswerable(why) => AuthorizeError::Page(why),
        CheckFailure::Rejected(rejected) => {
            let RejectedRequest {
                destination,
                code,
                description,
            } = *rejected;
            AuthorizeError::Answer(destination.error(&services.issuer, code, description))
        }
        CheckFailure::Internal(error) => AuthorizeError::Internal(error),
    })
}

/// Notes a request for the administrator of its application.
fn note(
    services: &Services,
    parameters: &Parameters,
    fetched: Option<&str>,
    failure: Option<&CheckFailure>,
) {
    let error = match failure {
        None => None,
        // Nothing is stored for unknown applications.
        Some(
            CheckFailure::Internal(_)
            | CheckFailure::Unanswerable(Unanswerable::NoClient | Unanswerable::Client(_)),
        ) => return,
        Some(CheckFailure::Unanswerable(Unanswerable::RequestObject {
            code, description, ..
        })) => Some(RequestError {
            code: code.as_str().to_owned(),
            reason: description.clone(),
        }),
        Some(CheckFailure::Rejected(rejected)) => Some(RequestError {
            code: rejected.code.as_str().to_owned(),
            reason: rejected.description.clone(),
        }),
        Some(CheckFailure::Unanswerable(why)) => Some(RequestError {
            code: AuthorizeErrorCode::InvalidRequest.as_str().to_owned(),
            reason: why.to_string(),
        }),
    };
    if let Some(application) = request_parts::named_client(parameters, None) {
        let sender = Sender::Stranger;
        recent_requests::record(services, &application, sender, "/oidc/auth", error, || {
            let mut parts = request_parts::parts_of(parameters, None, None);
            parts.extend(fetched.map(request_parts::fetched_object));
            parts
        });
    }
}

/// Checks a request, in the order of the checks. The policy decides which redirect URIs are permitted.
///
/// # Errors
/// [`CheckFailure`] if a check or the database fails.
pub async fn accept(
    services: &Services,
    application: &Arc<Application>,
    mut request: EffectiveRequest<'_>,
    source: RequestSource,
    policy: RedirectPolicy<'_>,
) -> Result<AcceptedAuthorization, CheckFailure> {
    let fault = request.take_fault();
    let parameters = &*request.parameters;
    let registered = &application.settings.redirect_uris;
    let redirect = match parameters.get("redirect_uri") {
        None => Err(Unanswerable::NoRedirectUri(application.id.clone())),
        Some(asked) => policy
            .find(&application.id, registered, asked)
            .ok_or_else(|| Unanswerable::RedirectUri {
                application: application.id.clone(),
                asked: QuotedText::new(asked),
            }),
    };
    let redirect = match (redirect, &fault) {
        (Ok(redirect), _) => redirect,
        // A fault of the request object explains a missing parameter beside it.
        (Err(_), Some(fault)) => {
            return Err(CheckFailure::Unanswerable(Unanswerable::RequestObject {
                code: fault.code,
                description: fault.description.clone(),
                application: application.id.clone(),
            }));
        }
        (Err(why), None) => return Err(CheckFailure::Unanswerable(why)),
    };
    let destination = Destination {
        application: application.id.clone(),
        mode: checks::response_mode(parameters, &redirect.uri),
        state: parameters
            .get("state")
            .filter(|state| state.len() <= 2048 && is_printable(state))
            .map(str::to_owned),
        redirect_uri: redirect.uri,
        purpose: redirect.purpose,
    };
    let checked = match fault {
        Some(fault) => Err(fault),
        None => {
            let details = details::read(services, application, parameters).await?;
            accept_for(
                services,
                &request,
                source,
                application,
                &destination,
                details,
            )
            .await
        }
    };
    checked.map_err(|checks::CheckError { code, description }| {
        CheckFailure::Rejected(Box::new(RejectedRequest {
            destination,
            code,
            description,
        }))
    })
}

/// Runs the checks with errors that go to the application.
async fn accept_for(
    services: &Services,
    effective: &EffectiveRequest<'_>,
    source: RequestSource,
    application: &Arc<Application>,
    destination: &Destination,
    details: Result<AuthorizationDetails, checks::CheckError>,
) -> Result<AcceptedAuthorization, checks::CheckError> {
    let parameters = &*effective.parameters;
    let request = checks::UncheckedRequest {
        parameters,
        application,
    };
    request.not_repeated()?;
    request.sizes()?;
    request.no_registration()?;
    request.pushed_if_required(services, source, destination.purpose)?;
    effective.signed_if_required(application, source, destination.purpose)?;
    request.response_type()?;
    request.known_response_mode(&destination.redirect_uri)?;
    let scopes = request.scopes()?;
    let authorization_details = details?;
    let code_challenge = request.code_challenge()?;
    let dpop_key = request.dpop_key()?;
    let prompt = request.prompt()?;
    prompt.permits(&authorization_details)?;
    let max_age = request.max_age()?;
    let claims = request.claims(services, !authorization_details.is_empty())?;
    let hinted_subject = request.id_token_hint(services).await?;
    // A hint that is not a valid name is ignored.
    let login_hint = parameters
        .get("login_hint")
        .and_then(|hint| hint.parse().ok());
    let request = AuthorizationRequest {
        application: application.id.clone(),
        redirect_uri: destination.redirect_uri.clone(),
        scopes,
        state: destination.state.clone(),
        nonce: parameters.get("nonce").map(str::to_owned),
        code_challenge,
        // The response of a test sign-in shows an approval, so it needs a new one. A device shows and signs
        // authorization details, so they need a new one, too.
        fresh_login: prompt.login
            || max_age == Some(0)
            || !destination.purpose.is_application()
            || !authorization_details.is_empty(),
        max_age,
        login_hint,
        select_account: prompt.select_account,
        ask_consent: prompt.consent,
        hinted_subject,
        claims,
        response_mode: destination.mode,
        language: parameters.language(),
        purpose: destination.purpose,
        dpop_key,
        pushed: match source {
            RequestSource::Pushed(pushed) => Some(pushed),
            RequestSource::Browser | RequestSource::Pushing => None,
        },
        authorization_details,
    };
    checks::check_size(&request)?;
    Ok(AcceptedAuthorization {
        request,
        silent: prompt.none,
        application: Arc::clone(application),
    })
}

async fn find_application(
    services: &Services,
    parameters: &Parameters,
    known: Option<&RegisteredApplication>,
) -> Result<Arc<Application>, CheckFailure> {
    let asked = parameters
        .get("client_id")
        .ok_or(CheckFailure::Unanswerable(Unanswerable::NoClient))?;
    let unknown = || CheckFailure::Unanswerable(Unanswerable::Client(QuotedText::new(asked)));
    let id: Did = asked.parse().map_err(|_| unknown())?;
    let found = match known {
        Some(known) => known.clone().client(),
        None => services
            .store
            .application(&id)
            .await
            .map_err(InternalError::from)?,
    };
    let application = found.ok_or_else(unknown)?;
    if application.settings.enabled {
        Ok(application)
    } else {
        Err(CheckFailure::Unanswerable(Unanswerable::Disabled(id)))
    }
}

impl From<ParametersError> for AuthorizeError {
    fn from(_: ParametersError) -> Self {
        Self::Page(Unanswerable::Request)
    }
}
