//! What the protocols have in common when they answer a sign-in: the context that they receive, and the outcomes.
//!
//! An observer follows a sign-in. Production sign-ins have [`NoObserver`].

use std::convert::Infallible;
use std::future::{Future, ready};

use futures_util::future::BoxFuture;

use crate::domain::sign_in::login;
use crate::domain::sign_in::login::{AuthenticatedUser, OpenLogin};
use crate::domain::{InternalError, Services};
use assent_model::id::{LoginId, SessionId, UserId};
use assent_model::login::SignInDenied;
use assent_model::saml::NameId;
use assent_plugin_host::{MapFailure, MapperRun, Sink};

/// What an observer returns.
pub type Observation<'a, T = ()> = BoxFuture<'a, Result<T, InternalError>>;

/// Follows one sign-in. Each method does nothing by default.
pub trait SignInObserver: Send + Sync {
    /// Whether the login may be answered for this user.
    fn admit(&self, _login: LoginId, _user: UserId) -> Observation<'_, Admission> {
        Box::pin(ready(Ok(Admission::Admitted)))
    }

    /// The sign-in reached a step.
    fn observe<'a>(&'a self, _event: SignInEvent<'a>) -> Observation<'a> {
        Box::pin(ready(Ok(())))
    }
}

/// The observer of production sign-ins.
#[derive(Clone, Copy, Debug)]
pub struct NoObserver;

impl SignInObserver for NoObserver {}

/// Whether a login may be answered for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may.
    Admitted,
    /// It expired, or another login replaced it.
    Expired,
    /// Only another user may complete it.
    OtherUser,
}

/// A step of a sign-in.
#[derive(Clone, Copy, Debug)]
pub enum SignInEvent<'a> {
    /// The user has an open account in the application.
    AccountFound,
    /// The assertion has a `NameID`; `None` if the user has none in the requested format.
    NameIdChosen(Option<&'a NameId>),
    /// The claim mappers ran.
    ClaimsMapped {
        /// What the claims are for.
        sink: Sink,
        /// What each mapper did, or why one of them failed.
        result: Result<&'a [MapperRun], &'a MapFailure>,
    },
    /// The application receives its answer.
    Granted {
        /// The session that the sign-in is part of.
        session: SessionId,
        /// Whether the user was asked for consent; `None` if the protocol has no consent.
        agreement: Option<Agreement>,
    },
    /// The user is rejected.
    Denied(&'a SignInDenied),
}

/// Whether the user was asked for their consent to this request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Not yet.
    Open,
    /// They were, on the page, and agreed.
    Given,
}

/// What the protocols receive to answer a sign-in.
#[derive(Clone, Copy)]
pub struct SignInContext<'a> {
    /// The server.
    pub services: &'a Services,
    /// The sign-in's observer.
    pub observer: &'a dyn SignInObserver,
}

/// The outcome of a sign-in: `A` is the protocol's answer, `C` its question for consent.
#[derive(Debug)]
pub enum SignInAnswer<A, C = Infallible> {
    /// The application receives what it requested. The session, if it is a new one, has begun.
    Granted(A),
    /// The application receives an error. No session began.
    Failed(A),
    /// The user must consent first.
    AskConsent(C),
    /// A page tells the user the reason. They may return to the application from there.
    Denied(SignInDenied),
    /// It was answered before, or the session that it continues has ended.
    AnsweredBefore,
}

/// Answers a login, if its observer admits the user, and reports the outcome to the observer. `agreement` is `None` if
/// the protocol has no consent.
///
/// # Errors
/// The errors of the answer and of the observer.
pub async fn answer_observed<A, C>(
    context: SignInContext<'_>,
    login: OpenLogin,
    person: &AuthenticatedUser,
    agreement: Option<Agreement>,
    answer: impl Future<Output = Result<SignInAnswer<A, C>, InternalError>>,
) -> Result<SignInAnswer<A, C>, InternalError> {
    let SignInContext { services, observer } = context;
    let session = &person.signed_in.session;
    let (OpenLogin::Stored(id) | OpenLogin::Unstored(id)) = login;
    match observer.admit(id, session.user_id).await? {
        Admission::Admitted => {}
        Admission::Expired => return Ok(SignInAnswer::AnsweredBefore),
        Admission::OtherUser => {
            // Whether this ended the login or another request did, this user is refused.
            let _ = login::end_without_sign_in(services, login).await?;
            return Ok(SignInAnswer::Denied(SignInDenied::OthersTestSignIn));
        }
    }
    let answer = answer.await?;
    match &answer {
        SignInAnswer::Granted(_) => {
            let session = session.id;
            observer
                .observe(SignInEvent::Granted { session, agreement })
                .await?;
        }
        SignInAnswer::Denied(reason) => observer.observe(SignInEvent::Denied(reason)).await?,
        SignInAnswer::Failed(_) | SignInAnswer::AskConsent(_) | SignInAnswer::AnsweredBefore => {}
    }
    Ok(answer)
}
