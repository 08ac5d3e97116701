//! Consents: what a person lets an application know.

use crate::domain::{Host, InternalError, audit};
use assent_model::application::{Application, ConsentPolicy};
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::id::{ConsentId, Did};
use assent_model::login::AuthorizationRequest;
use assent_model::user::User;
use assent_store::{Consent, ConsentGrant};

/// Whether the person has to be asked before the request is answered: because the application wants it so, or because
/// they have not agreed to all of it lately.
///
/// # Errors
/// If the database fails.
pub async fn is_needed(
    host: &Host,
    application: &Application,
    user: &User,
    request: &AuthorizationRequest,
) -> Result<bool, InternalError> {
    if request.ask_consent {
        return Ok(true);
    }
    match application.settings.consent {
        ConsentPolicy::Implied => Ok(false),
        ConsentPolicy::Ask => {
            let agreed = host
                .store
                .consented_scopes(user.id, &application.id, host.now())
                .await?;
            Ok(!request.consent_scopes().within(&agreed))
        }
    }
}

/// The person's consent to all that the request asks for, to be remembered with the answer.
pub fn consent_to(host: &Host, user: &User, request: &AuthorizationRequest) -> ConsentGrant {
    let now = host.now();
    ConsentGrant {
        id: ConsentId::new(now, &*host.entropy),
        user: user.id,
        application: request.application.clone(),
        scopes: request.consent_scopes(),
        until: now + host.settings.lifetimes.consent.get(),
    }
}

/// The consents of a person that hold.
///
/// # Errors
/// If the database fails.
pub async fn consents_of(host: &Host, user: &User) -> Result<Vec<Consent>, InternalError> {
    Ok(host.store.consents_of(user.id, host.now()).await?)
}

/// Takes a consent back: the application's tokens end, and it has to ask again.
///
/// # Errors
/// If the database fails.
pub async fn withdraw(
    host: &Host,
    user: &User,
    application: Did,
    from: Origin,
) -> Result<(), InternalError> {
    let by = AuditContext::new(Actor::User(user.id), from);
    let entry = audit::entry(host, Event::ConsentWithdrawn, &by)
        .about(user.id)
        .of(application.clone());
    if host
        .store
        .withdraw_consent(user.id, application.clone(), vec![entry], host.now())
        .await?
    {
        tracing::info!(user = %user.id, %application, "consent withdrawn");
    }
    Ok(())
}
