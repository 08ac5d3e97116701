//! Back-channel authentication requests (OpenID CIBA Core 1.0), the codes of devices that become such requests (RFC
//! 8628), and the tokens for them.

pub(crate) mod choices;
pub(crate) mod claim;
pub(crate) mod deliveries;
pub(crate) mod device_authorization;
pub(crate) mod history;
pub(crate) mod request;
pub(crate) mod second_approval;
pub(crate) mod watched;
pub(crate) mod watched_request;
pub(crate) mod withdrawal;
