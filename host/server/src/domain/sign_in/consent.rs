//! Consents: a user's permissions for an application to receive claims.

use crate::domain::{InternalError, Services, audit};
use assent_model::application::{Application, ConsentPolicy};
use assent_model::application_type::ApplicationType;
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::id::{ConsentId, Did};
use assent_model::login::AuthorizationRequest;
use assent_model::user::User;
use assent_store::{Consent, ConsentGrant};

/// Returns whether the user must consent before the request is answered. This is so if the application requires it, or
/// if the user has no current consent to all of the request. No earlier consent covers authorization details: each
/// request with some asks.
pub async fn is_needed(
    services: &Services,
    application: &Application,
    user: &User,
    request: &AuthorizationRequest,
) -> Result<bool, InternalError> {
    if request.ask_consent || !request.authorization_details.is_empty() {
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

/// Whether the user must see a page before a native application gets a code for an existing session. Any program can
/// send its request, and can have a custom scheme or listen on a loopback address (RFC 8252 section 8.6). Only the
/// application itself receives a code at a claimed https address.
pub fn needs_page(application: &Application, request: &AuthorizationRequest) -> bool {
    application.settings.application_type == ApplicationType::Native
        && !request.redirect_uri.as_str().starts_with("https://")
}

/// Whether an agreement on the page is a consent. Where the policy implies the consent, the page only asks to continue.
pub fn is_stored(application: &Application, request: &AuthorizationRequest) -> bool {
    request.ask_consent || application.settings.consent == ConsentPolicy::Ask
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
pub async fn consents_of(services: &Services, user: &User) -> Result<Vec<Consent>, InternalError> {
    Ok(services.store.consents_of(user.id, services.now()).await?)
}

/// Withdraws a consent. The application's tokens for the user are revoked, and it must request consent again.
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
