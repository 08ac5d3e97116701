//! The need for interaction: whether the session is sufficient for a request.

use crate::domain::approvals::channel;
use crate::domain::approvals::channel::Asker;
use crate::domain::claims::standard_claims;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::{InternalError, Services};
use assent_model::application::Application;
use assent_model::login::AuthorizationRequest;
use assent_model::name::LoginName;
use assent_model::user::User;

use serde_json::json;

/// Whether the user may continue with this session. The request must need no new authentication, the last one must be
/// recent and strong enough, and the user must be the requested one.
pub async fn may_continue(
    services: &Services,
    request: &AuthorizationRequest,
    signed_in: &BrowserSession,
) -> Result<bool, InternalError> {
    match services.store.application(&request.application).await? {
        Some(application) => session_suffices(services, &application, request, signed_in),
        None => Ok(false),
    }
}

/// Like [`may_continue`], for an application that was read before.
///
/// # Errors
/// If the subject of the user cannot be computed.
pub fn session_suffices(
    services: &Services,
    application: &Application,
    request: &AuthorizationRequest,
    signed_in: &BrowserSession,
) -> Result<bool, InternalError> {
    Ok(!request.fresh_login
        && is_young_enough(services, request, signed_in)
        && is_strong_enough(services, application, request, signed_in)
        && is_requested_subject(services, application, request, &signed_in.user)?)
}

/// Whether the session satisfies `max_age` (OpenID Connect Core section 3.1.2.1).
fn is_young_enough(
    services: &Services,
    request: &AuthorizationRequest,
    signed_in: &BrowserSession,
) -> bool {
    let age = services.now().seconds() - signed_in.session.authentication.at.seconds();
    request.max_age.is_none_or(|most| age <= i64::from(most))
}

/// Whether the application accepts the session's authentication, and the authentication satisfies the essential `acr`
/// of the request.
fn is_strong_enough(
    services: &Services,
    application: &Application,
    request: &AuthorizationRequest,
    signed_in: &BrowserSession,
) -> bool {
    let authentication = &signed_in.session.authentication;
    request.admits(authentication.acr())
        && channel::is_enough(services, Asker::client(application), authentication)
}

/// Returns the initial login name if `id_token_hint` names the user of this browser's session. The page never shows the
/// name of another user, because otherwise a client with nothing but an ID token could read the name there.
pub async fn hinted_name(
    services: &Services,
    request: &AuthorizationRequest,
    signed_in: &BrowserSession,
) -> Result<Option<LoginName>, InternalError> {
    let Some(hinted) = &request.hinted_subject else {
        return Ok(None);
    };
    let Some(application) = services.store.application(&request.application).await? else {
        return Ok(None);
    };
    let subject = standard_claims::subject_of(services, &application, &signed_in.user)?;
    Ok((subject == *hinted).then(|| signed_in.user.name.clone()))
}

/// Whether the user is the one in `id_token_hint` and in the `sub` of the `claims` parameter (OpenID Connect Core
/// sections 3.1.2.1 and 5.5.1).
pub(super) fn is_requested_subject(
    services: &Services,
    application: &Application,
    request: &AuthorizationRequest,
    user: &User,
) -> Result<bool, InternalError> {
    let subject = standard_claims::subject_of(services, application, user)?;
    let hinted = request
        .hinted_subject
        .as_ref()
        .is_none_or(|hinted| *hinted == subject);
    let subject = json!(subject);
    Ok(hinted
        && request
            .claims
            .requirements_of("sub")
            .all(|requirement| requirement.admits(&subject)))
}
