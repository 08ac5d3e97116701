//! A login, from the request to its answer.

use super::session::{self, SignedIn};
use super::{Broken, Host, seconds};
use crate::id::{ApprovalId, LoginId};
use crate::model::approval::{Approval, ApprovalStage};
use crate::model::login::{Login, LoginRequest, LoginStage};
use crate::model::session::Authentication;
use crate::model::user::LifeState;
use crate::secret::{Digest, Token};
use crate::store::LoginAnswer;

/// Begins a login in the browser whose cookie has this digest.
pub async fn begin(host: &Host, request: LoginRequest, browser: Digest) -> Result<Login, Broken> {
    let now = host.now();
    let login = Login {
        id: LoginId::new(now, &*host.entropy),
        browser,
        request,
        stage: LoginStage::Identify,
        created_at: now,
        expires_at: now + seconds(host.settings.lifetimes.login),
    };
    host.store.insert_login(login.clone()).await?;
    Ok(login)
}

/// A login as the browser that began it finds it.
#[derive(Debug)]
pub enum View {
    /// The person has not yet said who they are.
    Identify(Login),
    /// The phone was asked.
    Waiting(Login, Approval),
    /// Nothing came of the approval.
    Ended(Login, Ended),
    /// The person approved; the login can be answered.
    Approved(Login, Approved),
    /// The application was answered before.
    Answered,
    /// There is no such login in this browser.
    Unknown,
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
    /// The number was wrong too often.
    WrongNumber,
}

/// An approval that was given.
#[derive(Clone, Debug)]
pub struct Approved {
    approval: Approval,
    authentication: Authentication,
}

/// Looks at a login. A login of another browser is as good as none.
pub async fn view(host: &Host, id: LoginId, browser: Digest) -> Result<View, Broken> {
    let now = host.now();
    let Some(login) = host.store.login(id, now).await?.filter(|login| login.browser == browser) else {
        return Ok(View::Unknown);
    };
    let approval = match login.stage {
        LoginStage::Identify => return Ok(View::Identify(login)),
        LoginStage::SignedIn(_) => return Ok(View::Unknown),
        LoginStage::Answered => return Ok(View::Answered),
        LoginStage::Asked(approval) => host.store.approval(approval).await?,
    };
    let Some(approval) = approval else { return Ok(View::Ended(login, Ended::Expired)) };
    Ok(match approval.stage_at(now) {
        // That a newer request took its place is not told: it would say that somebody has this name, and when they
        // sign in. The page goes on until its time is over, as it would for a name that nobody has.
        ApprovalStage::Requested | ApprovalStage::Replaced => View::Waiting(login, approval),
        ApprovalStage::Approved { at, amr, .. } => {
            View::Approved(login, Approved { approval, authentication: Authentication { at, amr } })
        }
        ApprovalStage::Denied => View::Ended(login, Ended::Denied),
        ApprovalStage::Expired => View::Ended(login, Ended::Expired),
        ApprovalStage::Cancelled => View::Ended(login, Ended::Cancelled),
        ApprovalStage::Failed(_) => View::Ended(login, Ended::WrongNumber),
    })
}

/// Returns when the approval is no longer open: whether it was decided, or its time is over.
pub async fn decided(host: &Host, approval: ApprovalId) -> Result<(), Broken> {
    let mut listener = host.signals.listen();
    loop {
        let found = host.store.approval(approval).await?;
        let open = |stage| matches!(stage, ApprovalStage::Requested | ApprovalStage::Replaced);
        if !found.is_some_and(|found| open(found.stage_at(host.now()))) {
            return Ok(());
        }
        listener.next(super::signals::Signal::Decided(approval)).await;
    }
}

/// A person whose approval is about to be used, or whose session is.
#[derive(Debug)]
pub struct Person {
    /// Who, and in which session.
    pub signed_in: SignedIn,
    /// The cookie of the session, where it is a new one.
    pub cookie: Option<Token>,
}

/// The person who approved, if they may still sign in: their state is checked again when the approval is used.
pub async fn person(host: &Host, approved: &Approved) -> Result<Option<Person>, Broken> {
    let Some(id) = approved.approval.user_id else { return Ok(None) };
    let user = host.store.user(id).await?.filter(|user| user.state == LifeState::Active);
    Ok(user.map(|user| {
        let (signed_in, cookie) = session::prepare(host, user, approved.authentication.clone());
        Person { signed_in, cookie: Some(cookie) }
    }))
}

/// Gives the login its one answer: a new session begins, the browser's old one ends, a code is issued, all of it or
/// nothing. Whether this was the answer.
pub async fn answer(
    host: &Host,
    login: LoginId,
    person: Option<&Person>,
    old: Option<&SignedIn>,
    code: Option<crate::model::token::CodeGrant>,
) -> Result<bool, Broken> {
    let session = person
        .and_then(|person| person.cookie.as_ref().map(|cookie| (person.signed_in.session.clone(), cookie.digest())));
    let replaces = old.filter(|_| session.is_some()).map(|old| old.session.id);
    let answered = host.store.answer_login(login, LoginAnswer { session, replaces, code }, host.now()).await?;
    if let (true, Some(person)) = (answered, person) {
        let signed_in = &person.signed_in;
        tracing::info!(login = %login, user = %signed_in.user.id, session = %signed_in.session.id, "signed in");
    }
    Ok(answered)
}

/// The person gave up in the browser while the phone was asked.
pub async fn cancel(host: &Host, login: &Login) -> Result<(), Broken> {
    if let LoginStage::Asked(approval) = login.stage {
        host.store.cancel_approval(approval, host.now()).await?;
        host.signals.send(super::signals::Signal::Decided(approval));
    }
    Ok(())
}

/// Begins anew with the question who the person is.
pub async fn again(host: &Host, login: &Login) -> Result<(), Broken> {
    cancel(host, login).await?;
    host.store.reset_login(login.id).await?;
    Ok(())
}
