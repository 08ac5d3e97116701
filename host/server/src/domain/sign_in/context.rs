//! The common parts of the protocols when they answer a sign-in: the context and the outcomes.
//!
//! An observer follows a sign-in. Production sign-ins have [`NoObserver`].

use std::convert::Infallible;
use std::future::{Future, ready};

use futures_util::future::BoxFuture;

use crate::domain::claims::name_id::MissingName;
use crate::domain::sign_in::login;
use crate::domain::sign_in::login::{AuthenticatedUser, OpenLogin};
use crate::domain::{InternalError, Services};
use assent_model::id::{Did, LoginId, SessionId, UserId};
use assent_model::login::{LoginAnswer, SignInDenied};
use assent_model::saml::NameId;
use assent_plugin_host::{MapFailure, MapperRun, Sink};

/// The future that an observer returns.
pub type Observation<'a, T = ()> = BoxFuture<'a, Result<T, InternalError>>;

/// The observer of one sign-in. By default, its methods do nothing.
pub trait SignInObserver: Send + Sync {
    /// Returns whether the sign-in may be answered for this user.
    fn admit(&self, _login: LoginId, _user: UserId) -> Observation<'_, Admission> {
        Box::pin(ready(Ok(Admission::Admitted)))
    }

    /// Observes a step of the sign-in.
    fn observe<'a>(&'a self, _event: SignInEvent<'a>) -> Observation<'a> {
        Box::pin(ready(Ok(())))
    }
}

/// The observer of production sign-ins.
#[derive(Clone, Copy, Debug)]
pub struct NoObserver;

impl SignInObserver for NoObserver {}

/// The decision whether a sign-in may be answered for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The sign-in may be answered.
    Admitted,
    /// The sign-in expired, or another one replaced it.
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
    NameIdChosen(Result<&'a NameId, MissingName>),
    /// The claim mappers ran.
    ClaimsMapped {
        /// The receiver of the claims.
        sink: Sink,
        /// The run of each mapper, or the failure of one of them.
        result: Result<&'a [MapperRun], &'a MapFailure>,
    },
    /// The application receives its response.
    Granted {
        /// The session of the sign-in.
        session: SessionId,
        /// Whether the user has consented. `None` if the protocol has no consent.
        agreement: Option<Agreement>,
    },
    /// The user is rejected.
    Denied(&'a SignInDenied),
}

/// The user's consent to this request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The user has not been asked yet.
    Open,
    /// The user consented on the page.
    Given,
}

/// The context in which the protocols answer a sign-in.
#[derive(Clone, Copy)]
pub struct SignInContext<'a> {
    /// The services of the server.
    pub services: &'a Services,
    /// The sign-in's observer.
    pub observer: &'a dyn SignInObserver,
    /// The id of the HTTP request. The log lines of the request have it too.
    pub request_id: &'a str,
}

/// The outcome of a sign-in: `A` is the protocol's response, `C` its request for consent.
#[derive(Debug)]
pub enum SignInAnswer<A, C = Infallible> {
    /// The application receives the requested response. A new session has begun.
    Granted(A),
    /// The application receives an error. No session began.
    Failed(A),
    /// The user must consent first.
    AskConsent(C),
    /// A page shows the reason to the user, who may return to the application from there.
    Denied(SignInDenied),
    /// The sign-in was answered before, or the session that it continues has ended.
    AnsweredBefore,
}

impl<A, C> SignInAnswer<A, C> {
    /// Converts the response, and the request for consent.
    pub fn map<B, D>(
        self,
        response: impl FnOnce(A) -> B,
        consent: impl FnOnce(C) -> D,
    ) -> SignInAnswer<B, D> {
        match self {
            Self::Granted(answer) => SignInAnswer::Granted(response(answer)),
            Self::Failed(answer) => SignInAnswer::Failed(response(answer)),
            Self::AskConsent(question) => SignInAnswer::AskConsent(consent(question)),
            Self::Denied(reason) => SignInAnswer::Denied(reason),
            Self::AnsweredBefore => SignInAnswer::AnsweredBefore,
        }
    }
}

/// Logs the denial of a sign-in by a plugin, with the reference number of the page if there is one. Other reasons have
/// no line here. The code that shows or sends the reason calls it, because the plugins may run twice for a sign-in: for
/// the request, and for the page with the reason.
pub fn log_plugin_denial(
    login: OpenLogin,
    application: Option<&Did>,
    why: &SignInDenied,
    reference: Option<&str>,
) {
    if let SignInDenied::Plugin { plugin, reason } = why {
        let application = application.map(tracing::field::display);
        tracing::info!(reference, %login, application, plugin, reason, "plugin denied the sign-in");
    }
}

/// Answers a sign-in, if its observer admits the user, and reports the outcome to the observer. `agreement` is `None`
/// if the protocol has no consent.
///
/// # Errors
/// The errors of the answer and of the observer.
pub async fn answer_observed<A, C>(
    context: SignInContext<'_>,
    login: OpenLogin,
    authenticated_user: &AuthenticatedUser,
    agreement: Option<Agreement>,
    answer: impl Future<Output = Result<SignInAnswer<A, C>, InternalError>>,
) -> Result<SignInAnswer<A, C>, InternalError> {
    let SignInContext {
        services, observer, ..
    } = context;
    let session = &authenticated_user.signed_in.session;
    match observer.admit(login.id(), session.user_id).await? {
        Admission::Admitted => {}
        Admission::Expired => return Ok(SignInAnswer::AnsweredBefore),
        Admission::OtherUser => {
            // The user is rejected, even if another request ended the sign-in.
            let _ = login::end_without_sign_in(
                services,
                login,
                LoginAnswer::Nothing,
                None,
                services.now(),
            )
            .await?;
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
