//! A person's own sessions, in whatever browsers they are.

use crate::domain::operations::wakeups::Wakeup;
use crate::domain::sessions::session::SignedIn;
use crate::domain::{Host, InternalError, audit};
use assent_model::audit::{Actor, AuditContext, Entry, Event, Origin};
use assent_model::id::SessionId;
use assent_model::user::User;
use assent_store::OpenSession;

/// A person's sessions that are open, the latest first.
///
/// # Errors
/// If the database fails.
pub async fn sessions(host: &Host, user: &User) -> Result<Vec<OpenSession>, InternalError> {
    Ok(host.store.open_sessions_of(user.id, host.now()).await?)
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
    host: &Host,
    user: &User,
    id: SessionId,
    from: Origin,
) -> Result<Option<EndedSession>, InternalError> {
    let ended = host
        .store
        .end_session_of(user.id, id, entry(host, user, from), host.now())
        .await?;
    host.wakeups.send(Wakeup::LoggedOut);
    Ok(ended.map(|ended| EndedSession {
        untold: !ended.participants.is_empty(),
    }))
}

/// Ends all sessions of this person's but the one that asks.
///
/// # Errors
/// If the database fails.
pub async fn end_others(
    host: &Host,
    signed_in: &SignedIn,
    from: Origin,
) -> Result<EndedSession, InternalError> {
    let user = &signed_in.user;
    let (keep, entry) = (signed_in.session.sid.clone(), entry(host, user, from));
    let ended = host
        .store
        .end_other_sessions_of(user.id, keep, entry, host.now())
        .await?;
    host.wakeups.send(Wakeup::LoggedOut);
    Ok(EndedSession {
        untold: !ended.participants.is_empty(),
    })
}

fn entry(host: &Host, user: &User, from: Origin) -> Entry {
    audit::entry(
        host,
        Event::SessionEnded,
        &AuditContext::new(Actor::User(user.id), from),
    )
    .about(user.id)
}
