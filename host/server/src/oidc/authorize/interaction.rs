//! Why a person is asked something: whether the session that they have is enough for a request.

use crate::domain::approvals::channels;
use crate::domain::approvals::channels::Asker;
use crate::domain::claims::standard_claims;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::{InternalError, Services};
use assent_model::application::Application;
use assent_model::login::AuthorizationRequest;
use assent_model::name::LoginName;
use assent_model::user::User;

use serde_json::json;

/// Whether the person may go on with this session, if they want to: no fresh login is asked for, the last one is young
/// and strong enough, and they are who is meant.
pub async fn may_go_on(
    services: &Services,
    request: &AuthorizationRequest,
    signed_in: &BrowserSession,
) -> Result<bool, InternalError> {
    match services.store.application(&request.application).await? {
        Some(application) => session_suffices(services, &application, request, signed_in),
        None => Ok(false),
    }
}

/// As [`may_go_on`], for an application that was read before.
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

/// `max_age` (OpenID Connect Core section 3.1.2.1).
fn is_young_enough(
    services: &Services,
    request: &AuthorizationRequest,
    signed_in: &BrowserSession,
) -> bool {
    let age = services.now().seconds() - signed_in.session.authentication.at.seconds();
    request.max_age.is_none_or(|most| age <= i64::from(most))
}

/// Whether what the session began with counts at the application, and is what it says that it can't do without.
fn is_strong_enough(
    services: &Services,
    application: &Application,
    request: &AuthorizationRequest,
    signed_in: &BrowserSession,
) -> bool {
    let authentication = &signed_in.session.authentication;
    request.admits(authentication.acr())
        && channels::is_enough(services, Asker::client(application), authentication)
}

/// The login name to start with, where `id_token_hint` names the user of this browser's session. The page shows no
/// other user's name: an application that holds nothing but an ID token could read it there.
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

/// Whether the person is the one that `id_token_hint` and the `sub` of the `claims` parameter name (OpenID Connect Core
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
            .wanted("sub")
            .all(|wanted| wanted.admits(&subject)))
}
