//! Consents: a user's permissions for an application to receive claims.

use crate::domain::{InternalError, Services, audit};
use assent_model::application::{Application, ConsentPolicy};
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::id::{ConsentId, Did};
use assent_model::login::AuthorizationRequest;
use assent_model::user::User;
use assent_store::{Consent, ConsentGrant};

/// Returns whether the user must consent before the request is answered. This is so if the application requires it, or
/// if the user has no current consent to all of the request.
///
/// # Errors
/// If the database fails.
pub async fn is_needed(
    services: &Services,
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
            let agreed = services
                .store
                .consented_scopes(user.id, &application.id, services.now())
                .await?;
            Ok(!request.consent_scopes().within(&agreed))
        }
    }
}

/// Returns the user's consent to the whole request, which is stored with the answer.
pub fn consent_to(
    services: &Services,
    user: &User,
    request: &AuthorizationRequest,
) -> ConsentGrant {
    let now = services.now();
    ConsentGrant {
        id: ConsentId::new(now, &*services.entropy),
        user: user.id,
        application: request.application.clone(),
        scopes: request.consent_scopes(),
        until: now + services.settings.lifetimes.consent.get(),
    }
}

/// Returns the valid consents of a user.
///
/// # Errors
/// If the database fails.
pub async fn consents_of(services: &Services, user: &User) -> Result<Vec<Consent>, InternalError> {
    Ok(services.store.consents_of(user.id, services.now()).await?)
}

/// Withdraws a consent. The application's tokens for the user are revoked, and it must request consent again.
///
/// # Errors
/// If the database fails.
pub async fn withdraw(
    services: &Services,
    user: &User,
    application: Did,
    from: Origin,
) -> Result<(), InternalError> {
    let by = AuditContext::new(Actor::User(user.id), from);
    let entry = audit::entry(services, Event::ConsentWithdrawn, &by)
        .about(user.id)
        .in_application(application.clone());
    if services
        .store
        .withdraw_consent(user.id, application.clone(), vec![entry], services.now())
        .await?
    {
        tracing::info!(user = %user.id, %application, "consent withdrawn");
    }
    Ok(())
}
