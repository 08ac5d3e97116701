//! A login, from the request to its answer.

use crate::domain::approvals::{approval, channels};
use crate::domain::operations::rate_limits::Network;
use crate::domain::sessions::session;
use crate::domain::sessions::session::SignedIn;
use crate::domain::{Host, InternalError, audit};
use assent_model::account::Account;
use assent_model::approval::{Approval, ApprovalStage};
use assent_model::audit::{Actor, AuditContext, Entry, Event, Origin};
use assent_model::id::{LoginId, SessionId};
use assent_model::login::{BrowserContext, Login, LoginRequest, LoginStage};
use assent_model::secret::{Digest, Token};
use assent_model::session::Authentication;
use assent_model::user::LifecycleState;
use assent_store::{Completion, ConsentGrant, IssuedGrant, NewSession, SignInRecord};

/// Begins a login in the browser whose cookie has this digest. `session` is the one that it goes on with, where that is
/// enough for the request; `from` is the browser's network, unless a signed-in user begins the login.
///
/// # Errors
/// If the database fails.
pub async fn begin(
    host: &Host,
    request: LoginRequest,
    browser: Digest,
    context: BrowserContext,
    session: Option<SessionId>,
    from: Option<Network>,
) -> Result<Login, InternalError> {
    let now = host.now();
    let login = Login {
        id: LoginId::new(now, &*host.entropy),
        browser,
        context,
        request,
        stage: session.map_or(LoginStage::Identify, LoginStage::SignedIn),
        created_at: now,
        expires_at: now + host.settings.lifetimes.login.get(),
    };
    let bounds = from
        .filter(|_| session.is_none())
        .map(|from| host.rate_limits.open_sign_ins.of(&from));
    host.store
        .insert_login_within(login.clone(), bounds)
        .await?;
    Ok(login)
}

/// A login as the browser that began it finds it.
#[derive(Debug)]
pub enum View {
    /// The person has not yet said who they are.
    Identify(Login),
    /// The person was signed in already, in this session; whether it is still this browser's, and enough, is not known.
    SignedIn(Login, SessionId),
    /// The phone was asked.
    Waiting(Login, Approval),
    /// Nothing came of the approval.
    Ended(Login, Ended),
    /// The person approved; the login can be answered.
    Approved(Login, Approved),
    /// The application was answered before.
    Answered(Login),
    /// There is no such login in this browser.
    Unknown,
}

impl View {
    /// The login, if there is one in this browser.
    pub const fn login(&self) -> Option<&Login> {
        match self {
            Self::Identify(login)
            | Self::SignedIn(login, _)
            | Self::Waiting(login, _)
            | Self::Ended(login, _)
            | Self::Approved(login, _)
            | Self::Answered(login) => Some(login),
            Self::Unknown => None,
        }
    }
}

/// Why nothing came of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The person denied.
    Denied,
    /// Nobody answered in time, or nobody could.
    Expired,
    /// The person gave up in the browser.
    Cancelled,
    /// Two sign-ins with this name started at the same time, and the user could not have distinguished them.
    Conflict,
    /// The number was wrong too often.
    WrongNumber,
    /// A newer request of the same browser took its place.
    Replaced,
}

/// An approval that was given.
#[derive(Clone, Debug)]
pub struct Approved {
    approval: Approval,
    authentication: Authentication,
    /// It is a test sign-in's, so the session is for that alone.
    is_test_sign_in: bool,
}

impl Approved {
    /// Whether a device began it by scanning the code of the login's page. The browser does not know its user yet.
    pub const fn is_by_scan(&self) -> bool {
        self.approval.scanned_by.is_some()
    }
}

/// Looks at a login. A browser finds only its own logins.
///
/// # Errors
/// If the database fails.
pub async fn view(host: &Host, id: LoginId, browser: Digest) -> Result<View, InternalError> {
    let now = host.now();
    let Some(login) = host
        .store
        .login(id, now)
        .await?
        .filter(|login| login.browser == browser)
    else {
        return Ok(View::Unknown);
    };
    let approval = match login.stage {
        LoginStage::Identify => return Ok(View::Identify(login)),
        LoginStage::SignedIn(session) => return Ok(View::SignedIn(login, session)),
        LoginStage::Answered => return Ok(View::Answered(login)),
        LoginStage::Asked(approval) => host.store.approval(approval).await?,
    };
    let Some(approval) = approval else {
        return Ok(View::Ended(login, Ended::Expired));
    };
    Ok(match approval.stage_at(now) {
        // A withdrawn or reported request looks like a pending one: the page must not show that the name is known, or that
        // its user answered.
        ApprovalStage::Requested | ApprovalStage::Withdrawn | ApprovalStage::Reported => {
            View::Waiting(login, approval)
        }
        ApprovalStage::Approved { by, at } => {
            let authentication = by.authentication(at);
            // The operator may have taken the trust away from a vendor in between.
            if channels::is_enough_for(host, &login.request, &authentication) {
                let is_test_sign_in = !login.request.purpose().is_application();
                View::Approved(
                    login,
                    Approved {
                        approval,
                        authentication,
                        is_test_sign_in,
                    },
                )
            } else {
                View::Ended(login, Ended::Expired)
            }
        }
        ApprovalStage::Denied => View::Ended(login, Ended::Denied),
        ApprovalStage::Expired => View::Ended(login, Ended::Expired),
        ApprovalStage::Cancelled => View::Ended(login, Ended::Cancelled),
        ApprovalStage::Conflicted => View::Ended(login, Ended::Conflict),
        ApprovalStage::Replaced => View::Ended(login, Ended::Replaced),
        ApprovalStage::Failed(_) => View::Ended(login, Ended::WrongNumber),
    })
}

/// A person whose approval is about to be used, or whose session is.
#[derive(Debug)]
pub struct Person {
    /// Who, and in which session.
    pub signed_in: SignedIn,
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
pub async fn person(
    host: &Host,
    approved: &Approved,
    old: Option<&SignedIn>,
    origin: Origin,
) -> Result<Option<Person>, InternalError> {
    let Some(id) = approved.approval.user_id else {
        return Ok(None);
    };
    let user = host
        .store
        .user(id)
        .await?
        .filter(|user| user.state == LifecycleState::Active);
    Ok(user.map(|user| {
        let (mut signed_in, cookie) = session::prepare(host, user, approved.authentication.clone());
        if approved.is_test_sign_in {
            let end = host.now() + crate::domain::sign_in::test_sign_in::LIFE;
            signed_in.session.expires_at = signed_in.session.expires_at.min(end);
        } else if let Some(old) = old.filter(|old| old.user.id == signed_in.user.id) {
            signed_in.session.sid.clone_from(&old.session.sid);
        }
        Person {
            signed_in,
            cookie: Some(cookie),
            origin,
        }
    }))
}

/// What a login's answer brings about for the person.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// Who it is.
    pub person: &'a Person,
    /// The browser's session until now, which ends if a new one begins.
    pub old: Option<&'a SignedIn>,
    /// What the application is given, and the person's account there.
    pub given: Option<(IssuedGrant, &'a Account)>,
    /// What the person agreed to.
    pub consent: Option<ConsentGrant>,
}

/// Gives the login its one answer: a new session begins, the browser's old one ends, the application is given
/// what it asked for, a consent is remembered, all of it or nothing. Whether this was the answer.
///
/// # Errors
/// If the database fails.
pub async fn answer(
    host: &Host,
    login: LoginId,
    outcome: Outcome<'_>,
) -> Result<bool, InternalError> {
    let (entries, activated) = noted(host, &outcome);
    let Outcome {
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
    let completion = match (&person.cookie, given.map(|(grant, _)| grant)) {
        (Some(cookie), grant) => Completion::NewSession {
            session: Box::new(NewSession {
                session: signed_in.session.clone(),
                digest: cookie.digest(),
                origin: person.origin.clone(),
                replaces,
            }),
            grant,
            record,
        },
        (None, Some(grant)) => Completion::Resume { grant, record },
        // A user with a session has nothing to sign in to.
        (None, None) => return Ok(false),
    };
    let answered = host
        .store
        .answer_login(login, completion, host.now())
        .await?;
    if answered {
        tracing::info!(%login, user = %signed_in.user.id, session = %signed_in.session.id, "signed in");
        if replaces.is_some() {
            host.wakeups
                .send(crate::domain::operations::wakeups::Wakeup::LoggedOut);
        }
    }
    Ok(answered)
}

/// What the audit log is told of an outcome; and what it is told where the account was invited, and is active from now on.
fn noted(host: &Host, outcome: &Outcome<'_>) -> (Vec<Entry>, Option<Entry>) {
    let Outcome {
        person,
        old,
        given,
        consent,
    } = outcome;
    let SignedIn { session, user } = &person.signed_in;
    let by = AuditContext::new(Actor::Person(user.id), person.origin.clone());
    let account = given.as_ref().map(|(_, account)| *account);
    let about = |event| {
        let entry = audit::entry(host, event, &by).about(user.id);
        account.map_or(entry.clone(), |account| {
            entry.of(account.application_id.clone())
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
            audit::entry(host, Event::SessionEnded, &AuditContext::HOST)
                .about(old.user.id)
                .with("by_sign_in", true),
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

/// Ends the login without signing anybody in. Whether this was the answer.
///
/// # Errors
/// If the database fails.
pub async fn give_up(host: &Host, login: LoginId) -> Result<bool, InternalError> {
    Ok(host
        .store
        .answer_login(login, Completion::GiveUp, host.now())
        .await?)
}

/// The person goes on with the session that their browser has.
///
/// # Errors
/// If the database fails.
pub async fn go_on(host: &Host, login: &Login, signed_in: &SignedIn) -> Result<(), InternalError> {
    host.store
        .continue_login(login.id, signed_in.session.id)
        .await?;
    Ok(())
}

/// The person gave up in the browser while the phone was asked.
///
/// # Errors
/// If the database fails.
pub async fn cancel(host: &Host, login: &Login) -> Result<(), InternalError> {
    if let LoginStage::Asked(approval) = login.stage {
        approval::cancel(host, approval).await?;
    }
    Ok(())
}

/// Begins anew with the question who the person is.
///
/// # Errors
/// If the database fails.
pub async fn again(host: &Host, login: &Login) -> Result<(), InternalError> {
    cancel(host, login).await?;
    host.store.reset_login(login.id).await?;
    Ok(())
}
