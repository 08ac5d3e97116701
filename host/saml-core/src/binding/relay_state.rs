//! The relay state, which goes back to its sender as it came.

/// How long a relay state may be, in bytes. The standard says 80 (SAML bindings section 3.4.3), but service providers
/// keep whole addresses in it.
pub const RELAY_STATE_BYTES: usize = 2048;

/// The parameter that holds it.
pub(super) const RELAY_STATE: &str = "RelayState";
