//! The sessions and consents of users, as administrators see and end them.

use super::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use super::{AdminError, Result, user};
use crate::domain::admin::execution::Execution;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::sign_in::consent;
use crate::domain::{Services, audit, portal};
use assent_model::audit::Event;
use assent_model::id::{Did, SessionId, UserId};
use assent_model::user::User;
use assent_store::{Consent, OpenSession};

/// Returns the open sessions of a user, the latest first.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such user.
pub async fn sessions(services: &Services, id: UserId) -> Result<Vec<OpenSession>> {
    Ok(portal::sessions(services, &user(services, id).await?).await?)
}

assent_model::admin_command! {
    /// Ends a session of a user, like a sign-out in that session.
    #[derive(Clone, Copy, Debug, serde::Serialize)]
    pub struct EndSession {
        /// The user.
        target user: UserId,
        /// The session.
        target session: SessionId,
    }
}

impl AdminCommand for EndSession {
    type Plan = (User, SessionId);
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<(User, SessionId)>> {
        let user = user(&context.services, self.user).await?;
        let authorization = context.caller.authorize_user_access(&user)?;
        Ok(Planned::harmless(authorization, (user, self.session)))
    }

    async fn execute(approved: ApprovedPlan<'_, (User, SessionId)>) -> Result<Execution<()>> {
        let ((user, session), recorder) = approved.into_parts();
        let services = recorder.services;
        let entry = audit::entry(services, Event::SessionEnded, recorder.by)
            .about(user.id)
            .with("session", session.to_string());
        let ended = services
            .store
            .end_session_of(&user, session, entry, services.now())
            .await;
        let Execution::Done(ended) = Execution::from_write(ended)? else {
            return Ok(Execution::Overtaken);
        };
        services.wakeups.send(Wakeup::LoggedOut);
        ended
            .map(|_| Execution::Done(()))
            .ok_or(AdminError::NotFound("session"))
    }
}

assent_model::admin_command! {
    /// Ends all sessions of a user.
    #[derive(Clone, Copy, Debug, serde::Serialize)]
    pub struct EndSessions(target UserId);
}

impl AdminCommand for EndSessions {
    type Plan = User;
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<User>> {
        let user = user(&context.services, self.0).await?;
        let authorization = context.caller.authorize_user_access(&user)?;
        Ok(Planned::harmless(authorization, user))
    }

    async fn execute(approved: ApprovedPlan<'_, User>) -> Result<Execution<()>> {
        let (user, recorder) = approved.into_parts();
        let services = recorder.services;
        let entry = audit::entry(services, Event::SessionEnded, recorder.by).about(user.id);
        // The exception is the session with this identifier. No session has an empty one, so all sessions end.
        let ended = services
            .store
            .end_other_sessions_of(&user, String::new(), entry, services.now())
            .await;
        let Execution::Done(_) = Execution::from_write(ended)? else {
            return Ok(Execution::Overtaken);
        };
        services.wakeups.send(Wakeup::LoggedOut);
        Ok(Execution::Done(()))
    }
}

/// Returns the valid consents of a user.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such user.
pub async fn consents(services: &Services, id: UserId) -> Result<Vec<Consent>> {
    Ok(consent::consents_of(services, &user(services, id).await?).await?)
}

assent_model::admin_command! {
    /// Withdraws a consent of a user. The application's tokens for the user are revoked, and it must request consent
    /// again.
    #[derive(Clone, Debug, serde::Serialize)]
    pub struct WithdrawConsent {
        /// The user.
        target user: UserId,
        /// The application.
        target application: Did,
    }
}

impl AdminCommand for WithdrawConsent {
    type Plan = (User, Did);
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<(User, Did)>> {
        let user = user(&context.services, self.user).await?;
        let authorization = context.caller.authorize_user_access(&user)?;
        let application = self.application.clone();
        Ok(Planned::harmless(authorization, (user, application)))
    }

    async fn execute(approved: ApprovedPlan<'_, (User, Did)>) -> Result<Execution<()>> {
        let ((user, application), recorder) = approved.into_parts();
        let services = recorder.services;
        let entry = audit::entry(services, Event::ConsentWithdrawn, recorder.by)
            .about(user.id)
            .in_application(application.clone());
        let withdrawn = services
            .store
            .withdraw_consent(&user, application, vec![entry], services.now())
            .await;
        match Execution::from_write(withdrawn)? {
            Execution::Done(true) => Ok(Execution::Done(())),
            Execution::Done(false) => Err(AdminError::NotFound("consent")),
            Execution::Overtaken => Ok(Execution::Overtaken),
        }
    }
}
