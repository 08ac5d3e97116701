//! The repetition of an answer. A browser may lose the response that ends a sign-in: the user presses a button twice,
//! the connection breaks, or a tab is restored. For a short time the same browser then receives the same answer.
//!
//! Nothing is stored or issued again: the code and the cookie are derived again. A code that the application exchanged
//! is never sent again, because its reuse revokes the tokens.

use crate::domain::sessions::session;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::derived;
use crate::domain::sign_in::login::AuthenticatedUser;
use crate::domain::{InternalError, Services};
use assent_model::audit::Origin;
use assent_model::clock::Timestamp;
use assent_model::id::{FamilyId, SessionId};
use assent_model::login::Login;
use assent_model::secret::{Secret, Token};

/// The browser that requests an answer again. It has the cookie of the sign-in.
#[derive(Debug)]
pub struct RepeatingBrowser<'a> {
    /// The secret in the cookie.
    pub secret: &'a Secret,
    /// Its current session.
    pub session: Option<BrowserSession>,
    /// Its address and name.
    pub origin: Origin,
}

/// The session of an answer that is repeated.
#[derive(Clone, Copy, Debug)]
pub struct AnsweredSession {
    /// The session.
    pub id: SessionId,
    /// Whether it began with the answer.
    pub is_new: bool,
}

/// Returns the user who was signed in by the answer, with the cookie of the session if it began with the answer.
/// Returns `None` if the session has ended, the user may not sign in any more, or the browser has another session.
pub async fn signed_in_user(
    services: &Services,
    login: &Login,
    answered: AnsweredSession,
    browser: RepeatingBrowser<'_>,
) -> Result<Option<AuthenticatedUser>, InternalError> {
    let is_own = |current: &BrowserSession| current.session.id == answered.id;
    let is_permitted = match &browser.session {
        // The session of a test sign-in is not that of the browser.
        _ if !login.request.purpose().is_application() => true,
        Some(current) => is_own(current),
        // The cookie of the new session was lost with the response.
        None => answered.is_new,
    };
    if !is_permitted {
        return Ok(None);
    }
    let Some((signed_in, digest)) = session::open(services, answered.id).await? else {
        return Ok(None);
    };
    let cookie = match answered.is_new {
        true => Some(derived::session_cookie(
            services,
            answered.id,
            browser.secret,
        )?),
        false => None,
    };
    // From a replaced root secret another cookie is derived. It must not replace the valid one of the browser.
    if cookie
        .as_ref()
        .is_some_and(|cookie| cookie.digest() != digest)
    {
        return Ok(None);
    }
    Ok(Some(AuthenticatedUser {
        cookie,
        ..AuthenticatedUser::of_session(signed_in, browser.secret, browser.origin)
    }))
}

/// Returns the code of an answer that was given since a time, if the application can still exchange it, and the root
/// secret is that of the answer.
pub async fn open_code(
    services: &Services,
    code: FamilyId,
    since: Timestamp,
    browser: &Secret,
) -> Result<Option<Token>, InternalError> {
    let found = services
        .store
        .open_code(code, since, services.now())
        .await?;
    let Some(digest) = found else {
        return Ok(None);
    };
    let code = derived::code(services, code, browser)?;
    Ok(Some(code).filter(|code| code.digest() == digest))
}
