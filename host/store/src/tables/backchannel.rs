//! Back-channel authentication requests (OpenID CIBA Core 1.0), and the tokens for them.

pub(crate) mod claim;
pub(crate) mod deliveries;
pub(crate) mod request;
