//! The response to an authorization request.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::super::error::AuthorizeErrorCode;
use super::super::id_token;
use super::interaction::is_requested_subject;
use super::response::{AuthorizationAnswer, Destination};
use crate::domain::claims::standard_claims;
use crate::domain::claims::standard_claims::ClaimSubject;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::access::signed_in_access;
use crate::domain::sign_in::consent;
use crate::domain::sign_in::context;
use crate::domain::sign_in::context::{Agreement, SignInAnswer, SignInContext, SignInEvent};
use crate::domain::sign_in::derived;
use crate::domain::sign_in::login;
use crate::domain::sign_in::login::{AuthenticatedUser, LoginCompletion, OpenLogin};
use crate::domain::{InternalError, Services};
use assent_model::account::Account;
use assent_model::application::{Application, ConsentPolicy};
use assent_model::id::FamilyId;
use assent_model::login::{AuthorizationRequest, LoginAnswer, PushedRequestUse, SignInDenied};
use assent_model::secret::Token;
use assent_model::token::{CodeGrant, GrantContext, GrantSubject};
use assent_plugin_host::{MapFailure, MapFailureKind, Sink};
use assent_store::{IssuedGrant, Transition};
use assent_telemetry::SPANS;

/// An authorization request with its authenticated user.
#[derive(Clone, Copy, Debug)]
pub struct AuthenticatedAuthorization<'a> {
    /// The login.
    pub login: OpenLogin,
    /// The application, if the same HTTP request has read it already.
    pub application: Option<&'a Arc<Application>>,
    /// The request.
    pub request: &'a AuthorizationRequest,
    /// The user.
    pub authenticated_user: &'a AuthenticatedUser,
    /// Whether the user was asked for consent.
    pub agreement: Agreement,
}

/// The user must answer a question first.
#[derive(Debug)]
pub struct ConsentQuestion {
    /// The name of the application.
    pub application: String,
    /// The question.
    pub kind: QuestionKind,
}

/// The question to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionKind {
    /// Whether the application may have its scopes.
    Scopes,
    /// The same, for a native application, which any program on the user's computer can imitate.
    ScopesForNative,
    /// Whether the user continues in a native application that needs no consent.
    Continue,
}

/// The outcome of an authorization request.
pub type AuthorizeOutcome = SignInAnswer<AuthorizationAnswer, ConsentQuestion>;

/// Responds to the request of a login with a code for this user. The user must be the requested one, must be permitted
/// to use the application and must consent, and the plugins must agree.
#[tracing::instrument(target = SPANS, skip_all, name = "oidc.authorization_response")]
pub async fn respond(
    context: SignInContext<'_>,
    authenticated: AuthenticatedAuthorization<'_>,
) -> Result<AuthorizeOutcome, InternalError> {
    let AuthenticatedAuthorization {
        login,
        authenticated_user,
        agreement,
        ..
    } = authenticated;
    // Boxed, because otherwise each surrounding future would reserve space for it several times.
    let answer = Box::pin(answer_user(context, authenticated));
    context::answer_observed(context, login, authenticated_user, Some(agreement), answer).await
}

/// Checks the user and the application in the order in which a sign-in may fail, and grants the code.
async fn answer_user(
    context: SignInContext<'_>,
    authenticated: AuthenticatedAuthorization<'_>,
) -> Result<AuthorizeOutcome, InternalError> {
    let SignInContext {
        services,
        observer,
        request_id,
    } = context;
    let AuthenticatedAuthorization {
        login,
        application,
        request,
        authenticated_user,
        agreement,
        ..
    } = authenticated;
    let application = match application {
        Some(application) => Some(Arc::clone(application)),
        None => services.store.application(&request.application).await?,
    };
    let Some(application) = application else {
        return Ok(AuthorizeOutcome::Denied(SignInDenied::ApplicationGone));
    };
    if !application.settings.enabled {
        let name = application.name.clone();
        return Ok(AuthorizeOutcome::Denied(SignInDenied::ApplicationDisabled(
            name,
        )));
    }
    let signed_in = &authenticated_user.signed_in;
    if let Some((code, description)) =
        mismatch(services, &application, request, authenticated_user)?
    {
        return end_with_error(services, login, request, code, description).await;
    }
    let origin = &authenticated_user.origin;
    let access = signed_in_access(services, signed_in, &application.id, origin).await?;
    let account = match access.into_account(&application.name) {
        Ok(account) => account,
        Err(why) => return Ok(AuthorizeOutcome::Denied(why)),
    };
    observer.observe(SignInEvent::AccountFound).await?;
    let agreed = agreement == Agreement::Given;
    if !agreed
        && let Some(kind) = question(services, &application, request, authenticated_user).await?
    {
        return Ok(AuthorizeOutcome::AskConsent(ConsentQuestion {
            application: application.name.clone(),
            kind,
        }));
    }
    match id_token_claims(context, request, &application, &account, signed_in).await? {
        Ok(claims) => grant(services, authenticated, &application, &account, claims).await,
        Err(MapFailure {
            plugin,
            kind: MapFailureKind::Deny(reason),
            ..
        }) => {
            let denied = SignInDenied::Plugin { plugin, reason };
            Ok(AuthorizeOutcome::Denied(denied))
        }
        Err(failure) => {
            tracing::error!(
                %login, application = %application.id, plugin = failure.plugin, %failure,
                "sign-in failed in a plugin"
            );
            let description = format!(
                "the sign-in could not be completed; the operator of the identity provider finds the cause in the log \
                 by the request id {request_id}"
            );
            let code = AuthorizeErrorCode::ServerError;
            end_with_error(services, login, request, code, &description).await
        }
    }
}

/// Returns the question that the user must answer. A native application gets no code for a session without a page,
/// because the server cannot know which program sent the request (RFC 8252 section 8.6).
async fn question(
    services: &Services,
    application: &Application,
    request: &AuthorizationRequest,
    authenticated_user: &AuthenticatedUser,
) -> Result<Option<QuestionKind>, InternalError> {
    let user = &authenticated_user.signed_in.user;
    let needs_consent = consent::is_needed(services, application, user, request).await?;
    let needs_page =
        authenticated_user.cookie.is_none() && consent::needs_page(application, request);
    Ok(match (needs_consent, needs_page) {
        (true, false) => Some(QuestionKind::Scopes),
        (true, true) => Some(QuestionKind::ScopesForNative),
        (false, false) => None,
        (false, true) => Some(match application.settings.consent {
            ConsentPolicy::Ask => QuestionKind::ScopesForNative,
            ConsentPolicy::Implied => QuestionKind::Continue,
        }),
    })
}

/// Returns the reason why this user, or the authentication, does not match the request.
fn mismatch(
    services: &Services,
    application: &Application,
    request: &AuthorizationRequest,
    authenticated_user: &AuthenticatedUser,
) -> Result<Option<(AuthorizeErrorCode, &'static str)>, InternalError> {
    let signed_in = &authenticated_user.signed_in;
    if !is_requested_subject(services, application, request, &signed_in.user)? {
        return Ok(Some((
            AuthorizeErrorCode::LoginRequired,
            "another user signed in than the application requested",
        )));
    }
    // The checks of the request already require a new approval. This is the last barrier before the grant.
    if !request.authorization_details.is_empty() && authenticated_user.approval.is_none() {
        return Ok(Some((
            AuthorizeErrorCode::InteractionRequired,
            "the user must approve the authorization_details on a device",
        )));
    }
    if !request.admits(signed_in.session.authentication.acr()) {
        return Ok(Some((
            AuthorizeErrorCode::UnmetAuthenticationRequirements,
            "the user signed in, but not with a required acr value",
        )));
    }
    Ok(None)
}

/// Claims the single response of the login, and grants a code.
async fn grant(
    services: &Services,
    authenticated: AuthenticatedAuthorization<'_>,
    application: &Application,
    account: &Account,
    claims: Map<String, Value>,
) -> Result<AuthorizeOutcome, InternalError> {
    let AuthenticatedAuthorization {
        login,
        request,
        authenticated_user,
        agreement,
        ..
    } = authenticated;
    let signed_in = &authenticated_user.signed_in;
    let (code, token) = code(
        services,
        request,
        application,
        account,
        authenticated_user,
        claims,
    )?;
    // An administrator's test of a sign-in gives the application nothing, so it leaves no consent.
    let agreed = agreement == Agreement::Given && request.purpose.is_application();
    let outcome = LoginCompletion {
        authenticated_user,
        grant: Some((IssuedGrant::Code(Box::new(code)), account)),
        consent: (agreed && consent::is_stored(application, request))
            .then(|| consent::consent_to(services, &signed_in.user, request)),
        claim: request.pushed.map(PushedRequestUse::claim),
        at: services.now(),
    };
    if !login::answer(services, login, outcome).await?.is_done() {
        return Ok(AuthorizeOutcome::AnsweredBefore);
    }
    Ok(AuthorizeOutcome::Granted(
        Destination::from_request(request).code(&services.issuer, token.expose()),
    ))
}

async fn end_with_error(
    services: &Services,
    login: OpenLogin,
    request: &AuthorizationRequest,
    code: AuthorizeErrorCode,
    description: &str,
) -> Result<AuthorizeOutcome, InternalError> {
    let answer = fail(services, login, request, code, description).await?;
    Ok(answer.map_or(AuthorizeOutcome::AnsweredBefore, AuthorizeOutcome::Failed))
}

/// Responds like [`respond`] when no page may be shown (`prompt=none`): messages and questions for the user become
/// errors for the application. Returns `None` if the login had a response before.
pub async fn respond_silently(
    context: SignInContext<'_>,
    authenticated: AuthenticatedAuthorization<'_>,
) -> Result<Option<AuthorizationAnswer>, InternalError> {
    let services = context.services;
    let (login, request) = (authenticated.login, authenticated.request);
    match respond(context, authenticated).await? {
        AuthorizeOutcome::Granted(answer) | AuthorizeOutcome::Failed(answer) => Ok(Some(answer)),
        AuthorizeOutcome::AnsweredBefore => Ok(None),
        AuthorizeOutcome::AskConsent(question) => {
            let (code, description) = match question.kind {
                QuestionKind::Scopes => (
                    AuthorizeErrorCode::ConsentRequired,
                    "the user must consent, and prompt=none forbids the question",
                ),
                QuestionKind::ScopesForNative | QuestionKind::Continue => (
                    AuthorizeErrorCode::InteractionRequired,
                    "a native application gets no code without a page, and prompt=none forbids the page",
                ),
            };
            fail(services, login, request, code, description).await
        }
        AuthorizeOutcome::Denied(why) => {
            context::log_plugin_denial(login, Some(&request.application), &why, None);
            deny(services, login, request, DenialReason::GivenUp).await
        }
    }
}

/// Returns the ID token's claims, except those that the exchange itself determines.
async fn id_token_claims(
    SignInContext {
        services, observer, ..
    }: SignInContext<'_>,
    request: &AuthorizationRequest,
    application: &Application,
    account: &Account,
    signed_in: &BrowserSession,
) -> Result<Result<Map<String, Value>, MapFailure>, InternalError> {
    let authentication = &signed_in.session.authentication;
    let subject = ClaimSubject {
        application,
        user: &signed_in.user,
        account,
        scopes: &request.scopes,
        authentication: Some(authentication),
        sub: &standard_claims::subject_of(services, application, &signed_in.user)?,
        requested: &request.claims.id_token,
    };
    let mapped = standard_claims::map(services, subject, Sink::IdToken).await;
    let event = SignInEvent::ClaimsMapped {
        sink: Sink::IdToken,
        result: mapped.as_ref().map(|made| &*made.steps),
    };
    observer.observe(event).await?;
    let sid = standard_claims::sid_of(services, application, &signed_in.session.sid)?;
    Ok(mapped.map(|made| {
        let claims = id_token::with_sign_in(services, made, &subject, authentication, &sid, None);
        match &request.nonce {
            Some(nonce) => id_token::with_nonce(claims, nonce),
            None => claims,
        }
    }))
}

/// The longest lifetime of a code for an application with a security profile (FAPI 2.0 Security Profile section
/// 5.3.2.1).
const PROFILE_CODE_LIFETIME: Duration = Duration::from_secs(60);

fn code(
    services: &Services,
    request: &AuthorizationRequest,
    application: &Application,
    account: &Account,
    authenticated_user: &AuthenticatedUser,
    claims: Map<String, Value>,
) -> Result<(CodeGrant, Token), InternalError> {
    let AuthenticatedUser {
        signed_in, browser, ..
    } = authenticated_user;
    let now = services.now();
    // That of a pushed request is derived from it, so that its browser can have the answer again.
    let id = match request.pushed {
        Some(pushed) => pushed.code,
        None => FamilyId::new(now, &*services.entropy),
    };
    let token = derived::code(services, id, browser)?;
    let configured = services.settings.lifetimes.authorization_code.get();
    let lifetime = match application.settings.security_profile {
        Some(_) => configured.min(PROFILE_CODE_LIFETIME),
        None => configured,
    };
    let code = CodeGrant {
        id,
        digest: token.digest(),
        application: application.id.clone(),
        redirect_uri: request.redirect_uri.clone(),
        code_challenge: request.code_challenge.clone(),
        scopes: request.scopes.clone(),
        subject: GrantSubject {
            user_id: signed_in.user.id,
            account_id: account.id,
            session_id: signed_in.session.id,
        },
        context: GrantContext {
            sid: signed_in.session.sid.clone(),
            authentication: signed_in.session.authentication.clone(),
            claims: request.claims.clone(),
            purpose: request.purpose,
            dpop_key: request.dpop_key,
            authorization_details: request.authorization_details.granted(),
        },
        claims,
        created_at: now,
        expires_at: now + lifetime,
    };
    Ok((code, token))
}

/// The reason why no user was signed in, in its form for the application. Before the user is authenticated, it never
/// reveals whether a user exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenialReason {
    /// The user denied on the device.
    Denied,
    /// The approval request expired.
    Expired,
    /// The user did not consent to the application's request.
    NoConsent,
    /// The authenticated user has no account with the application.
    NoAccount,
    /// The user cancelled, or may not use the application.
    GivenUp,
}

/// Responds to the request of a login with `access_denied`. Returns `None` if the login had a response before.
pub async fn deny(
    services: &Services,
    login: OpenLogin,
    request: &AuthorizationRequest,
    reason: DenialReason,
) -> Result<Option<AuthorizationAnswer>, InternalError> {
    let application = services.store.application(&request.application).await?;
    if application.is_some_and(|application| !application.settings.enabled) {
        // No browser is redirected to a disabled application, whether this call ended the login or another request did.
        let _ = end(services, login, request, LoginAnswer::Nothing).await?;
        return Ok(None);
    }
    let description = match reason {
        DenialReason::Denied => "the request was denied in the authenticator",
        DenialReason::Expired => "the request was not approved in time",
        DenialReason::NoConsent => "the user did not consent to the request of the application",
        DenialReason::NoAccount => "the user has no account with this application",
        DenialReason::GivenUp => "the sign-in was not completed",
    };
    fail(
        services,
        login,
        request,
        AuthorizeErrorCode::AccessDenied,
        description,
    )
    .await
}

/// Ends the login with an error for the application. Returns `None` if the login had a response before.
async fn fail(
    services: &Services,
    login: OpenLogin,
    request: &AuthorizationRequest,
    code: AuthorizeErrorCode,
    description: &str,
) -> Result<Option<AuthorizationAnswer>, InternalError> {
    let answer = LoginAnswer::Error {
        code: code.as_str().to_owned(),
        description: description.to_owned(),
    };
    let ended = end(services, login, request, answer).await?;
    Ok(ended
        .is_done()
        .then(|| Destination::from_request(request).error(&services.issuer, code, description)))
}

/// Ends the login with this answer, and uses up the pushed request.
async fn end(
    services: &Services,
    login: OpenLogin,
    request: &AuthorizationRequest,
    answer: LoginAnswer,
) -> Result<Transition, InternalError> {
    let claim = request.pushed.map(PushedRequestUse::claim);
    login::end_without_sign_in(services, login, answer, claim, services.now()).await
}

/// Returns the response with this code again.
pub fn repeated_code(
    services: &Services,
    request: &AuthorizationRequest,
    code: &Token,
) -> AuthorizationAnswer {
    Destination::from_request(request).code(&services.issuer, code.expose())
}

/// Returns the response with this error again.
pub fn repeated_error(
    services: &Services,
    request: &AuthorizationRequest,
    code: &str,
    description: &str,
) -> AuthorizationAnswer {
    Destination::from_request(request).failure(&services.issuer, code, description)
}
