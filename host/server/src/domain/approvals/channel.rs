//! Approval channels: the delivery of requests to users, and the results that channels return.
//!
//! A channel carries a request to a device of this server, whose proof is verified, or to a vendor, whose result the
//! operator trusts. The channels that serve the application are tried in order, until one begins. The channels never
//! delay the browser's page. A device also finds the request by polling, even if all channels fail.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use crate::domain::{InternalError, Services};
use assent_model::application::Application;
use assent_model::id::{ApprovalId, Did};
use assent_model::login::{LocalPage, LoginRequest};
use assent_model::session::{Acr, Authentication};
use assent_plugin_host::{ChannelInfo, Trust};

/// Letters that cannot be confused with one another and form no words (RFC 8628 section 6.1).
const BINDING_LETTERS: &str = "BCDFGHJKLMNPQRSTVWXZ";
/// The number of letters that bind a request to its browser. One guess in 160,000 is right.
const BINDING_LENGTH: usize = 4;

/// The application that requests an authentication, and the authentication that it accepts.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// The application. `None` for the server's own pages.
    application: Option<&'a Did>,
    /// Whether a passkey on the login page is enough.
    permits_passkeys: bool,
}

impl<'a> Asker<'a> {
    /// The server's own pages, which do not accept a passkey on the login page.
    pub const SERVER: Self = Self {
        application: None,
        permits_passkeys: false,
    };

    /// Returns the asker for an OpenID Connect client.
    pub const fn client(application: &'a Application) -> Self {
        Self {
            application: Some(&application.id),
            permits_passkeys: application.settings.passkey_sign_in,
        }
    }
}

/// Returns whether an authentication is sufficient for an application, or for the server's own pages.
///
/// The current settings count. A vendor's result is sufficient only if the operator lets that vendor's channel serve
/// the application. A passkey is sufficient only if the application has the setting. Therefore a session that began
/// with a passkey opens no application without the setting.
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

/// Returns whether an authentication is sufficient for an application, like [`is_enough`], and reads the application's
/// settings.
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

/// Returns whether an authentication is sufficient for a sign-in, like [`is_enough`]. If the sign-in requires a device,
/// no vendor's result is sufficient. If the `acr` is not the one that the application requires, the application
/// receives an error at the end of the sign-in.
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

/// Returns whether an authentication is sufficient for one of the server's own pages.
pub fn is_enough_here(
    services: &Services,
    page: LocalPage,
    authentication: &Authentication,
) -> bool {
    LoginRequest::Local { page }.admits(authentication.acr())
        && is_enough(services, Asker::SERVER, authentication)
}

/// Returns whether a delegated channel serves this application. `None`: the server's own pages.
pub fn are_delegated(services: &Services, application: Option<&Did>) -> bool {
    services
        .plugins
        .channels_for(application)
        .iter()
        .any(|channel| channel.trust == Trust::Delegated)
}

/// The display abilities of the vendors' authenticators for the approval of a sign-in. They depend on the settings and
/// the application, never on the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delegation {
    /// At least one delegated channel serves the application, and the sign-in does not require a device.
    pub possible: bool,
    /// At least one of them shows the letters of the waiting page.
    pub with_letters: bool,
    /// At least one of them does not show the letters, so its user cannot see to which browser the request belongs.
    pub without_letters: bool,
}

/// Returns the abilities of the vendors' authenticators that may approve a sign-in.
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

/// Returns whether any delegated channel shows no letters, regardless of its applications.
pub fn are_letterless(services: &Services) -> bool {
    services
        .plugins
        .channels()
        .iter()
        .any(|channel| channel.trust == Trust::Delegated && !channel.shows_letters)
}

/// Returns the kinds of channels that may carry the approval of a sign-in.
pub fn trusted(request: &LoginRequest) -> &'static [Trust] {
    if request.needs_device() {
        &[Trust::Verified]
    } else {
        &[Trust::Verified, Trust::Delegated]
    }
}

/// Returns the letters that the waiting page and the vendor's app both show (`binding_message`, OpenID Connect CIBA
/// Core section 7.1). With them the user can check that the approval is for the own browser. The letters are derived
/// from the request, so each instance shows the same. They cannot be guessed from the request's identifier.
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

/// Returns the address of a channel's callbacks. Its identifier cannot be guessed, and is the same on every instance
/// and after a restart.
pub(super) fn callback_url(services: &Services, channel: &str) -> Result<String, InternalError> {
    Ok(format!(
        "{}/approvals/callbacks/{}",
        services.settings.origin(),
        callback_id(services, channel)?
    ))
}

fn callback_id(services: &Services, channel: &str) -> Result<String, InternalError> {
    Ok(URL_SAFE_NO_PAD.encode(
        services
            .root_secret
            .derive("approval callback", channel.as_bytes())?,
    ))
}

/// Returns the channel of the callback address with this identifier.
pub fn called_back(services: &Services, id: &str) -> Result<Option<ChannelInfo>, InternalError> {
    for channel in services.plugins.channels() {
        if bool::from(
            callback_id(services, &channel.name)?
                .as_bytes()
                .ct_eq(id.as_bytes()),
        ) {
            return Ok(Some(channel));
        }
    }
    Ok(None)
}
