//! What an administrator sees and ends of what people are signed in to and agreed to.

use super::{Guard, Refused, Result, user};
use crate::domain::signals::Signal;
use crate::domain::{Host, audit, consent, portal};
use crate::id::{Did, SessionId, UserId};
use crate::model::audit::{By, Event};
use crate::model::user::User;
use crate::store::{Consent, OpenSession, StoreError};

/// A person's sessions that are open, the latest first.
pub async fn sessions(host: &Host, id: UserId) -> Result<Vec<OpenSession>> {
    Ok(portal::sessions(host, &user(host, id).await?).await?)
}

/// Ends a session of a person's, as signing out there would.
pub async fn end_session(host: &Host, id: UserId, session: SessionId, by: &By, guard: Guard<'_, User>) -> Result<()> {
    let entry = audit::entry(host, Event::SessionEnded, by).about(id).with("session", session.to_string());
    let ended = loop {
        let user = user(host, id).await?;
        guard(&user)?;
        match host.store.end_session_of(&user, session, entry.clone(), host.now()).await {
            Err(StoreError::Stale) => {}
            ended => break ended?,
        }
    };
    host.signals.send(Signal::LoggedOut);
    ended.map(drop).ok_or(Refused::NotFound("session"))
}

/// Ends all sessions of a person's.
pub async fn end_sessions(host: &Host, id: UserId, by: &By, guard: Guard<'_, User>) -> Result<()> {
    let entry = audit::entry(host, Event::SessionEnded, by).about(id);
    loop {
        let user = user(host, id).await?;
        guard(&user)?;
        // No session has an empty name, so none is kept.
        match host.store.end_other_sessions_of(&user, String::new(), entry.clone(), host.now()).await {
            Err(StoreError::Stale) => {}
            ended => {
                ended?;
                break;
            }
        }
    }
    host.signals.send(Signal::LoggedOut);
    Ok(())
}

/// A person's consents that hold.
pub async fn consents(host: &Host, id: UserId) -> Result<Vec<Consent>> {
    Ok(consent::of(host, &user(host, id).await?).await?)
}

/// Takes a person's consent back: the application's tokens end, and it has to ask again.
pub async fn withdraw_consent(
    host: &Host,
    id: UserId,
    application: Did,
    by: &By,
    guard: Guard<'_, User>,
) -> Result<()> {
    let entry = audit::entry(host, Event::ConsentWithdrawn, by).about(id).of(application.clone());
    loop {
        let user = user(host, id).await?;
        guard(&user)?;
        match host.store.withdraw_consent(&user, application.clone(), vec![entry.clone()], host.now()).await {
            Err(StoreError::Stale) => {}
            Ok(true) => return Ok(()),
            Ok(false) => return Err(Refused::NotFound("consent")),
            Err(error) => return Err(error.into()),
        }
    }
}
