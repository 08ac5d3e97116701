//! CSRF tokens, which prove that a form came from a page of this server in the same browser.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use super::context::Browser;
use super::page_error::PageError;
use crate::domain::{InternalError, Services};
use assent_model::id::UserId;

/// Returns the token of the forms for `purpose` in this browser.
pub(super) fn token(
    services: &Services,
    browser: &Browser,
    purpose: &str,
) -> Result<String, InternalError> {
    // The cookie has a fixed length, so the boundary between the two parts is unambiguous.
    let message = format!("{}{purpose}", browser.secret().expose());
    Ok(URL_SAFE_NO_PAD.encode(services.root_secret.derive("csrf", message.as_bytes())?))
}

/// Whether `presented` is the token of the forms for `purpose` in this browser.
pub(super) fn is_token(
    services: &Services,
    browser: &Browser,
    purpose: &str,
    presented: &str,
) -> Result<bool, InternalError> {
    Ok(token(services, browser, purpose)?
        .as_bytes()
        .ct_eq(presented.as_bytes())
        .into())
}

/// Rejects a form without the token of the forms for `purpose` in this browser.
pub(super) fn require(
    services: &Services,
    browser: &Browser,
    purpose: &str,
    presented: &str,
) -> Result<(), PageError> {
    match is_token(services, browser, purpose, presented)? {
        true => Ok(()),
        false => Err(PageError::forged()),
    }
}

/// Returns the token of the forms for `purpose` that a page in this browser shows to this user. It begins with the
/// user's id, so that the server can tell another user's page from a forged form.
pub(super) fn user_token(
    services: &Services,
    browser: &Browser,
    purpose: &str,
    user: UserId,
) -> Result<String, InternalError> {
    let proof = token(services, browser, &format!("{purpose} {user}"))?;
    Ok(format!("{user}.{proof}"))
}

/// Returns the user to whom a page in this browser showed the form with the token `presented`. Returns `None` if the
/// token is missing or wrong.
pub(super) fn user_of_token(
    services: &Services,
    browser: &Browser,
    purpose: &str,
    presented: &str,
) -> Result<Option<UserId>, InternalError> {
    let named = presented
        .split_once('.')
        .and_then(|(user, proof)| Some((user.parse::<UserId>().ok()?, proof)));
    let Some((user, proof)) = named else {
        return Ok(None);
    };
    let is_authentic = is_token(services, browser, &format!("{purpose} {user}"), proof)?;
    Ok(is_authentic.then_some(user))
}

/// Rejects a form without the token of the signed-in user. Another user may have signed in since, in another tab, and
/// can load the page `next` again. A form of a user whose session has ended since is not rejected.
pub(super) fn require_user(
    services: &Services,
    browser: &Browser,
    purpose: &str,
    signed_in: Option<UserId>,
    presented: &str,
    next: impl FnOnce() -> String,
) -> Result<(), PageError> {
    let user = user_of_token(services, browser, purpose, presented)?;
    if user.is_none() {
        Err(PageError::forged())
    } else if signed_in.is_none() || signed_in == user {
        Ok(())
    } else {
        Err(PageError::other_user(next()))
    }
}
