//! The response to a sign-on request, after the user is known.

use std::sync::Arc;
use std::time::Duration;

use super::denied::SignOnDenied;
use super::requested_subject::is_requested_subject;
use super::response::{self, Assertion, Envelope};
use super::session::meets;
use crate::domain::claims::name_id::MissingName;
use crate::domain::claims::traces;
use crate::domain::claims::traces::TracePurpose;
use crate::domain::claims::{name_id, standard_claims};
use crate::domain::keys::saml_keys;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::access::signed_in_access;
use crate::domain::sign_in::context;
use crate::domain::sign_in::context::{SignInAnswer, SignInContext, SignInEvent};
use crate::domain::sign_in::derived;
use crate::domain::sign_in::login;
use crate::domain::sign_in::login::{AuthenticatedUser, LoginCompletion, OpenLogin};
use crate::domain::{InternalError, Services};
use crate::saml::peer::{entity_id, session_index};
use assent_model::account::Account;
use assent_model::clock::Timestamp;
use assent_model::id::{Did, LoginId};
use assent_model::login::{LoginAnswer, SignInDenied};
use assent_model::redirect::CheckedRedirect;
use assent_model::saml::{MessageClaim, NameId, Participation, ServiceProvider, SignOnRequest};
use assent_model::secret::Digest;
use assent_model::user::User;
use assent_plugin_host::{MapFailure, MapFailureKind, MapperRun, SamlAttribute, Sink};
use assent_store::{IssuedGrant, Transition};
use assent_telemetry::SPANS;

/// A response to the service provider: a form that the browser posts.
#[derive(Clone, Debug)]
pub struct SignOnAnswer {
    /// The ACS URL.
    pub acs: CheckedRedirect,
    /// The name of the service provider.
    pub name: String,
    /// The response, as XML.
    pub response: String,
    /// The relay state of the request, unchanged.
    pub relay_state: Option<String>,
    /// Whether the response has an assertion.
    pub is_granted: bool,
    /// The service provider, if a sign-on can begin at this server.
    pub starts_here: Option<Did>,
}

/// A sign-on request with its authenticated user.
#[derive(Clone, Copy, Debug)]
pub struct AuthenticatedSignOn<'a> {
    /// The login.
    pub login: OpenLogin,
    /// The request.
    pub request: &'a SignOnRequest,
    /// The user.
    pub authenticated_user: &'a AuthenticatedUser,
    /// The time of the response, which stays the same if the response is repeated.
    pub at: Timestamp,
    /// The claim of the request's message, if the response claims it.
    pub claim: Option<MessageClaim>,
    /// The service provider, if this HTTP request has read it.
    pub provider: Option<&'a Arc<ServiceProvider>>,
}

/// The outcome of a sign-on request.
pub type SignOnOutcome = SignInAnswer<SignOnAnswer>;

/// Responds to the request of a login with an assertion about this user. The user must be the requested one, must be
/// permitted to use the service provider, and the plugins must agree.
#[tracing::instrument(target = SPANS, skip_all, name = "saml.response")]
pub async fn respond(
    context: SignInContext<'_>,
    authenticated: AuthenticatedSignOn<'_>,
) -> Result<SignOnOutcome, InternalError> {
    let AuthenticatedSignOn {
        login,
        authenticated_user,
        ..
    } = authenticated;
    // Boxed, because otherwise each surrounding future would reserve space for it several times.
    let answer = Box::pin(answer_user(context, authenticated));
    context::answer_observed(context, login, authenticated_user, None, answer).await
}

/// Checks the user and the service provider in the order in which a sign-on may fail, and grants the assertion.
async fn answer_user(
    context: SignInContext<'_>,
    authenticated: AuthenticatedSignOn<'_>,
) -> Result<SignOnOutcome, InternalError> {
    let SignInContext {
        services, observer, ..
    } = context;
    let AuthenticatedSignOn {
        login,
        request,
        authenticated_user,
        at,
        provider,
        ..
    } = authenticated;
    let found = match provider {
        Some(provider) => Some(Arc::clone(provider)),
        None => {
            services
                .store
                .service_provider(&request.application)
                .await?
        }
    };
    let provider = match receiver(found, request) {
        Ok(provider) => provider,
        Err(why) => return Ok(SignOnOutcome::Denied(why)),
    };
    let signed_in = &authenticated_user.signed_in;
    let BrowserSession { session, user, .. } = signed_in;
    let origin = &authenticated_user.origin;
    let access = signed_in_access(services, signed_in, &provider.id, origin).await?;
    let account = match access.into_account(&provider.name) {
        Ok(account) => account,
        Err(why) => return Ok(SignOnOutcome::Denied(why)),
    };
    observer.observe(SignInEvent::AccountFound).await?;
    let deny = |why| fail(services, login, request, &provider, why, at);
    if !is_requested_subject(services, &provider, request, user, &account)? {
        return deny(SignOnDenied::OtherSubject).await;
    }
    if !meets(request, &session.authentication) {
        return deny(SignOnDenied::NoAuthnContext).await;
    }
    let format = request.name_id_format;
    let name_id = name_id::name_id_for(services, &provider, user, &account, &session.sid, format)?;
    observer
        .observe(SignInEvent::NameIdChosen(
            name_id.as_ref().map_err(|why| *why),
        ))
        .await?;
    let name_id = match name_id {
        Ok(name_id) => name_id,
        Err(why) => {
            log_missing_name(login, &provider, user, why);
            return match why {
                MissingName::NoAddress => deny(SignOnDenied::Internal).await,
                MissingName::NotConfirmed => Ok(SignOnOutcome::Denied(
                    SignInDenied::AddressNotConfirmed(provider.name.clone()),
                )),
            };
        }
    };
    let mapped =
        standard_claims::attributes(services, &provider, user, &account, &session.authentication)
            .await;
    let event = SignInEvent::ClaimsMapped {
        sink: Sink::SamlAssertion,
        result: mapped.as_ref().map(|(_, steps)| &**steps),
    };
    observer.observe(event).await?;
    match mapped {
        Ok((attributes, steps)) => {
            let content = AssertionContent {
                account,
                name_id,
                attributes,
                steps,
            };
            grant(services, authenticated, &provider, content).await
        }
        Err(MapFailure {
            plugin,
            kind: MapFailureKind::Deny(reason),
            ..
        }) => Ok(SignOnOutcome::Denied(SignInDenied::Plugin {
            plugin,
            reason,
        })),
        Err(failure) => {
            tracing::error!(
                %login, application = %provider.id, plugin = failure.plugin, %failure,
                "SAML sign-on failed in a plugin"
            );
            deny(SignOnDenied::Internal).await
        }
    }
}

fn log_missing_name(login: OpenLogin, provider: &ServiceProvider, user: &User, why: MissingName) {
    match why {
        MissingName::NoAddress => tracing::error!(
            %login, application = %provider.id, user = %user.id,
            "SAML sign-on failed: the user has no email address for the NameID"
        ),
        MissingName::NotConfirmed => tracing::warn!(
            %login, application = %provider.id, user = %user.id,
            "SAML sign-on rejected: the address for the NameID is not confirmed"
        ),
    }
}

/// Returns the provider that a request names, if it can still receive the assertion.
fn receiver(
    found: Option<Arc<ServiceProvider>>,
    request: &SignOnRequest,
) -> Result<Arc<ServiceProvider>, SignInDenied> {
    let provider = found.ok_or(SignInDenied::ApplicationGone)?;
    if !provider.settings.enabled {
        return Err(SignInDenied::ApplicationDisabled(provider.name.clone()));
    }
    if !takes(&provider, request) {
        return Err(SignInDenied::AddressGone);
    }
    Ok(provider)
}

/// The content of an assertion about the user.
struct AssertionContent {
    account: Account,
    name_id: NameId,
    attributes: Vec<SamlAttribute>,
    steps: Vec<MapperRun>,
}

/// Signs the assertion, and claims the single response of the login.
async fn grant(
    services: &Services,
    authenticated: AuthenticatedSignOn<'_>,
    provider: &Arc<ServiceProvider>,
    content: AssertionContent,
) -> Result<SignOnOutcome, InternalError> {
    let AuthenticatedSignOn {
        login,
        request,
        authenticated_user,
        at,
        claim,
        ..
    } = authenticated;
    let BrowserSession { session, user, .. } = &authenticated_user.signed_in;
    let id = derived::message_id(services, login.id(), "response")?;
    let assertion_id = derived::message_id(services, login.id(), "assertion")?;
    let session_index = session_index(services, &provider.id, &session.sid)?;
    let envelope = envelope(&id, at, entity_id(services, provider), request);
    let assertion = Assertion {
        id: &assertion_id,
        audience: &provider.settings.entity_id,
        name_id: &content.name_id,
        authentication: &session.authentication,
        session_index: &session_index,
        unspecified_context: request.unspecified_context,
        passkey_context: request.passkey_context,
        lifetime: services.settings.saml.assertion_validity.get(),
        margin: Duration::from_secs(provider.settings.not_before_margin.into()),
        attributes: &content.attributes,
    };
    let signer = saml_keys::signer(services, &provider.id).await?;
    // The response is signed before the login is completed, so that no failure can come between the two.
    let response = match response::success(envelope, &assertion, &signer) {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(
                %login, application = %provider.id, %error,
                "SAML sign-on failed: the assertion cannot be written"
            );
            let why = SignOnDenied::Internal;
            return fail(services, login, request, provider, why, at).await;
        }
    };
    // Only a service provider that receives the assertion itself participates in the session.
    let participation = request.purpose.is_application().then(|| Participation {
        sid: session.sid.clone(),
        application: provider.id.clone(),
        user_id: user.id,
        name_id: content.name_id.clone(),
        session_index: Digest::sha256(session_index.as_bytes()),
    });
    let grant = IssuedGrant::Assertion(session.id, participation);
    let outcome = LoginCompletion {
        authenticated_user,
        grant: Some((grant, &content.account)),
        consent: None,
        claim,
        at,
    };
    if !login::answer(services, login, outcome).await?.is_done() {
        return Ok(SignOnOutcome::AnsweredBefore);
    }
    let purpose = TracePurpose {
        token: &assertion_id,
        user: user.id,
        application: &provider.id,
        sink: Sink::SamlAssertion,
    };
    if !matches!(login, OpenLogin::Answered(_)) {
        traces::record(services, purpose, &content.steps);
    }
    let granted = new_answer(services, provider, request, response, true)?;
    Ok(SignOnOutcome::Granted(granted))
}

/// Whether the response address is still registered, or is this server's own.
fn takes(provider: &Arc<ServiceProvider>, request: &SignOnRequest) -> bool {
    !request.purpose.is_application()
        || provider.settings.acs_by_url(request.acs.as_str()).is_some()
}

/// Ends a login with a failure for the service provider. Returns `None` if the login had a response before, or if there
/// is no recipient any more.
pub async fn deny(
    services: &Services,
    login: OpenLogin,
    request: &SignOnRequest,
    why: SignOnDenied,
) -> Result<Option<SignOnAnswer>, InternalError> {
    let Some(provider) = recipient(services, request).await? else {
        // There is no recipient, whether this call ended the login or another request did.
        let _ =
            login::end_without_sign_in(services, login, LoginAnswer::Nothing, None, services.now())
                .await?;
        return Ok(None);
    };
    let outcome = fail(services, login, request, &provider, why, services.now()).await?;
    Ok(match outcome {
        SignOnOutcome::Failed(failure) => Some(failure),
        _ => None,
    })
}

/// Returns the service provider that a request names, if it can still receive a response.
async fn recipient(
    services: &Services,
    request: &SignOnRequest,
) -> Result<Option<Arc<ServiceProvider>>, InternalError> {
    let found = services
        .store
        .service_provider(&request.application)
        .await?;
    Ok(receiver(found, request).ok())
}

/// Returns the failure that a login was answered with again. Returns `None` if there is no recipient any more.
pub async fn repeated_failure(
    services: &Services,
    login: LoginId,
    at: Timestamp,
    request: &SignOnRequest,
    reason: &str,
) -> Result<Option<SignOnAnswer>, InternalError> {
    let Some(provider) = recipient(services, request).await? else {
        return Ok(None);
    };
    match SignOnDenied::from_name(reason) {
        Some(why) => failure_answer(services, request, &provider, why, login, at)
            .await
            .map(Some),
        None => Ok(None),
    }
}

/// Returns the failure of a login for the service provider.
pub async fn failure_answer(
    services: &Services,
    request: &SignOnRequest,
    provider: &ServiceProvider,
    why: SignOnDenied,
    login: LoginId,
    at: Timestamp,
) -> Result<SignOnAnswer, InternalError> {
    tracing::info!(application = %provider.id, reason = %why, "AuthnRequest rejected");
    let id = derived::message_id(services, login, "response")?;
    let envelope = envelope(&id, at, entity_id(services, provider), request);
    let signer = saml_keys::signer(services, &provider.id).await?;
    let response = response::failure(envelope, &why.status(), &signer)
        .map_err(|error| InternalError::Saml(error.to_string()))?;
    new_answer(services, provider, request, response, false)
}

async fn fail(
    services: &Services,
    login: OpenLogin,
    request: &SignOnRequest,
    provider: &ServiceProvider,
    why: SignOnDenied,
    at: Timestamp,
) -> Result<SignOnOutcome, InternalError> {
    let failure = failure_answer(services, request, provider, why, login.id(), at).await?;
    let answer = LoginAnswer::Failed {
        reason: why.name().to_owned(),
    };
    Ok(
        match login::end_without_sign_in(services, login, answer, None, at).await? {
            Transition::Done => SignOnOutcome::Failed(failure),
            Transition::NotOpen => SignOnOutcome::AnsweredBefore,
        },
    )
}

fn envelope<'a>(
    id: &'a str,
    now: Timestamp,
    issuer: &'a str,
    request: &'a SignOnRequest,
) -> Envelope<'a> {
    Envelope {
        id,
        issuer,
        destination: request.acs.as_str(),
        in_response_to: request.in_response_to.as_deref(),
        now,
    }
}

fn new_answer(
    services: &Services,
    provider: &ServiceProvider,
    request: &SignOnRequest,
    response: String,
    is_granted: bool,
) -> Result<SignOnAnswer, InternalError> {
    let requested = request.relay_state.as_deref();
    let relay_state = crate::domain::sign_in::test_sign_in::relay_state(
        services,
        request.purpose,
        requested,
        &response,
    )?;
    Ok(SignOnAnswer {
        acs: request.acs.clone(),
        name: provider.name.clone(),
        response,
        relay_state,
        is_granted,
        starts_here: (provider.settings.idp_initiated.enabled).then(|| provider.id.clone()),
    })
}
