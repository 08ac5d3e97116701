//! A user's own sessions in all browsers.

use crate::domain::operations::wakeups::Wakeup;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::{InternalError, Services, audit};
use assent_model::audit::{Actor, AuditContext, Entry, Event, Origin};
use assent_model::id::SessionId;
use assent_model::user::User;
use assent_store::OpenSession;

/// Returns the open sessions of a user, the latest first.
pub async fn sessions(services: &Services, user: &User) -> Result<Vec<OpenSession>, InternalError> {
    Ok(services
        .store
        .open_sessions_of(user.id, services.now())
        .await?)
}

/// The outcome of ending sessions in other browsers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedSession {
    /// Whether service providers took part. Only those browsers could have notified the service providers.
    pub not_notified: bool,
}

/// Ends a session of this user in another browser. Returns `None` if there is no such open session.
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
        not_notified: ended.only_browser_notifies(),
    }))
}

/// Ends all sessions of this user except the current one.
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
        not_notified: ended.only_browser_notifies(),
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
