//! Consents: what a person lets an application know.

use super::{Broken, Host, audit, seconds};
use crate::id::{ConsentId, Did};
use crate::model::application::{Application, ConsentPolicy};
use crate::model::audit::{Actor, By, Event, Origin};
use crate::model::login::AuthorizationRequest;
use crate::model::user::User;
use crate::store::{Consent, ConsentGiven};

/// Whether the person has to be asked before the request is answered: because the application wants it so, or because
/// they have not agreed to all of it lately.
pub async fn is_needed(
    host: &Host,
    application: &Application,
    user: &User,
    request: &AuthorizationRequest,
) -> Result<bool, Broken> {
    if request.ask_consent {
        return Ok(true);
    }
    match application.settings.consent {
        ConsentPolicy::Implied => Ok(false),
        ConsentPolicy::Ask => {
            let agreed = host.store.consented(user.id, &application.id, host.now()).await?;
            Ok(!request.consent_scopes().within(&agreed))
        }
    }
}

/// The person's consent to all that the request asks for, to be remembered with the answer.
pub fn given(host: &Host, user: &User, request: &AuthorizationRequest) -> ConsentGiven {
    let now = host.now();
    ConsentGiven {
        id: ConsentId::new(now, &*host.entropy),
        user: user.id,
        application: request.application.clone(),
        scopes: request.consent_scopes(),
        until: now + seconds(host.settings.lifetimes.consent),
    }
}

/// The consents of a person that hold.
pub async fn of(host: &Host, user: &User) -> Result<Vec<Consent>, Broken> {
    Ok(host.store.consents_of(user.id, host.now()).await?)
}

/// Takes a consent back: the application's tokens end, and it has to ask again.
pub async fn withdraw(host: &Host, user: &User, application: Did, from: Origin) -> Result<(), Broken> {
    let by = By::new(Actor::Person(user.id), from);
    let entry = audit::entry(host, Event::ConsentWithdrawn, &by).about(user.id).of(application.clone());
    if host.store.withdraw_consent(user.id, application.clone(), vec![entry], host.now()).await? {
        tracing::info!(user = %user.id, %application, "a consent was withdrawn");
    }
    Ok(())
}
