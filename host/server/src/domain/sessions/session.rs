//! Sessions: who a browser is signed in as.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{InternalError, Services, audit};
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::id::SessionId;
use assent_model::saml::SessionEnd;
use assent_model::secret::Token;
use assent_model::session::{Authentication, Session};
use assent_model::token::prefix;
use assent_model::user::{LifecycleState, User};

/// A use of a session moves its end only if it does so by this much, so that not each use is a write.
const BETWEEN_MOVES: Duration = Duration::from_secs(60);

/// A signed-in person.
#[derive(Clone, Debug)]
pub struct BrowserSession {
    /// The session.
    pub session: Session,
    /// The person, who may sign in.
    pub user: User,
}

/// Who the browser with this session cookie is signed in as, if its session is good and the person may sign in.
///
/// # Errors
/// If the database fails.
pub async fn current(
    services: &Services,
    cookie: &str,
) -> Result<Option<BrowserSession>, InternalError> {
    let Some(token) = Token::parse(prefix::SESSION, cookie) else {
        return Ok(None);
    };
    let found = services
        .store
        .open_session(SessionId::from_bytes(token.id()), services.now())
        .await?;
    let Some((session, digest)) = found else {
        return Ok(None);
    };
    if digest != token.digest() {
        return Ok(None);
    }
    let user = services.store.user(session.user_id).await?;
    let Some(user) = user.filter(|user| user.state == LifecycleState::Active) else {
        return Ok(None);
    };
    let session = prolonged(services, session).await?;
    Ok(Some(BrowserSession { session, user }))
}

/// The session after a use of it. With an idle timeout its end moves on, but not past the absolute timeout.
async fn prolonged(services: &Services, mut session: Session) -> Result<Session, InternalError> {
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

/// A session for this person, with a fresh id, and its cookie. It begins when the login is answered.
pub fn prepare(
    services: &Services,
    user: User,
    authentication: Authentication,
) -> (BrowserSession, Token) {
    let now = services.now();
    let id = SessionId::new(now, &*services.entropy);
    let session = Session {
        id,
        sid: URL_SAFE_NO_PAD.encode(services.entropy.bytes::<18>()),
        user_id: user.id,
        authentication,
        expires_at: now + services.settings.session.timeout(),
    };
    let token = Token::new(prefix::SESSION, id.as_bytes(), &*services.entropy);
    (BrowserSession { session, user }, token)
}

/// Ends what the person is signed in to by this session: the session itself, the tokens that it gave but for
/// `offline_access`, and the person's being in its applications. Clients are told behind the person's back; the service
/// providers that are answered can only be told by the browser.
///
/// # Errors
/// If the database fails.
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

/// The same for the session with this `sid`, in whatever browser it is, because `by` says so.
///
/// # Errors
/// If the database fails.
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

/// Ends what a session gave that has run out by itself. One that is still open somewhere stays: who only holds an ID
/// token signs nobody out of another browser.
///
/// # Errors
/// If the database fails.
pub async fn end_if_over(services: &Services, sid: &str) -> Result<SessionEnd, InternalError> {
    let ended = services
        .store
        .log_out_if_ended(sid.to_owned(), services.now())
        .await?;
    if ended.is_some() {
        services.wakeups.send(Wakeup::LoggedOut);
    }
    Ok(ended.unwrap_or_default())
}
