//! Approval channels: carrying a request to where the person is, and taking what is called back.
//!
//! A channel carries to a device of this server, whose proof is verified, or puts the question to a vendor, whose word
//! the operator trusts. The first that serves the application is tried first, the next where one fails to begin.
//! Nothing of it delays the browser's page, and a device finds the request by asking, whatever becomes of the channels.

use crate::domain::{InternalError, Services};
use assent_model::application::Application;
use assent_model::id::{ApprovalId, Did};
use assent_model::login::{LocalPage, LoginRequest};
use assent_model::session::{Acr, Authentication};
use assent_plugin_host::Trust;

/// Letters that are not taken for one another, nor make words (RFC 8628 section 6.1).
const BINDING_LETTERS: &str = "BCDFGHJKLMNPQRSTVWXZ";
/// How many of them bind a request to its browser: one guess in 160,000 is right.
const BINDING_LENGTH: usize = 4;

/// The origin of a request for an authentication, and the authentication that is enough for it.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// `None` for the server's own pages.
    application: Option<&'a Did>,
    /// Whether a passkey on the login page is enough.
    permits_passkeys: bool,
}

impl<'a> Asker<'a> {
    /// The server's own pages, which take no passkey of a login page.
    pub const SERVER: Self = Self {
        application: None,
        permits_passkeys: false,
    };

    /// An OpenID Connect client.
    pub const fn client(application: &'a Application) -> Self {
        Self {
            application: Some(&application.id),
            permits_passkeys: application.settings.passkey_sign_in,
        }
    }
}

/// Whether an authentication is good enough for an application, or for the server's own pages: a vendor's word counts
/// only where the operator lets that very vendor's channel serve, now; a passkey only where the application has the
/// setting, now. So a session that began with a passkey opens no application without the setting.
pub fn is_enough(services: &Services, asker: Asker<'_>, authentication: &Authentication) -> bool {
    let serves = |name: &String| {
        let serving = services.plugins.channels_for(asker.application);
        serving
            .iter()
            .any(|channel| channel.trust == Trust::Delegated && channel.name == *name)
    };
    match authentication.acr() {
        Acr::Device => true,
        Acr::Delegated => authentication.channel.as_ref().is_some_and(serves),
        Acr::PhishingResistant => asker.permits_passkeys,
    }
}

/// The same for an application whose settings are not at hand.
///
/// # Errors
/// If the database fails.
pub async fn is_enough_at(
    services: &Services,
    application: &Did,
    authentication: &Authentication,
) -> Result<bool, InternalError> {
    let permits_passkeys = match authentication.acr() {
        Acr::PhishingResistant => services
            .store
            .registered(application)
            .await?
            .is_some_and(|found| found.permits_passkeys()),
        Acr::Device | Acr::Delegated => false,
    };
    let asker = Asker {
        application: Some(application),
        permits_passkeys,
    };
    Ok(is_enough(services, asker, authentication))
}

/// The same for what a login asks for: where only a device will do, no vendor's word does. Another `acr` than the
/// application requires is an error for the application, when the login is answered.
///
/// # Errors
/// If the database fails.
pub async fn is_enough_for(
    services: &Services,
    request: &LoginRequest,
    authentication: &Authentication,
) -> Result<bool, InternalError> {
    if authentication.acr() == Acr::Delegated && request.needs_device() {
        return Ok(false);
    }
    match request.application() {
        Some(application) => is_enough_at(services, application, authentication).await,
        None => Ok(is_enough(services, Asker::SERVER, authentication)),
    }
}

/// The same for one of the server's own pages.
pub fn is_enough_here(
    services: &Services,
    page: LocalPage,
    authentication: &Authentication,
) -> bool {
    LoginRequest::Local { page }.admits(authentication.acr())
        && is_enough(services, Asker::SERVER, authentication)
}

/// Whether a delegated channel serves this application, or without one the server's own pages.
pub fn are_delegated(services: &Services, application: Option<&Did>) -> bool {
    services
        .plugins
        .channels_for(application)
        .iter()
        .any(|channel| channel.trust == Trust::Delegated)
}

/// The display abilities of the vendors' authenticators that may carry the approval of a sign-in. They depend on the
/// settings and the application, never on the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delegation {
    /// At least one delegated channel serves the application, and the sign-in does not require a device.
    pub possible: bool,
    /// At least one of them shows the letters of the waiting page.
    pub with_letters: bool,
    /// At least one of them does not, so its user can't see which browser the request belongs to.
    pub without_letters: bool,
}

/// Which vendors' authenticators may be asked for the approval of a sign-in.
pub fn delegation(services: &Services, request: &LoginRequest) -> Delegation {
    let mut delegation = Delegation::default();
    if trusted(request).contains(&Trust::Delegated) {
        let serving = services.plugins.channels_for(request.application());
        for channel in serving
            .iter()
            .filter(|channel| channel.trust == Trust::Delegated)
        {
            delegation.possible = true;
            delegation.with_letters |= channel.shows_letters;
            delegation.without_letters |= !channel.shows_letters;
        }
    }
    delegation
}

/// Whether any delegated channel shows no letters, whichever applications it serves.
pub fn are_letterless(services: &Services) -> bool {
    services
        .plugins
        .channels()
        .iter()
        .any(|channel| channel.trust == Trust::Delegated && !channel.shows_letters)
}

/// What kinds of channels may carry the approval of a login.
pub fn trusted(request: &LoginRequest) -> &'static [Trust] {
    if request.needs_device() {
        &[Trust::Verified]
    } else {
        &[Trust::Verified, Trust::Delegated]
    }
}

/// A few letters that the waiting page and the vendor's app both show, so that the person approves what their own
/// browser asks for (`binding_message`, OpenID Connect CIBA Core section 7.1). They follow from the request, for each
/// host alike, and can't be guessed from its id.
///
/// # Errors
/// If the cryptographic library fails.
pub fn binding(services: &Services, approval: ApprovalId) -> Result<String, InternalError> {
    let code = services
        .root_secret
        .derive("approval binding", approval.to_string().as_bytes())?;
    let letter = |byte: &u8| {
        BINDING_LETTERS
            .chars()
            .nth(usize::from(*byte) % BINDING_LETTERS.len())
    };
    Ok(code
        .iter()
        .take(BINDING_LENGTH)
        .filter_map(letter)
        .collect())
}
