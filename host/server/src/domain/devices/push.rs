//! Push messages that only the device can open (RFC 8291).

use assent_model::device::PushSubscription;

/// Encrypts a message so that only the device can decrypt it (RFC 8291). `None` if the keys of the subscription are
/// invalid.
pub(crate) fn seal(push: &PushSubscription, message: &[u8]) -> Option<Vec<u8>> {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
    let (key, auth) = (decode(&push.keys.p256dh)?, decode(&push.keys.auth)?);
    ece::encrypt(&key, &auth, message).ok()
}
