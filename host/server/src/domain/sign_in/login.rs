//! A login, from the request to its answer.

mod view;

use crate::domain::approvals::approval;
use crate::domain::operations::rate_limits::Network;
use crate::domain::sessions::session;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::{InternalError, Services, audit};
use assent_model::account::Account;
use assent_model::audit::{Actor, AuditContext, Entry, Event, Origin};
use assent_model::id::{LoginId, SessionId};
use assent_model::login::{BrowserContext, Login, LoginRequest, LoginStage};
use assent_model::secret::{Digest, Token};
use assent_model::user::LifecycleState;
use assent_store::{Completion, ConsentGrant, IssuedGrant, NewSession, SignInRecord, Transition};
use assent_telemetry::SPANS;

pub use view::{GivenApproval, LoginEnd, LoginView, typed_name, view};

/// A login that has begun and is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenLogin {
    /// The database has it, and lets one answer succeed.
    Stored(LoginId),
    /// Only this request has it: the browser's session is enough to answer at once.
    Unstored(LoginId),
}

impl std::fmt::Display for OpenLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Stored(id) | Self::Unstored(id)) = self;
        id.fmt(f)
    }
}

/// A new login in the browser whose cookie has this digest. `session` is the one that it goes on with, where that is
/// enough for the request. The database does not have it yet: see [`store`].
pub fn new(
    services: &Services,
    request: LoginRequest,
    browser: Digest,
    context: BrowserContext,
    session: Option<SessionId>,
) -> Login {
    let now = services.now();
    Login {
        id: LoginId::new(now, &*services.entropy),
        browser,
        context,
        request,
        stage: session.map_or(LoginStage::Identify, LoginStage::SignedIn),
        created_at: now,
        expires_at: now + services.settings.lifetimes.login.get(),
    }
}

/// Stores a new login. `from` is the browser's network, unless a signed-in user begins the login.
///
/// # Errors
/// If the database fails.
pub async fn store(
    services: &Services,
    login: &Login,
    from: Option<Network>,
) -> Result<(), InternalError> {
    let bounds = from
        .filter(|_| matches!(login.stage, LoginStage::Identify))
        .map(|from| services.rate_limits.open_sign_ins.for_network(&from));
    services
        .store
        .insert_login_within(login.clone(), bounds)
        .await?;
    Ok(())
}

/// Begins a login and stores it: [`new`] and [`store`].
///
/// # Errors
/// If the database fails.
#[tracing::instrument(target = SPANS, skip_all, name = "sign_in.begin")]
pub async fn begin(
    services: &Services,
    request: LoginRequest,
    browser: Digest,
    context: BrowserContext,
    session: Option<SessionId>,
    from: Option<Network>,
) -> Result<Login, InternalError> {
    let login = new(services, request, browser, context, session);
    store(services, &login, from).await?;
    Ok(login)
}

/// A person whose approval is about to be used, or whose session is.
#[derive(Debug)]
pub struct AuthenticatedUser {
    /// Who, and in which session.
    pub signed_in: BrowserSession,
    /// The cookie of the session, where it is a new one.
    pub cookie: Option<Token>,
    /// From where they come.
    pub origin: Origin,
}

/// The person who approved, if they may still sign in: their state is checked again when the approval is used. If the
/// browser's session, `old`, is the same person's, the new one is known to applications by the same `sid`.
///
/// # Errors
/// If the database fails.
pub async fn authenticated_user(
    services: &Services,
    approved: &GivenApproval,
    old: Option<&BrowserSession>,
    origin: Origin,
) -> Result<Option<AuthenticatedUser>, InternalError> {
    let Some(id) = approved.approval.user_id else {
        return Ok(None);
    };
    let user = services
        .store
        .user(id)
        .await?
        .filter(|user| user.state == LifecycleState::Active);
    Ok(user.map(|user| {
        let (mut signed_in, cookie) =
            session::prepare(services, user, approved.authentication.clone());
        if approved.is_test_sign_in {
            let end = services.now() + crate::domain::sign_in::test_sign_in::LIFE;
            signed_in.session.expires_at = signed_in.session.expires_at.min(end);
        } else if let Some(old) = old.filter(|old| old.user.id == signed_in.user.id) {
            signed_in.session.sid.clone_from(&old.session.sid);
        }
        AuthenticatedUser {
            signed_in,
            cookie: Some(cookie),
            origin,
        }
    }))
}

/// What a login's answer brings about for the person.
#[derive(Debug)]
pub struct LoginCompletion<'a> {
    /// Who it is.
    pub person: &'a AuthenticatedUser,
    /// The browser's session until now, which ends if a new one begins.
    pub old: Option<&'a BrowserSession>,
    /// What the application is given, and the person's account there.
    pub given: Option<(IssuedGrant, &'a Account)>,
    /// What the person agreed to.
    pub consent: Option<ConsentGrant>,
}

/// Gives the login its one answer: a new session begins, the browser's old one ends, the application is given
/// what it asked for, a consent is remembered, all of it or nothing.
///
/// # Errors
/// If the database fails.
#[tracing::instrument(target = SPANS, skip_all, name = "sign_in.complete")]
pub async fn answer(
    services: &Services,
    login: OpenLogin,
    outcome: LoginCompletion<'_>,
) -> Result<Transition, InternalError> {
    let (entries, activated) = audit_entries(services, &outcome);
    let LoginCompletion {
        person,
        old,
        given,
        consent,
    } = outcome;
    let signed_in = &person.signed_in;
    let record = SignInRecord {
        consent,
        entries,
        activated,
    };
    let replaces = old
        .filter(|_| person.cookie.is_some())
        .map(|old| old.session.id);
    let now = services.now();
    let answered = match (login, &person.cookie, given.map(|(grant, _)| grant)) {
        (OpenLogin::Stored(login), Some(cookie), grant) => {
            let completion = Completion::NewSession {
                session: Box::new(NewSession {
                    session: signed_in.session.clone(),
                    digest: cookie.digest(),
                    origin: person.origin.clone(),
                    replaces,
                }),
                grant,
                record,
            };
            services.store.answer_login(login, completion, now).await?
        }
        (OpenLogin::Stored(login), None, Some(grant)) => {
            let completion = Completion::Resume { grant, record };
            services.store.answer_login(login, completion, now).await?
        }
        (OpenLogin::Unstored(_), None, Some(grant)) => {
            services
                .store
                .answer_with_session(grant, record, now)
                .await?
        }
        // A new session needs an approval, which only a stored login has. A user with a session has nothing to sign in
        // to.
        (OpenLogin::Unstored(_), Some(_), _) | (_, None, None) => return Ok(Transition::NotOpen),
    };
    if answered == Transition::Done {
        tracing::info!(%login, user = %signed_in.user.id, session = %signed_in.session.id, "sign-in completed");
        if replaces.is_some() {
            services
                .wakeups
                .send(crate::domain::operations::wakeups::Wakeup::LoggedOut);
        }
    }
    Ok(answered)
}

/// What the audit log is told of an outcome; and what it is told where the account was invited, and is active from now
/// on.
fn audit_entries(
    services: &Services,
    outcome: &LoginCompletion<'_>,
) -> (Vec<Entry>, Option<Entry>) {
    let LoginCompletion {
        person,
        old,
        given,
        consent,
    } = outcome;
    let BrowserSession { session, user } = &person.signed_in;
    let by = AuditContext::new(Actor::User(user.id), person.origin.clone());
    let account = given.as_ref().map(|(_, account)| *account);
    let about = |event| {
        let entry = audit::entry(services, event, &by).about(user.id);
        account.map_or(entry.clone(), |account| {
            entry.in_application(account.application_id.clone())
        })
    };
    let began = person.cookie.is_some();
    let methods: Vec<&str> = session
        .authentication
        .amr
        .iter()
        .map(|method| method.as_str())
        .collect();
    let mut entries = vec![
        about(Event::SignedIn)
            .with("new_session", began)
            .with("amr", methods),
    ];
    // Somebody else was signed in there. Whoever came after them is none of theirs to know, nor of their data.
    if let Some(old) = old.filter(|old| began && old.user.id != user.id) {
        entries.push(
            audit::entry(services, Event::SessionEnded, &AuditContext::SERVER)
                .about(old.user.id)
                .with("replaced_by_sign_in", true),
        );
    }
    if let Some(consent) = consent {
        entries.push(about(Event::ConsentGranted).with("scopes", consent.scopes.to_string()));
    }
    let invited = account.is_some_and(|account| account.state == LifecycleState::Invited);
    (
        entries,
        invited.then(|| {
            audit::of_state(
                about(Event::AccountLifecycleChanged),
                LifecycleState::Invited,
                LifecycleState::Active,
            )
        }),
    )
}

/// Ends the login without signing anybody in.
///
/// # Errors
/// If the database fails.
pub async fn end_without_sign_in(
    services: &Services,
    login: OpenLogin,
) -> Result<Transition, InternalError> {
    match login {
        OpenLogin::Unstored(_) => Ok(Transition::Done),
        OpenLogin::Stored(login) => Ok(services
            .store
            .answer_login(login, Completion::GiveUp, services.now())
            .await?),
    }
}

/// The person goes on with the session that their browser has.
///
/// # Errors
/// If the database fails.
pub async fn continue_with_session(
    services: &Services,
    login: &Login,
    signed_in: &BrowserSession,
) -> Result<(), InternalError> {
    services
        .store
        .continue_login(login.id, signed_in.session.id)
        .await?;
    Ok(())
}

/// The person gave up in the browser while the phone was asked.
///
/// # Errors
/// If the database fails.
pub async fn cancel(services: &Services, login: &Login) -> Result<(), InternalError> {
    if let LoginStage::Asked(approval) = login.stage {
        approval::cancel(services, approval).await?;
    }
    Ok(())
}

/// Begins anew with the question who the person is.
///
/// # Errors
/// If the database fails.
pub async fn again(services: &Services, login: &Login) -> Result<(), InternalError> {
    cancel(services, login).await?;
    services.store.reset_login(login.id).await?;
    Ok(())
}
