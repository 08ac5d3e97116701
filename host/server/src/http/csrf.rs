//! CSRF tokens, which prove that a form came from a page of this server in the same browser.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use super::context::Browser;
use crate::domain::{InternalError, Services};

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
