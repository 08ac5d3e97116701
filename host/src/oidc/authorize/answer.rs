//! Answering an authorization request.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::super::error::AuthorizeErrorCode;
use super::super::id_token;
use super::interaction::is_meant;
use super::response::{AuthorizationAnswer, Destination};
use crate::domain::account::{Access, access};
use crate::domain::claims::{self, Made, Subject};
use crate::domain::login::{self, Outcome, Person};
use crate::domain::session::SignedIn;
use crate::domain::trials::Hindrance;
use crate::domain::{Broken, Host, consent, traces, trials};
use crate::id::{CodeId, LoginId};
use crate::model::account::Account;
use crate::model::application::Application;
use crate::model::login::{AuthorizationRequest, Refusal};
use crate::model::token::{CodeGrant, GrantContext, GrantSubject, prefix};
use crate::model::trial::{StepNote, TrialStep};
use crate::plugins::{MapFailure, MapFailureKind, Sink};
use crate::secret::Token;
use crate::store::Given;

/// A login that is to be answered for a person.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The login.
    pub login: LoginId,
    /// What was asked.
    pub request: &'a AuthorizationRequest,
    /// Who it is.
    pub person: &'a Person,
    /// The browser's session until now.
    pub old: Option<&'a SignedIn>,
    /// Whether the person was asked for their consent.
    pub agreement: Agreement,
}

/// Whether the person was asked for their consent to this request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Not yet.
    Open,
    /// They were, on the page, and agreed.
    Given,
}

/// What a request is answered.
#[derive(Debug)]
pub enum Answer {
    /// The application gets a code, and the session, if it is a new one, has begun.
    Granted(AuthorizationAnswer),
    /// The application gets an error. No session began.
    Error(AuthorizationAnswer),
    /// The person has to agree first.
    AskConsent {
        /// The name of the application that asks.
        application: String,
    },
    /// The person is told why they can't go on, and may go back to the application from there.
    Refused(Refusal),
    /// It was answered before, or the session is over that it was to go on with.
    AnsweredBefore,
}

/// Answers the request of a login with a code for this person, if they are who is meant, may use the application and
/// agree, and the plugins do too.
pub async fn respond(host: &Host, question: Question<'_>) -> Result<Answer, Broken> {
    let Some(trial) = question.request.trial else { return answered(host, question).await };
    let session = &question.person.signed_in.session;
    match trials::hindrance(host, trial, question.login, session.user_id).await? {
        None => {}
        Some(Hindrance::Over) => return Ok(Answer::AnsweredBefore),
        Some(Hindrance::SomebodyElse) => {
            login::give_up(host, question.login).await?;
            return Ok(Answer::Refused(Refusal::OthersTrial));
        }
    }
    let answer = answered(host, question).await?;
    match &answer {
        Answer::Refused(why) => trials::refused(host, trial, why).await?,
        Answer::Granted(_) => {
            host.store.give_trial_session(trial, session.id).await?;
            let consent = match question.agreement {
                Agreement::Given => "you agreed on the page",
                Agreement::Open => "you were not asked: you agreed before, or the application needs no consent",
            };
            trials::note(host, trial, TrialStep::Consent, StepNote::good(consent)).await?;
        }
        Answer::AskConsent { .. } | Answer::Error(_) | Answer::AnsweredBefore => {}
    }
    Ok(answer)
}

async fn answered(host: &Host, question: Question<'_>) -> Result<Answer, Broken> {
    let Question { login, request, person, old, agreement } = question;
    let Some(application) = host.store.application(&request.application).await? else {
        return Ok(Answer::Refused(Refusal::ApplicationGone));
    };
    let signed_in = &person.signed_in;
    if !is_meant(host, &application, request, &signed_in.user)? {
        let description = "somebody else signed in than the person whom the application meant";
        let answer = fail(host, login, request, AuthorizeErrorCode::LoginRequired, description).await?;
        return Ok(answer.map_or(Answer::AnsweredBefore, Answer::Error));
    }
    if !request.admits(signed_in.session.authentication.acr()) {
        let description = "the person signed in, but not in the way that the application can't do without";
        let code = AuthorizeErrorCode::UnmetAuthenticationRequirements;
        let answer = fail(host, login, request, code, description).await?;
        return Ok(answer.map_or(Answer::AnsweredBefore, Answer::Error));
    }
    let account = match access(host, &signed_in.user, &application.id).await? {
        Access::Granted(account) => account,
        Access::NoAccount => {
            return Ok(Answer::Refused(Refusal::NoAccount(application.name.clone())));
        }
        Access::Closed => return Ok(Answer::Refused(Refusal::AccountClosed(application.name.clone()))),
    };
    if let Some(trial) = request.trial {
        trials::note(host, trial, TrialStep::Account, StepNote::good("you have an account here, which is open"))
            .await?;
    }
    let agreed = agreement == Agreement::Given;
    if !agreed && consent::is_needed(host, &application, &signed_in.user, request).await? {
        return Ok(Answer::AskConsent { application: application.name.clone() });
    }
    let claims = match id_token_claims(host, request, &application, &account, signed_in).await? {
        Ok(claims) => claims,
        Err(failure) => {
            tracing::error!(%login, application = %application.id, plugin = failure.plugin, %failure, "the login fails: a plugin did");
            return match failure.kind {
                MapFailureKind::Deny(reason) => Ok(Answer::Refused(Refusal::Plugin(reason))),
                MapFailureKind::Fault(_) => {
                    let description = "the sign-in could not be completed; the operator of the identity provider finds the cause in the log";
                    let answer = fail(host, login, request, AuthorizeErrorCode::ServerError, description).await?;
                    Ok(answer.map_or(Answer::AnsweredBefore, Answer::Error))
                }
            };
        }
    };
    let (code, token) = code(host, request, &application, &account, signed_in, claims);
    let consent = agreed.then(|| consent::given(host, &signed_in.user, request));
    let given = Some((Given::Code(Box::new(code)), &account));
    if !login::answer(host, login, Outcome { person, old, given, consent }).await? {
        return Ok(Answer::AnsweredBefore);
    }
    Ok(Answer::Granted(Destination::of(request).code(&host.issuer, token.expose())))
}

/// The same where no page may be shown (`prompt=none`): what the person would be told or asked is an error for the
/// application. `None` if it was answered before.
pub async fn respond_silently(host: &Host, question: Question<'_>) -> Result<Option<AuthorizationAnswer>, Broken> {
    let (login, request) = (question.login, question.request);
    match respond(host, question).await? {
        Answer::Granted(answer) | Answer::Error(answer) => Ok(Some(answer)),
        Answer::AnsweredBefore => Ok(None),
        Answer::AskConsent { .. } => {
            let description = "the person has to agree, and prompt=none forbids to ask";
            fail(host, login, request, AuthorizeErrorCode::ConsentRequired, description).await
        }
        Answer::Refused(_) => deny(host, login, request, DenialReason::GivenUp).await,
    }
}

/// The ID token's claims, all but those that the exchange itself determines.
async fn id_token_claims(
    host: &Host,
    request: &AuthorizationRequest,
    application: &Application,
    account: &Account,
    signed_in: &SignedIn,
) -> Result<Result<Map<String, Value>, MapFailure>, Broken> {
    let authentication = &signed_in.session.authentication;
    let subject = Subject {
        application,
        user: &signed_in.user,
        account,
        scopes: &request.scopes,
        authentication: Some(authentication),
        sub: &claims::subject_of(host, application, &signed_in.user)?,
        requested: &request.claims.id_token,
    };
    let mapped = claims::map(host, subject, Sink::IdToken).await;
    if let Some(trial) = request.trial {
        trials::note(host, trial, TrialStep::Claims, of_claims(&mapped)).await?;
    }
    let sid = claims::sid_of(host, application, &signed_in.session.sid)?;
    Ok(mapped.map(|made| {
        let claims = id_token::with_sign_in(host, made, &subject, authentication, &sid);
        match &request.nonce {
            Some(nonce) => id_token::with_nonce(claims, nonce),
            None => claims,
        }
    }))
}

/// What the plugins did, for the trial.
fn of_claims(mapped: &Result<Made, MapFailure>) -> StepNote {
    match mapped {
        Ok(made) => StepNote::good("the claims of the ID token were made")
            .with(json!({ "steps": traces::explain(&made.steps) })),
        Err(failure) => StepNote::bad(failure.to_string()).with(json!({ "steps": traces::explain(&failure.steps) })),
    }
}

fn code(
    host: &Host,
    request: &AuthorizationRequest,
    application: &Application,
    account: &Account,
    signed_in: &SignedIn,
    claims: Map<String, Value>,
) -> (CodeGrant, Token) {
    let now = host.now();
    let id = CodeId::new(now, &*host.entropy);
    let token = Token::new(prefix::CODE, id.as_bytes(), &*host.entropy);
    let lifetime = Duration::from_secs(host.settings.lifetimes.authorization_code.into());
    let code = CodeGrant {
        id,
        digest: token.digest(),
        application: application.id.clone(),
        redirect_uri: request.redirect_uri.clone(),
        code_challenge: request.code_challenge.clone(),
        scopes: request.scopes.clone(),
        subject: GrantSubject { user_id: signed_in.user.id, account_id: account.id, session_id: signed_in.session.id },
        context: GrantContext {
            sid: signed_in.session.sid.clone(),
            authentication: signed_in.session.authentication.clone(),
            claims: request.claims.clone(),
            trial: request.trial,
        },
        claims,
        created_at: now,
        expires_at: now + lifetime,
    };
    (code, token)
}

/// Why nobody was signed in, as the application is told. It never tells whether a person exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenialReason {
    /// The person denied on the phone.
    Denied,
    /// Nobody approved in time.
    Expired,
    /// The person did not agree to what the application asks for.
    NoConsent,
    /// The person gave up, or may not use the application.
    GivenUp,
}

/// Answers the request of a login with `access_denied`. `None` if it was answered before.
pub async fn deny(
    host: &Host,
    login: LoginId,
    request: &AuthorizationRequest,
    reason: DenialReason,
) -> Result<Option<AuthorizationAnswer>, Broken> {
    let description = match reason {
        DenialReason::Denied => "the request was denied in the authenticator",
        DenialReason::Expired => "the request was not approved in time",
        DenialReason::NoConsent => "the person did not agree to what the application asks for",
        DenialReason::GivenUp => "the sign-in was not completed",
    };
    fail(host, login, request, AuthorizeErrorCode::AccessDenied, description).await
}

/// Ends the login with an error for the application. `None` if it was answered before.
async fn fail(
    host: &Host,
    login: LoginId,
    request: &AuthorizationRequest,
    code: AuthorizeErrorCode,
    description: &str,
) -> Result<Option<AuthorizationAnswer>, Broken> {
    let ended = login::give_up(host, login).await?;
    Ok(ended.then(|| Destination::of(request).error(&host.issuer, code, description)))
}
