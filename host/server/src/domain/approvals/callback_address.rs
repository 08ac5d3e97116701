//! The addresses of callbacks, one for each channel.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use crate::domain::{Host, InternalError};
use assent_plugin_host::ChannelInfo;

/// Where a channel's callbacks come in. Its id can't be guessed, and is the same on every host and after a restart.
pub(super) fn callback_url(host: &Host, channel: &str) -> Result<String, InternalError> {
    Ok(format!(
        "{}/approvals/callbacks/{}",
        host.settings.origin(),
        callback_id(host, channel)?
    ))
}

fn callback_id(host: &Host, channel: &str) -> Result<String, InternalError> {
    Ok(URL_SAFE_NO_PAD.encode(
        host.master_key
            .authenticate("approval callback", channel.as_bytes())?,
    ))
}

/// The channel whose callbacks have this id.
///
/// # Errors
/// If the cryptographic library fails.
pub fn called_back(host: &Host, id: &str) -> Result<Option<ChannelInfo>, InternalError> {
    for channel in host.plugins.channels() {
        if bool::from(
            callback_id(host, &channel.name)?
                .as_bytes()
                .ct_eq(id.as_bytes()),
        ) {
            return Ok(Some(channel));
        }
    }
    Ok(None)
}
