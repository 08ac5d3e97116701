//! The secrets of a sign-in's answer: the authorization code and the cookie of the session. They are derived, so that
//! the server can send the same answer to the same browser again, and stores no usable code or cookie for that.
//!
//! The key is the root secret. The message has the id of the row and the browser's own cookie, of which the database
//! has only the digest. So neither a copy of the database with the root secret nor the cookie of a browser is
//! sufficient.

use zeroize::Zeroizing;

use crate::domain::{InternalError, Services};
use assent_model::id::{FamilyId, LoginId, SessionId};
use assent_model::secret::{Secret, Token};
use assent_model::token::prefix;

/// Returns the authorization code with this id for the browser with this secret.
pub fn code(services: &Services, id: FamilyId, browser: &Secret) -> Result<Token, InternalError> {
    token(
        services,
        prefix::CODE,
        "authorization code",
        id.as_bytes(),
        browser,
    )
}

/// Returns the cookie of the session with this id for the browser with this secret.
pub fn session_cookie(
    services: &Services,
    id: SessionId,
    browser: &Secret,
) -> Result<Token, InternalError> {
    token(
        services,
        prefix::SESSION,
        "session cookie",
        id.as_bytes(),
        browser,
    )
}

fn token(
    services: &Services,
    prefix: &str,
    purpose: &str,
    id: &[u8; 16],
    browser: &Secret,
) -> Result<Token, InternalError> {
    // The id has a fixed length, so the boundary between the two parts is unambiguous.
    let message = Zeroizing::new([id.as_slice(), browser.expose().as_bytes()].concat());
    let secret = Zeroizing::new(services.root_secret.derive(purpose, &message)?);
    Ok(Token::derived(prefix, id, &secret))
}

/// Returns an `ID` of the SAML response to a sign-in: an `xs:ID` that cannot be guessed (SAML core section 1.3.4).
/// `part` is the element.
pub fn message_id(
    services: &Services,
    login: LoginId,
    part: &'static str,
) -> Result<String, InternalError> {
    let message = format!("{part}\n{login}");
    let [code @ .., _, _, _, _, _, _, _, _, _, _, _, _] = services
        .root_secret
        .derive("sign-in message", message.as_bytes())?;
    Ok(format!("_{}", hex::encode::<[u8; 20]>(code)))
}
