//! Answering an authorization request.

use std::time::Duration;

use serde_json::json;

use super::super::error::AuthorizeErrorCode;
use super::ErrorRedirect;
use crate::domain::account::{Access, access};
use crate::domain::claims::{self, Subject};
use crate::domain::login::{self, Person};
use crate::domain::session::SignedIn;
use crate::domain::{Broken, Host};
use crate::id::{CodeId, LoginId};
use crate::model::account::Account;
use crate::model::application::Application;
use crate::model::claims_request::ClaimsRequest;
use crate::model::login::AuthorizationRequest;
use crate::model::scope::Scope;
use crate::model::session::Authentication;
use crate::model::token::{CodeGrant, GrantContext, GrantSubject, prefix};
use crate::plugins::{MapFailureKind, Sink};
use crate::secret::Token;

/// What a request is answered.
#[derive(Debug)]
pub enum Answer {
    /// The browser goes back to the application with a code, and the session, if it is a new one, has begun.
    Redirect(String),
    /// The browser goes back to the application with an error. No session began.
    Error(String),
    /// The person is told why they can't go on, and may go back to the application from there.
    Refused(String),
    /// It was answered before.
    AnsweredBefore,
}

/// Answers the request of a login with a code for this person, if they may use the application and the plugins agree.
pub async fn respond(
    host: &Host,
    login: LoginId,
    request: &AuthorizationRequest,
    person: &Person,
    old: Option<&SignedIn>,
) -> Result<Answer, Broken> {
    let Some(application) = host.store.application(&request.application).await? else {
        return Ok(Answer::Refused("The application was removed while you signed in.".to_owned()));
    };
    let signed_in = &person.signed_in;
    let account = match access(host, &signed_in.user, &application.id).await? {
        Access::Granted(account) => account,
        Access::NoAccount => {
            return Ok(Answer::Refused(format!("You have no account with {}.", application.name)));
        }
        Access::Closed => return Ok(Answer::Refused(format!("Your account with {} is closed.", application.name))),
    };
    let subject = Subject {
        application: &application,
        user: &signed_in.user,
        account: &account,
        scopes: &request.scopes,
        authentication: Some(&signed_in.session.authentication),
    };
    let mut claims = match claims::map(host, subject, Sink::IdToken).await {
        Ok(claims) => claims,
        Err(failure) => {
            tracing::error!(%login, application = %application.id, plugin = failure.plugin, %failure, "the login fails: a plugin did");
            return match failure.kind {
                MapFailureKind::Deny(reason) => Ok(Answer::Refused(reason)),
                MapFailureKind::Fault(_) => give_up(host, login, request).await,
            };
        }
    };
    let Authentication { at, amr } = &signed_in.session.authentication;
    claims.insert("auth_time".to_owned(), json!(at.seconds()));
    claims.insert("amr".to_owned(), json!(amr));
    claims.insert("acr".to_owned(), json!(Authentication::ACR));
    claims.insert("sid".to_owned(), json!(signed_in.session.sid));
    if let Some(nonce) = &request.nonce {
        claims.insert("nonce".to_owned(), json!(nonce));
    }
    let (code, token) = code(host, request, &application, &account, signed_in, claims);
    if !login::answer(host, login, Some(person), old, Some(code)).await? {
        return Ok(Answer::AnsweredBefore);
    }
    let mut parameters = vec![("code", token.expose()), ("iss", host.issuer.as_str())];
    parameters.extend(request.state.as_deref().map(|state| ("state", state)));
    Ok(Answer::Redirect(request.redirect_uri.with_query(&parameters)))
}

fn code(
    host: &Host,
    request: &AuthorizationRequest,
    application: &Application,
    account: &Account,
    signed_in: &SignedIn,
    claims: serde_json::Map<String, serde_json::Value>,
) -> (CodeGrant, Token) {
    let now = host.now();
    let id = CodeId::new(now, &*host.entropy);
    let token = Token::new(prefix::CODE, id.as_bytes(), &*host.entropy);
    let lifetimes = host.settings.lifetimes;
    let lifetime = Duration::from_secs(lifetimes.authorization_code.into());
    // Nobody asks for the row once its last token is over, but for a day on, in which a second use is still noticed.
    let last = if request.scopes.has(Scope::OfflineAccess) { lifetimes.consent } else { lifetimes.authorization_code };
    let longest = Duration::from_secs(u64::from(last) + u64::from(lifetimes.access_token) + 24 * 60 * 60);
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
            claims: ClaimsRequest::default(),
        },
        claims,
        created_at: now,
        expires_at: now + lifetime,
        kept_until: now + longest,
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
    /// The person gave up, or may not use the application.
    GivenUp,
}

/// Answers the request of a login with `access_denied`. `None` if it was answered before.
pub async fn deny(
    host: &Host,
    login: LoginId,
    request: &AuthorizationRequest,
    reason: DenialReason,
) -> Result<Option<String>, Broken> {
    let description = match reason {
        DenialReason::Denied => "the request was denied in the authenticator",
        DenialReason::Expired => "the request was not approved in time",
        DenialReason::GivenUp => "the sign-in was not completed",
    };
    let answered = login::answer(host, login, None, None, None).await?;
    Ok(answered.then(|| error(request, AuthorizeErrorCode::AccessDenied, description).location(&host.issuer)))
}

async fn give_up(host: &Host, login: LoginId, request: &AuthorizationRequest) -> Result<Answer, Broken> {
    if !login::answer(host, login, None, None, None).await? {
        return Ok(Answer::AnsweredBefore);
    }
    let description =
        "the sign-in could not be completed; the operator of the identity provider finds the cause in the log";
    Ok(Answer::Error(error(request, AuthorizeErrorCode::ServerError, description).location(&host.issuer)))
}

fn error(request: &AuthorizationRequest, code: AuthorizeErrorCode, description: &str) -> ErrorRedirect {
    ErrorRedirect {
        redirect_uri: request.redirect_uri.clone(),
        state: request.state.clone(),
        code,
        description: description.to_owned(),
    }
}
