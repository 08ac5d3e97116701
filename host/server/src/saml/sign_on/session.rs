//! Whether a session is sufficient for a request.

use crate::domain::approvals::channel;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::access::{Access, access};
use crate::domain::{InternalError, Services};
use crate::saml::sign_on::requested_subject;
use assent_model::saml::SignOnRequest;
use assent_model::session::Authentication;

/// Whether the user may continue with this session: the request needs no new authentication, the last one is strong
/// enough, and the user is the requested one. Whether the user may use the service provider is checked later, with a
/// page for the user.
pub async fn may_continue(
    services: &Services,
    request: &SignOnRequest,
    signed_in: &BrowserSession,
) -> Result<bool, InternalError> {
    let authentication = &signed_in.session.authentication;
    if request.fresh_login || !meets(request, authentication) {
        return Ok(false);
    }
    if !channel::is_enough_at(services, &request.application, authentication).await? {
        return Ok(false);
    }
    if request.subject.is_none() {
        return Ok(true);
    }
    let Some(provider) = services
        .store
        .service_provider(&request.application)
        .await?
    else {
        return Ok(false);
    };
    match access(services, &signed_in.user, &provider.id).await? {
        Access::Granted(account) => requested_subject::is_requested_subject(
            services,
            &provider,
            request,
            &signed_in.user,
            &account,
        ),
        Access::NoAccount | Access::Closed => Ok(false),
    }
}

/// Whether the authentication of the user satisfies the request.
pub(super) fn meets(request: &SignOnRequest, authentication: &Authentication) -> bool {
    request.admits(authentication.acr())
}
