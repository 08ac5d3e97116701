//! The addresses of callbacks, one for each channel.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use crate::domain::{InternalError, Services};
use assent_plugin_host::ChannelInfo;

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
///
/// # Errors
/// If the cryptographic library fails.
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
