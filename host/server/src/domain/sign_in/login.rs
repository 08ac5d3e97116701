//! A sign-in, from the request to its answer.

pub mod view;

use view::GivenApproval;

use crate::domain::approvals::request;
use crate::domain::operations::traffic::rate_limits::keys::Network;
use crate::domain::sessions::session;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::{InternalError, Services, audit};
use assent_model::account::Account;
use assent_model::audit::{Actor, AuditContext, Entry, Event, Origin};
use assent_model::authorization_details::requested::DetailsTexts;
use assent_model::clock::Timestamp;
use assent_model::id::{ApprovalId, LoginId, SessionId, UserId};
use assent_model::login::{
    BrowserContext, Login, LoginAnswer, LoginRequest, LoginStage, SignInDenied,
};
use assent_model::saml::MessageClaim;
use assent_model::secret::{Digest, Secret, Token};
use assent_model::user::LifecycleState;
use assent_store::{
    Completion, ConsentGrant, IssuedGrant, NewSession, ReplayCheck, SignInRecord, Transition,
};
use assent_telemetry::SPANS;

/// A sign-in that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenLogin {
    /// The sign-in is stored in the database, which permits one answer.
    Stored(LoginId),
    /// The sign-in exists only in this request, because the browser's session is sufficient to answer at once.
    Unstored(LoginId),
    /// The sign-in is answered, and the same browser receives its answer again. That stores nothing.
    Answered(LoginId),
}

impl OpenLogin {
    /// Returns the id of the sign-in.
    pub const fn id(self) -> LoginId {
        let (Self::Stored(id) | Self::Unstored(id) | Self::Answered(id)) = self;
        id
    }
}

impl std::fmt::Display for OpenLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.id().fmt(f)
    }
}

/// Records that a user approved, and may not sign in to the application. The user's page has the reference.
pub async fn record_rejection(
    services: &Services,
    login: &Login,
    user: UserId,
    from: Origin,
    why: &SignInDenied,
    reference: &str,
) -> Result<(), InternalError> {
    let by = AuditContext::new(Actor::User(user), from);
    let mut entry = audit::entry(services, Event::SignInRejected, &by)
        .about(user)
        .with("sign_in", login.id.to_string())
        .with("reason", why.as_str())
        .with("reference", reference);
    if let Some(application) = login.request.application() {
        entry = entry.in_application(application.clone());
    }
    services.store.append_audit(vec![entry]).await?;
    Ok(())
}

/// The source of a sign-in, for the bounds of open sign-ins.
#[derive(Clone, Copy, Debug)]
pub struct SignInSource {
    /// The network of the browser.
    pub network: Network,
    /// Whether a user signed in in the browser before.
    pub is_known: bool,
}

/// Returns a new sign-in in the browser with this cookie digest. `session` is the session that it continues, if it is
/// sufficient for the request. The sign-in is not stored yet: see [`store`]. Its id is new, unless a repeated request
/// must lead to the same sign-in.
pub fn new(
    services: &Services,
    request: LoginRequest,
    id: Option<LoginId>,
    browser: Digest,
    context: BrowserContext,
    session: Option<SessionId>,
) -> Login {
    let now = services.now();
    Login {
        id: id.unwrap_or_else(|| LoginId::new(now, &*services.entropy)),
        browser,
        context,
        request,
        stage: session.map_or(LoginStage::Identify, LoginStage::SignedIn),
        created_at: now,
        expires_at: now + services.settings.lifetimes.login.get(),
    }
}

/// Stores a new sign-in. `from` is the source of the sign-in, unless a signed-in user begins the sign-in.
pub async fn store(
    services: &Services,
    login: &Login,
    from: Option<SignInSource>,
) -> Result<(), InternalError> {
    let bounds = from
        .filter(|_| matches!(login.stage, LoginStage::Identify))
        .map(|SignInSource { network, is_known }| {
            let limits = &services.rate_limits.open_sign_ins;
            limits.bounds_for(&network, is_known)
        });
    services
        .store
        .insert_login_within(login.clone(), bounds)
        .await?;
    Ok(())
}

/// Begins a sign-in and stores it: [`new`] and [`store`].
#[tracing::instrument(target = SPANS, skip_all, name = "sign_in.begin")]
pub async fn begin(
    services: &Services,
    request: LoginRequest,
    browser: Digest,
    context: BrowserContext,
    session: Option<SessionId>,
    from: Option<SignInSource>,
) -> Result<Login, InternalError> {
    let login = new(services, request, None, browser, context, session);
    store(services, &login, from).await?;
    Ok(login)
}

/// A user with an approval or session that is about to be used.
#[derive(Debug)]
pub struct AuthenticatedUser {
    /// The user and the session.
    pub signed_in: BrowserSession,
    /// The session of the browser before, which ends if a new one begins.
    pub old: Option<BrowserSession>,
    /// The cookie of the session, if it is new.
    pub cookie: Option<Token>,
    /// The approval from which the new session was computed.
    pub approval: Option<ApprovalId>,
    /// The texts of authorization details that a device showed and signed in this approval. Without a device, none.
    pub signed_details: DetailsTexts,
    /// The secret of the browser, from which the code is derived.
    pub browser: Secret,
    /// The IP address and browser of the user.
    pub origin: Origin,
}

impl AuthenticatedUser {
    /// Returns the user of the browser's session, which continues.
    pub fn of_session(signed_in: BrowserSession, browser: &Secret, origin: Origin) -> Self {
        Self {
            signed_in,
            old: None,
            cookie: None,
            approval: None,
            signed_details: DetailsTexts::default(),
            browser: browser.clone(),
            origin,
        }
    }

    /// Returns the session that begins, with its user and its cookie.
    pub fn new_session(&self) -> Option<(UserId, &Token)> {
        let cookie = self.cookie.as_ref()?;
        Some((self.signed_in.user.id, cookie))
    }
}

/// Returns the user who approved, if the user may still sign in. The state is checked again when the approval is used.
/// If the browser's session, `old`, belongs to the same user, the new one has the same `sid` for applications.
pub async fn authenticated_user(
    services: &Services,
    approved: &GivenApproval,
    old: Option<BrowserSession>,
    browser: &Secret,
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
    let Some(user) = user else {
        return Ok(None);
    };
    let (mut signed_in, cookie) =
        session::prepare(services, user, approved.authentication.clone(), browser)?;
    if approved.is_test_sign_in {
        let end = services.now() + crate::domain::sign_in::test_sign_in::record::LIFE;
        signed_in.session.expires_at = signed_in.session.expires_at.min(end);
    } else if let Some(old) = &old
        && old.user.id == signed_in.user.id
    {
        signed_in.session.sid.clone_from(&old.session.sid);
    }
    Ok(Some(AuthenticatedUser {
        signed_in,
        old,
        cookie: Some(cookie),
        approval: Some(approved.approval.id),
        signed_details: approved.signed_details(),
        browser: browser.clone(),
        origin,
    }))
}

/// The effects of a sign-in's answer.
#[derive(Debug)]
pub struct LoginCompletion<'a> {
    /// The user.
    pub authenticated_user: &'a AuthenticatedUser,
    /// The grant that the application receives, and the user's account in the application.
    pub grant: Option<(IssuedGrant, &'a Account)>,
    /// The consent of the user.
    pub consent: Option<ConsentGrant>,
    /// The claim of the message that the answer claims: of a SAML request, if the sign-in is not stored, or of a pushed
    /// request.
    pub claim: Option<MessageClaim>,
    /// The time of the answer.
    pub at: Timestamp,
}

/// Answers the sign-in. In one transaction, a new session begins, the browser's old one ends, the application receives
/// its grant, and a consent is stored. A sign-in has only one answer.
#[tracing::instrument(target = SPANS, skip_all, name = "sign_in.complete")]
pub async fn answer(
    services: &Services,
    login: OpenLogin,
    outcome: LoginCompletion<'_>,
) -> Result<Transition, InternalError> {
    let (entries, activated) = audit_entries(services, &outcome);
    let LoginCompletion {
        authenticated_user,
        grant,
        consent,
        claim,
        at: now,
    } = outcome;
    let signed_in = &authenticated_user.signed_in;
    let record = SignInRecord {
        user: signed_in.user.id,
        consent,
        entries,
        activated,
    };
    let old = authenticated_user.old.as_ref();
    let replaces = old
        .filter(|_| authenticated_user.cookie.is_some())
        .map(|old| old.session.id);
    let begun = authenticated_user.cookie.as_ref();
    let begun = begun.zip(authenticated_user.approval);
    let answered = match (login, begun, grant.map(|(grant, _)| grant)) {
        (OpenLogin::Answered(_), ..) => return Ok(Transition::Done),
        (OpenLogin::Stored(login), Some((cookie, approval)), grant) => {
            let completion = Completion::NewSession {
                session: Box::new(NewSession {
                    session: signed_in.session.clone(),
                    digest: cookie.digest(),
                    approval,
                    origin: authenticated_user.origin.clone(),
                    replaces,
                }),
                grant,
                record,
            };
            services
                .store
                .answer_login(login, completion, claim, now)
                .await?
        }
        (OpenLogin::Stored(login), None, Some(grant)) => {
            let completion = Completion::Resume { grant, record };
            services
                .store
                .answer_login(login, completion, claim, now)
                .await?
        }
        (OpenLogin::Unstored(_), None, Some(grant)) => {
            services
                .store
                .answer_with_session(grant, record, claim, now)
                .await?
        }
        // Only a stored sign-in has the approval for a new session. Without a new session and a grant, there is no
        // effect.
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

/// Returns the audit entries about an outcome. If an invited account becomes active, there is an entry about it too.
fn audit_entries(
    services: &Services,
    outcome: &LoginCompletion<'_>,
) -> (Vec<Entry>, Option<Entry>) {
    let LoginCompletion {
        authenticated_user,
        grant,
        consent,
        claim: _,
        at: _,
    } = outcome;
    let BrowserSession { session, user, .. } = &authenticated_user.signed_in;
    let by = AuditContext::new(Actor::User(user.id), authenticated_user.origin.clone());
    let account = grant.as_ref().map(|(_, account)| *account);
    let about = |event| {
        let entry = audit::entry(services, event, &by).about(user.id);
        account.map_or(entry.clone(), |account| {
            entry.in_application(account.application_id.clone())
        })
    };
    let began = authenticated_user.cookie.is_some();
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
    // The previous session belongs to another user, who must not learn about the new one. The entry therefore has no
    // data of the new user.
    if let Some(old) = &authenticated_user.old
        && began
        && old.user.id != user.id
    {
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

/// Ends the sign-in with this answer, without signing in a user.
pub async fn end_without_sign_in(
    services: &Services,
    login: OpenLogin,
    answer: LoginAnswer,
    claim: Option<MessageClaim>,
    at: Timestamp,
) -> Result<Transition, InternalError> {
    let store = &services.store;
    match (login, claim) {
        (OpenLogin::Answered(_), _) | (OpenLogin::Unstored(_), None) => Ok(Transition::Done),
        (OpenLogin::Unstored(_), Some(claim)) => Ok(match store.claim_message(claim).await? {
            ReplayCheck::FirstUse => Transition::Done,
            ReplayCheck::Replayed => Transition::NotOpen,
        }),
        (OpenLogin::Stored(login), claim) => Ok(store
            .answer_login(login, Completion::GiveUp { answer }, claim, at)
            .await?),
    }
}

/// Continues the sign-in with the browser's session.
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

/// Whether the user declined to continue the sign-in with this session.
pub async fn has_declined(
    services: &Services,
    login: &Login,
    signed_in: &BrowserSession,
) -> Result<bool, InternalError> {
    let session = signed_in.session.id;
    Ok(services.store.has_declined(login.id, session).await?)
}

/// Cancels the pending approval request, because the user cancelled the sign-in in the browser.
pub async fn cancel(services: &Services, login: &Login) -> Result<(), InternalError> {
    if let LoginStage::Asked(approval) = login.stage {
        request::cancel(services, approval).await?;
    }
    Ok(())
}

/// Restarts the sign-in at the identification of the user.
pub async fn again(services: &Services, login: &Login) -> Result<(), InternalError> {
    cancel(services, login).await?;
    services.store.reset_login(login.id).await?;
    Ok(())
}
