//! Forms that end sessions, sent twice: by a second click, or because the first response was lost. The second one finds
//! nothing to end.

use crate::domain::{InternalError, Services};
use assent_model::id::{DeviceId, SessionId, UserId};
use assent_model::login::GivenAnswer;
use assent_model::user::LifecycleState;

/// A form that may end the session of its own browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndForm {
    /// It ends all sessions.
    Everywhere,
    /// It ends this session.
    Session(SessionId),
    /// It revokes this device, which ends the sessions that the device approved.
    Device(DeviceId),
}

impl EndForm {
    /// Returns the form with this path. Returns `None` for other paths.
    pub fn from_path(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            ["", "sessions", "end-all"] => Some(Self::Everywhere),
            ["", "sessions", id, "end"] => id.parse().ok().map(Self::Session),
            ["", "devices", id, "revoke"] => id.parse().ok().map(Self::Device),
            _ => None,
        }
    }
}

/// Whether a form of this user has had its effect a moment ago, and the user may still sign in.
pub async fn was_sent(
    services: &Services,
    user: UserId,
    form: EndForm,
) -> Result<bool, InternalError> {
    let (store, now) = (&services.store, services.now());
    let since = now - GivenAnswer::REPEATABLE;
    let is_done = match form {
        EndForm::Everywhere => {
            store.has_ended_session(user, since).await?
                && store.open_sessions_of(user, now).await?.is_empty()
        }
        EndForm::Session(id) => store.is_session_ended_of(user, id, since).await?,
        EndForm::Device(id) => store.is_device_revoked_of(user, id, since).await?,
    };
    if !is_done {
        return Ok(false);
    }
    let user = store.user(user).await?;
    Ok(user.is_some_and(|user| user.state == LifecycleState::Active))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_forms_that_end_sessions_are_recognised() {
        let id = "0".repeat(32);
        for (path, expected) in [
            ("/sessions/end-all".to_owned(), Some(EndForm::Everywhere)),
            (
                format!("/sessions/{id}/end"),
                Some(EndForm::Session(id.parse().unwrap())),
            ),
            (
                format!("/devices/{id}/revoke"),
                Some(EndForm::Device(id.parse().unwrap())),
            ),
            ("/sessions/end-others".to_owned(), None),
            (format!("/devices/{id}/name"), None),
            ("/devices/x/revoke".to_owned(), None),
            (format!("/x/sessions/{id}/end"), None),
        ] {
            assert_eq!(EndForm::from_path(&path), expected, "{path}");
        }
    }
}
