//! A person's own sessions, in whatever browsers they are.

use crate::domain::operations::wakeups::Wakeup;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::{InternalError, Services, audit};
use assent_model::audit::{Actor, AuditContext, Entry, Event, Origin};
use assent_model::id::SessionId;
use assent_model::user::User;
use assent_store::OpenSession;

/// A person's sessions that are open, the latest first.
///
/// # Errors
/// If the database fails.
pub async fn sessions(services: &Services, user: &User) -> Result<Vec<OpenSession>, InternalError> {
    Ok(services
        .store
        .open_sessions_of(user.id, services.now())
        .await?)
}

/// What became of sessions in other browsers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedSession {
    /// Whether service providers took part, which only their own browser could have told.
    pub untold: bool,
}

/// Ends a session of this person's in another browser. `None` if they have no such session that is open.
///
/// # Errors
/// If the database fails.
pub async fn end(
    services: &Services,
    user: &User,
    id: SessionId,
    from: Origin,
) -> Result<Option<EndedSession>, InternalError> {
    let ended = services
        .store
        .end_session_of(user.id, id, entry(services, user, from), services.now())
        .await?;
    services.wakeups.send(Wakeup::LoggedOut);
    Ok(ended.map(|ended| EndedSession {
        untold: !ended.participants.is_empty(),
    }))
}

/// Ends all sessions of this person's but the one that asks.
///
/// # Errors
/// If the database fails.
pub async fn end_others(
    services: &Services,
    signed_in: &BrowserSession,
    from: Origin,
) -> Result<EndedSession, InternalError> {
    let user = &signed_in.user;
    let (keep, entry) = (signed_in.session.sid.clone(), entry(services, user, from));
    let ended = services
        .store
        .end_other_sessions_of(user.id, keep, entry, services.now())
        .await?;
    services.wakeups.send(Wakeup::LoggedOut);
    Ok(EndedSession {
        untold: !ended.participants.is_empty(),
    })
}

fn entry(services: &Services, user: &User, from: Origin) -> Entry {
    audit::entry(
        services,
        Event::SessionEnded,
        &AuditContext::new(Actor::User(user.id), from),
    )
    .about(user.id)
}
