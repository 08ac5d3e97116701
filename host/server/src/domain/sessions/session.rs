//! Sessions: the signed-in users of browsers.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::domain::operations::wakeups::Wakeup;
use crate::domain::sign_in::derived;
use crate::domain::{InternalError, Services, audit};
use assent_model::account::Account;
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::clock::Timestamp;
use assent_model::id::{Did, SessionId};
use assent_model::saml::SessionEnd;
use assent_model::secret::{Digest, Secret, Token};
use assent_model::session::{Authentication, Session};
use assent_model::token::prefix;
use assent_model::user::{LifecycleState, User};
use assent_store::{SignOnState, SignedInSession, UserAccount};

/// A use of a session moves its end only by at least this time, so that not every use is a write.
const BETWEEN_MOVES: Duration = Duration::from_secs(60);

/// A signed-in user.
#[derive(Clone, Debug)]
pub struct BrowserSession {
    /// The session.
    pub session: Session,
    /// The user, who may sign in.
    pub user: Arc<User>,
    /// The user's account in the application of this HTTP request, if it was read with the session.
    holder: Option<Arc<UserAccount>>,
}

impl BrowserSession {
    fn new(found: SignedInSession) -> Self {
        Self {
            session: found.session,
            user: found.user,
            holder: None,
        }
    }

    /// Forgets the account, which is then read again, because some time has passed.
    pub fn forget_account(&mut self) {
        self.holder = None;
    }

    /// The user's account in the application, if it was read with the session.
    pub fn account_in(&self, application: &Did) -> Option<&Account> {
        let account = &self.holder.as_ref()?.account;
        (account.application_id == *application).then_some(account)
    }
}

/// Returns the signed-in user of the browser with this session cookie, if the session is valid and the user may sign
/// in. `read` is what this HTTP request has read about the session.
pub async fn current(
    services: &Services,
    cookie: &str,
    read: Option<SignOnState>,
) -> Result<Option<BrowserSession>, InternalError> {
    let Some(token) = Token::parse(prefix::SESSION, cookie) else {
        return Ok(None);
    };
    let id = SessionId::from_bytes(token.id());
    let (found, holder) = match read.filter(|read| read.signed_in.session.id == id) {
        Some(read) => (Some(read.signed_in), Some(read.holder)),
        None => (services.store.open_session(id, services.now()).await?, None),
    };
    let Some(found) = found.filter(|found| found.digest == token.digest() && may_sign_in(found))
    else {
        return Ok(None);
    };
    let expected = found.session.expires_at;
    let mut signed_in = BrowserSession::new(found);
    signed_in.session = prolong(services, signed_in.session).await?;
    // The account may have changed while the session was prolonged.
    signed_in.holder = holder.filter(|_| signed_in.session.expires_at == expected);
    Ok(Some(signed_in))
}

/// Returns the session after a use. With an idle timeout its end moves, but not beyond the absolute timeout.
async fn prolong(services: &Services, mut session: Session) -> Result<Session, InternalError> {
    let settings = services.settings.session;
    let Some(idle_timeout) = settings.idle_timeout else {
        return Ok(session);
    };
    let last = session.authentication.at + settings.absolute_timeout.get();
    let until = last.min(services.now() + idle_timeout.get());
    if until >= session.expires_at + BETWEEN_MOVES || (until == last && until > session.expires_at)
    {
        services.store.prolong_session(session.id, until).await?;
        session.expires_at = until;
    }
    Ok(session)
}

/// Returns the time at which the session of a sign-in ends at the latest. With an idle timeout a use moves its expiry,
/// but not beyond the absolute timeout.
pub fn latest_end(
    services: &Services,
    signed_in_at: Timestamp,
    expires_at: Timestamp,
) -> Timestamp {
    let settings = services.settings.session;
    match settings.idle_timeout {
        // The settings may have changed since the sign-in.
        Some(_) => expires_at.max(signed_in_at + settings.absolute_timeout.get()),
        None => expires_at,
    }
}

/// Returns a session for this user with a new identifier, and its cookie for the browser with this secret. The session
/// begins when the sign-in is answered.
pub fn prepare(
    services: &Services,
    user: User,
    authentication: Authentication,
    browser: &Secret,
) -> Result<(BrowserSession, Token), InternalError> {
    let now = services.now();
    let settings = services.settings.session;
    let id = SessionId::new(now, &*services.entropy);
    // The user may have answered the consent page some time after the sign-in.
    let last = authentication.at + settings.absolute_timeout.get();
    let session = Session {
        id,
        sid: URL_SAFE_NO_PAD.encode(services.entropy.bytes::<18>()),
        user_id: user.id,
        authentication,
        expires_at: last.min(now + settings.timeout()),
    };
    let token = derived::session_cookie(services, id, browser)?;
    let signed_in = BrowserSession {
        session,
        user: Arc::new(user),
        holder: None,
    };
    Ok((signed_in, token))
}

/// Returns the session with this id and its user, if it is open and the user may sign in, and the digest of its cookie.
/// In contrast to [`current`], no cookie proves that the caller holds it.
pub async fn open(
    services: &Services,
    id: SessionId,
) -> Result<Option<(BrowserSession, Digest)>, InternalError> {
    let found = services.store.open_session(id, services.now()).await?;
    Ok(found.filter(may_sign_in).map(|found| {
        let digest = found.digest;
        (BrowserSession::new(found), digest)
    }))
}

fn may_sign_in(found: &SignedInSession) -> bool {
    found.user.state == LifecycleState::Active
}

/// Ends the session, revokes the tokens that were issued in it except those for `offline_access`, and signs the user
/// out of its applications.
///
/// The server notifies clients over the back channel. The returned service providers can be notified only through the
/// browser.
pub async fn end(
    services: &Services,
    signed_in: &BrowserSession,
    from: Origin,
) -> Result<SessionEnd, InternalError> {
    let entry = audit::entry(
        services,
        Event::SignedOut,
        &AuditContext::new(Actor::User(signed_in.user.id), from),
    );
    let ended = services
        .store
        .log_out(signed_in.session.sid.clone(), entry, services.now())
        .await?;
    services.wakeups.send(Wakeup::LoggedOut);
    tracing::info!(user = %signed_in.user.id, session = %signed_in.session.id, "signed out");
    Ok(ended)
}

/// Ends the session with this `sid` like [`end`], in any browser. `by` is the actor.
pub async fn end_named(
    services: &Services,
    sid: String,
    by: &AuditContext,
) -> Result<SessionEnd, InternalError> {
    let ended = services
        .store
        .log_out(
            sid,
            audit::entry(services, Event::SessionEnded, by),
            services.now(),
        )
        .await?;
    services.wakeups.send(Wakeup::LoggedOut);
    Ok(ended)
}

/// Revokes the tokens of a session that has expired. A session that is still open remains, because the holder of only
/// an ID token must not be able to sign out another browser.
pub async fn end_if_expired(services: &Services, sid: &str) -> Result<SessionEnd, InternalError> {
    let ended = services
        .store
        .log_out_if_ended(sid.to_owned(), services.now())
        .await?;
    if ended.is_some() {
        services.wakeups.send(Wakeup::LoggedOut);
    }
    Ok(ended.unwrap_or_default())
}

/// Revokes all access and refresh tokens of all applications, on all instances at once, with a new token epoch. All
/// sessions, operator tokens, unused enrolment links, open sign-ins and unused approvals end too. Returns the number of
/// the epoch.
pub async fn revoke_all_tokens(
    services: &Services,
    by: &AuditContext,
) -> Result<u32, InternalError> {
    let entry = audit::entry(services, Event::TokensRevoked, by);
    Ok(services
        .store
        .begin_token_epoch(services.now(), entry)
        .await?)
}
